"""Text of partners in log lines for people: it must not control a terminal (attack X16).

Lines of JSON escape it anyway.
"""

import logging
from collections.abc import MutableMapping
from typing import Any

from onceonly.message.printable import printable, printable_lines

LINES = frozenset({"exception", "stack"})
"""Values of an event that are our tracebacks; their last line may be text of a partner."""


def visible(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """A processor of structlog: makes every text of the event safe to show."""
    return {name: _shown(name, value) for name, value in event.items()}


def _shown(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return printable_lines(value) if name in LINES else printable(value)


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable_lines(super().format(record))


def show_others() -> None:
    """Do the same for messages of libraries on stderr (uvicorn, asyncio), terminal or not."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Lines())
