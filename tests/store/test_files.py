"""The machine's own file system, where the simulated one shows nothing."""

from pathlib import Path

from onceonly.store.files import CHUNK_BYTES, OPERATING_SYSTEM, make_parents


def test_a_file_written_again_is_the_same_file(tmp_path: Path) -> None:
    """The same bytes in the same place, also where they are more than one chunk."""
    path = tmp_path / "log"
    content = bytes(range(256)) * (CHUNK_BYTES // 256) + b"the end"
    path.write_bytes(content)
    number = path.stat().st_ino
    OPERATING_SYSTEM.write_again(path)
    assert path.read_bytes() == content
    assert path.stat().st_ino == number


def test_no_file_is_written_again_where_there_is_none(tmp_path: Path) -> None:
    """A store that was never written has no log."""
    OPERATING_SYSTEM.write_again(tmp_path / "log")
    assert not list(tmp_path.iterdir())


def test_missing_directories_are_made_and_others_left(tmp_path: Path) -> None:
    """Above the path, and not the path itself; again, it changes nothing."""
    path = tmp_path / "a" / "b" / "store.db"
    for _ in range(2):
        make_parents(path)
    assert path.parent.is_dir()
    assert not path.exists()
