"""Instants on the command line: `2h` ago, or a day, or an instant as answers have it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO: Final = re.compile(r"([0-9]{1,6})([smhdw])")
LEGAL: Final = "2h, 30m, 7d, 2026-11-25, 2026-11-25T08:00 or 2026-11-25T08:00:00Z"


class When(click.ParamType[str]):
    """An instant as the API reads it. What has no zone is meant in UTC."""

    name = "when"

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Fails where it is neither."""
        try:
            ago = _AGO.fullmatch(value)
            moment = _of_text(value) if ago is None else self._now() - _span(*ago.groups())
            return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not an instant, such as {LEGAL}", param, ctx)


def _span(count: str, unit: str) -> timedelta:
    return timedelta(**{_UNITS[unit]: int(count)})


def _of_text(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return zoned.astimezone(UTC)


def time_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--since` and `--until`, of every list."""
    until = click.option("--until", type=When(), help="Only from before then.")
    since = click.option("--since", type=When(), help=f"Only from then on: {LEGAL}.")
    return since(until(command))
