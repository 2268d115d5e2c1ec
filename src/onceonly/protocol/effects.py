"""What `step` wants done: imperative, frozen.

`Journal`, `Notify`, `HandOver`, the incidents and what one machine tells another are carried out
inside the transaction of the step. `Transmit`, `Acknowledge`, `Answer`, `Inquire`, `Forward` and
similar ones send something, so the desk carries them out only after the commit: who runs the steps
has nothing that sends (the import rule of `steps`, `tests/repo/test_rings.py`).
"""

from enum import StrEnum

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.signals import InquiryKind
from onceonly.message.word import Word


class Journal(Word):
    """Write this row; the shell adds who, which message and when."""

    event: Event
    attempt: int | None = None
    sequence_number: int | None = None
    outcome: str | None = None
    status_code: int | None = None
    error_code: str | None = None
    severity: Severity | None = None
    reason: str | None = None
    actor: str | None = None
    order_number: int | None = None


class NoticeKind(StrEnum):
    """What the application is told."""

    DELIVERY_FAILURE = "DeliveryFailure"
    """Not delivered, or possibly not delivered: `severity` tells which (R-08)."""
    ACKNOWLEDGED_LATE = "AcknowledgedLate"
    """An acknowledgement came after the failure notice (R-09)."""
    NOT_PROCESSED = "NotProcessed"
    """The partner has the message, and says that it could not process it (R-39)."""
    SETTLED_BY_OPERATOR = "SettledByOperator"
    """An operator ended the doubt: `severity` is Error where he says that it was not delivered
    (R-49)."""


class Notify(Word):
    """Put a notice into the application's notification inbox, once per message and episode."""

    kind: NoticeKind
    severity: Severity
    error_code: ErrorCode
    reason: str
    episode: int


class Transmit(Word):
    """Send the stored bytes of the message; this is transmission number `attempt`."""

    attempt: int


class Release(Word):
    """Tell the pair that the message is settled: `abandoned` if without an acknowledgement.

    If an abandoned message had a number, the pair restarts at 1 (R-10).
    """

    abandoned: bool
    is_numbered: bool = True


class GiveUp(Word):
    """Tell the pair that the retries of the message are used up (R-07)."""

    reason: str


class Diverge(Word):
    """Tell the pair that the SequenceNumbers of the peer and ours disagree (R-11)."""

    reason: str


class TellTrouble(Word):
    """Tell the pair that its partner cannot be reached, or does not answer (R-40)."""

    cause: str


class Recover(Word):
    """Tell the recovery of the message that the sender gave up (R-21)."""

    reason: str
    is_told: bool = False
    """The partner answered that it did not take the message; False: no answer came in time."""


class Inquire(Word):
    """Ask the partner; the answer is matched by the inquiry's MessageId (R-20)."""

    kind: InquiryKind


class Resend(Word):
    """Recovery: the same message again, through its pair."""


class SendNewVersion(Word):
    """Recovery: the content again under a new MessageId, since the old message is cancelled."""


class ConfirmCancel(Word):
    """Recovery: tell the message that the receiver confirmed its cancel."""


class ConfirmReceipt(Word):
    """Recovery: tell the message that the receiver said that it has it."""


class Admit(Word):
    """Pair: this message is next, with this SequenceNumber, or None if there are no numbers."""

    message_id: str
    sequence_number: int | None


class AdmitNext(Word):
    """A turn is free, or a message waits again: look for the longest-waiting message."""


class Hold(Word):
    """Pair: the message in flight must not be sent for now."""

    message_id: str


class Restart(Word):
    """Pair: the message in flight starts again."""

    message_id: str


class OpenIncident(Word):
    """A pair, an ExactlyOnce message (R-17) or a parked message needs an operator.

    `reason` says why. The incident of a parked message (R-43) ends when the message is taken up,
    not when its partner answers. A pair has at most one incident of trouble with its partner
    (R-40); its reason is the last cause.
    """

    reason: str
    is_parked: bool = False
    is_trouble: bool = False


class ResolveIncident(Word):
    """A pair or an ExactlyOnce message no longer needs an operator."""


class ResolveTrouble(Word):
    """Pair: its partner answered; other incidents of the pair stay open (R-40)."""


class Acknowledge(Word):
    """Send the stored response of the message."""


class AcknowledgeAnew(Word):
    """A stored message has no response: make one, store it and send it (S1-35)."""


class HandOver(Word):
    """Put the message into the application's inbox."""


class Withhold(Word):
    """Note for the next start that no acknowledgement of the message has left so far (R-12)."""


class SendReceipt(Word):
    """Send a delivery receipt: the application has the message (seed 001 §2.1.1.2)."""


class NotifySender(Word):
    """Send a DeliveryFailure notice to the From Party of the message (seed 001 §1.6, R-14)."""

    severity: Severity
    reason: str


class Forward(Word):
    """Relay: send this copy on to the next hop; `copy` is its number, from 1."""

    copy: int


class AcknowledgeUpstream(Word):
    """Relay: acknowledge to the previous hop, since the next hop has acknowledged (R-13)."""

    is_of_hop: bool = False
    """The next MSH alone has it, and so do we say no more than that (`ebms-2.0`)."""


class AnswerUpstream(Word):
    """Relay: tell the previous hop of an error about the message."""

    code: ErrorCode
    severity: Severity
    description: str
    min_retry_s: int | None = None


class Answer(Word):
    """Send an error about the message; nothing of it was stored."""

    code: ErrorCode
    severity: Severity
    description: str
    min_retry_s: int | None = None
    location: str = ""
    """Where in the package the trouble is, for a profile that can say it."""


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
