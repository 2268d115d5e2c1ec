"""The register by ranges: what is around a batch decides as the whole history would."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from onceonly.journal.segment import segment_name
from onceonly.lake import storage
from onceonly.lake.ingest import neighbours, register, seams
from onceonly.lake.ingest.change import decide
from onceonly.lake.ingest.register import GONE, KnownSegments
from onceonly.lake.ingest.segments import Look
from onceonly.lake.manifest import Distrusted, Manifest, Quarantined, Shelf
from onceonly.lake.storage import Listed

PREFIX = "journal/party=p/"


def a_look(first: int, last: int, *, of: str = "a", before: str | None = None, at: int = 1) -> Look:
    """A segment of history `of`, that follows history `before`."""
    return Look(
        f"{PREFIX}{Path(segment_name('p', first, last)).name}",
        length=100,
        modified_at=at,
        first_seq=first,
        last_seq=last,
        party="p",
        head=f"{of}{first}",
        head_hash=f"{before or of}{first - 1}",
        tail_hash=f"{of}{last}",
    )


def named(one: Look, place: str) -> Look:
    """The same segment in another folder."""
    return one._replace(segment=one.segment.replace(PREFIX, f"{place}/"))


class Lake:
    """A register that grows, without any rows."""

    def __init__(self, place: Path) -> None:
        self.shelf = Shelf(str(place), "party=p")
        self.manifest = Manifest()

    @property
    def held(self) -> KnownSegments:
        return KnownSegments(self.shelf, self.manifest, {})

    def write(self, *looks: Look) -> None:
        entry = register.write(self.held, looks)
        self.manifest = self.manifest.with_folders(
            register.PRODUCT, entry.instead_of, entry.file, now=0
        )

    def files(self) -> list[str]:
        return list(self.manifest.products[register.PRODUCT])


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """With files that are full after a few looks."""
    monkeypatch.setattr(register, "LOOKS_MAX", 12)
    monkeypatch.setattr(register, "FILES_MAX", 3)
    # `follows` is asked of texts here, since nobody writes rows for these looks.
    monkeypatch.setattr(Look, "is_followed_by", lambda one, other: one.tail_hash == other.head_hash)
    return Lake(tmp_path)


def histories(chance: random.Random) -> list[Look]:
    """Two histories of one journal, cut in several ways, with other names for the same."""
    pool = []
    for of in "ab":
        for width in (5, 10):
            for first in range(1, 100, width):
                before = chance.choice(["a", "b"]) if first == 51 else of
                pool.append(named(a_look(first, first + width - 1, of=of, before=before), f"{of}"))
    return [*pool, *(named(one, f"copy-{one.segment[0]}") for one in chance.sample(pool, 8))]


def test_a_register_of_nothing_has_no_last_segment(lake: Lake):
    """As of a party whose first batch is being written: a judgement goes on without it."""
    assert neighbours.tail(lake.held) is None
    assert list(register.Register(lake.shelf, lake.manifest).ends()) == []


@pytest.mark.parametrize("seed", range(60))
def test_what_is_around_a_batch_decides_as_everything_would(lake: Lake, seed: int):
    """In any order of arrival, with harmed, forgotten and distrusted segments in between (E4)."""
    chance = random.Random(seed)
    chosen = chance.sample(histories(chance), 40)
    cuts = sorted({0, len(chosen), *(chance.randrange(len(chosen)) for _ in range(9))})
    for low, high in pairwise(cuts):
        found = chosen[low:high]
        everything = register.looks(lake.shelf, lake.manifest)
        if everything and chance.random() < 0.3:
            other = chance.choice(sorted(everything.values()))
            harmed = other._replace(fault="unreadable: noise", modified_at=9)
            found = [*found, chance.choice([harmed, Look(other.segment, fault=GONE)])]
        aside = None
        counted = seams.fit(everything.values()).accepted
        if counted and chance.random() < 0.2:
            one = chance.choice(sorted(counted.values()))
            aside = Distrusted(one.segment, one.mark, "a reason", 1)
        whole = lake.held._replace(looks=everything)
        expected = decide(whole, found, aside)
        change = decide(neighbours.around(lake.held, found, aside), found, aside)
        assert change == expected
        lake.write(*change.looks)
        lake.manifest = Manifest(
            products=lake.manifest.products,
            quarantined=change.quarantined,
            distrusted=change.distrusted,
        )
        fit = seams.fit(register.looks(lake.shelf, lake.manifest).values())
        last = max(((one.last_seq, one.tail_hash) for one in fit.accepted.values()), default=None)
        told = neighbours.tail(lake.held)
        assert (None if told is None else (told.last_seq, told.tail_hash)) == last


def test_only_files_that_may_hold_what_is_asked_for_are_read(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
):
    """An ingest at the end of a long journal opens the last few files, however many there are."""
    for first in range(1, 1_001, 10):
        lake.write(a_look(first, first + 9))
    assert len(lake.files()) > 6
    opened: list[str] = []
    read = storage.read_bytes

    def note(url: str) -> bytes | None:
        opened.append(url)
        return read(url)

    monkeypatch.setattr(storage, "read_bytes", note)
    change = decide(neighbours.around(lake.held, [a_look(1_001, 1_010)]), [a_look(1_001, 1_010)])
    assert [one.first_seq for one in change.rows_of] == [1_001]
    assert len(opened) <= 4


def test_files_are_merged_where_they_are_small_and_stand_last(lake: Lake):
    """Each look is written again a bounded number of times, and the last one counts."""
    for first in range(1, 401, 10):
        lake.write(a_look(first, first + 9), a_look(1, 10, at=first))
    sizes = [register.register_file(name).looks for name in lake.files()]
    assert all(size >= register.LOOKS_MAX for size in sizes[: -register.FILES_MAX])
    looks = register.looks(lake.shelf, lake.manifest)
    assert len(looks) == 40
    assert looks[a_look(1, 10).segment].modified_at == 391


def test_a_file_is_unseen_in_another_state_than_that_of_the_last_look(lake: Lake):
    """Also in a state in which it was looked at before; what is quarantined counts as seen."""
    first, second, third = (a_look(row, row + 9) for row in (1, 11, 21))
    lake.write(first, second, third)
    lake.write(second._replace(modified_at=2), third._replace(fault=GONE))
    apart = Quarantined(a_look(31, 40).segment, 5, 6, "cut short", None)
    lake.manifest = Manifest(products=lake.manifest.products, quarantined=(apart,))

    def files(*states: tuple[Look, int, int]) -> list[Listed]:
        return [Listed(one.segment.removeprefix(PREFIX), *state) for one, *state in states]

    seen = files((first, 100, 1), (second, 100, 2), (a_look(31, 40), 5, 6))
    fresh = files((second, 100, 1), (third, 100, 1), (a_look(31, 40), 5, 7), (first, 101, 1))
    assert register.unseen(lake.held, PREFIX, iter([*fresh, *seen])) == sorted(fresh)
    assert register.unseen(lake.held, PREFIX, []) == []
    assert register.unlike(lake.held, PREFIX, [*fresh, *seen]) == fresh


def test_a_batch_without_looks_is_a_file_all_the_same(lake: Lake):
    """By it another ingest sees that this one was quicker, whatever was found."""
    lake.write(a_look(1, 10))
    lake.write()
    assert len(lake.files()) == 2
    assert list(register.looks(lake.shelf, lake.manifest)) == [a_look(1, 10).segment]
    assert neighbours.tail(lake.held) == a_look(1, 10)


def test_a_file_of_an_older_version_may_hold_everything(lake: Lake):
    """Its name says nothing: it is read whoever is asked for."""
    lake.write(a_look(1, 10))
    [name] = lake.files()
    older = f"{register.PRODUCT}/0123456789abcdef.parquet"
    content = storage.read_bytes(f"{lake.shelf.root}/{name}")
    storage.replace_bytes(f"{lake.shelf.root}/{older}", content or b"")
    lake.manifest = Manifest(products={register.PRODUCT: (older,)})
    assert register.named(lake.held, [a_look(1, 10).segment])
    assert neighbours.tail(lake.held) == a_look(1, 10)
