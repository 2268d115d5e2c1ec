"""Secrets of the configuration: in the file itself, in a file of their own, or in the environment.

Every key that holds one is read here and nowhere else. What is in the environment is what it was
when the process began; a file is read at every start and every reload.
"""

import os
from pathlib import Path
from typing import Any, Final

from onceonly.gateway.config.values import Illegal

LEGAL: Final = 'a text, {file = "PATH"} or {env = "NAME"}'
"""How a secret may be given, in the words of a refusal."""

BYTES_MAX: Final = 1 << 16
"""Longest file of a secret; longer ones are something else, named by mistake."""


class Secrets:
    """Reads the secrets of one configuration file, whose folder is `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.files: list[Path] = []
        """Files that were read for a secret."""
        self.are_inside = False
        """Whether one stands in the configuration file itself."""

    def reveal(self, value: Any) -> Any:
        """The secret that a value gives or names. Raises `Illegal`, and never shows a secret."""
        if not isinstance(value, dict):
            self.are_inside = True
            return value
        [(kind, name), *more] = value.items() or [(None, None)]
        if more or kind not in ("file", "env") or not isinstance(name, str) or not name:
            raise Illegal("it is a table with other keys than one of file and env")
        return self._in_file(name) if kind == "file" else _in_environment(name)

    def _in_file(self, name: str) -> str:
        """The first line of the file, which has no other."""
        path = self._directory / name
        try:
            with path.open("rb") as file:
                content = file.read(BYTES_MAX + 1)
            text = content.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except (OSError, ValueError) as error:
            raise Illegal(f"{path} cannot be read: {error}") from error
        if len(content) > BYTES_MAX or not text.strip() or not text.isprintable():
            raise Illegal(f"{path} is not one line with a secret")
        self.files.append(path)
        return text


def _in_environment(name: str) -> str:
    found = os.environ.get(name, "")
    if not found.strip() or not found.isprintable():
        raise Illegal(f"the environment has no {name}, or no secret in it")
    return found
