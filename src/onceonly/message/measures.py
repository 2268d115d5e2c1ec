"""Lengths of time and sizes as people read them."""

from typing import Final

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_SIZES: Final = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


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


def size(size_bytes: int) -> str:
    """A number of bytes, in the unit that fits."""
    for unit, unit_bytes in _SIZES:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.3g} {unit}"
    return f"{size_bytes} B"
