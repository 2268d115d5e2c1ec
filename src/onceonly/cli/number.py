"""Numbers with a fraction on the command line: hours, seconds, shares."""

import math
from collections.abc import Callable
from typing import Any, Final

import click

NUMBER_MAX: Final = 10**9
"""The greatest: so many hours in microseconds still fit in 64 bits, and so many seconds can still
be waited for."""


class FiniteNumber(click.FloatRange):
    """A number that can be counted with, of the range that is given.

    Click's own types take `nan`, which is in each range, since it is neither below nor above
    anything; and `inf`, which ends in an error of arithmetic, or never.
    """

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Fails where it is none, or none of the range."""
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found) or abs(found) > NUMBER_MAX:
            self.fail(f"{value!r} is no number up to {NUMBER_MAX:,}.", param, ctx)
        return found


def seconds_option(name: str, *, default: float, words: str) -> Callable[[Any], Any]:
    """An option for so many seconds, or none."""
    kind = FiniteNumber(min=0)
    return click.option(name, type=kind, default=default, show_default=True, help=words)
