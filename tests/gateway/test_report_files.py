"""Files of others below one folder: what is found, and that nothing leads out of it."""

import os
from pathlib import Path

import pytest

from onceonly.gateway import report_files
from onceonly.gateway.report_files import look, opened


def read(folder: Path, path: str) -> bytes:
    with opened(folder, path) as place:
        return os.read(place, 100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some files, and a secret beside them to which everything odd leads."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("secret")
    found = tmp_path / "reports"
    (found / "a" / "b" / "c" / "d").mkdir(parents=True)
    (found / "one.html").write_text("one")
    (found / "a" / "two.json").write_text("two")
    (found / "a" / "b" / "c" / "three").write_text("three")
    (found / "a" / "b" / "c" / "d" / "too-deep").write_text("four")
    (found / ".hidden").write_text("hidden")
    (found / "link").symlink_to(tmp_path / "secret")
    (found / "way").symlink_to(tmp_path / "other")
    os.mkfifo(found / "pipe")
    (found / "line\nbreak").write_text("odd")
    return found


def test_regular_files_are_found_and_read(folder):
    """As deep as a pack goes; no link, no pipe, nothing hidden or invisible."""
    found = look(folder)
    assert [one.path for one in found.files] == ["a/b/c/three", "a/two.json", "one.html"]
    assert not found.is_cut
    assert [read(folder, one.path) for one in found.files] == [b"three", b"two", b"one"]


@pytest.mark.parametrize(
    "path",
    [
        *("../secret", "a/../../secret", "./one.html", "a//two.json", "/etc/passwd", "", "a", "a/"),
        *("link", "way/file", "pipe", ".hidden", "line\nbreak", "a/b/c/d/too-deep", "none"),
        *("one.html/x", "..", ".", "a/.", "one.html\0", "\udc80"),
    ],
)
def test_nothing_else_is_opened(folder, path):
    """Each is a file that is not there, and a pipe keeps nobody waiting."""
    with pytest.raises(FileNotFoundError):
        read(folder, path)


def test_a_folder_that_becomes_a_link_leads_nowhere(folder):
    """Whoever writes there cannot change what a name means between a look and a read."""
    assert read(folder, "a/two.json") == b"two"
    (folder / "a").rename(folder / "z")
    (folder / "a").symlink_to(folder.parent / "other")
    with pytest.raises(FileNotFoundError):
        read(folder, "a/file")


def test_the_folder_itself_may_be_a_link(folder, tmp_path):
    """The configuration names it, and nobody else."""
    (tmp_path / "named").symlink_to(folder)
    assert read(tmp_path / "named", "one.html") == b"one"
    assert len(look(tmp_path / "named").files) == 3


def test_a_look_ends_however_much_there_is(folder, monkeypatch):
    """And says that there is more."""
    for number in range(20):
        (folder / f"file-{number}").write_text("")
    monkeypatch.setattr(report_files, "ENTRIES_MAX", 5)
    found = look(folder)
    assert found.is_cut
    assert len(found.files) <= 5


def test_a_folder_that_is_closed_hides_only_itself(folder):
    """The others are shown."""
    if os.geteuid() == 0:
        pytest.skip("root may open every folder")
    (folder / "a").chmod(0)
    assert [one.path for one in look(folder).files] == ["one.html"]
