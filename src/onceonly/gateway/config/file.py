"""The configuration file as text: its tables with the values of their keys, and their lines.

Knows TOML, and in which line each table and key is, so that a refusal names it. The list of keys
comes from `keys`; which values fit together it does not know.
"""

import re
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from onceonly.gateway.config.keys import REPEATED, TABLES, Key
from onceonly.gateway.config.values import Illegal
from onceonly.message.errors import OnceonlyError


class ConfigurationError(OnceonlyError):
    """The file cannot be used. `where` is `FILE:LINE` (or `FILE`), the text says why."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason


class Table:
    """One table of the file: a value for every key that it could have."""

    def __init__(self, file: "ConfigurationFile", name: str, index: int, raw: Any) -> None:
        self._file = file
        self._name = name
        self._index = index
        if not isinstance(raw, dict):
            file.refuse(name, index, None, "is not one table")
        self._given = frozenset(raw)
        keys = TABLES[name]
        for given in raw:
            if given not in keys:
                self.refuse(given, f"is no key of [{name}]; legal: {', '.join(keys)}")
        self._values = {key.name: self._read(raw, key) for key in keys.values()}

    def _read(self, raw: dict[str, Any], key: Key) -> Any:
        if key.name not in raw:
            if key.is_required:
                self.refuse(None, f"lacks {key.name!r}: {key.legal}")
            return key.default
        try:
            return key.parse(raw[key.name])
        except Illegal as error:
            self.refuse(key.name, f"{error}; legal: {key.legal}")

    def __getitem__(self, key: str) -> Any:
        """The key's value, or its default."""
        return self._values[key]

    def has(self, key: str) -> bool:
        """Whether the key is legal in such a table."""
        return key in self._values

    def is_given(self, key: str) -> bool:
        """Whether the key is in the file."""
        return key in self._given

    def refuse(self, key: str | None, reason: str) -> NoReturn:
        """Raise `ConfigurationError` with the line of this key, or of the table if it is None."""
        self._file.refuse(self._name, self._index, key, reason)


class ConfigurationFile:
    """The file, read once. Raises `ConfigurationError` if it is not TOML."""

    def __init__(self, path: Path) -> None:
        try:
            content = path.read_bytes()
            text = content.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(str(path), f"cannot be read: {error}") from error
        try:
            self._tree = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = re.search(r"at line (\d+)", str(error))
            where = f"{path}:{place[1]}" if place else str(path)
            raise ConfigurationError(where, f"is not TOML: {error}") from error
        self.path = path.resolve()
        self.digest = sha256(content).hexdigest()
        self._lines = text.splitlines()
        for name in self._tree:
            if name not in TABLES:
                legal = ", ".join(_heading(table) for table in TABLES)
                self.refuse(name, 0, None, f"is no table; legal: {legal}")

    def table(self, name: str) -> Table:
        """The table that must be there."""
        if name not in self._tree:
            self.refuse(name, 0, None, f"is missing; the file needs a [{name}] table")
        return Table(self, name, 0, self._tree[name])

    def find_table(self, name: str) -> Table | None:
        """The table, or None if the file has none."""
        return self.table(name) if name in self._tree else None

    def tables(self, name: str) -> tuple[Table, ...]:
        """Every table of that name."""
        raw = self._tree.get(name, [])
        if not isinstance(raw, list):
            self.refuse(name, 0, None, f"is written [[{name}]], once per {name}")
        return tuple(Table(self, name, index, one) for index, one in enumerate(raw))

    def refuse(self, table: str, index: int, key: str | None, reason: str) -> NoReturn:
        """Raise `ConfigurationError` with the line of the key, or of its table."""
        line = self._line_of(table, index, key)
        where = str(self.path) if line is None else f"{self.path}:{line}"
        subject = f"[{table}]" if key is None else f"[{table}] {key}"
        raise ConfigurationError(where, f"{subject} {reason}")

    def _line_of(self, table: str, index: int, key: str | None) -> int | None:
        """Line of the key, of its table if the key is not there, or None."""
        name = rf"[\"']?{re.escape(table)}[\"']?\s*"
        heading = re.compile(rf"\s*(\[\[?\s*{name}\]\]?\s*(#.*)?$|{name}=)")
        starts = [n for n, line in enumerate(self._lines) if heading.match(line)]
        if index >= len(starts):
            return None
        if key is not None:
            wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
            for number in range(starts[index] + 1, len(self._lines)):
                if re.match(r"\s*\[", self._lines[number]):
                    break
                if wanted.match(self._lines[number]):
                    return number + 1
        return starts[index] + 1


def _heading(table: str) -> str:
    return f"[[{table}]]" if table in REPEATED else f"[{table}]"
