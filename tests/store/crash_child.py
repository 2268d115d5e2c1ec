"""The process that is killed by `test_crash`: commits, and says so after each commit.

Usage: crash_child.py PATH FIRST COUNT. Prints one MessageId per committed message; exits 3 on
StoreFailed, after it closed the store, and 4 on StoreRefused.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from store_samples import message, receive, row, stored, submit

from onceonly.message.event import Event
from onceonly.store.contract.conditions import StoreFailed, StoreRefused
from onceonly.store.sqlite.store import LogLimits, open_sqlite

PARTY = "urn:duns:111111111"


def commit_many(path: Path, first: int, count: int) -> int:
    """Commit `count` messages from number `first` on; returns the exit code."""
    # A short log, so that checkpoints are among the things that a kill can hit.
    limits = LogLimits(checkpoint_pages=30, pages_max=10_000)
    try:
        store = open_sqlite(path, party=PARTY, clock_at=lambda: 0, limits=limits)
    except StoreRefused:
        return 4
    try:
        for number in range(first, first + count):
            part = stored(b"<Order>%d</Order>" % number * 200)
            sent = message(f"m-{number}", part)
            transaction = store.begin()
            submit(transaction, sent, part)
            receive(transaction, sent, part)
            transaction.hand_over(sent.key, at=9)
            transaction.append(
                [row(Event.SUBMITTED, sent.message_id), row(Event.HANDED_OVER, sent.message_id)]
            )
            store.commit()
            os.write(1, f"m-{number}\n".encode())
    except StoreFailed:
        store.close()
        return 3
    store.close()
    return 0


if __name__ == "__main__":
    sys.exit(commit_many(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
