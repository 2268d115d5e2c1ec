"""The state of one outbound message: its status, its exposure, and why nothing is sent.

`sending` changes it; `verdict` ends it. Knows the words, and not the transitions between them. Seed
000 §2.1.3 and §2.1.4.
"""

from enum import StrEnum

from onceonly.message.errors import ErrorCode
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import Effect, Release


class OutboundStatus(StrEnum):
    """The status of an outbound message; all but the first three are final."""

    QUEUED = "queued"
    SENDING = "sending"
    IN_DOUBT = "in_doubt"
    """Presumed undelivered, which is not certain (seed 004 level 1 (3))."""
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    """Taken back: no byte ever left, or the receiver confirmed that it will never process it."""
    SENT = "sent"
    """The transport has it, and no more was agreed: BestEffort, or method Transport."""
    SETTLED_DELIVERED = "settled_delivered"
    """It was in doubt, and a person who asked the partner says that it was delivered (R-49)."""
    SETTLED_NOT_DELIVERED = "settled_not_delivered"
    """It was in doubt, and a person says that it was not delivered (R-49)."""

    @property
    def is_final(self) -> bool:
        """Whether only a word of the partner can change it."""
        return self in FINAL


FINAL = frozenset(
    {
        OutboundStatus.ACKNOWLEDGED,
        OutboundStatus.FAILED,
        OutboundStatus.EXPIRED,
        OutboundStatus.CANCELLED,
        OutboundStatus.SENT,
        OutboundStatus.SETTLED_DELIVERED,
        OutboundStatus.SETTLED_NOT_DELIVERED,
    }
)

SETTLED = frozenset({OutboundStatus.SETTLED_DELIVERED, OutboundStatus.SETTLED_NOT_DELIVERED})
"""A person's word ended the doubt. It is no fact: a word of the partner still counts (R-49)."""

UNDELIVERED = frozenset({OutboundStatus.FAILED, OutboundStatus.EXPIRED, OutboundStatus.CANCELLED})
"""The ends that the gateway itself found."""

NOT_DELIVERED = UNDELIVERED | {OutboundStatus.SETTLED_NOT_DELIVERED}
"""After the application was told one of these, no copy is sent any more (I26)."""


class Exposure(StrEnum):
    """Whether a byte of some copy may have left us."""

    NEVER = "never"
    OPEN = "open"
    """One transmission was begun; a byte may have left, unless its outcome says that none did."""
    LEFT = "left"
    """Several transmissions were begun, or the peer has said something about the message."""


class Silence(StrEnum):
    """Why nothing is sent although no response is awaited."""

    NONE = "none"
    PAUSED = "paused"
    """The peer or the transport cannot take it now; the resend after the pause is not counted
    (R-15)."""
    HELD = "held"
    """The pair is suspended; nothing is sent until it is resumed (I27)."""
    PINGING = "pinging"
    """The partner is asked first whether it takes messages (level 2)."""


class Outbound(Word):
    """The state of one outbound message. All of it is durable except `due_ns`."""

    status: OutboundStatus = OutboundStatus.QUEUED
    attempt: int = 0
    """Transmissions since the message was admitted or the pair resumed."""
    episode: int = 0
    """How often the message was started again, or given up after its end; one notice for each."""
    exposure: Exposure = Exposure.NEVER
    sequence_number: int | None = None
    expires_at: int | None = None
    transients: int = 0
    """Pauses that TransientErrors asked for since the last counted transmission; for ExactlyOnce
    since the message was admitted."""
    silence: Silence = Silence.NONE
    pings: int = 0
    """Pings without a good answer since the message was admitted (level 2)."""
    error_code: ErrorCode | None = None
    """Why the message is not delivered; for an acknowledged one, why the partner could not process
    it (R-39)."""
    has_arrived: bool = False
    """The To Party itself said that it has the message: by a delivery receipt (seed 001 §2.1.1.2)
    or a business response. A later doubt of an intermediary does not change that."""
    is_certain: bool = False
    """It is certain that the message was not delivered and never will be, so its content may be
    sent as a new message (R-41)."""
    due_ns: int | None = None
    """Monotonic deadline; meaningless after a restart, which sends `Restarted` instead."""


class IllegalStep(AssertionError):  # noqa: N818 - because it names our bug, not an error to handle
    """An event that the state does not allow: a bug of ours, never the peer's fault."""


Effects = tuple[Effect, ...]
Step = tuple[Outbound, Effects]


def sent_beside(state: Outbound) -> Outbound | None:
    """The state after a copy is sent that the machine did not begin, as on a partner's request.

    None if the copy must not be sent.
    """
    if state.status in NOT_DELIVERED:
        return None
    is_over = state.status in FINAL and state.status not in SETTLED
    return state if is_over else changed(state, exposure=Exposure.LEFT)


def release(state: Outbound, *, abandoned: bool) -> Release:
    """The effect that gives the turn back to the pair."""
    return Release(abandoned, is_numbered=state.sequence_number is not None)
