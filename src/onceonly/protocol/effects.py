"""What `step` wants done: imperative, frozen.

`Journal`, `Notify`, `HandOver`, the incidents and what one machine tells another are carried out
inside the transaction of the step. `Transmit`, `Acknowledge`, `Answer`, `Inquire`, `Forward` and
their like leave the house, so the shell releases them only when the store says *committed*:
"acknowledge before the fsync" cannot be expressed.

An effect without fields is no tuple: two empty tuples of different names are equal.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.signals import InquiryKind


class Journal(NamedTuple):
    """Write this row; the shell adds who, which message and when."""

    event: Event
    attempt: int | None = None
    sequence_number: int | None = None
    outcome: str | None = None
    status_code: int | None = None
    error_code: str | None = None
    severity: Severity | None = None
    reason: str | None = None


class NoticeKind(StrEnum):
    """What the application is told."""

    DELIVERY_FAILURE = "DeliveryFailure"
    """Not delivered, or not known to be: `severity` tells which (R-08)."""
    ACKNOWLEDGED_LATE = "AcknowledgedLate"
    """An acknowledgement came after the failure notice (R-09)."""
    NOT_PROCESSED = "NotProcessed"
    """The partner has it, and says that it could not process it (R-39)."""


class Notify(NamedTuple):
    """Put a notice into the application's notification inbox, once per message and episode."""

    kind: NoticeKind
    severity: Severity
    error_code: ErrorCode
    reason: str
    episode: int


class Transmit(NamedTuple):
    """Send the stored bytes of the message; this is transmission number `attempt`."""

    attempt: int


class Release(NamedTuple):
    """Tell the pair that the message is settled: `abandoned` if not by an acknowledgement.

    The number of an abandoned message makes the pair restart at 1 (R-10), if it had one.
    """

    abandoned: bool
    is_numbered: bool = True


class GiveUp(NamedTuple):
    """Tell the pair that the retries of the message are used up (R-07)."""

    reason: str


class Diverge(NamedTuple):
    """Tell the pair that the peer's sequence and ours disagree (R-11)."""

    reason: str


class TellTrouble(NamedTuple):
    """Tell the pair that its partner cannot be reached, or says nothing (R-40)."""

    cause: str


class Recover(NamedTuple):
    """Tell the recovery of the message that the sender gave up (R-21)."""

    reason: str
    is_told: bool = False
    """The partner said so; without that it was silent, or the time passed."""


class Inquire(NamedTuple):
    """Ask the partner; the answer is matched by the inquiry's MessageId (R-20)."""

    kind: InquiryKind


@dataclass(frozen=True, slots=True)
class Resend:
    """Recovery: the same message again, through its pair."""


@dataclass(frozen=True, slots=True)
class SendNewVersion:
    """Recovery: the content again under a new MessageId, now that the old one is cancelled."""


@dataclass(frozen=True, slots=True)
class ConfirmCancel:
    """Recovery: tell the message that the receiver confirmed its cancel."""


@dataclass(frozen=True, slots=True)
class ConfirmReceipt:
    """Recovery: tell the message that the receiver says it has it."""


class Admit(NamedTuple):
    """Pair: this message is next, under this SequenceNumber, or none where there are none."""

    message_id: str
    sequence_number: int | None


@dataclass(frozen=True, slots=True)
class AdmitNext:
    """Pair: a turn is free. Message: I wait again. Look for the longest-waiting message."""


class Hold(NamedTuple):
    """Pair: the message in flight must be silent now."""

    message_id: str


class Restart(NamedTuple):
    """Pair: the message in flight starts anew."""

    message_id: str


class OpenIncident(NamedTuple):
    """Pair, an ExactlyOnce message (R-17), or a parked one: an operator is needed.

    `reason` says why. The incident of a parked message (R-43) ends when it is taken up, and not
    when its partner is heard. Of trouble with a partner (R-40) a pair has one at most, whose
    reason is the last cause.
    """

    reason: str
    is_parked: bool = False
    is_trouble: bool = False


@dataclass(frozen=True, slots=True)
class ResolveIncident:
    """Pair, or an ExactlyOnce message: what needed an operator is over."""


@dataclass(frozen=True, slots=True)
class ResolveTrouble:
    """Pair: its partner is heard; what else needs an operator stays open (R-40)."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Send the stored response of the message."""


@dataclass(frozen=True, slots=True)
class AcknowledgeAnew:
    """The response of a stored message is missing: make one, store it, send it (S1-35)."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """Put the message into the application's inbox."""


@dataclass(frozen=True, slots=True)
class Withhold:
    """Keep that no acknowledgement of the message has left so far, for the next start (R-12)."""


@dataclass(frozen=True, slots=True)
class SendReceipt:
    """Send a delivery receipt: the application has the message (seed 001 §2.1.1.2)."""


class NotifySender(NamedTuple):
    """Send a DeliveryFailure notice to the From Party of the message (seed 001 §1.6, R-14)."""

    severity: Severity
    reason: str


class Forward(NamedTuple):
    """Relay: send this copy on to the next hop; `copy` counts them from 1."""

    copy: int


@dataclass(frozen=True, slots=True)
class AcknowledgeUpstream:
    """Relay: acknowledge to the previous hop, now that the next one has (R-13)."""


class AnswerUpstream(NamedTuple):
    """Relay: tell the previous hop of an error about the message."""

    code: ErrorCode
    severity: Severity
    description: str
    min_retry_s: int | None = None


class Answer(NamedTuple):
    """Send an error about the message; nothing of it was stored."""

    code: ErrorCode
    severity: Severity
    description: str
    min_retry_s: int | None = None


Effect = (
    Journal
    | Notify
    | Transmit
    | Release
    | GiveUp
    | Diverge
    | Admit
    | AdmitNext
    | Hold
    | Restart
    | OpenIncident
    | ResolveIncident
    | ResolveTrouble
    | TellTrouble
    | Acknowledge
    | AcknowledgeAnew
    | Withhold
    | HandOver
    | Answer
    | Recover
    | Inquire
    | Resend
    | SendNewVersion
    | ConfirmCancel
    | ConfirmReceipt
    | SendReceipt
    | NotifySender
    | Forward
    | AcknowledgeUpstream
    | AnswerUpstream
)
