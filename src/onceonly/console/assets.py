"""The style sheet, the script and the picture of the console: files of this package."""

from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.responses import Response

_TYPES: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "favicon.svg": "image/svg+xml",
}
_YEAR: Final = "public, max-age=31536000, immutable"


class Assets:
    """All of them, in memory; the address of each has the digest of its content."""

    def __init__(self) -> None:
        folder = files("onceonly.console") / "static"
        self._contents = {name: (folder / name).read_bytes() for name in _TYPES}
        self._digests = {
            name: sha256(content).hexdigest()[:12] for name, content in self._contents.items()
        }

    def digest(self, name: str) -> str:
        """Changes with the content, so that a browser may keep what it has."""
        return self._digests[name]

    def answer(self, name: str) -> Response | None:
        """The file, or None if there is none of this name."""
        if name not in _TYPES:
            return None
        headers = {"content-type": _TYPES[name], "cache-control": _YEAR}
        return Response(self._contents[name], headers=headers)
