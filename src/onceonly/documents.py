"""Documents to send: bytes or files, and the form that they are submitted in.

Knows files, their types and multipart/form-data; must not know HTTP or what a message is. A file
is sent as it was when it was opened, or not at all: whatever it does meanwhile ends the form before
its last byte, so that nothing is submitted.
"""

import mimetypes
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.identity import checked_text

UNKNOWN_TYPE: Final = "application/octet-stream"

COMPRESSED_TYPES: Final = {
    "gzip": "application/gzip",
    "bzip2": "application/x-bzip2",
    "xz": "application/x-xz",
    "compress": "application/x-compress",
    "br": "application/x-brotli",
}
"""What a file is that is compressed, whatever is in it: a partner reads the bytes that it gets."""

PIECE_BYTES: Final = 1 << 18


class Document(NamedTuple):
    """One payload to send: bytes or a file, what it is, and what it is called."""

    content: bytes | Path
    content_type: str
    name: str

    @classmethod
    def from_file(cls, path: Path) -> "Document":
        """The file under its own name, its type guessed from that name."""
        return cls(path, type_of(path.name), path.name)


def type_of(name: str) -> str:
    """The media type that a file of this name has, as far as the name tells."""
    # With a folder before it, it is read as the name of a file; alone, `data:…` would be a URL.
    kind, compression = mimetypes.guess_type(f"./{name}")
    if compression is not None:
        return COMPRESSED_TYPES.get(compression, UNKNOWN_TYPE)
    return kind or UNKNOWN_TYPE


class Form:
    """A submission's form, with its files open while it is used as a context manager.

    Raises `LocalError` (UnusableFile, InvalidField) for what cannot be sent as it is called.
    """

    def __init__(self, header: bytes, documents: Sequence[Document]) -> None:
        self._files = ExitStack()
        # In no document by chance: the form is not looked through for it.
        self._boundary = os.urandom(16).hex()
        parts: list[_Part] = [_Part(self._head("message", None, "application/json"), header)]
        try:
            parts += [self._part(*document) for document in documents]
        except BaseException:
            self._files.close()
            raise
        self._parts = parts
        self._end = f"--{self._boundary}--\r\n".encode()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._files.close()

    @property
    def headers(self) -> dict[str, str]:
        """The fields of the request's head that say what its body is."""
        length = sum(part.size_bytes for part in self._parts) + len(self._end)
        return {
            "Content-Type": f"multipart/form-data; boundary={self._boundary}",
            "Content-Length": str(length),
        }

    def pieces(self) -> Iterator[bytes]:
        """The body. Raises `LocalError` (FileChanged, UnusableFile) in front of its end."""
        for part in self._parts:
            yield part.head
            yield from part.pieces()
            yield b"\r\n"
        yield self._end

    def _part(self, content: bytes | Path, content_type: str, name: str) -> "_Part":
        try:
            checked_text(content_type, f"the Content-Type of {name!r}")
            checked_text(name, f"the name {name!r}")
        except RemoteError as error:
            raise LocalError("InvalidField", error.description) from error
        head = self._head("payload", name or "payload", content_type)
        if isinstance(content, Path):
            return _Part(head, self._files.enter_context(_File(content)))
        return _Part(head, content)

    def _head(self, field: str, name: str | None, content_type: str) -> bytes:
        disposition = f'form-data; name="{field}"'
        if name is not None:
            quoted = name.replace("\\", "\\\\").replace('"', '\\"')
            disposition += f'; filename="{quoted}"'
        lines = (
            f"--{self._boundary}",
            f"Content-Disposition: {disposition}",
            f"Content-Type: {content_type}",
        )
        return "\r\n".join((*lines, "", "")).encode()


class _Part(NamedTuple):
    head: bytes
    content: "bytes | _File"

    @property
    def size_bytes(self) -> int:
        length = len(self.content) if isinstance(self.content, bytes) else self.content.size_bytes
        return len(self.head) + length + len(b"\r\n")

    def pieces(self) -> Iterator[bytes]:
        if isinstance(self.content, bytes):
            yield self.content
        else:
            yield from self.content.pieces()


class _File:
    """A file that is open, and how long it was then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # A pipe without a writer would be waited for, for ever.
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise _unusable(path, error) from error
        found = os.fstat(self._descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(self._descriptor)
            raise LocalError("UnusableFile", f"{path} is not a file")
        self.size_bytes = found.st_size
        self._changed_at_ns = found.st_mtime_ns

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def pieces(self) -> Iterator[bytes]:
        left = self.size_bytes
        while piece := self._read(min(left, PIECE_BYTES) if left else 1):
            left -= len(piece)
            if left < 0:
                raise self._changed("it grew")
            if left == 0 and self._is_newer():
                raise self._changed("it was written to")
            yield piece
        if left:
            raise self._changed(f"its last {left} bytes are gone")

    def _read(self, size_bytes: int) -> bytes:
        try:
            return os.read(self._descriptor, size_bytes)
        except OSError as error:
            raise _unusable(self._path, error) from error

    def _is_newer(self) -> bool:
        return os.fstat(self._descriptor).st_mtime_ns != self._changed_at_ns

    def _changed(self, how: str) -> LocalError:
        text = f"{self._path} changed while it was read: {how}; nothing was submitted"
        return LocalError("FileChanged", text)


def _unusable(path: Path, error: OSError | ValueError) -> LocalError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return LocalError("UnusableFile", f"{path} cannot be read: {reason}")
