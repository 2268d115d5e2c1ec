"""Durations of XML Schema as whole seconds (IR-24)."""

import math
import re
from decimal import Decimal
from typing import Final

from onceonly.gateway.cpa.document import CpaError
from onceonly.message.printable import quoted

_FORM: Final = re.compile(
    r"P(?:(?P<years>\d{1,6})Y)?(?:(?P<months>\d{1,6})M)?(?:(?P<W>\d{1,6})W)?(?:(?P<D>\d{1,6})D)?"
    r"(?P<time>T(?:(?P<H>\d{1,6})H)?(?:(?P<M>\d{1,6})M)?(?:(?P<S>\d{1,9}(?:\.\d{1,9})?)S)?)?",
    re.ASCII,
)
_SECONDS: Final = {"W": 604_800, "D": 86_400, "H": 3_600, "M": 60, "S": 1}


def seconds_of(text: str, what: str, line: int) -> int:
    """The seconds of a duration such as `PT5M`, `P2W`, `PT36H` or `PT0.5S`, rounded up.

    Weeks are read, though the schema lacks them. Raises `CpaError` for years and months, whose
    length nobody can say, for a negative duration, and for what is no duration.
    """
    found = _FORM.fullmatch(text)
    parts = {} if found is None else found.groupdict()
    if not any(parts.values()) or parts["time"] == "T":
        raise CpaError(
            f"line {line}: {what} is {quoted(text)}, expected is a duration such as PT5M or P1D"
        )
    if any(int(parts[unit] or 0) for unit in ("years", "months")):
        raise CpaError(
            f"line {line}: {what} is {quoted(text)}: a year or a month has no fixed length; "
            "expected is a duration in days, hours, minutes and seconds"
        )
    return math.ceil(sum(_SECONDS[unit] * Decimal(parts[unit] or 0) for unit in _SECONDS))
