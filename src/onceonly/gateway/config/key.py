"""What one configuration key is, and the ways to say what several keys have in common."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, NamedTuple


class Key(NamedTuple):
    """One key: how to read it, and what its reference entry says."""

    name: str
    parse: Callable[[Any], Any]
    legal: str
    meaning: str
    default: Any = None
    is_required: bool = False
    default_text: str = "none"
    unit: str = "–"  # noqa: RUF001 - because a table's empty cell is an en dash
    section: str = ""
    """Where the parameter comes from: a section of a seed, a ruling, or ours."""
    is_secret: bool = False
    """Its value may also be in a file or in the environment (`secrets`)."""


def table_of(*keys: Key) -> dict[str, Key]:
    """The keys of a table by name."""
    return {key.name: key for key in keys}


def listed(words: Iterable[StrEnum]) -> str:
    """The words, as legal values."""
    return ", ".join(word.value for word in words)


DURATION = "an ISO 8601 duration such as P30D"
FLAG = "true, false"
PARTIES = 'a list of PartyIds: URIs, or {id = "…", type = "…"}'
ENDPOINT = (
    "an http or https URI, smtp:mailbox@domain (or smtps:), or "
    "amqp://host:port/vhost?exchange=X&routing_key=Y (or amqps:)"
)
