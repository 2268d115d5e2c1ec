"""The options of `format("onceonly")`, each read once, with a refusal that names it.

Spark hands over every option as a text and knows no case in their names.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from socket import gethostname
from typing import NamedTuple

from onceonly.client import Client, client_tls

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


OF_TLS = ("ca", "client_certificate", "client_key")
"""Options that name PEM files on the driver and on every executor."""

_OF_SPARK = frozenset(
    {
        "path",
        "paths",
        "checkpointlocation",
        "queryname",
        "asyncprogresstrackingenabled",
        "asyncprogresstrackingcheckpointintervalms",
        "_asyncprogresstrackingoverridesinksupportcheck",
    }
)
"""Options that are for Spark, which hands them on all the same."""


class GatewayAddress(NamedTuple):
    """Which gateway, and how long to wait for it."""

    api: str
    token: str | None = None
    patience_s: float = PATIENCE_S
    ca: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None

    def client(self) -> Client:
        """A client to it; a context manager.

        Its files are those of the machine where it is made: the driver's, or an executor's. Raises
        `ValueError` for one that cannot be used there.
        """
        if not self.api.startswith("https:"):
            return Client(self.api, token=self.token)
        try:
            tls = client_tls(
                ca=self.ca, client_certificate=self.client_certificate, client_key=self.client_key
            )
        except OSError as error:
            named = {name: getattr(self, name) for name in OF_TLS}
            files = ", ".join(f"{name} {file}" for name, file in named.items() if file)
            text = f"on the machine {gethostname()} this cannot be used: {files}: {error}"
            raise ValueError(text) from error
        return Client(self.api, token=self.token, tls=tls)


class Options:
    """The options that a DataFrame was read or written with."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}

    def check(self, use: str, uses: Mapping[str, frozenset[str]]) -> None:
        """Raises `ValueError` for an option that this one of the uses does not know."""
        known = {one: {name.lower() for name in names} for one, names in uses.items()}
        for name in sorted(self._given.keys() - known[use] - _OF_SPARK):
            others = [other for other, names in known.items() if name in names]
            if others:
                raise ValueError(f"option {name} is for {' and '.join(others)}, not for {use}")
            [nearest] = get_close_matches(name, sorted(uses[use]), 1, 0.0)
            raise ValueError(f"there is no option {name} for {use}; the nearest is {nearest}")

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

    def whole(self, name: str, default: int, least: int = 0, most: int | None = None) -> int:
        """A whole number. Raises `ValueError`."""
        text = self.get(name, str(default))
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            legal = f"a whole number from {least}" + ("" if most is None else f" to {most}")
            raise ValueError(f"option {name} is {text!r}; legal: {legal}")
        return int(text)

    @property
    def is_case_sensitive(self) -> bool:
        """Whether names of columns that differ only in case are different names.

        It is what the session's `spark.sql.caseSensitive` says, of which Spark tells a Python
        source nothing.
        """
        return self.word("case_sensitive", "false", "true") == "true"

    def find_column(self, name: str, columns: Iterable[str]) -> str | None:
        """The column that Spark means by a name, as it is written there; None where none is.

        Raises `ValueError` where it means several.
        """
        if self.is_case_sensitive:
            return name if name in columns else None
        found = [one for one in columns if one.lower() == name.lower()]
        if len(found) > 1:
            named = ", ".join(found)
            raise ValueError(f"of the columns {named} two differ in case alone: drop or rename one")
        return found[0] if found else None

    def gateway(self) -> GatewayAddress:
        """Raises `ValueError` where no gateway is named."""
        api = self.find("api")
        if api is None:
            raise ValueError("option api is missing: the address of the gateway's API")
        patience_s = float(self.whole("patience_s", int(PATIENCE_S)))
        of_tls = {name: self.find(name) for name in OF_TLS}
        if not api.startswith("https:"):
            for name in (name for name, file in of_tls.items() if file is not None):
                raise ValueError(f"option {name} is for an api that begins with https:")
        if of_tls["client_key"] is not None and of_tls["client_certificate"] is None:
            raise ValueError("option client_key goes with client_certificate, which is missing")
        return GatewayAddress(api, self.find("token"), patience_s, **of_tls)
