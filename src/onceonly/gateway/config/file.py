"""The configuration file as text: its tables with the values of their keys, and their lines.

Knows TOML, and in which line each table and key is, so that a refusal names it. The list of keys
comes from `keys`; which values fit together it does not know.
"""

import re
import tomllib
from collections.abc import Iterable
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Final, NoReturn

from onceonly.gateway.config.keys import REPEATED, TABLES, Key
from onceonly.gateway.config.presets import BY_NAME
from onceonly.gateway.config.secrets import Secrets
from onceonly.gateway.config.values import Illegal
from onceonly.message.errors import OnceonlyError

SUFFIX: Final = ".toml"
"""Of files in a folder of agreements."""

_HEADING: Final = re.compile(r"\s*\[")
_KEY: Final = re.compile(r"""\s*["']?(?P<key>[^\s"'=.#]+)["']?\s*=""")


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
        raw = {**raw, **self._preset(raw, keys)}
        self._values = {key.name: self._read(raw, key) for key in keys.values()}

    def _preset(self, raw: dict[str, Any], keys: dict[str, Key]) -> dict[str, Any]:
        """The values of the preset that the table names; they are defaults, and not given."""
        if "preset" not in keys or "preset" not in raw:
            return {}
        preset = BY_NAME[self._read(raw, keys["preset"])]
        unknown = preset.unknown(keys)
        if unknown:
            self.refuse(
                "preset", f"{preset.name!r} sets {', '.join(unknown)}, which this version has not"
            )
        return preset.values_beside(raw)

    def _read(self, raw: dict[str, Any], key: Key) -> Any:
        if key.name not in raw:
            if key.is_required:
                self.refuse(None, f"lacks {key.name!r}: {key.legal}")
            return key.default
        try:
            value = raw[key.name]
            return key.parse(self._file.secrets.reveal(value) if key.is_secret else value)
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

    def place_of(self, key: str | None) -> str:
        """`FILE:LINE` of the key, or of its table."""
        return self._file.place_of(self._name, self._index, key)

    def places(self) -> dict[str, str]:
        """`FILE:LINE` of every key that is in the file."""
        path, lines = self._file.path, self._file.lines_of(self._name, self._index)
        return {key: f"{path}:{lines[key]}" for key in lines if key in self._given}


class ConfigurationFile:
    """The file, read once. Raises `ConfigurationError` if it is not TOML.

    `legal` are the tables that it may have.
    """

    def __init__(self, path: Path, legal: Iterable[str] = TABLES) -> None:
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
        self.content = content
        """The bytes that were read."""
        self.secrets = Secrets(self.path.parent)
        """The secrets of the tables that were read so far, and where they are kept."""
        self._legal = tuple(legal)
        self._others: list[ConfigurationFile] = []
        self._lines = text.splitlines()
        self._starts: dict[str, list[int]] = {}
        for name in self._tree:
            if name not in self._legal:
                legal = ", ".join(_heading(table) for table in self._legal)
                self.refuse(name, 0, None, f"is no table; legal: {legal}")

    def add(self, folder: Path) -> None:
        """Read the files of the folder, too: their agreements and routes follow ours, by name.

        Hidden files and those that do not end in `.toml` are left alone: editors make such. Raises
        `ConfigurationError` for a file that cannot be used, and `OSError` for the folder.
        """
        paths = [path for path in folder.iterdir() if path.suffix == SUFFIX]
        shown = [path for path in paths if not path.name.startswith(".")]
        others = [path for path in sorted(shown) if path.resolve() != self.path]
        self._others = [ConfigurationFile(path, REPEATED) for path in others]

    @property
    def digest(self) -> str:
        """SHA-256 of all that was read, one file after the other."""
        files = (self, *self._others)
        return sha256(b"".join(file.content for file in files)).hexdigest()

    def table(self, name: str) -> Table:
        """The table that must be there."""
        if name not in self._tree:
            self.refuse(name, 0, None, f"is missing; the file needs a [{name}] table")
        return Table(self, name, 0, self._tree[name])

    def find_table(self, name: str) -> Table | None:
        """The table, or None if the file has none."""
        return self.table(name) if name in self._tree else None

    def tables(self, name: str) -> tuple[Table, ...]:
        """Every table of that name, those of added files after ours."""
        raw = self._tree.get(name, [])
        if not isinstance(raw, list):
            self.refuse(name, 0, None, f"is written [[{name}]], once per {name}")
        ours = (Table(self, name, index, one) for index, one in enumerate(raw))
        return (*ours, *chain.from_iterable(other.tables(name) for other in self._others))

    def refuse(self, table: str, index: int, key: str | None, reason: str) -> NoReturn:
        """Raise `ConfigurationError` with the line of the key, or of its table."""
        subject = f"[{table}]" if key is None else f"[{table}] {key}"
        raise ConfigurationError(self.place_of(table, index, key), f"{subject} {reason}")

    def place_of(self, table: str, index: int, key: str | None) -> str:
        """`FILE:LINE` of the key, or of its table; the file alone where it has neither."""
        line = self._line_of(table, index, key)
        return str(self.path) if line is None else f"{self.path}:{line}"

    def _line_of(self, table: str, index: int, key: str | None) -> int | None:
        """Line of the key, of its table if the key is not there, or None."""
        starts = self._starts_of(table)
        if index >= len(starts):
            return None
        lines = {} if key is None else self.lines_of(table, index)
        return lines.get(key or "", starts[index] + 1)

    def lines_of(self, table: str, index: int) -> dict[str, int]:
        """Line of every key of the table, by its name."""
        starts = self._starts_of(table)
        lines: dict[str, int] = {}
        if index >= len(starts):
            return {}
        for number in range(starts[index] + 1, len(self._lines)):
            if _HEADING.match(self._lines[number]):
                break
            found = _KEY.match(self._lines[number])
            if found is not None:
                lines.setdefault(found["key"], number + 1)
        return lines

    def _starts_of(self, table: str) -> list[int]:
        if table not in self._starts:
            name = rf"[\"']?{re.escape(table)}[\"']?\s*"
            heading = re.compile(rf"\s*(\[\[?\s*{name}\]\]?\s*(#.*)?$|{name}=)")
            self._starts[table] = [n for n, line in enumerate(self._lines) if heading.match(line)]
        return self._starts[table]


def _heading(table: str) -> str:
    return f"[[{table}]]" if table in REPEATED else f"[{table}]"
