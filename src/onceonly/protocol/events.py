"""What can happen to a message or a pair: past tense, frozen, complete.

The shell makes these from arrivals, answers, timers and operators and hands them to `step`.
"""

from enum import StrEnum

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.word import Word


class Outcome(StrEnum):
    """What a transport knows after a transmission. Unknown is not failure (ruling R-05)."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Transmission(Word):
    """How one transmission ended. `bytes_left` is False only when surely no byte left us."""

    outcome: Outcome
    bytes_left: bool
    status_code: int | None = None
    detail: str = ""

    @property
    def words(self) -> str:
        """The outcome for people: `refused, 404 Not Found`, `unknown, no answer in time`."""
        status = "" if self.status_code is None else str(self.status_code)
        # The phrase of a status is written with it; an MSH's own words are not.
        is_there = self.detail.startswith(status)
        told = self.detail if is_there else f"{status} {self.detail}".rstrip()
        return f"{self.outcome}, {told}" if told else self.outcome.value

    @property
    def is_lasting(self) -> bool:
        """Whether somebody was reached, and refused what he would refuse again."""
        return self.outcome is Outcome.REFUSED and self.status_code not in _COME_AGAIN


_COME_AGAIN = frozenset({None, 503, 507})
"""Statuses of a refusal that say nothing about the next one: none at all, busy, disk full."""


Outcomes = tuple[Transmission, ...]
"""How the transmissions of a message, or the Pings before it, ended until an event: the latest
first. The state has none of it, since every transmission would have to write it."""


class Admitted(Word):
    """The pair gave the message its turn, and its SequenceNumber where there are numbers."""

    sequence_number: int | None
    size_bytes: int = 0
    """Of the payloads: large messages may be preceded by a Ping (level 2)."""


class Transmitted(Word):
    """The transmission numbered `attempt` ended."""

    attempt: int
    transmission: Transmission
    before: Outcomes = ()
    """Told where the transmission `is_lasting`."""


class DeadlineReached(Word):
    """The monotonic deadline `due_ns`, which the state once asked for, has come.

    It may come late, behind the step that ended the wait; then the state asks for another one, or
    for none, and nothing happens.
    """

    due_ns: int
    before: Outcomes = ()


class AckReceived(Word):
    """A fitting acknowledgement arrived: RefToMessageId and the peer's identity match (R-20).

    `detail` is what it said beyond that, for the journal: its status, or that it rode on the
    business response. Such a response and a delivery receipt are the To Party's own word; an
    acknowledgement may be that of an intermediary.
    """

    detail: str | None = None
    is_from_to_party: bool = False


class PongReceived(Word):
    """The partner answered the Ping that goes before the message (level 2)."""

    is_available: bool


class CancelConfirmed(Word):
    """The receiver holds a durable tombstone: the message will never be processed (R-08)."""


class Requeued(Word):
    """By rule or by an operator, a message that had been given up waits for its turn again."""

    reason: str


class ErrorReceived(Word):
    """The peer answered with an error about the message."""

    code: ErrorCode
    severity: Severity
    min_retry_s: int | None = None
    description: str = ""


class TimePassed(Word):
    """The wall clock moved; TimeToLive and its fence may have been crossed."""

    before: Outcomes = ()


class Held(Word):
    """The pair was suspended while the message was on its way; it must be silent (I27)."""


class Resumed(Word):
    """The operator resumed the pair; the message starts anew with a full budget (R-07)."""

    size_bytes: int = 0
    """Of the payloads, as in `Admitted`."""


class Restarted(Word):
    """The gateway came up and found the message on its way."""


class Cancelled(Word):
    """The application or an operator takes the message back."""


class Parked(Word):
    """A bug of ours met the message on its way out; it is set aside, and all else goes on (R-43).

    `bytes_left` is False only when surely no byte of the copy that met it left us.
    `sequence_number` is what the pair had given, where the message has not taken it yet.
    """

    reason: str
    bytes_left: bool
    sequence_number: int | None = None


SendingEvent = (
    Admitted
    | Transmitted
    | DeadlineReached
    | AckReceived
    | ErrorReceived
    | TimePassed
    | Held
    | Resumed
    | Restarted
    | Cancelled
    | PongReceived
    | CancelConfirmed
    | Requeued
    | Parked
)
