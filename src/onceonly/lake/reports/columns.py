"""Columns: what every report asks of a judged lifecycle, defined once.

Native expressions only; none of them reads, writes, counts, or asks for the time. Durations are
microseconds.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import US_PER_S, is_true
from onceonly.lake.verdicts import is_taken_up, stands_settled

_HOUR_US: Final = 3_600 * US_PER_S
_DAY_US: Final = 24 * _HOUR_US
AGE_CLASSES: Final = (
    (60 * US_PER_S, "under 1 min"),
    (_HOUR_US, "1 min to 1 h"),
    (_DAY_US, "1 h to 1 d"),
    (7 * _DAY_US, "1 d to 7 d"),
    (30 * _DAY_US, "7 d to 30 d"),
)
OLDEST: Final = "over 30 d"
AGES: Final = (*[word for _, word in AGE_CLASSES], OLDEST)
"""The age classes in words, the youngest first."""


def acknowledged() -> Column:
    """When the first acknowledgement came, in time or late."""
    return F.least("acked_at", "late_acked_at")


def ended() -> Column:
    """When the sender came to its first verdict, whatever it was; null while it has none.

    What was taken up again after it had been given up has none until it has the next.
    """
    first = F.least(
        "acked_at",
        "late_acked_at",
        "failed_at",
        "expired_at",
        "cancelled_at",
        "sent_only_at",
        "exhausted_at",
        "notified_at",
    )
    return F.when(is_settled() | ~is_taken_up(), first)


def is_there(name: str) -> Column:
    """Whether the instant `name` is there, that is: whether it happened."""
    return F.col(name).isNotNull()


def is_acknowledged() -> Column:
    """Whether an acknowledgement came, in time or late."""
    return acknowledged().isNotNull()


def is_final() -> Column:
    """Whether the sender failed, expired or took back the message for good."""
    return F.coalesce("failed_at", "expired_at", "cancelled_at").isNotNull()


def stands_acknowledged() -> Column:
    """Whether the acknowledgement is the last word, in time or late.

    Order is the journal's own: who had acknowledged may doubt or deny the delivery afterwards.
    """
    others = F.coalesce(F.greatest("given_up_seq", "final_seq"), F.lit(0))
    return is_true(F.col("last_acked_seq") > others)


def is_settled() -> Column:
    """Whether the sender is done with it: acknowledged, final, only sent, or settled by a word."""
    return stands_acknowledged() | is_final() | is_there("sent_only_at") | stands_settled()


def is_given_up() -> Column:
    """Whether the sender stopped waiting without knowing, and nobody took the message up again.

    A notice of severity Error knows: no byte ever left.
    """
    is_certain = is_true(F.col("last_error_seq") >= F.col("given_up_seq"))
    return is_there("given_up_seq") & ~is_certain & ~is_taken_up() & ~is_settled()


def turnaround() -> Column:
    """From the first transmission to the acknowledgement; null where the clock was set back."""
    took = acknowledged() - F.col("first_sent_at")
    return F.when(took >= F.lit(0), took)


def of(part: Column, whole: Column) -> Column:
    """The part as a share of the whole; null where there is no whole."""
    return F.when(whole > F.lit(0), part / whole)


def age_class(age_us: Column) -> Column:
    """The age in words of `AGES`."""
    words = [F.when(age_us < F.lit(limit_us), F.lit(word)) for limit_us, word in AGE_CLASSES]
    return F.coalesce(*words, F.when(age_us.isNotNull(), F.lit(OLDEST)))


def utc_day(instant: Column) -> Column:
    """The UTC day of microseconds, whatever the session's time zone is."""
    return F.date_add(F.lit("1970-01-01").cast("date"), F.floor(instant / _DAY_US).cast("int"))


def by_agreement(values: Mapping[str, int | None]) -> Column:
    """What the agreement in `agreement_id` says, null where that is not known."""
    known = {agreement: value for agreement, value in values.items() if value is not None}
    if not known:
        return F.lit(None).cast("bigint")
    pairs = [F.lit(part) for entry in known.items() for part in entry]
    return F.create_map(*pairs)[F.col("agreement_id")].cast("bigint")
