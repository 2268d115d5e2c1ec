"""Values as people read them: counts, spans of time, sizes, shares, instants; all instants UTC."""

from datetime import UTC, date, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SPANS: Final = (
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("µs", 1),
)
_SIZES: Final = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_NARROW: Final = "\u202f"
UNKNOWN: Final = "\N{EN DASH}"
"""Stands where there is nothing to be said."""
NAME_SHORT: Final = 26
"""Characters of a PartyId in a picture."""


def count(value: float) -> str:
    """A whole number with narrow spaces between its thousands."""
    return f"{value:,.0f}".replace(",", _NARROW)


def counted(value: int, noun: str) -> str:
    """So many of the noun: `1 message`, `3 messages`."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def span(length_us: float) -> str:
    """A length of time, in three digits and the unit that fits."""
    sign, size_us = ("-" if length_us < 0 else ""), abs(length_us)
    for unit, unit_us in _SPANS:
        # A hair below the unit would be rounded up to a thousand of the next one.
        if size_us >= unit_us * 0.9995:
            return f"{sign}{_digits(size_us / unit_us)}{_NARROW}{unit}"
    return "0"


def size(size_bytes: float) -> str:
    """A size, in three digits."""
    for unit, unit_bytes in _SIZES:
        if size_bytes >= unit_bytes:
            return f"{_digits(size_bytes / unit_bytes)}{_NARROW}{unit}"
    return f"{size_bytes:.0f}{_NARROW}B"


def share(part: float) -> str:
    """A share in per cent; what is not all is never written as 100, nor some as 0."""
    shown = f"{100 * part:.2f}".rstrip("0").rstrip(".")
    if part < 1 and shown == "100":
        return f">{_NARROW}99.99{_NARROW}%"
    if part > 0 and shown == "0":
        return f"<{_NARROW}0.01{_NARROW}%"
    return f"{shown}{_NARROW}%"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def moment(at: int) -> datetime:
    """The instant of microseconds since 1970, UTC; years that no calendar has are its ends."""
    try:
        return _EPOCH + timedelta(microseconds=at)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC) if at > 0 else datetime.min.replace(tzinfo=UTC)


def instant(at: int) -> str:
    """An instant, UTC, to the second."""
    return moment(at).strftime("%Y-%m-%d %H:%M:%S")


def day(of: date) -> str:
    """A day."""
    return of.isoformat()
