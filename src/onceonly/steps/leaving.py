"""What a step wants to send: decided in the transaction, released after its commit."""

from collections.abc import Mapping, Sequence
from enum import Enum

from onceonly.message.agreement import Agreement
from onceonly.message.message import Message
from onceonly.message.package import Package
from onceonly.message.signals import InquiryKind
from onceonly.message.word import Word
from onceonly.store.contract.entries import OwedNotice, StoredPayload
from onceonly.store.contract.waits import Waiter


class Draft(Word):
    """A message that the step has at hand, so that it need not be read back."""

    message: Message
    payloads: Sequence[StoredPayload]


class Departure(Word):
    """One transmission to make once its step is committed."""

    message_id: str
    agreement: Agreement
    attempt: int
    package: Package | None
    """Given for the first transmission of a new submission; otherwise read from the store."""
    payloads: Sequence[StoredPayload] | None


class Asker(Enum):
    """Who asks, and so who gets the answer."""

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
    """The message that it is about, or that waits for its answer; None if an operator pings."""
    conversation_id: str


class Leaving(Word):
    """What is to leave, and which deadlines moved. The desk releases it, and nobody else."""

    departures: Sequence[Departure] = ()
    questions: Sequence[Question] = ()
    owed: Sequence[OwedNotice] = ()
    """Notices to other parties about messages that we sent for them (R-13)."""
    waits: Mapping[tuple[Waiter, str], int | None] = {}
    """Deadlines that changed, by machine and MessageId; None: nothing is awaited any more."""


class Released(Word, kw_only=True):
    """The result of a step that may want to send something as well."""

    leaving: Leaving | None = None
    """Released after the commit, before the answer is given."""


def together(leavings: Sequence[Leaving]) -> Leaving:
    """What several runs in one transaction want to send."""
    waits: dict[tuple[Waiter, str], int | None] = {}
    for one in leavings:
        waits.update(one.waits)
    return Leaving(
        [departure for one in leavings for departure in one.departures],
        [question for one in leavings for question in one.questions],
        [notice for one in leavings for notice in one.owed],
        waits,
    )
