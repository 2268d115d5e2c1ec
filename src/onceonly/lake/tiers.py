"""Which small folders are due to be merged: as many as are alike, so that each row moves seldom.

Folders of so many batches as a power of `WIDTH` stand in one tier. Where a tier has `WIDTH` of them
they become one of the next tier. So with n batches a row is written log n times besides, and a
reader opens some `WIDTH` folders of each tier. Pure: knows names and numbers.
"""

from collections.abc import Callable, Sequence
from typing import Final

from onceonly.lake.manifest import batches_in

WIDTH: Final = 8
SMALL_BYTES: Final = 32 << 20
"""A larger folder is left to `lake compact`: so no ingest has to write more than eight such."""


def due(folders: Sequence[str], size: Callable[[str], int]) -> list[str]:
    """The folders to merge into one now, in order of their batches; none where nothing is due.

    `size` is asked for the bytes of few folders, however many there are.
    """
    tiers: dict[int, list[tuple[int, int, str]]] = {}
    for folder in folders:
        batches = batches_in(folder)
        if batches is not None:
            first, last = batches
            tiers.setdefault(_tier(last - first + 1), []).append((first, last, folder))
    for _, tier in sorted(tiers.items()):
        if len(tier) < WIDTH:
            continue
        # Large ones stay where they are, so only the newest are asked for.
        newest = [folder for *_, folder in sorted(tier)[-2 * WIDTH :]]
        small = [folder for folder in newest if size(folder) < SMALL_BYTES]
        if len(small) >= WIDTH:
            return small[:WIDTH]
    return []


def _tier(batches: int) -> int:
    tier = 0
    while batches >= WIDTH:
        batches //= WIDTH
        tier += 1
    return tier
