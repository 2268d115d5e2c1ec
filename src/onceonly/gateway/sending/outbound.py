"""The sending machines inside one transaction: work goes in, what must leave comes out.

A message, its pair and its recovery are three machines; `run` carries the words of one to the
others until none has more to say (`turn`), and returns what must leave the house once the commit
has returned.
"""

from collections import deque
from collections.abc import Sequence

from onceonly.gateway.sending.sender import Sender
from onceonly.gateway.sending.turn import Turn
from onceonly.gateway.sending.work import Draft, Outcome, Work
from onceonly.message.instant import Now
from onceonly.protocol import schedule, sending
from onceonly.protocol.pairing import PairStatus
from onceonly.store.contract.entries import OutboundEntry
from onceonly.store.contract.store import Snapshot, Transaction


class SendingSteps:
    """Runs the sending machines in a transaction."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def run(
        self,
        txn: Transaction,
        now: Now,
        work: Sequence[Work],
        *,
        entry: OutboundEntry | None = None,
        draft: Draft | None = None,
    ) -> Outcome:
        """Carry out `work` and all that follows from it. Writes; does not await.

        `entry` and `draft` are what the caller has at hand of the message that it is about.
        """
        turn = Turn(self._sender, txn, now, draft)
        if entry is not None:
            turn.know(entry)
        queue = deque(work)
        while queue:
            queue.extend(turn.carry_out(queue.popleft()))
        turn.write()
        if turn.records:
            txn.append(turn.records)
        return turn.outcome()

    def may_be_forgotten(self, snapshot: Snapshot, now: Now, entry: OutboundEntry) -> bool:
        """Whether its receiver need not know the message any more, even if it had it."""
        view = snapshot.find_outbound_view(entry.message_id)
        assert view is not None, f"{entry.message_id} is not stored"
        terms = self._sender.agreement(entry.agreement_id).terms
        return schedule.may_be_forgotten(view.message.timestamp_at, now, terms)

    def can_resend(self, snapshot: Snapshot, now: Now, entry: OutboundEntry) -> bool:
        """Whether the message was given up and may be sent again under its id (S4-18, S4-24).

        One that kept its turn goes on when its pair is resumed.
        """
        if sending.can_be_sent_again(entry.state, now):
            return True
        pair = snapshot.get_sending_pair(entry.pair)
        return entry.message_id in pair.in_flight and pair.status is not PairStatus.OPEN
