"""What can happen to a message or a pair: past tense, frozen, complete.

The shell makes these from arrivals, answers, timers and operators and hands them to `step`.
"""

from enum import StrEnum

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.word import Word


class Outcome(StrEnum):
    """What a transport knows after a transmission. `UNKNOWN` is not a failure (ruling R-05)."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Transmission(Word):
    """How one transmission ended. `bytes_left` is False only if it is certain that no byte left."""

    outcome: Outcome
    bytes_left: bool
    status_code: int | None = None
    detail: str = ""
    retry_after_s: int | None = None
    """So many seconds the peer wants to be left alone, from now on."""

    @property
    def words(self) -> str:
        """The outcome for people: `refused, 404 Not Found`, `unknown, no answer in time`."""
        status = "" if self.status_code is None else str(self.status_code)
        # The phrase is written after a status of HTTP, but not after the name that an MSH gives.
        is_there = self.detail.startswith(status)
        told = self.detail if is_there else f"{status} {self.detail}".rstrip()
        return f"{self.outcome}, {told}" if told else self.outcome.value

    @property
    def is_lasting(self) -> bool:
        """Whether the peer was reached, and would refuse the same again."""
        return self.outcome is Outcome.REFUSED and self.status_code not in _COME_AGAIN


_COME_AGAIN = frozenset({None, 408, 429, 503, 507})
"""Statuses after which the next transmission may be accepted: no status, too slow, too many, busy,
disk full."""


Outcomes = tuple[Transmission, ...]
"""How the transmissions of a message, or the Pings before it, ended, the latest first. They are not
part of the state, since every transmission would then have to write it."""


class Admitted(Word):
    """The pair gave the message its turn, and a SequenceNumber if the pair has numbers."""

    sequence_number: int | None
    size_bytes: int = 0
    """Size of the payloads: before a large message a Ping may be sent (level 2)."""


class Transmitted(Word):
    """The transmission numbered `attempt` ended."""

    attempt: int
    transmission: Transmission
    before: Outcomes = ()
    """The earlier outcomes; only given if the transmission `is_lasting`."""


class DeadlineReached(Word):
    """The monotonic deadline `due_ns`, which the state once asked for, has come.

    It may come late, after the step that ended the wait. Then the state waits for another deadline,
    or for none, and nothing happens.
    """

    due_ns: int
    before: Outcomes = ()


class AckReceived(Word):
    """A fitting acknowledgement arrived: RefToMessageId and the peer's identity match (R-20).

    `detail` is what else it said, for the journal: its status, or that a business response carried
    it. A business response and a delivery receipt come from the To Party itself; an acknowledgement
    may come from an intermediary.
    """

    detail: str | None = None
    is_from_to_party: bool = False
    is_of_hop: bool = False
    """The next MSH alone has it, and the To Party was asked, too (`ebms-2.0`): only a message that
    is under way hears of it."""


class PongReceived(Word):
    """The partner answered the Ping that was sent before the message (level 2)."""

    is_available: bool
    cannot_be_asked: bool = False
    """It has no Ping (`ebms-2.0`): what was to be asked is taken for granted."""


CANNOT_BE_ASKED = "the partner answers, and cannot be asked"


class CancelConfirmed(Word):
    """The receiver holds a durable tombstone: the message will never be processed (R-08)."""


class Requeued(Word):
    """A message that had been given up waits for its turn again, by rule or by an operator."""

    reason: str


class ErrorReceived(Word):
    """The peer answered with an error about the message."""

    code: ErrorCode
    severity: Severity
    min_retry_s: int | None = None
    description: str = ""
    is_fault: bool = False
    """A SOAP Fault in the answer to the transmission said it, perhaps by somebody on the way."""


class TimePassed(Word):
    """Time has passed on the wall clock; the message may be past TimeToLive or the fence."""

    before: Outcomes = ()


class Held(Word):
    """The pair was suspended while the message was under way; it must not be sent (I27)."""


class Resumed(Word):
    """The operator resumed the pair; the message starts again with all its retries (R-07)."""

    size_bytes: int = 0
    """Size of the payloads, as in `Admitted`."""


class Restarted(Word):
    """The gateway was started and found the message under way."""


class Cancelled(Word):
    """The application or an operator takes the message back."""


class Parked(Word):
    """A bug of ours met the message while it was sent; it is set aside, all else goes on (R-43).

    `bytes_left` is False only if it is certain that no byte of this copy left. `sequence_number` is
    the number from the pair, if the message has not taken it yet.
    """

    reason: str
    bytes_left: bool
    sequence_number: int | None = None


class Settlement(StrEnum):
    """What a person says became of a message in doubt."""

    DELIVERED = "delivered"
    NOT_DELIVERED = "not-delivered"


class Settled(Word):
    """A person asked the partner by other means, and settles the doubt with a word (R-49).

    `actor` says who, if that is known; `reason` is his.
    """

    word: Settlement
    reason: str
    actor: str | None = None


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
    | Settled
)
