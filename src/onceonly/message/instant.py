"""Time as the core sees it: an argument.

An instant is an `int` of microseconds since 1970-01-01T00:00:00Z (its name ends in `_at`).
Waiting is measured on the monotonic clock in nanoseconds (names end in `_ns`), because the wall
clock may jump (ruling R-06, invariant I40).
"""

from datetime import UTC, datetime, timedelta

from onceonly.message.word import Word

US_PER_S = 1_000_000
NS_PER_S = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


class Now(Word):
    """Both clocks, read together by the shell and handed to `step`."""

    at: int
    """Wall clock, microseconds UTC."""
    monotonic_ns: int


def to_datetime(at: int) -> datetime:
    """The instant as an aware `datetime` in UTC, to the microsecond.

    Instants outside the years that `datetime` knows, as a TimeToLive in the year 9999 and some
    days, give its first or last instant.
    """
    try:
        return _EPOCH + timedelta(microseconds=at)
    except OverflowError:
        return _LAST if at > 0 else _FIRST


def from_datetime(moment: datetime) -> int:
    """The aware `moment` as an instant. Raises `ValueError` if it is naive."""
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone is not an instant")
    return (moment - _EPOCH) // timedelta(microseconds=1)
