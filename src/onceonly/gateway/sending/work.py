"""The words that pass between the machines of the sending side, and what leaves after a run."""

from collections.abc import Mapping, Sequence

from onceonly.gateway.recovery.steps import Question
from onceonly.message.agreement import Agreement
from onceonly.message.identity import Pair
from onceonly.message.message import Message
from onceonly.message.package import Package
from onceonly.message.word import Word
from onceonly.protocol import pairing, recovering
from onceonly.protocol.events import SendingEvent
from onceonly.store.contract.entries import OwedNotice, StoredPayload


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
    """At hand on the first transmission of a fresh submission; else read from the store."""
    payloads: Sequence[StoredPayload] | None


class Outcome(Word):
    """What one run did: what is to leave, and which deadlines it moved."""

    departures: list[Departure]
    deadlines: Mapping[str, int | None]
    """Of messages, by MessageId; None where nothing is waited for any more."""
    questions: Sequence[Question]
    recovery_deadlines: Mapping[str, int | None]
    owed: Sequence[OwedNotice]
    """What other parties are to be told of messages that we sent for them (R-13)."""


class MessageWork(Word):
    """An event for a message's machine."""

    message_id: str
    event: SendingEvent


class TakeUpWork(Word):
    """On an operator's word: what a bug of ours parked goes out once more (R-43)."""

    message_id: str
    reason: str


class AgainWork(Word):
    """The content of a message that ended goes out as a new one; whoever asks has looked (R-41)."""

    message_id: str
    reason: str


class PairWork(Word):
    """An event for a pair's machine."""

    pair: Pair
    event: pairing.PairEvent


class NextWork(Word):
    """Look for the longest-waiting message of the pair, once all before this is done."""

    pair: Pair


class RecoveryWork(Word):
    """An event for the recovery of a message."""

    message_id: str
    event: recovering.RecoveryEvent


Work = MessageWork | PairWork | NextWork | RecoveryWork | TakeUpWork | AgainWork
