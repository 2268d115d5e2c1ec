"""Book every order that the gateway receives into a database of your own, each once.

    python examples/book_orders.py http://127.0.0.1:8412 orders.db

An order and its offset are written in one transaction, so a run after a crash takes up the rest.
"""

import signal
import sqlite3
import sys

from onceonly.client import Client
from onceonly.receiver import ReceivedMessage, Receiver, Refusal

TABLE = "CREATE TABLE IF NOT EXISTS booked (inbox_offset INTEGER PRIMARY KEY, document BLOB)"
LAST = "SELECT coalesce(max(inbox_offset), 0) FROM booked"


def main(api: str, database: str) -> None:
    """Book what comes, until Ctrl-C."""
    with Client(api) as gateway, sqlite3.connect(database) as orders:
        orders.execute(TABLE)
        receiver = Receiver(gateway, last_offset=lambda: orders.execute(LAST).fetchone()[0])

        @receiver.on(service="Ordering", action="NewOrder")
        def book(order: ReceivedMessage) -> Refusal | None:
            if not order.item.payloads:
                return Refusal("there is no order in it")
            with orders:
                row = (order.offset, order.read())
                orders.execute("INSERT INTO booked VALUES (?, ?)", row)
            print("booked", order.offset, order.message_id, flush=True)
            return None

        signal.signal(signal.SIGINT, lambda *_: receiver.stop())
        receiver.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
