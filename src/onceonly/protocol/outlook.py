"""What lies ahead of an outbound message at the present pace, and what is known of its delivery.

Reads the state of the sender's machine, and decides nothing: for people who look at a message. The
waits are those of `schedule` and `transmitting` (R-06, R-15); what an answer of the partner or an
operator changes is not foreseen.
"""

from collections.abc import Callable

from onceonly.message.instant import NS_PER_S
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word
from onceonly.protocol.outbound import Exposure, Outbound, OutboundStatus, Silence


class Outlook(Word, kw_only=True):
    """Instants are microseconds UTC; None for what is not foreseen."""

    attempts_max: int | None
    """Most transmissions; None: as many as fit into the time of the message, or without end."""
    next_attempt_at: int | None
    """When it is sent again, or its partner is asked again, if no answer comes until then."""
    gives_up_at: int | None
    """When the sender gives up, if no answer ever comes."""
    known: str
    """What is known of its delivery, in words."""


def outlook(
    state: Outbound, due_ns: int | None, terms: DeliveryTerms, wall_at: Callable[[int], int]
) -> Outlook:
    """What lies ahead; `due_ns` is the machine's deadline, of the clock that `wall_at` translates.

    The state of a snapshot has no deadline, which only the process knows.
    """
    most = attempts_max(terms)
    due_at = None if due_ns is None else wall_at(due_ns)
    ends_at = None
    if due_ns is not None and most is not None:
        ends_at = wall_at(due_ns + _waits_after_s(state, most, terms) * NS_PER_S)
    return Outlook(
        attempts_max=most,
        next_attempt_at=_next_attempt_at(state, due_at, most),
        gives_up_at=_gives_up_at(state, ends_at),
        known=known(state),
    )


def attempts_max(terms: DeliveryTerms) -> int | None:
    """Most transmissions of a message without an answer; None where no number limits them."""
    if terms.leaves_once:
        return 1
    is_endless = terms.semantics is DeliverySemantics.EXACTLY_ONCE
    is_by_product = terms.method is ReliableMessagingMethod.TRANSPORT
    if is_endless or is_by_product or terms.retries is None:
        return None
    return terms.retries + 1


def _made(state: Outbound) -> int:
    """Transmissions, or Pings before the first of them, that the deadline comes after."""
    if state.silence is Silence.PINGING:
        return state.pings
    # The resend after a pause is the same transmission again: the wait for its answer is ahead.
    return state.attempt - (state.silence is Silence.PAUSED)


def _next_attempt_at(state: Outbound, due_at: int | None, most: int | None) -> int | None:
    if state.status is not OutboundStatus.SENDING or due_at is None:
        return None
    is_last = most is not None and _made(state) >= most
    is_too_late = state.expires_at is not None and due_at > state.expires_at
    return None if is_last or is_too_late else due_at


def _gives_up_at(state: Outbound, ends_at: int | None) -> int | None:
    """The end of the last wait, or of the message's time; never, while an operator is awaited."""
    if state.status is OutboundStatus.QUEUED:
        return state.expires_at
    if state.status is not OutboundStatus.SENDING or state.silence is Silence.HELD:
        return None
    if ends_at is None or state.expires_at is None:
        return state.expires_at if ends_at is None else ends_at
    return min(ends_at, state.expires_at)


def _waits_after_s(state: Outbound, most: int, terms: DeliveryTerms) -> int:
    """The sum of the waits after the present one."""
    made = _made(state)
    first_s = terms.timeout_s - terms.retry_interval_s if made == 0 else 0
    return max(0, most - made) * terms.retry_interval_s + first_s


_OF_ENDS = {
    OutboundStatus.IN_DOUBT: "a copy may have arrived; nobody has said whether it did",
    OutboundStatus.CANCELLED: "it was taken back, and is never processed",
    OutboundStatus.SENT: "the transport has it; no acknowledgement was agreed",
    OutboundStatus.SETTLED_DELIVERED: "an operator says that it was delivered; the partner's"
    " gateway has not said so",
    OutboundStatus.SETTLED_NOT_DELIVERED: "an operator says that it was not delivered; a copy may"
    " have arrived nevertheless",
}


def known(state: Outbound) -> str:
    """What is known of its delivery, in words."""
    status = state.status
    if status in _OF_ENDS:
        return _OF_ENDS[status]
    if status is OutboundStatus.ACKNOWLEDGED:
        whose = "the partner itself" if state.has_arrived else "the partner's gateway"
        return f"{whose} has said that it has it"
    if status in (OutboundStatus.FAILED, OutboundStatus.EXPIRED):
        if state.is_certain:
            return "it certainly was not delivered, and never will be"
        return "it counts as not delivered, but a copy may have arrived"
    waits = "it waits for its turn" if status is OutboundStatus.QUEUED else "it is under way"
    if state.exposure is Exposure.NEVER:
        return f"{waits}; no byte of it has left"
    return f"{waits}; a copy may have arrived, and nobody has said so"
