"""The sending machines inside one transaction: work goes in, what must leave comes out.

A message, its pair and its recovery are three machines; `run` carries the words of one to the
others until none has more to say (`turn`), and returns what must leave the house once the commit
has returned.
"""

from collections import deque
from collections.abc import Sequence

from onceonly.protocol.sending import Outbound
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Draft, Leaving
from onceonly.steps.turn import Turn, queued
from onceonly.steps.work import Work
from onceonly.store.contract.entries import OutboundEntry
from onceonly.store.contract.store import Transaction


def run(
    txn: Transaction,
    ground: Ground,
    work: Sequence[Work],
    *,
    entry: OutboundEntry | None = None,
    draft: Draft | None = None,
) -> Leaving:
    """Carry out `work` and all that follows from it.

    `entry` and `draft` are what the caller has at hand of the message that it is about.
    """
    turn = Turn(txn, ground, draft)
    if entry is not None:
        turn.know(entry)
    queue = deque(work)
    while queue:
        queue.extend(turn.carry_out(queue.popleft()))
    turn.write()
    if turn.records:
        txn.append(turn.records)
    return turn.leaving()


def enqueue(txn: Transaction, ground: Ground, draft: Draft, state: Outbound) -> Leaving:
    """In the step that stores the message: give it its turn if its pair is free."""
    message = draft.message
    entry = OutboundEntry(message.message_id, message.pair, message.agreement_id, state)
    return run(txn, ground, (queued(ground.house, entry),), entry=entry, draft=draft)
