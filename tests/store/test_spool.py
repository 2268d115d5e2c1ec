"""Large payloads: kept whole under their digest, or not at all."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from onceonly.store.contract.conditions import StoreFailed, StoreFull
from onceonly.store.failures import from_system
from onceonly.store.files import CHUNK_BYTES
from onceonly.store.spool import INLINE_BYTES_MAX, Sink, Spool

LARGE = bytes(range(256)) * 1024 * 3


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def filled(spool: Spool, content: bytes, chunk_bytes: int = 10_000) -> Sink:
    """A closed sink that took `content` in chunks."""
    sink = spool.open_sink()
    for start in range(0, len(content), chunk_bytes):
        sink.write(content[start : start + chunk_bytes])
    sink.close()
    return sink


def files(spool: Spool) -> list[str]:
    """Names in the spool's directory."""
    return sorted(entry.name for entry in spool.path("0" * 64).parent.iterdir())


@contextmanager
def files_no_larger_than(size_bytes: int) -> Iterator[None]:
    """No file of this process may grow past `size_bytes`, as with a quota (fault D4)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size_bytes", [0, 1, INLINE_BYTES_MAX - 1, INLINE_BYTES_MAX])
def test_a_small_payload_stays_in_memory(spool: Spool, size_bytes: int) -> None:
    """Up to `INLINE_BYTES_MAX` no file is ever made, kept or not."""
    content = b"x" * size_bytes
    sink = filled(spool, content)
    sink.keep()
    assert sink.close() == (size_bytes, sha256(content).hexdigest())
    assert sink.body() == content
    assert files(spool) == []


@pytest.mark.parametrize("size_bytes", [INLINE_BYTES_MAX + 1, CHUNK_BYTES, 3 * CHUNK_BYTES + 5])
def test_a_large_payload_is_read_back_from_its_digest(spool: Spool, size_bytes: int) -> None:
    """Past `INLINE_BYTES_MAX` the bytes are in a file named by their SHA-256."""
    content = LARGE * 2
    content = content[:size_bytes]
    sink = filled(spool, content)
    sink.keep()
    size, digest = sink.close()
    assert (size, digest) == (size_bytes, sha256(content).hexdigest())
    assert sink.body() is None
    assert files(spool) == [digest]
    chunks = list(spool.open_reader(digest))
    assert b"".join(chunks) == content
    assert max(map(len, chunks)) <= CHUNK_BYTES


def test_a_view_that_is_used_again_does_not_change_the_payload(spool: Spool) -> None:
    """The sink keeps bytes, not the caller's buffer."""
    buffer = bytearray(b"first")
    sink = spool.open_sink()
    sink.write(memoryview(buffer))  # type: ignore[arg-type]  # because the wire may pass a view
    buffer[:] = b"other"
    assert sink.body() == b"first"


def test_keeping_again_changes_nothing(spool: Spool) -> None:
    """`keep` is idempotent, for one sink and for two with the same content."""
    first, second = filled(spool, LARGE), filled(spool, LARGE)
    for sink in (first, first, second):
        sink.keep()
    _, digest = first.close()
    assert files(spool) == [digest]
    assert b"".join(spool.open_reader(digest)) == LARGE


def test_a_discarded_payload_leaves_nothing(spool: Spool) -> None:
    """Discarding removes the temporary file, and is harmless again and on a small payload."""
    for content in (LARGE, b"small"):
        sink = filled(spool, content)
        sink.discard()
        sink.discard()
    assert files(spool) == []


def test_discarding_a_kept_payload_does_not_remove_it(spool: Spool) -> None:
    """What was kept may be mentioned by a row."""
    sink = filled(spool, LARGE)
    sink.keep()
    sink.discard()
    assert files(spool) == [sink.close()[1]]


def test_what_a_crash_left_is_swept_at_the_next_start(tmp_path: Path) -> None:
    """A temporary file belongs to nobody after a restart; kept files stay."""
    spool = Spool(tmp_path / "spool")
    kept = filled(spool, LARGE)
    kept.keep()
    filled(spool, LARGE + b"half-written")
    assert len(files(spool)) == 2
    assert files(Spool(tmp_path / "spool")) == [kept.close()[1]]


def test_a_rotten_file_is_never_read_to_its_end(spool: Spool) -> None:
    """A flipped bit is found before the last chunk is given out (fault D5)."""
    sink = filled(spool, LARGE)
    sink.keep()
    _, digest = sink.close()
    path = spool.path(digest)
    rotten = bytearray(path.read_bytes())
    rotten[100] ^= 1
    path.write_bytes(rotten)
    taken: list[bytes] = []
    with pytest.raises(StoreFailed, match="damaged"):
        taken.extend(spool.open_reader(digest))
    assert len(b"".join(taken)) < len(LARGE)


def test_a_missing_file_is_a_failure(spool: Spool) -> None:
    """A committed row never points at nothing, so the store cannot be trusted."""
    with pytest.raises(StoreFailed):
        list(spool.open_reader("0" * 64))


def test_a_digest_is_never_a_path(spool: Spool) -> None:
    """Only 64 letters and digits name a file."""
    for name in ("../" + "0" * 61, "0" * 63):
        with pytest.raises(AssertionError):
            spool.path(name)


def test_no_space_is_a_condition_that_ends(spool: Spool) -> None:
    """At the size limit writing raises `StoreFull` and leaves nothing; later it works (R-28)."""
    with files_no_larger_than(INLINE_BYTES_MAX + 1), pytest.raises(StoreFull):
        filled(spool, LARGE)
    assert files(spool) == []
    sink = filled(spool, LARGE)
    sink.keep()
    assert b"".join(spool.open_reader(sink.close()[1])) == LARGE


def test_other_errors_of_the_file_system_are_failures(tmp_path: Path) -> None:
    """Only full disks, quotas and size limits end by themselves."""
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        assert isinstance(from_system(OSError(number, os.strerror(number)), "it"), StoreFull)
    for number in (errno.EIO, errno.EROFS, errno.EACCES):
        assert isinstance(from_system(OSError(number, os.strerror(number)), "it"), StoreFailed)
    with pytest.raises(StoreFailed):
        Spool(tmp_path / "no" / "such" / "directory")


def test_kept_files_are_listed_and_others_are_not(spool: Spool) -> None:
    """What is being written, inline or foreign is no kept file."""
    kept = filled(spool, LARGE)
    kept.keep()
    writing, inline = filled(spool, LARGE + b"x"), filled(spool, b"few")
    inline.keep()
    (spool.path("0" * 64).parent / "notes.txt").write_text("an operator's")
    assert [file.digest for file in spool.list_kept()] == [kept.close()[1]]
    writing.discard()


def test_a_removed_file_is_gone_once(spool: Spool) -> None:
    """Removing again removes nothing."""
    filled(spool, LARGE).keep()
    [file] = spool.list_kept()
    assert spool.remove(file)
    assert not spool.remove(file)
    assert files(spool) == []


def test_content_that_was_kept_anew_is_not_removed_for_its_predecessor(spool: Spool) -> None:
    """Between the look and the removal the same content arrived: another file, not to be lost."""
    filled(spool, LARGE).keep()
    [seen] = spool.list_kept()
    filled(spool, LARGE).keep()
    assert not spool.remove(seen)
    [file] = spool.list_kept()
    assert file.digest == seen.digest
    assert spool.remove(file)


def test_a_spool_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    """Nobody may take a missing directory for an empty one."""
    spool = Spool(tmp_path / "spool")
    (tmp_path / "spool").rmdir()
    with pytest.raises(StoreFailed):
        list(spool.list_kept())
