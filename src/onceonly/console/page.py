"""What a page is made of, before it is rendered, and what it is made from."""

import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from onceonly.console.calls import Calls
from onceonly.message.printable import printable
from onceonly.message.word import Word, field

ROWS: Final = 50
"""Rows of one page of a list: more than a screen has, and few enough to be read."""


class Shown(Word, kw_only=True):
    """One page: its template, and the values that it shows."""

    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    twin: str | None = None
    """Address of the same in JSON."""
    command: str | None = None
    """The command that shows the same."""
    status: int = 200
    is_live: bool = False
    """Whether the page keeps itself up to date where there is a script."""


class Visit(Word, kw_only=True):
    """One request for a page: who asks for what."""

    calls: Calls
    query: Mapping[str, str]
    now: datetime

    def get(self, name: str) -> str | None:
        """A value of the query; None if it is missing or empty."""
        return self.query.get(name) or None

    def number(self, name: str, default: int = 0) -> int:
        """A number of the query, or the default for everything that is none."""
        text = self.query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else default


def command(*words: str) -> str:
    """A command as a shell takes it, whatever a partner named something."""
    return " ".join(shlex.quote(printable(word)) for word in words)


class Elsewhere(Exception):  # noqa: N818 - because it is an answer, and no fault
    """The page is another one: `url` is its address."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url
