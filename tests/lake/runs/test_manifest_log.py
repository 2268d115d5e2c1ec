"""A manifest is a snapshot and the entries after it: whatever was changed, and whoever reads."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onceonly.lake import manifest, storage
from onceonly.lake.manifest import Manifest, Quarantined, Shelf
from onceonly.lake.manifest_log import applied, difference
from onceonly.message.errors import LocalError


def a_state(chance: random.Random, depth: int = 2) -> dict[str, Any]:
    def value() -> Any:
        kind = chance.randrange(4)
        if kind == 0 and depth:
            return a_state(chance, depth - 1)
        if kind == 1:
            return [[chance.randrange(3), 1] for _ in range(chance.randrange(6))]
        return chance.choice([None, 0, 1, "x", "of", ""])

    return {chance.choice("abcdefgh"): value() for _ in range(chance.randrange(6))}


@pytest.mark.parametrize("seed", range(200))
def test_a_state_and_a_difference_give_the_next_state(seed: int):
    """Through JSON, whatever the two states are."""
    chance = random.Random(seed)
    before, after = a_state(chance), a_state(chance)
    told = json.loads(json.dumps(difference(before, after)))
    assert applied(before, told) == after
    assert difference(after, after) == {}


def test_what_is_appended_is_all_that_an_entry_says(tmp_path: Path):
    """However long the lists are by now."""
    shelf = Shelf(str(tmp_path), "party=p")
    for number in range(1_000):
        grown(shelf, number)
    sizes = [path.stat().st_size for path in sorted((Path(shelf.root) / "log").iterdir())]
    assert max(sizes) < 400
    assert manifest.load(shelf).batches == 1_000


def grown(shelf: Shelf, number: int) -> Manifest:
    def one_more(found: Manifest) -> Manifest:
        found = found.with_folders(
            "journal", found.products.get("journal", ())[-1:], f"{number}", 7
        )
        return replace(found, batches=found.batches + 1, ranges=(*found.ranges, (number * 2, 0)))

    return manifest.change(shelf, one_more)


def test_a_reader_sees_each_state_and_few_files_stay(tmp_path: Path):
    """With a snapshot every so many entries, and those before the last two removed."""
    shelf = Shelf(str(tmp_path), "party=p")
    for number in range(5 * manifest.ENTRIES_MAX):
        assert grown(shelf, number) == manifest.load(shelf)
        assert manifest.load(shelf).batches == number + 1
    assert len(list((Path(shelf.root) / "log").iterdir())) <= 3 * manifest.ENTRIES_MAX


def test_a_reader_that_stopped_between_snapshot_and_log_sees_one_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Not a mixture, nor one of before it began, however many changes there were meanwhile."""
    shelf = Shelf(str(tmp_path), "party=p")
    states = [Manifest(), *(grown(shelf, number) for number in range(40))]
    read = storage.read_bytes

    def slowly(url: str) -> bytes | None:
        content = read(url)
        if url.endswith("manifest.json"):
            monkeypatch.undo()
            states.extend(grown(shelf, number) for number in range(40, 200))
        return content

    monkeypatch.setattr(storage, "read_bytes", slowly)
    assert manifest.load(shelf) in states[40:]


def test_who_was_overtaken_decides_once_more(tmp_path: Path):
    """Where no lock keeps two apart: the second change is made of what the first has left."""
    shelf = Shelf(str(tmp_path), "party=p")
    grown(shelf, 0)
    asked: list[int] = []

    def overtaken(found: Manifest) -> Manifest:
        asked.append(found.batches)
        if len(asked) == 1:
            told = {"of": {"batches": {"is": 41}}}
            assert manifest.append(shelf, 2, told)
        return replace(found, batches=found.batches + 1)

    assert manifest.change(shelf, overtaken).batches == 42
    assert asked == [1, 41]
    assert manifest.load(shelf).batches == 42


def test_an_entry_is_never_replaced(tmp_path: Path):
    """Of two with one number the first one stands."""
    shelf = Shelf(str(tmp_path), "party=p")
    assert manifest.append(shelf, 1, {"of": {"batches": {"is": 1}}})
    assert not manifest.append(shelf, 1, {"of": {"batches": {"is": 2}}})
    assert manifest.load(shelf).batches == 1


def test_what_is_published_whole_stands_whatever_the_log_says(tmp_path: Path):
    """And changes go on after it."""
    shelf = Shelf(str(tmp_path), "party=p")
    for number in range(7):
        grown(shelf, number)
    apart = Quarantined("s", 1, 2, "cut short", 3)
    manifest.publish(shelf, Manifest(batches=70, quarantined=(apart,)))
    assert manifest.load(shelf) == Manifest(batches=70, quarantined=(apart,))
    assert grown(shelf, 8).quarantined == (apart,)
    assert manifest.load(shelf).batches == 71


@pytest.mark.parametrize(
    ("content", "name"),
    [("{", "BadManifest"), ('{"version": 99}', "NewerLake"), ('{"version": 3}', "BadManifest")],
)
def test_an_entry_that_is_none_is_named(tmp_path: Path, content: str, name: str):
    """With its file, so that somebody can look at it."""
    shelf = Shelf(str(tmp_path), "party=p")
    grown(shelf, 0)
    entry = Path(shelf.root) / "log" / f"{2:020}.json"
    entry.write_text(content)
    with pytest.raises(LocalError, match=str(entry)) as refused:
        manifest.load(shelf)
    assert refused.value.name == name
