"""Spans of time and sizes as people read them."""

from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_SIZES: Final = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def moment(instant: str) -> datetime:
    """The API's text of an instant as a `datetime`."""
    return datetime.fromisoformat(instant)


def moment_of(at: int) -> datetime:
    """The instant of microseconds since 1970."""
    return datetime.fromtimestamp(at / 1_000_000, UTC)


def span(seconds: float) -> str:
    """A length of time in its two greatest units: `3 min 5 s`."""
    rest = round(abs(seconds))
    parts: list[str] = []
    for unit, size in _UNITS:
        if rest >= size and len(parts) < 2:
            parts.append(f"{rest // size} {unit}")
            rest %= size
        elif parts:
            break
    return " ".join(parts) or f"{abs(seconds) * 1000:.0f} ms"


def relative(instant: datetime, now: datetime) -> str:
    """How long ago, or in how long."""
    seconds = (now - instant).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{span(seconds)} ago" if seconds > 0 else f"in {span(seconds)}"


def count(value: int) -> Markup:
    """A whole number with narrow spaces between its thousands.

    Markup of ours: in a text of somebody else such a space would be written as its escape.
    """
    return Markup(f"{value:,}".replace(",", "\u202f"))  # noqa: S704 - because it has digits alone


def size(size_bytes: int) -> str:
    """A number of bytes, in the unit that fits."""
    for unit, unit_bytes in _SIZES:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.3g} {unit}"
    return f"{size_bytes} B"
