"""Which looks decide about new ones: those around them, and not the whole history.

Whether a segment counts follows from the segments that end right before it, and from those before
these (`seams`). But of a segment that is in the register and not quarantined it is known already:
it counts. So with a batch only those are laid end to end again that the batch may touch: the
segments of the batch and those under their names, the quarantined ones, those with the same first
row, those right before them, and those right after every segment that did not count and now does.

Where a segment stops counting, all rows are written again; then all looks are needed, as many as
there are. That is the one case in which an ingest costs as much as the history is long.
"""

from collections.abc import Sequence

from onceonly.lake.ingest import seams
from onceonly.lake.ingest.change import moved
from onceonly.lake.ingest.register import KnownSegments, Register
from onceonly.lake.ingest.segments import Look
from onceonly.lake.manifest import Distrusted


def around(
    held: KnownSegments,
    found: Sequence[Look],
    aside: Distrusted | None = None,
    index: Register | None = None,
) -> KnownSegments:
    """As many looks as `change.decide` needs to come to what it would decide by all of them."""
    index = Register(held.shelf, held.manifest) if index is None else index
    names = {one.segment for one in found} | {one.segment for one in held.manifest.quarantined}
    names |= set() if aside is None else {aside.segment}
    looks = index.find(names=names)
    looks = {name: one for name, one in looks.items() if name in names}
    firsts: set[int] = set()
    lasts: set[int] = set()
    while True:
        near = held._replace(looks=looks)
        gained, dropped = moved(near, found, aside)
        if dropped:
            return held._replace(looks=index.everything())
        wanted = _wanted([*looks.values(), *found], names)
        wanted |= {one.last_seq + 1 for one in gained}
        if wanted <= firsts:
            return near
        firsts |= wanted
        lasts |= {first - 1 for first in wanted}
        looks = {**looks, **index.find(firsts=firsts, lasts=lasts)}


def _wanted(looks: Sequence[Look], names: set[str]) -> set[int]:
    """First rows at which every segment is needed, with every one that ends right before them."""
    ends = {one.last_seq for one in looks}
    return {
        one.first_seq
        for one in looks
        if one.first_seq and (one.segment in names or one.first_seq - 1 in ends)
    }


def accepted(held: KnownSegments, looks: Sequence[Look]) -> list[Look]:
    """Those of these looks, which are in the register, whose segments count."""
    names = {one.segment for one in looks}
    near = around(held, [one for one in looks if one.segment in names])
    fit = seams.fit(near.looks.values())
    return [one for one in looks if one.segment in fit.accepted]


def tail(held: KnownSegments) -> Look | None:
    """The segment that counts and ends last; of several the one with the greatest last hash."""
    index = Register(held.shelf, held.manifest)
    for end in index.ends():
        there = [one for one in index.find(lasts=[end]).values() if one.last_seq == end]
        found = accepted(held, there)
        if found:
            return max(found, key=lambda one: one.tail_hash or "")
    return None
