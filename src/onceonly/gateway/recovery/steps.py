"""The recovery machine inside one transaction: read, `step`, write; and the questions it asks.

Knows which facts of the stored message the machine reads, and what a new version of a message is.
What the machine wants of the message and its pair is told them by `outbound`; a question leaves
only after the commit (`questions`). Levels 2 to 5 of seed 004, ruling R-21.
"""

from collections.abc import Sequence
from enum import Enum

from onceonly.gateway.ids import Identifiers
from onceonly.gateway.sending.deadlines import Waits
from onceonly.message.agreement import Agreement
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import Message
from onceonly.message.signals import InquiryKind
from onceonly.message.word import Word, changed
from onceonly.protocol import recovering, schedule
from onceonly.protocol.effects import Effect, Inquire
from onceonly.protocol.recovering import Recovery, RecoveryEvent
from onceonly.protocol.sending import Outbound
from onceonly.store.contract.store import Snapshot, Transaction


class Asker(Enum):
    """Who wants to know, and so whom the answer is given to."""

    MESSAGE = "the message, before it is sent (level 2)"
    RECOVERY = "the recovery of the message (levels 3 to 5)"
    OPERATOR = "an operator"


class Question(Word):
    """An inquiry to post once its step is committed."""

    inquiry_id: str
    kind: InquiryKind
    agreement: Agreement
    asker: Asker
    message_id: str | None
    """The message that it is about, or goes before; None where an operator pings."""
    conversation_id: str


class Recoveries:
    """The working memory of one run: each recovery is read once and written once."""

    def __init__(self, waits: Waits, ids: Identifiers, txn: Transaction, now: Now) -> None:
        waits.begin(txn)
        self._waits = waits
        self._ids = ids
        self._txn = txn
        self._now = now
        self._states: dict[str, Recovery] = {}
        self._changed: set[str] = set()
        self.questions: list[Question] = []
        self.deadlines: dict[str, int | None] = {}
        """Those that moved, by MessageId."""

    def step(self, message_id: str, event: RecoveryEvent, agreement: Agreement) -> Sequence[Effect]:
        """Run the machine; returns what it wants done, its questions left out."""
        before = self._state(message_id)
        after, effects = recovering.step(before, event, self._now, agreement.terms)
        left = [effect for effect in effects if not isinstance(effect, Inquire)]
        for effect in effects:
            if isinstance(effect, Inquire):
                after = changed(after, inquiry_id=self._ask(message_id, effect.kind, agreement))
        self._put(message_id, before, after)
        return left

    def _state(self, message_id: str) -> Recovery:
        state = self._states.get(message_id)
        if state is None:
            due_ns = self._waits.find(message_id)
            state = changed(self._txn.get_recovery(message_id), due_ns=due_ns)
        return state

    def _put(self, message_id: str, before: Recovery, after: Recovery) -> None:
        self._states[message_id] = after
        if after.due_ns != before.due_ns:
            self._waits.put(message_id, after.due_ns)
            self.deadlines[message_id] = after.due_ns
        if changed(after, due_ns=None) != changed(before, due_ns=None):
            self._changed.add(message_id)

    def _ask(self, message_id: str, kind: InquiryKind, agreement: Agreement) -> str:
        inquiry_id = self._ids.message_id()
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
        """Keep the recovery of a fresh message whose response is expected."""
        self._states[message_id] = recovery
        self._changed.add(message_id)

    def write(self) -> None:
        """Write what changed; again after it, nothing is left to write."""
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
