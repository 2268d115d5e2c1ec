"""What `step` wants done: imperative, frozen.

`Journal`, `Notify`, `HandOver`, the incidents and what one machine tells another are carried out
inside the transaction of the step. `Transmit`, `Acknowledge` and `Answer` leave the house, so the
shell releases them only when the store says *committed*: "acknowledge before the fsync" cannot be
expressed.

An effect without fields is no tuple: two empty tuples of different names are equal.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event


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
    """Tell the pair that the message is settled. An abandoned number restarts at 1 (R-10)."""

    abandoned: bool


class GiveUp(NamedTuple):
    """Tell the pair that the retries of the message are used up (R-07)."""

    reason: str


class Diverge(NamedTuple):
    """Tell the pair that the peer's sequence and ours disagree (R-11)."""

    reason: str


class Admit(NamedTuple):
    """Pair: this message is next, under this SequenceNumber."""

    message_id: str
    sequence_number: int


@dataclass(frozen=True, slots=True)
class AdmitNext:
    """Pair: the turn is free; look for the longest-waiting message."""


class Hold(NamedTuple):
    """Pair: the message in flight must be silent now."""

    message_id: str


class Restart(NamedTuple):
    """Pair: the message in flight starts anew."""

    message_id: str


class OpenIncident(NamedTuple):
    """Pair: an operator is needed; `reason` says why."""

    reason: str


@dataclass(frozen=True, slots=True)
class ResolveIncident:
    """Pair: what needed an operator is over."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Send the stored response of the message."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """Put the message into the application's inbox."""


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
    | Acknowledge
    | HandOver
    | Answer
)
