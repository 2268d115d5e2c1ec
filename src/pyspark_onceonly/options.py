"""The options of `format("onceonly")`, each read once, with a refusal that names it.

Spark hands over every option as a text and knows no case in their names.
"""

from collections.abc import Mapping
from typing import NamedTuple

from onceonly.client import Client

PATIENCE_S = 120.0
"""How long a gateway that does not answer is asked again: longer than its restart takes."""

ROWS_PER_REQUEST = 500
"""Rows staged in one request: one commit of the gateway, some 30 ms of its time."""

ROWS_PER_REQUEST_MAX = 1_000
"""What a gateway takes in one request."""

ROWS_PER_PARTITION = 10_000
"""Rows that one task of a source reads."""

ROWS_PER_BATCH = 100_000
"""Rows of one batch of a stream: admission control."""


class Gateway(NamedTuple):
    """Which gateway, and how long to wait for it."""

    api: str
    token: str | None
    patience_s: float

    def client(self) -> Client:
        """A client to it; a context manager."""
        return Client(self.api, token=self.token)


class Options:
    """The options that a DataFrame was read or written with."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}

    def find(self, name: str) -> str | None:
        """The option, None where it is not given."""
        return self._given.get(name.lower())

    def get(self, name: str, default: str) -> str:
        """The option, or its default."""
        return self._given.get(name.lower(), default)

    def word(self, name: str, *words: str) -> str:
        """One of the words, the first where none is given. Raises `ValueError`."""
        word = self.get(name, words[0])
        if word not in words:
            raise ValueError(f"option {name} is {word!r}; legal: {', '.join(words)}")
        return word

    def whole(self, name: str, default: int, least: int = 0) -> int:
        """A whole number. Raises `ValueError`."""
        text = self.get(name, str(default))
        if not text.isdecimal() or int(text) < least:
            raise ValueError(f"option {name} is {text!r}; legal: a whole number from {least}")
        return int(text)

    def gateway(self) -> Gateway:
        """Raises `ValueError` where no gateway is named."""
        api = self.find("api")
        if api is None:
            raise ValueError("option api is missing: the address of the gateway's API")
        patience_s = float(self.whole("patience_s", int(PATIENCE_S)))
        return Gateway(api, self.find("token"), patience_s)
