"""The recovery machine inside one transaction: read, `step`, write; and the questions it asks.

Knows which facts of the stored message the machine reads, and what a new version of a message is.
`turn` passes on what the machine wants of the message and its pair; a question is sent only after
the commit. Levels 2 to 5 of seed 004, ruling R-21.
"""

from collections.abc import Sequence

from onceonly.message.agreement import Agreement
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import Message
from onceonly.message.signals import InquiryKind
from onceonly.message.word import changed
from onceonly.protocol import recovering, schedule
from onceonly.protocol.effects import Effect, Inquire
from onceonly.protocol.recovering import Recovery, RecoveryEvent
from onceonly.protocol.sending import Outbound
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Asker, Question
from onceonly.store.contract.store import Snapshot, Transaction
from onceonly.store.contract.waits import Waiter


class Recoveries:
    """The working memory of one run: each recovery is read once and written once."""

    def __init__(self, txn: Transaction, ground: Ground) -> None:
        self._txn = txn
        self._ground = ground
        self._states: dict[str, Recovery] = {}
        self._changed: set[str] = set()
        self.questions: list[Question] = []
        self.waits: dict[tuple[Waiter, str], int | None] = {}
        """Deadlines that changed."""

    def step(self, message_id: str, event: RecoveryEvent, agreement: Agreement) -> Sequence[Effect]:
        """Run the machine; returns what it wants done, except its questions."""
        before = self._state(message_id)
        after, effects = recovering.step(before, event, self._ground.now, agreement.terms)
        left = [effect for effect in effects if not isinstance(effect, Inquire)]
        for effect in effects:
            if isinstance(effect, Inquire):
                after = changed(after, inquiry_id=self._ask(message_id, effect.kind, agreement))
        self._put(message_id, before, after)
        return left

    def _state(self, message_id: str) -> Recovery:
        state = self._states.get(message_id)
        if state is None:
            due_ns = self._txn.waits.find(Waiter.RECOVERY, message_id)
            state = changed(self._txn.get_recovery(message_id), due_ns=due_ns)
        return state

    def _put(self, message_id: str, before: Recovery, after: Recovery) -> None:
        self._states[message_id] = after
        if after.due_ns != before.due_ns:
            self._txn.waits.put(Waiter.RECOVERY, message_id, after.due_ns)
            self.waits[Waiter.RECOVERY, message_id] = after.due_ns
        if changed(after, due_ns=None) != changed(before, due_ns=None):
            self._changed.add(message_id)

    def _ask(self, message_id: str, kind: InquiryKind, agreement: Agreement) -> str:
        what = f"{kind.value} {message_id} {len(self.questions)}"
        inquiry_id = self._ground.message_id(what, agreement)
        conversation_id = conversation_of(self._txn, message_id)
        self.questions.append(
            Question(inquiry_id, kind, agreement, Asker.RECOVERY, message_id, conversation_id)
        )
        return inquiry_id

    def replace(self, message_id: str, by: str) -> None:
        """Note the new version of a cancelled message."""
        before = self._state(message_id)
        self._put(message_id, before, changed(before, replaced_by=by))

    def expect(self, message_id: str, recovery: Recovery) -> None:
        """Keep the recovery of a new message whose response is expected."""
        self._states[message_id] = recovery
        self._changed.add(message_id)

    def write(self) -> None:
        """Write what changed since the last call."""
        for message_id in self._changed:
            self._txn.put_recovery(message_id, self._states[message_id])
        self._changed.clear()


def conversation_of(snapshot: Snapshot, message_id: str) -> str:
    """ConversationId of a stored outbound message: inquiries about it belong there."""
    view = snapshot.find_outbound_view(message_id)
    assert view is not None, f"{message_id} is not stored"
    return view.message.conversation_id


def new_version(
    message: Message, message_id: str, agreement: Agreement, now: Now
) -> tuple[Message, Outbound]:
    """The content again under another id, with a time to live of its own (S4-25)."""
    terms = agreement.terms
    lives_s = terms.time_to_live_s
    ends_at = None
    if message.time_to_live_at is not None and lives_s is not None:
        ends_at = now.at + lives_s * US_PER_S
    again = changed(message, message_id=message_id, timestamp_at=now.at, time_to_live_at=ends_at)
    return again, Outbound(expires_at=schedule.expires_at(now.at, terms))
