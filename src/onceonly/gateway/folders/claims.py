"""A document of a pickup folder as it becomes ours: the steps on the disk, each safe from a kill.

Knows files and must not know messages. A document `x.xml` is *claimed* by three steps: a folder of
its own below `sending`, with a durable note in it that says what is being claimed and under which
MessageId; then the header, the marker and at last the document itself are renamed into it. A rename
has happened or not, so after a kill the note says which of them are left, and the claim goes on
under the same MessageId. A file of the same name that is put there later is another document, even
with the same bytes: whoever puts it there wants it sent.

When the verdict is there, the whole folder is renamed to `sent` or `failed`, below the day.

Whoever may write in the pickup folder may rename `sending` and put another in its place. So what is
below it counts as ours only if it belongs to our user, and a note's name leads nowhere else.
"""

import os
import stat
from collections.abc import Callable
from errno import EACCES, ENAMETOOLONG, EPERM
from pathlib import Path
from typing import Any, Final

import msgspec

from onceonly.api.decoding import decoded
from onceonly.gateway.folders import durable
from onceonly.gateway.folders.names import (
    FAILED,
    HEADER,
    MARKER,
    SENDING,
    SENT,
    result_name,
    written,
)
from onceonly.message.instant import to_datetime
from onceonly.message.word import Word

NOTE: Final = ".claim.json"

CHUNK_BYTES: Final = 1 << 18

FILES_MAX: Final = 99
"""Most files of a document that is a folder: a package has at most 99 payloads."""

NOTE_BYTES_MAX: Final = 4 << 10
"""Longest note: a name has 255 bytes, each of them two signs."""

_OF_ONE_DOCUMENT: Final = frozenset({EACCES, EPERM, ENAMETOOLONG})
"""Why a rename may fail that says nothing about other documents."""

HEADER_BYTES_MAX: Final = 64 << 10
"""Longest header file; the API's limit is the same."""


class Unfit(Exception):  # noqa: N818 - because it is a verdict on a document
    """The document can never be sent; the text says why."""


class Immovable(Exception):  # noqa: N818 - because it is a verdict on a document
    """The document cannot be claimed and is left where it is; the text says why."""


class Note(Word):
    """What a claim is about; `name` in hexadecimal, since a file's name may be any bytes."""

    name: str
    message_id: str
    claimed_at: int


class Claim(Word):
    """A document that is ours."""

    folder: Path
    note: Note

    @property
    def name(self) -> str:
        """The name under which it was put there."""
        return os.fsdecode(bytes.fromhex(self.note.name))

    @property
    def document(self) -> Path:
        """The document: a file, or a folder of several."""
        return self.folder / self.name

    @property
    def result(self) -> Path:
        """The file that says what became of it."""
        return self.folder / result_name(self.name)


def prepare(folder: Path) -> None:
    """Make the folders below a pickup folder, which itself must be there.

    Raises `NotADirectoryError` for a symbolic link in their place: it could lead anywhere. Raises
    `PermissionError` for a folder of another user.
    """
    for name in (SENDING, SENT, FAILED):
        durable.make_folder(folder / name)
        durable.check_folder(folder / name)
        _check_owner((folder / name).lstat(), folder / name)


def claim(folder: Path, name: str, message_id: str, at: int, reach: Callable[[str], None]) -> Claim:
    """Make the document ours; its name is free for the next one after this.

    Raises `Immovable`, with everything where it was, and `OSError`.
    """
    note = Note(os.fsencode(name).hex(), message_id, at)
    day = to_datetime(at).strftime("%Y%m%dT%H%M%SZ")
    ours = folder / SENDING / f"{day}-{message_id.partition('@')[0]}"
    durable.make_folder(ours)
    durable.write_new(ours / f"{NOTE}.tmp", (msgspec.json.encode(note),))
    (ours / f"{NOTE}.tmp").rename(ours / NOTE)
    durable.sync_folder(ours)
    reach("before-claim")
    claimed = Claim(ours, note)
    gather(folder, claimed)
    reach("after-claim")
    return claimed


def gather(folder: Path, claimed: Claim) -> None:
    """Bring what belongs to the document into the claim's folder; again, it does what is left.

    The document comes last: once it is there, nothing is left. Raises `Immovable`, with everything
    where it was, if that is about this document alone.
    """
    name = claimed.name
    if not os.path.lexists(claimed.document):
        try:
            for one in (name + HEADER, name + MARKER, name):
                _rename_into(folder / one, claimed.folder / one)
        except OSError as error:
            if error.errno not in _OF_ONE_DOCUMENT:
                raise
            _let_go(folder, claimed)
            raise Immovable(f"{written(name)!r}: {error.strerror}") from error
    durable.sync_folder(claimed.folder)
    durable.sync_folder(folder)


def _rename_into(there: Path, here: Path) -> None:
    if os.path.lexists(there) and not os.path.lexists(here):
        there.rename(here)


def _let_go(folder: Path, claimed: Claim) -> None:
    """Undo the claim of a document that is still where it was put; the note goes last."""
    name = claimed.name
    for one in (name + MARKER, name + HEADER):
        _rename_into(claimed.folder / one, folder / one)
    durable.sync_folder(folder)
    (claimed.folder / NOTE).unlink()
    claimed.folder.rmdir()


def list_claims(folder: Path) -> tuple[list[Claim], list[str]]:
    """The claims that a stop or a kill left, in the order in which they were made.

    One that was begun and has no note has claimed nothing, and is dropped. Beside the claims, what
    is wrong with each thing that we did not make: nothing of it is touched.
    """
    found: list[Claim] = []
    strange: list[str] = []
    for ours in sorted((folder / SENDING).iterdir()):
        try:
            durable.check_folder(ours)
            _check_owner(ours.lstat(), ours)
            note = _read_note(ours)
            if note is not None:
                found.append(Claim(ours, note))
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            strange.append(f"{written(str(ours))} is not as we made it: {error}")
    return found, strange


def _read_note(ours: Path) -> Note | None:
    """The note, or None if there is none and the folder is removed. Raises as `list_claims` says.

    `ValueError` for a name that is not one step of a path: it could lead to any file.
    """
    try:
        file = _open_inside(Path(ours.name, NOTE), ours.parent)
    except FileNotFoundError:
        (ours / f"{NOTE}.tmp").unlink(missing_ok=True)
        ours.rmdir()
        return None
    try:
        _check_owner(os.fstat(file), ours / NOTE)
        content = os.read(file, NOTE_BYTES_MAX)
    finally:
        os.close(file)
    note = decoded(content, Note)
    name = bytes.fromhex(note.name)
    if name in (b"", b".", b"..") or b"/" in name or b"\0" in name:
        raise ValueError(f"its note names {written(os.fsdecode(name))!r}, which is no document")
    return note


def _open_inside(steps: Path, sending: Path) -> int:
    """Open a file below `sending` without following a link at any step of the way.

    `sending` and the claim's folder must be ours, whoever has put others in their place meanwhile.
    Raises `OSError`.
    """
    *folders, name = steps.parts
    kept = os.O_CLOEXEC | os.O_NOFOLLOW
    at = os.open(sending, os.O_RDONLY | os.O_DIRECTORY | kept)
    try:
        _check_owner(os.fstat(at), sending)
        for depth, one in enumerate(folders):
            inner = os.open(one, os.O_RDONLY | os.O_DIRECTORY | kept, dir_fd=at)
            os.close(at)
            at = inner
            if depth == 0:
                _check_owner(os.fstat(at), sending / one)
        return os.open(name, os.O_RDONLY | os.O_NONBLOCK | kept, dir_fd=at)
    finally:
        os.close(at)


def _check_owner(found: os.stat_result, path: Path) -> None:
    if found.st_uid != os.geteuid():
        raise PermissionError(EPERM, "it belongs to another user", str(path))


def files_of(claimed: Claim) -> list[Path]:
    """The files of the document, in the order of their names; a folder has a payload in each.

    Raises `Unfit` for what is no file, and for a folder without files or with too many.
    """
    document = claimed.document
    try:
        mode = document.lstat().st_mode
    except FileNotFoundError as error:
        raise Unfit("it was taken away while it was claimed") from error
    if not stat.S_ISDIR(mode):
        return [document]
    try:
        files = sorted(document.iterdir())
    except PermissionError as error:
        raise Unfit("it is a folder that must not be read by us") from error
    if not 0 < len(files) <= FILES_MAX:
        raise Unfit(f"it is a folder of {len(files)} files; legal are 1 to {FILES_MAX}")
    return files


def read(claimed: Claim, path: Path, write: Callable[[bytes], Any]) -> None:
    """Pass the bytes of one file of the claim on, in pieces.

    Raises `Unfit` for what is no file of bytes, is empty, must not be read or changes meanwhile. A
    symbolic link is not followed: it may lead to a file that is nobody's to send.
    """
    try:
        sending = claimed.folder.parent
        file = _open_inside(path.relative_to(sending), sending)
    except OSError as error:
        if stat.S_ISLNK(path.lstat().st_mode):
            raise Unfit("it is a symbolic link") from error
        if isinstance(error, PermissionError):
            raise Unfit("it must not be read by us") from error
        if stat.S_ISSOCK(path.lstat().st_mode):
            raise Unfit("it is no file of bytes") from error
        raise
    try:
        before = os.fstat(file)
        if not stat.S_ISREG(before.st_mode):
            raise Unfit("it is no file of bytes")
        if not before.st_size:
            raise Unfit("it is empty")
        while chunk := os.read(file, CHUNK_BYTES):
            write(chunk)
        after = os.fstat(file)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise Unfit("it was written to after it was said to be whole")
    finally:
        os.close(file)


def header_of(claimed: Claim) -> bytes | None:
    """The bytes of the header file, or None. Raises `Unfit` as `read` does, or if too long."""
    path = claimed.folder / (claimed.name + HEADER)
    if not os.path.lexists(path):
        return None
    pieces: list[bytes] = []

    def take(chunk: bytes) -> None:
        pieces.append(chunk)
        if sum(map(len, pieces)) > HEADER_BYTES_MAX:
            raise Unfit(f"it has more than {HEADER_BYTES_MAX} bytes")

    try:
        read(claimed, path, take)
    except Unfit as error:
        raise Unfit(f"its header: {error}") from error
    return b"".join(pieces)


def settle(folder: Path, claimed: Claim, *, is_sent: bool) -> None:
    """Move the claim to where its verdict belongs, in one step."""
    day = to_datetime(claimed.note.claimed_at).strftime("%Y-%m-%d")
    there = folder / (SENT if is_sent else FAILED) / day
    durable.make_folder(there)
    durable.move(claimed.folder, there / claimed.folder.name)
