"""The one line by which messages are found: `state:in_doubt to:urn:duns:111111111`.

A term is `key:value`, with quotes around a value that has blanks; a word without a key is a
MessageId, or how one begins. Knows the keys that it is given, and no page.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

from onceonly.message.printable import quoted
from onceonly.message.word import Word, field

LENGTH_MAX: Final = 2_000
"""Longest line: a few terms, each with the longest identifier."""

_TERM: Final = re.compile(
    r"""\s*(?:(?P<key>[a-z_]+):)?(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s"]+))(?=\s|$)"""
)
_ESCAPE: Final = re.compile(r"\\(.)")


class LineError(Exception):
    """The line cannot be read; the text says why, and what would be right."""


class QueryLine(Word, kw_only=True):
    """What a line asks for: its terms, and a MessageId."""

    terms: Mapping[str, str] = field(default_factory=dict)
    message_id: str | None = None

    @property
    def text(self) -> str:
        """The line that asks for the same."""
        words = [f"{key}:{_written(value)}" for key, value in self.terms.items()]
        if self.message_id is not None:
            words.append(_written(self.message_id, is_bare=True))
        return " ".join(words)

    def with_term(self, key: str, value: str | None) -> "QueryLine":
        """The line with another value of this key; None takes the term away."""
        terms = {name: term for name, term in self.terms.items() if name != key}
        if value is not None:
            terms[key] = value
        return QueryLine(terms=terms, message_id=self.message_id)


def read_line(text: str, keys: Collection[str]) -> QueryLine:
    """The line, with each key once. Raises `LineError`."""
    if len(text) > LENGTH_MAX:
        raise LineError(f"a query has {LENGTH_MAX} characters at most")
    terms: dict[str, str] = {}
    message_id: str | None = None
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TERM.match(text, at, end)
        if found is None:
            rest = quoted(text[at:end].strip())
            raise LineError(f'no term begins at {rest}: write key:value, or key:"a value"')
        at = found.end()
        key, value = found["key"], _value(found)
        if key is None or (key == "urn" and key not in keys):
            # A PartyId or a MessageId may itself begin like a key.
            message_id = _only_one(message_id, value if key is None else f"{key}:{value}")
        elif key not in keys:
            raise LineError(f"{quoted(key)} is no key; the keys are {', '.join(keys)}")
        elif key in terms:
            raise LineError(f"{key}: may be given once")
        else:
            terms[key] = value
    return QueryLine(terms=terms, message_id=message_id)


def _only_one(before: str | None, value: str) -> str:
    if before is not None:
        raise LineError(f"one MessageId at a time: {quoted(before)} or {quoted(value)}")
    return value


def _value(found: re.Match[str]) -> str:
    if found["quoted"] is None:
        return found["plain"]
    return _ESCAPE.sub(r"\1", found["quoted"])


def _written(value: str, *, is_bare: bool = False) -> str:
    """A value as a line has it: in quotes where it would be read otherwise."""
    is_plain = value and not re.search(r'[\s"\\]', value)
    if is_plain and not (is_bare and re.match("[a-z_]+:", value)):
        return value
    escaped = re.sub(r'(["\\])', r"\\\1", value)
    return f'"{escaped}"'
