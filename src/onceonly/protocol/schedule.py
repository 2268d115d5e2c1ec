"""When to act again: every wait of the sender is computed here and nowhere else.

Ruling R-06: the first wait is Timeout, every later one RetryInterval, each from the end of the
transmission and on the monotonic clock. Seed 000 §2.5.4 asks for RetryInterval after a transport
error too; R-06 makes that the same single rule.
"""

from onceonly.message.errors import ErrorCode
from onceonly.message.instant import NS_PER_S, US_PER_S, Now
from onceonly.message.message import DeliverySemantics
from onceonly.message.terms import DeliveryTerms


def response_due_ns(attempt: int, now: Now, terms: DeliveryTerms) -> int:
    """Until when to wait for a response to transmission number `attempt`, which ended `now`."""
    wait_s = terms.timeout_s if attempt <= 1 else terms.retry_interval_s
    return now.monotonic_ns + wait_s * NS_PER_S


def put_off_ns(due_ns: int, retry_after_s: int | None, now: Now) -> int:
    """The deadline, or later if the peer asked to be left alone for longer (never earlier)."""
    if retry_after_s is None:
        return due_ns
    return max(due_ns, now.monotonic_ns + retry_after_s * NS_PER_S)


def pause_ends_ns(min_retry_s: int | None, now: Now, terms: DeliveryTerms) -> int:
    """Until when to send nothing after a TransientError (seed 000 §4.2)."""
    wait_s = terms.retry_interval_s if min_retry_s is None else min_retry_s
    return now.monotonic_ns + wait_s * NS_PER_S


def waits_so_far_s(attempt: int, terms: DeliveryTerms) -> int:
    """The sum of the waits after `attempt` transmissions without a response."""
    return terms.timeout_s + (attempt - 1) * terms.retry_interval_s


def time_to_live_at(timestamp_at: int, terms: DeliveryTerms) -> int | None:
    """When the message is past its agreed TimeToLive, or None if it never is."""
    if terms.time_to_live_s is None:
        return None
    return timestamp_at + terms.time_to_live_s * US_PER_S


def expires_at(timestamp_at: int, terms: DeliveryTerms) -> int | None:
    """After which instant the sender must not send the message any more, or None if it always may.

    It is the end of TimeToLive or PersistDuration, whichever is earlier: receivers refuse what is
    older (S1-18 to S1-20). ExactlyOnce never expires (R-17).
    """
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return None
    lives_s = terms.persist_duration_s
    if terms.time_to_live_s is not None:
        lives_s = min(lives_s, terms.time_to_live_s)
    return timestamp_at + lives_s * US_PER_S


def expiry(terms: DeliveryTerms) -> tuple[ErrorCode, str]:
    """Code and name of the duration that ends first (S1-20, S4-10)."""
    if terms.time_to_live_s is None or terms.time_to_live_s > terms.persist_duration_s:
        return ErrorCode.DELIVERY_FAILURE, "PersistDuration"
    return ErrorCode.TIME_TO_LIVE_EXPIRED, "TimeToLive"


def is_past(instant_at: int | None, now: Now) -> bool:
    """Whether the wall clock is past `instant_at`; False for None."""
    return instant_at is not None and now.at > instant_at


def is_refused_for_age(expiry_at: int | None, now: Now, terms: DeliveryTerms) -> bool:
    """Whether a receiver refuses an unseen copy: its own clock may be off by mshTimeAccuracy."""
    accuracy_us = terms.msh_time_accuracy_s * US_PER_S
    return expiry_at is not None and now.at > expiry_at + accuracy_us


def is_ahead(timestamp_at: int, now: Now, terms: DeliveryTerms) -> bool:
    """Whether a Timestamp is too far in the future (R-19).

    An id is kept until its message would be refused for its age, so that of a message from the year
    2038 would be kept until then. Ids of ExactlyOnce are kept for ever anyway (R-17).
    """
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return False
    return timestamp_at - now.at > ahead_max_s(terms) * US_PER_S


def ahead_max_s(terms: DeliveryTerms) -> int:
    """How far ahead of our clock a Timestamp may be."""
    return terms.timestamp_ahead_max_s + terms.msh_time_accuracy_s


def is_past_fence(expiry_at: int | None, now: Now, terms: DeliveryTerms) -> bool:
    """Whether no receiver with a clock as agreed can still store the message (R-08, I26).

    The accuracy counts twice: a receiver allows for it, and its clock may be slow by as much.
    """
    accuracy_us = terms.msh_time_accuracy_s * US_PER_S
    return expiry_at is not None and now.at > expiry_at + 2 * accuracy_us


def may_be_forgotten(timestamp_at: int, now: Now, terms: DeliveryTerms) -> bool:
    """Whether a receiver that does not know our message may have had it (S1-18, R-19).

    It remembers for PersistDuration and twice the accuracy (`forgettable_at`). One accuracy is left
    out here, for clocks that were set meanwhile.
    """
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return False
    remembers_s = terms.persist_duration_s + terms.msh_time_accuracy_s
    return now.at > timestamp_at + remembers_s * US_PER_S


def forgettable_at(timestamp_at: int, now: Now, terms: DeliveryTerms) -> int | None:
    """After when the id of a message received `now` may be forgotten (R-19); None: never (R-17).

    After that every copy is refused for its age. PersistDuration also counts from the receipt
    (S1-18), since the peer's Timestamp does not say how long we have kept the message. The accuracy
    counts twice: once in the refusal itself, and once for our own clock, which may be set back
    after a purge.
    """
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return None
    keeps_s = terms.persist_duration_s + 2 * terms.msh_time_accuracy_s
    return max(timestamp_at, now.at) + keeps_s * US_PER_S
