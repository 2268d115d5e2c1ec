"""Instants on the wire: each profile writes its own form, and reads both.

`rm-2000` writes `19991110T102344.000Z` (seed 000 §2.4), `rm-2001` the dateTime of XML Schema. A
zone is always written; a received time without one is UTC (ruling R-42). 24:00:00 is the first
instant of the next day, as in XML Schema (part 2 §3.2.7). A leap second is refused: XML Schema has
no second 60, and if it were read as the next second, one instant would have two names.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.instant import US_PER_S, from_datetime, to_datetime
from onceonly.message.printable import quoted

_FORM = re.compile(
    r"([0-9]{4})(?:"
    r"([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})"
    r"|-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2}))"
    r"(?:[.,]([0-9]+))?(?:Z|([+-])(0[0-9]|1[0-4]):?([0-5][0-9]))?"
)
_MILLISECONDS = re.compile(r"[0-9]{3}Z")
_WRITTEN_MILLISECONDS: Final = tuple(f".{ms:03}Z" for ms in range(1000))
_SECOND_LENGTHS = (len("19991110T102344"), len("1999-11-10T10:23:44"))
"""A text of one of these lengths has no zone: a zone would make it longer."""
US_PER_MS: Final = 1000
_US_PER_DAY = 24 * 60 * 60 * US_PER_S
EARLIEST_AT: Final = from_datetime(datetime(1, 1, 1, tzinfo=UTC))
LATEST_AT: Final = from_datetime(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))


def cut_to_milliseconds(at: int) -> int:
    """The instant that a reader gets if `at` was written, in either form."""
    return at - at % US_PER_MS


def write_timestamp(at: int) -> str:
    """`at` in the compact form, cut to milliseconds."""
    second, us = divmod(at, US_PER_S)
    return _write_second(second) + _WRITTEN_MILLISECONDS[us // 1000]


def write_extended_timestamp(at: int) -> str:
    """`at` in the extended form, cut to milliseconds; zero milliseconds are left out."""
    second, us = divmod(at, US_PER_S)
    return _write_extended_second(second) + (
        _WRITTEN_MILLISECONDS[us // 1000] if us >= 1000 else "Z"
    )


@lru_cache(16)
def _write_extended_second(second: int) -> str:
    return to_datetime(second * US_PER_S).isoformat()[:19]


@lru_cache(16)
def _write_second(second: int) -> str:
    """Cached for a few seconds: a busy gateway writes a thousand timestamps in each."""
    extended = to_datetime(second * US_PER_S).isoformat()
    return f"{extended[:4]}{extended[5:7]}{extended[8:13]}{extended[14:16]}{extended[17:19]}"


def read_timestamp(text: str, name: str = "Timestamp") -> int:
    """The instant that `text` names, in microseconds; finer digits are cut off.

    `name` is that of the element or attribute. Raises `RemoteError` (ValueNotRecognized) for
    anything that is no instant of the years 1 to 9999 (attack X15).
    """
    second, _, fraction = text.partition(".")
    if len(second) in _SECOND_LENGTHS and _MILLISECONDS.fullmatch(fraction) is not None:
        at = _find_second(second)
        if at is not None:
            return at + int(fraction[:3]) * US_PER_MS
    return _read_any(text, name)


@lru_cache(16)
def _find_second(text: str) -> int | None:
    """The instant of a time without fraction and zone, cached like `_write_second`.

    None for an illegal time, and for 24:00:00, after which only a fraction of zero is legal.
    """
    found = _FORM.fullmatch(text)
    if found is None or found[12] is not None or "24" in (found[4], found[9]):
        return None
    try:
        return _read_any(text, "Timestamp")
    except RemoteError:
        return None


def _read_any(text: str, name: str) -> int:
    """The result of `read_timestamp` for any form."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise _unreadable(text, name)
    year, *compact_and_extended = found.groups()[:11]
    month, day, hour, minute, second = map(int, filter(None, compact_and_extended))
    fraction_us = int((found[12] or "0")[:6].ljust(6, "0"))
    is_end_of_day = hour == 24 and not minute and not second and not (found[12] or "").strip("0")
    try:
        moment = datetime(
            int(year), month, day, 0 if is_end_of_day else hour, minute, second, tzinfo=UTC
        )
    except ValueError as error:
        raise _unreadable(text, name) from error
    at = from_datetime(moment) + fraction_us + (_US_PER_DAY if is_end_of_day else 0)
    if found[13] is not None:
        offset_us = (int(found[14]) * 60 + int(found[15])) * 60 * US_PER_S
        at = at - offset_us if found[13] == "+" else at + offset_us
    if not EARLIEST_AT <= at <= LATEST_AT:
        raise _unreadable(text, name)
    return at


def _unreadable(text: str, name: str) -> RemoteError:
    return RemoteError(
        ErrorCode.VALUE_NOT_RECOGNIZED,
        f"{name} {quoted(text)} is no instant of the years 1 to 9999; expected is a time such as"
        " 2001-02-15T11:12:12Z or 20010215T111212.000Z, without a leap second",
    )
