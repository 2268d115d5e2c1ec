"""Files that are put only where there is none, or a known one: one of many writers wins."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from onceonly.lake import runner, storage

WRITERS = 8


@pytest.fixture(params=["path", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder that is not there yet."""
    folder = tmp_path / "a lake" / "party=urn%3Ax"
    return str(folder) if request.param == "path" else f"file://{folder}"


def test_a_file_is_created_once(place: str):
    """The first stays as it is."""
    assert storage.create_bytes(f"{place}/1.json", b"first")
    assert not storage.create_bytes(f"{place}/1.json", b"second")
    assert storage.read_bytes(f"{place}/1.json") == b"first"
    assert [one.name for one in storage.entries(place)] == ["1.json"]


def test_of_many_writers_one_creates_each_file(place: str):
    """And what stands there is what the winner wrote."""
    for number in range(20):
        url = f"{place}/{number}"

        def create(writer: int, url: str = url) -> bool:
            return storage.create_bytes(url, b"%d" % writer)

        with ThreadPoolExecutor(WRITERS) as pool:
            won = list(pool.map(create, range(WRITERS)))
        assert won.count(True) == 1
        assert storage.read_bytes(url) == b"%d" % won.index(True)


def test_a_file_is_replaced_only_as_it_was_read(place: str):
    """Whoever read it before another replaced it is told so, and changes nothing."""
    url = f"{place}/current.json"
    assert storage.read_marked(url) is None
    assert storage.create_bytes(url, b"1")
    read = storage.read_marked(url)
    assert read is not None
    assert read.content == b"1"
    assert storage.replace_bytes_if(url, b"2", read.mark)
    assert not storage.replace_bytes_if(url, b"3", read.mark)
    assert storage.read_bytes(url) == b"2"


def test_of_many_writers_one_replaces_what_all_have_read(place: str):
    """The others have to read again."""
    url = f"{place}/current.json"
    storage.replace_bytes(url, b"all have read it")
    read = storage.read_marked(url)
    assert read is not None

    def replace(writer: int) -> bool:
        return storage.replace_bytes_if(url, b"%d" % writer, read.mark)

    with ThreadPoolExecutor(WRITERS) as pool:
        won = list(pool.map(replace, range(WRITERS)))
    assert won.count(True) == 1
    assert storage.read_bytes(url) == b"%d" % won.index(True)


def test_a_share_without_links_still_creates_no_file_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The lock of the lake keeps other writers away there."""

    def link(*_: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", link)
    assert storage.create_bytes(str(tmp_path / "1"), b"first")
    assert not storage.create_bytes(str(tmp_path / "1"), b"second")
    assert [(one.name, one.length) for one in storage.entries(str(tmp_path))] == [("1", 5)]


def test_a_folder_of_this_machine_lets_one_writer_through(place: str):
    """A store that nobody has made a promise about does not."""
    assert storage.is_exclusive(place)
    assert not storage.is_exclusive("memory://lake/ingested")


def test_no_checked_files_are_asked_for_elsewhere(place: str):
    """Hadoop's S3 fails where local files are not the checked ones: it buffers in them."""
    assert "fs.file.impl" in runner.unchecked(place)
    assert runner.unchecked("s3://bucket/lake") == {}
