"""Small folders are merged as seldom as possible, and large ones never by an ingest."""

from __future__ import annotations

from onceonly.lake.manifest import batch_name, batches_in
from onceonly.lake.tiers import SMALL_BYTES, WIDTH, due


def folder(first: int, last: int) -> str:
    return f"journal/{batch_name(first, last)}"


def ingest(folders: list[str], batch: int, bytes_of: dict[str, int]) -> int:
    """One more batch, and what is merged for it: the bytes that were written again."""
    folders.append(folder(batch, batch))
    bytes_of[folders[-1]] = 1
    names = due(folders, bytes_of.__getitem__)
    if not names:
        return 0
    ranges = [found for name in names if (found := batches_in(name)) is not None]
    merged = folder(min(low for low, _ in ranges), max(high for _, high in ranges))
    bytes_of[merged] = sum(bytes_of[name] for name in names)
    folders[:] = [name for name in folders if name not in names] + [merged]
    return bytes_of[merged]


def test_of_many_small_batches_few_folders_stay_and_each_row_moves_seldom():
    """After ten thousand: a few of each size, in one piece each, and log n copies of a row."""
    folders: list[str] = []
    bytes_of: dict[str, int] = {}
    moved = [ingest(folders, batch, bytes_of) for batch in range(1, 10_001)]
    assert len(folders) < 5 * WIDTH
    assert sum(moved) < 5 * 10_000
    ranges = sorted(found for name in folders if (found := batches_in(name)) is not None)
    assert [low for low, _ in ranges] == [1, *(high + 1 for _, high in ranges[:-1])]


def test_large_folders_are_left_alone_and_not_even_measured_when_they_are_many():
    """A day of a million rows is one folder for ever, and the next small ones are still merged."""
    large = [folder(batch, batch) for batch in range(1, 1_001)]
    asked: list[str] = []

    def size(name: str) -> int:
        asked.append(name)
        return SMALL_BYTES if name in large else 1

    assert due(large, size) == []
    assert len(asked) <= 2 * WIDTH
    small = [folder(batch, batch) for batch in range(1_001, 1_001 + WIDTH)]
    assert due([*large, *small], size) == small


def test_folders_of_before_that_do_not_tell_their_batches_are_left_to_a_compaction():
    """Nothing is known of their order."""
    assert due(["journal/batch-0123456789abcdef"] * 100, lambda _: 1) == []
