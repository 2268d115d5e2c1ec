"""Book every order that the gateway has received into a database of your own, each once.

    python examples/book_orders.py http://127.0.0.1:8412 orders.db

Runs until Ctrl-C. An order and its offset are written in one transaction, so a run after a crash
goes on with the first order that was not booked; no order is booked twice.
"""

import logging
import signal
import sqlite3
import sys

from onceonly.client import Client
from onceonly.receiver import ReceivedMessage, Receiver, Refusal

TABLE = """CREATE TABLE IF NOT EXISTS booked
    (inbox_offset INTEGER PRIMARY KEY, message_id TEXT, document BLOB)"""
LAST = "SELECT coalesce(max(inbox_offset), 0) FROM booked"


def main(api: str, database: str) -> None:
    """Book what comes."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    with Client(api) as gateway, sqlite3.connect(database) as orders:
        orders.execute(TABLE)

        def last_offset() -> int:
            [last] = orders.execute(LAST).fetchone()
            return int(last)

        receiver = Receiver(gateway, last_offset=last_offset)

        @receiver.on(service="Ordering", action="NewOrder")
        def book(order: ReceivedMessage) -> Refusal | None:
            document = order.read() if order.item.payloads else b""
            if b"<Order" not in document:
                return Refusal("there is no order in it")
            with orders:
                row = (order.offset, order.message_id, document)
                orders.execute("INSERT INTO booked VALUES (?, ?, ?)", row)
            print("booked", order.offset, order.message_id, flush=True)
            return None

        @receiver.on()
        def other(message: ReceivedMessage) -> Refusal:
            return Refusal(f"nothing here takes {message.item.service!r}")

        signal.signal(signal.SIGTERM, lambda *_: receiver.stop())
        signal.signal(signal.SIGINT, lambda *_: receiver.stop())
        receiver.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
