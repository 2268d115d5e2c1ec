"""Forget what is not needed any more, with a journal row about it in the same step (R-19)."""

from collections.abc import Callable

from onceonly.message.event import Direction, Event
from onceonly.protocol.effects import Journal
from onceonly.steps.ground import Ground
from onceonly.store.contract.jobs import JobPurge
from onceonly.store.contract.store import Transaction

ROWS_PER_STEP = 200
"""Most messages forgotten in one step: about 10 ms in which no other step runs."""


def purge(txn: Transaction, ground: Ground, forget: Callable[[Transaction], int], what: str) -> int:
    """Call `forget` once, and note the result; returns how many were forgotten."""
    count = forget(txn)
    note(txn, ground, count, what)
    return count


def purge_jobs(txn: Transaction, ground: Ground, before_at: int, after: int) -> JobPurge:
    """Forget rows of jobs that were never released, or whose messages are forgotten."""
    purged = txn.purge_jobs(before_at, ROWS_PER_STEP, after)
    note(txn, ground, purged.forgotten, "rows of jobs")
    return purged


def forget_pairs(txn: Transaction, ground: Ground, before_at: int) -> int:
    """Forget the counters of sending pairs that were idle since `before_at`; returns how many."""
    pairs = txn.list_idle_pairs(before_at)
    for pair in pairs:
        txn.forget_pair(pair)
        # Before the number is used again, the journal says that it will be (R-10, I33).
        reset = Journal(Event.SEQUENCE_RESET, reason="the pair was idle")
        rows = ground.house.rows
        txn.append((rows.about_pair(pair, None, Direction.OUT, reset, ground.now),))
    return len(pairs)


def note(txn: Transaction, ground: Ground, count: int, what: str) -> None:
    """Write the row about what was forgotten; none if nothing was."""
    if count:
        rows = ground.house.rows
        txn.append((rows.about_gateway(Event.PURGED, ground.now, f"{count} {what}"),))
