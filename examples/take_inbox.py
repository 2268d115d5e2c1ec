"""Take what the gateway has received into a database of your own, each message once.

    python examples/take_inbox.py http://127.0.0.1:8412 orders.db

A message and its offset are written in one transaction, so a run after a crash takes up the rest.
"""

import sqlite3
import sys

from onceonly.client import Client

TABLE = """CREATE TABLE IF NOT EXISTS received (inbox_offset INTEGER, payload INTEGER,
    message_id TEXT, sender TEXT, document BLOB, PRIMARY KEY (inbox_offset, payload))"""
ROW = "INSERT INTO received VALUES (?, ?, ?, ?, ?)"
LAST = "SELECT coalesce(max(inbox_offset), 0) FROM received"


def main(api: str, database: str) -> None:
    """Take, until nothing new has come for a second."""
    with Client(api) as gateway, sqlite3.connect(database) as orders:
        orders.execute(TABLE)
        [last] = orders.execute(LAST).fetchone()
        while True:
            # What a partner is told who asks; repeated after a crash that came before it.
            gateway.report_range(0, last, "complete")
            if not (items := gateway.inbox(after=last, wait_s=1)):
                return
            for item in items:
                last = item.offset
                count = len(item.payloads)
                documents = [b"".join(gateway.payload(item, n)) for n in range(count)]
                for n, document in enumerate(documents or [None]):  # it may have none
                    orders.execute(ROW, (last, n, item.message_id, item.from_ids[0], document))
                orders.commit()
                print(last, item.message_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
