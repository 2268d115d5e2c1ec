"""A far source is copied as it is, piece by piece, and what it withdraws goes where it was bad."""

from __future__ import annotations

import ftplib
import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from journals import BUYER, healthy, publish

from onceonly.journal.segment import party_folder
from onceonly.lake import jobs, manifest
from onceonly.lake.ingest import mirror, segments
from onceonly.lake.manifest import Manifest, Quarantined, Shelf
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTY = "party=p"


class OfADriver(Exception):  # noqa: N818 - because drivers call theirs as they like
    """Of a driver that nobody here has heard of: neither an `OSError` nor a `ValueError`."""


class Stern(MemoryFileSystem):
    """A storage in memory that is as strict as those of SSH and FTP are."""

    protocol = "stern"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    fails: ClassVar[dict[str, Exception]] = {}
    """By the end of a path: what comes of opening or listing it."""
    opened: ClassVar[list[str]] = []

    @classmethod
    def _strip_protocol(cls, path: Any) -> str:
        return super()._strip_protocol(str(path).removeprefix("stern://"))

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        self._fail(path)
        if self.isfile(path):
            raise NotADirectoryError(path)
        return super().ls(path, detail=detail, **options)

    def _open(self, path: str, mode: str = "rb", *arguments: Any, **options: Any) -> Any:
        if mode == "rb":
            self.opened.append(path)
            self._fail(path)
        return super()._open(path, mode, *arguments, **options)

    def _fail(self, path: str) -> None:
        for end, error in self.fails.items():
            if path.endswith(end):
                raise error


class Closed(Stern):
    """A storage that lets nobody in, as FTP does where the password is wrong."""

    protocol = "closed"
    error: ClassVar[Exception] = ftplib.error_perm("530 Login incorrect.")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        raise self.error


fsspec.register_implementation("stern", Stern, clobber=True)
fsspec.register_implementation("closed", Closed, clobber=True)


class Far:
    """A source in memory, and the lake that mirrors it."""

    def __init__(self, lake: Path) -> None:
        self.lake = str(lake)
        self.name = uuid.uuid4().hex
        self.url = f"stern://{self.name}"
        self.files = Stern()

    def place(self, name: str, party: str = PARTY) -> str:
        return f"/{self.name}/journal/{party}/{name}"

    def put(self, name: str, content: bytes, party: str = PARTY) -> None:
        self.files.pipe_file(self.place(name, party), content)

    def remove(self, name: str) -> None:
        self.files.rm(self.place(name))

    def fetched(self, party: str = PARTY) -> dict[str, bytes]:
        """What readers see of a party in the mirror after one more fetch."""
        found = mirror.fetch(self.url, self.lake)
        self.missed = [f"{one.name}: {one}" for one in found.missed]
        return self.copies(found.place, party)

    def copies(self, mirrored: str, party: str = PARTY) -> dict[str, bytes]:
        folder = Path(mirrored, "journal", party)
        there = folder.iterdir() if folder.is_dir() else ()
        return {path.name: path.read_bytes() for path in there if not path.name.startswith(".")}

    def refuse(self, name: str) -> None:
        place = mirror.fetch(self.url, self.lake).place.removeprefix(f"{self.lake}/")
        one = Quarantined(f"{place}/journal/{PARTY}/{name}", 1, 1, "unreadable", None)
        manifest.publish(Shelf(self.lake, PARTY), Manifest(quarantined=(one,)))


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Far:
    monkeypatch.setattr(Stern, "fails", {})
    monkeypatch.setattr(Stern, "opened", [])
    return Far(tmp_path)


def test_a_file_comes_in_pieces_and_whole(far: Far, monkeypatch: pytest.MonkeyPatch):
    """However large it is, no more than a piece is in memory; hidden files stay where they are."""
    monkeypatch.setattr(mirror, "BYTES_AT_ONCE", 7)
    far.put("a", bytes(range(256)))
    far.put("_b", b"hidden")
    assert far.fetched() == {"a": bytes(range(256))}


def test_a_file_larger_than_any_segment_does_not_fill_the_disk(
    far: Far, monkeypatch: pytest.MonkeyPatch
):
    """An empty file stands for it, so that it is quarantined and named."""
    monkeypatch.setattr(segments, "SEGMENT_BYTES_MAX", 100)
    far.put("a", b"x" * 101)
    far.put("b", b"x" * 100)
    assert far.fetched() == {"a": b"", "b": b"x" * 100}


def test_a_bad_copy_goes_when_its_original_does(far: Far):
    """So it does not stay in quarantine for ever; copies whose rows count stay."""
    far.put("bad", b"1")
    far.put("good", b"2")
    far.refuse("bad")
    far.remove("bad")
    far.remove("good")
    far.put("new", b"3")
    assert far.fetched() == {"good": b"2", "new": b"3"}
    far.put("bad", b"1")
    assert far.fetched() == {"bad": b"1", "good": b"2", "new": b"3"}


def test_a_lake_that_cannot_be_written_is_no_fault_of_its_source(far: Far):
    """A full disk or a folder that nobody may write: the source was read."""
    far.put("a", b"1")
    Path(far.lake, "mirrored").write_bytes(b"no folder")
    with pytest.raises(OSError, match="mirrored"):
        mirror.fetch(far.url, far.lake)


@pytest.mark.spark
def test_an_ingest_that_cannot_copy_ends_with_1(
    spark: SparkSession, far: Far, capsys: pytest.CaptureFixture[str]
):
    """Another try may not meet a full disk: no mistake in what the job was asked for."""
    far.put("a", b"1")
    Path(far.lake, "mirrored").write_bytes(b"no folder")
    job = ["ingest", "--lake", far.url, "--into", far.lake]
    assert jobs.main(job) == 1
    assert f"{far.url} cannot be copied into {far.lake}" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_source_by_http_is_refused_by_name(spark: SparkSession, tmp_path: Path, scheme: str):
    """Spark has a file system for it, and nobody can list a folder: no traceback, no empty lake."""
    with pytest.raises(LocalError, match="HTTP lists no folders") as refused:
        jobs.ingest(f"{scheme}://partner.example/lake", into=str(tmp_path))
    assert refused.value.name == "NoSource"


def test_a_source_that_cannot_be_read_is_named(far: Far):
    """No such driver, no such place, a password that is wrong: one error for all."""
    for source in ("nothing://far", far.url, f"closed://{far.name}"):
        with pytest.raises(LocalError, match="cannot be read") as refused:
            mirror.fetch(source, far.lake)
        assert refused.value.name == "NoSource"


def test_only_folders_of_parties_are_looked_into(far: Far):
    """A file beside them, or called as one of them is, and other folders are nobody's journal."""
    far.put("a", b"1")
    for name in ("README", ".DS_Store", "party=file"):
        far.files.pipe_file(f"/{far.name}/journal/{name}", b"of no party")
    far.put("b", b"2", party="@eaDir")
    Stern.fails["@eaDir"] = PermissionError("not for you")
    assert (far.fetched(), far.missed) == ({"a": b"1"}, [])


def test_what_cannot_be_read_keeps_no_other_out(far: Far):
    """It is named, other files and parties come, and the next visit tries it again."""
    for name in ("a", "b", "c"):
        far.put(name, name.encode())
    far.put("d", b"d", party="party=locked")
    far.put("e", b"e", party="party=q")
    Stern.fails["/b"] = PermissionError("not for you")
    Stern.fails["party=locked"] = ftplib.error_perm("550 No.")
    assert far.fetched() == {"a": b"a", "c": b"c"}
    assert far.missed == [
        f"Disturbed: {far.url}/journal/party=locked cannot be read: 550 No.",
        f"Disturbed: {far.url}/journal/{PARTY}/b cannot be read: not for you",
    ]
    assert far.fetched("party=q") == {"e": b"e"}
    Stern.fails.clear()
    Stern.opened.clear()
    assert (far.fetched(), far.missed) == ({"a": b"a", "b": b"b", "c": b"c"}, [])
    assert Stern.opened == [far.place("d", "party=locked"), far.place("b")]


def test_a_folder_that_cannot_be_listed_withdraws_nothing(far: Far):
    """Nobody knows what is in it now; a bad copy goes once its original is known to be gone."""
    far.put("bad", b"1")
    far.refuse("bad")
    far.remove("bad")
    Stern.fails[PARTY] = PermissionError("not for you")
    far.put("other", b"2")
    assert far.fetched() == {"bad": b"1"}
    Stern.fails.clear()
    assert far.fetched() == {"other": b"2"}


def test_a_manifest_that_cannot_be_read_keeps_no_other_party_out(far: Far):
    """What its party withdraws stays until somebody has mended it."""
    far.put("bad", b"1")
    far.refuse("bad")
    far.remove("bad")
    far.put("b", b"2", party="party=q")
    Path(Shelf(far.lake, PARTY).root, "manifest.json").write_bytes(b"no manifest")
    assert far.fetched("party=q") == {"b": b"2"}
    assert far.fetched() == {"bad": b"1"}


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError("reset"), EOFError(), ftplib.error_temp("421 Bye."), OfADriver("gone")],
)
def test_what_came_before_the_connection_was_lost_counts(far: Far, error: Exception):
    """The visit ends, since each file would wait for an answer; the next one goes on from there."""
    for name in ("a", "b", "c"):
        far.put(name, name.encode())
    Stern.fails["/b"] = error
    assert far.fetched() == {"a": b"a"}
    assert far.missed == [f"NoSource: {far.url}/journal/{PARTY}/b cannot be read: {error}"]
    assert Stern.opened == [far.place("a"), far.place("b")]
    Stern.fails.clear()
    assert (far.fetched(), far.missed) == ({"a": b"a", "b": b"b", "c": b"c"}, [])
    assert Stern.opened[2:] == [far.place("b"), far.place("c")]


def test_a_name_may_be_as_long_as_a_disk_takes_it(far: Far):
    """What is longer, or no text, is named and keeps no other out."""
    names = ["a" * length for length in range(250, 256)]
    for name in (*names, "b" * 256, "c\udce9", "d\0"):
        far.put(name, b"1")
    far.put("e", b"2", party=f"party={'p' * 250}")
    assert far.fetched() == dict.fromkeys(names, b"1")
    told = ("b" * 256, "c\\udce9", "d\0", "party=" + "p" * 250)
    assert len(far.missed) == len(told)
    for name, line in zip(told, far.missed, strict=True):
        assert line.startswith("Disturbed: ")
        assert line.endswith(f"/{name} cannot be copied: no disk has such a name")


def test_of_very_many_that_cannot_be_read_some_are_named(far: Far, monkeypatch: pytest.MonkeyPatch):
    """The others are counted: it may be all files of a source."""
    monkeypatch.setattr(mirror, "MISSED_NAMED", 2)
    for name in ("a", "b", "c", "d"):
        far.put(f"{name}-shut", b"1")
    Stern.fails["-shut"] = PermissionError("not for you")
    assert far.fetched() == {}
    assert len(far.missed) == 3
    assert far.missed[2] == f"Disturbed: 2 more files of {far.url} cannot be copied"


def test_a_visit_writes_of_the_parties_of_which_something_came(far: Far):
    """What is known of all others stays as it is on the disk."""
    far.put("a", b"1")
    far.put("b", b"2", party="party=q")
    found = Path(mirror.fetch(far.url, far.lake).place, "journal")
    ledgers = [found / PARTY / ".copied.json", found / "party=q" / ".copied.json"]
    before = [path.stat().st_ino for path in ledgers]
    far.put("c", b"3")
    far.fetched()
    after = [path.stat().st_ino for path in ledgers]
    assert (before[0] == after[0], before[1] == after[1]) == (False, True)


def test_what_a_version_before_has_copied_is_not_fetched_again(far: Far):
    """It kept one ledger for the whole source."""
    far.put("a", b"1")
    far.put("b", b"2", party="party=q")
    found = Path(mirror.fetch(far.url, far.lake).place)
    old = {}
    for ledger in found.glob("journal/*/.copied.json"):
        told = json.loads(ledger.read_bytes())
        old |= {f"journal/{ledger.parent.name}/{name}": state for name, state in told.items()}
        ledger.unlink()
    (found / "mirror.json").write_text(json.dumps(old))
    assert len(old) == 2
    Stern.opened.clear()
    far.put("c", b"3")
    assert far.fetched() == {"a": b"1", "c": b"3"}
    assert Stern.opened == [far.place("c")]
    assert not (found / "mirror.json").exists()


@pytest.mark.spark
def test_an_ingest_takes_in_what_it_can_copy_and_names_the_rest(
    spark: SparkSession, far: Far, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """It ends with 1, since another try may succeed; and it does."""
    ledger = healthy(seed=6, messages=8)[0].sender
    party = party_folder(BUYER)
    first, second = (
        publish(tmp_path / "local", ledger, first=first, last=first + 19) for first in (1, 21)
    )
    for path in (first, second):
        far.put(path.name, path.read_bytes(), party)
    Stern.fails[first.name] = PermissionError("not for you")
    lake = str(tmp_path / "lake")
    job = ["ingest", "--lake", far.url, "--into", lake]
    assert jobs.main(job) == 1
    line = f"Disturbed: {far.url}/journal/{party}/{first.name} cannot be read: not for you"
    assert line in capsys.readouterr().err
    assert manifest.load(Shelf(lake, party)).ranges == ((21, 40),)
    Stern.fails.clear()
    assert jobs.main(job) == 0
    assert manifest.load(Shelf(lake, party)).ranges == ((1, 40),)
