"""The sending machines inside one transaction: work goes in, and what must be sent comes out.

A message, its pair and its recovery are three machines. `run` passes on what one machine says to
the others until none has more to say (`turn`), and returns what must be sent after the commit.
"""

from collections import deque
from collections.abc import Sequence

from onceonly.protocol.sending import Outbound
from onceonly.steps.follow_ups import enqueued
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Draft, Leaving
from onceonly.steps.turn import Turn
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

    `entry` and `draft`: the message, if the caller has read it already.
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
    """Give a message its turn if its pair is free; called in the step that stores it."""
    message = draft.message
    entry = OutboundEntry(message.message_id, message.pair, message.agreement_id, state)
    return run(txn, ground, (enqueued(ground.house, entry),), entry=entry, draft=draft)
