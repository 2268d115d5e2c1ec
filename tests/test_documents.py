"""Documents as a form: what a file is called, what it is, and what it does while it is read."""

import os
from pathlib import Path

import pytest

from onceonly.documents import PIECE_BYTES, UNKNOWN_TYPE, Document, Form, type_of
from onceonly.message.errors import LocalError


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("order.json", "application/json"),
        ("o.xml.gz", "application/gzip"),
        ("o.json.GZ", "application/gzip"),
        ("o.tgz", "application/gzip"),
        ("o.svgz", "application/gzip"),
        ("o.csv.bz2", "application/x-bzip2"),
        ("o.xml.xz", "application/x-xz"),
        ("o.xml.Z", "application/x-compress"),
        ("o.html.br", "application/x-brotli"),
        ("o.gz", "application/gzip"),
        ("o.unheard-of", UNKNOWN_TYPE),
        ("order", UNKNOWN_TYPE),
        ("data:text/plain,x", UNKNOWN_TYPE),
        ("http:o.json", "application/json"),
    ],
)
def test_a_type_says_what_the_bytes_are(name: str, kind: str) -> None:
    """A partner that reads `application/xml` finds no XML in what is compressed."""
    assert type_of(name) == kind
    assert Document.from_file(Path("somewhere") / name).content_type == kind


def test_a_document_called_like_a_plain_one_is_xml_as_the_system_says() -> None:
    """Two names of one type; which, the system's tables say."""
    assert type_of("order.xml") in ("application/xml", "text/xml")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of several pieces."""
    found = tmp_path / "order.xml"
    found.write_bytes(b"x" * (3 * PIECE_BYTES))
    return found


def form(*documents: Document) -> Form:
    return Form(b"{}", documents)


def test_a_form_is_as_long_as_it_says(path: Path) -> None:
    """Bytes and files, empty ones too; its boundary is where it says."""
    empty = path.with_name("empty")
    empty.touch()
    documents = [Document.from_file(path), Document.from_file(empty), Document(b"y", "a/b", "z")]
    with form(*documents) as opened:
        body = b"".join(opened.pieces())
        assert opened.headers["Content-Length"] == str(len(body))
        boundary = opened.headers["Content-Type"].partition("boundary=")[2]
        assert body.count(f"--{boundary}\r\n".encode()) == 4
        assert body.endswith(f"\r\n--{boundary}--\r\n".encode())


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"y")


def shrunk(path: Path) -> None:
    os.truncate(path, PIECE_BYTES)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def rewritten(path: Path) -> None:
    found = path.stat()
    with path.open("r+b") as file:
        file.write(b"y")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1))


@pytest.mark.parametrize("change", [grown, shrunk, emptied, rewritten])
@pytest.mark.parametrize("pieces", [0, 2, 3])
def test_a_file_that_changes_ends_the_form_before_its_end(path: Path, change, pieces: int) -> None:
    """What stands behind it is never said, so that no gateway has a whole form."""
    last = Document(b"the last", "text/plain", "last")
    with form(Document.from_file(path), last) as opened:
        body = opened.pieces()
        taken = b"".join(next(body) for _ in range(3 + pieces))
        change(path)
        with pytest.raises(LocalError, match="changed while it was read") as caught:
            taken += b"".join(iter(body))
        assert caught.value.name == "FileChanged"
    assert b"the last" not in taken


def test_a_file_that_vanishes_is_sent_as_it_was(path: Path) -> None:
    """It is open: what it was called is nobody's concern any more."""
    with form(Document.from_file(path)) as opened:
        path.unlink()
        assert b"x" * (3 * PIECE_BYTES) in b"".join(opened.pieces())


def directory(path: Path) -> Path:
    path.unlink()
    path.mkdir()
    return path


def pipe(path: Path) -> Path:
    path.unlink()
    os.mkfifo(path)
    return path


def gone(path: Path) -> Path:
    path.unlink()
    return path


def loop(path: Path) -> Path:
    path.unlink()
    path.symlink_to(path)
    return path


def device(path: Path) -> Path:
    del path
    return Path("/dev/zero")


def below_a_file(path: Path) -> Path:
    return path / "order.xml"


@pytest.mark.parametrize("make", [directory, pipe, gone, loop, device, below_a_file])
def test_what_is_no_file_is_refused_by_name(path: Path, make) -> None:
    """At once: a pipe without a writer would be waited for, for ever."""
    with pytest.raises(LocalError) as caught:
        form(Document(b"x", "text/plain", "before"), Document.from_file(make(path)))
    assert caught.value.name == "UnusableFile"


@pytest.mark.parametrize("content", ["a file", "bytes"])
@pytest.mark.parametrize(
    "name",
    ["caf\udce9.xml", "two\nlines", "tab\there", "esc\x1b[2J", " blank", "x" * 256, "\x85"],
    ids=ascii,
)
def test_a_name_that_would_arrive_changed_is_refused(path: Path, name: str, content: str) -> None:
    """Not UTF-8, control characters, line ends: no head carries them as they are."""
    document = Document(path if content == "a file" else b"x", "text/plain", name)
    with pytest.raises(LocalError, match="name") as caught:
        form(document)
    assert caught.value.name == "InvalidField"


@pytest.mark.parametrize("kind", ["text/plain\r\nX: y", "a/\udce9", "a/" + "b" * 300])
def test_a_type_that_is_no_head_is_refused(kind: str) -> None:
    """It would be a field of its own."""
    with pytest.raises(LocalError, match="Content-Type"):
        form(Document(b"x", kind, "x"))
