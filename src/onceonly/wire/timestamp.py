"""Instants as the profiles write them, and both forms read, whichever profile.

`rm-2000` writes `19991110T102344.000Z` (seed 000 §2.4), `rm-2001` the dateTime of XML Schema. A
zone is always there: a time without one is no instant.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.instant import US_PER_S, from_datetime, to_datetime

_FORM = re.compile(
    r"([0-9]{4})(?:"
    r"([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})"
    r"|-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2}))"
    r"(?:[.,]([0-9]{1,9}))?(?:Z|([+-])(0[0-9]|1[0-4]):?([0-5][0-9]))"
)
EARLIEST_AT: Final = from_datetime(datetime(1, 1, 1, tzinfo=UTC))
LATEST_AT: Final = from_datetime(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))


def write_timestamp(at: int) -> str:
    """`at` in the compact form, cut to milliseconds."""
    second, us = divmod(at, US_PER_S)
    return f"{_write_second(second)}.{us // 1000:03}Z"


def write_extended_timestamp(at: int) -> str:
    """`at` in the extended form, cut to milliseconds, which are left out where there are none."""
    second, us = divmod(at, US_PER_S)
    fraction = f".{us // 1000:03}" if us >= 1000 else ""
    return f"{_write_extended_second(second)}{fraction}Z"


@lru_cache(16)
def _write_extended_second(second: int) -> str:
    return to_datetime(second * US_PER_S).isoformat()[:19]


@lru_cache(16)
def _write_second(second: int) -> str:
    """Kept for a few seconds: a busy gateway writes a thousand timestamps in each."""
    extended = to_datetime(second * US_PER_S).isoformat()
    return f"{extended[:4]}{extended[5:7]}{extended[8:13]}{extended[14:16]}{extended[17:19]}"


def read_timestamp(text: str) -> int:
    """The instant that `text` names, in microseconds; finer digits are cut off.

    Raises `RemoteError` (ValueNotRecognized) for anything that is no instant of the years 1 to
    9999: no zone, 24:00, a leap second, year 0 (attack X15).
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise _unreadable()
    year, *compact_and_extended = found.groups()[:11]
    month, day, hour, minute, second = filter(None, compact_and_extended)
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC
        )
    except ValueError as error:
        raise _unreadable() from error
    at = from_datetime(moment) + int((found[12] or "0").ljust(6, "0")[:6])
    if found[13] is not None:
        at = _without_offset(at, found)
    return at


def _without_offset(at: int, found: re.Match[str]) -> int:
    offset_us = (int(found[14]) * 60 + int(found[15])) * 60 * US_PER_S
    at = at - offset_us if found[13] == "+" else at + offset_us
    if not EARLIEST_AT <= at <= LATEST_AT:
        raise _unreadable()
    return at


def _unreadable() -> RemoteError:
    return RemoteError(ErrorCode.VALUE_NOT_RECOGNIZED, "a Timestamp is not an instant with a zone")
