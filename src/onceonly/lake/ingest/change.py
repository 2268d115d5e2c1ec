"""How a batch of looks changes what a lake holds: a pure decision."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from onceonly.lake.ingest import seams
from onceonly.lake.ingest.register import GONE, KnownSegments
from onceonly.lake.ingest.seams import Fit
from onceonly.lake.ingest.segments import Look
from onceonly.lake.manifest import Distrusted, Quarantined


class Change(NamedTuple):
    """What follows from a batch of looks."""

    looks: Sequence[Look]
    """For the register: the looks at segments that are whole."""
    quarantined: tuple[Quarantined, ...]
    """All segments that are quarantined from now on."""
    rows_of: Sequence[Look]
    """Segments whose rows are to be read; no two of them, and no one that counts, have the same."""
    kept: Sequence[Look] = ()
    """If a segment does not count any more: those that still count, whose rows the lake has."""
    dropped: Sequence[Look] = ()
    """Segments that counted before and do not count any more."""
    distrusted: tuple[Distrusted, ...] = ()
    """All contents that are set aside by hand from now on."""

    @property
    def is_rebuilt(self) -> bool:
        """Whether all rows are to be written again: the kept ones, and those that are read."""
        return bool(self.dropped)


class _Laid(NamedTuple):
    """All segments laid end to end, before and after."""

    looks: Sequence[Look]
    apart: dict[str, Quarantined]
    was: Fit
    now: Fit
    distrusted: tuple[Distrusted, ...]

    @property
    def gained(self) -> list[Look]:
        """Those that count now and did not before."""
        return [one for one in self.now.accepted.values() if not _is_in(one, self.was.accepted)]

    @property
    def dropped(self) -> list[Look]:
        """Those that counted before and do not now."""
        return [one for one in self.was.accepted.values() if not _is_in(one, self.now.accepted)]


def decide(before: KnownSegments, found: Sequence[Look], aside: Distrusted | None = None) -> Change:
    """What follows from these looks, and from setting a content `aside` that counted so far."""
    laid = _laid(before, found, aside)
    quarantined = tuple(laid.apart[name] for name in sorted(laid.apart))
    kept = [one for one in laid.was.accepted.values() if _is_in(one, laid.now.accepted)]
    rows_of = seams.without_repeats(laid.gained, kept)
    dropped = laid.dropped
    rest = seams.without_repeats(kept) if dropped else ()
    return Change(laid.looks, quarantined, rows_of, rest, dropped, laid.distrusted)


def moved(
    before: KnownSegments, found: Sequence[Look], aside: Distrusted | None = None
) -> tuple[list[Look], list[Look]]:
    """The segments that count after these looks and did not before, and the other way round."""
    laid = _laid(before, found, aside)
    return laid.gained, laid.dropped


def _laid(before: KnownSegments, found: Sequence[Look], aside: Distrusted | None) -> _Laid:
    distrusted = (*before.manifest.distrusted, *(() if aside is None else (aside,)))
    marks = {one.content for one in distrusted}
    was = seams.fit(before.looks.values())
    old = [one for one in before.manifest.quarantined if one.segment not in was.contradicted]
    apart = {one.segment: one for one in old}
    looks = []
    for one in found:
        apart.pop(one.segment, None)
        taken = was.accepted.get(one.segment)
        if taken is not None and taken.mark in marks:
            taken = None  # Nothing is held against what stands in its place.
        if one.fault == GONE:
            looks.append(one)
        elif taken is not None and (one.fault is not None or one.content != taken.content):
            what = one.fault or "it holds other rows"
            apart[one.segment] = _apart(one, f"changed after it was taken in: {what}")
        elif one.fault is not None:
            apart[one.segment] = _apart(one, one.fault)
            if one.segment in before.looks:
                looks.append(one._replace(fault=GONE))
        else:
            looks.append(one)
    together = {**before.looks, **{one.segment: one for one in looks}}
    there = {name: one for name, one in together.items() if one.fault != GONE}
    set_aside = {name: one for name, one in there.items() if marks and one.mark in marks}
    apart |= {name: _apart(one, _SET_ASIDE) for name, one in set_aside.items()}
    now = seams.fit(one for name, one in there.items() if name not in set_aside)
    apart |= {name: _apart(one, one.fault or "") for name, one in now.contradicted.items()}
    return _Laid(looks, apart, was, now, distrusted)


_SET_ASIDE: Final = "set aside by hand: another content may take its place"


def _is_in(one: Look, others: Mapping[str, Look]) -> bool:
    other = others.get(one.segment)
    return other is not None and other.content == one.content


def _apart(found: Look, fault: str) -> Quarantined:
    return Quarantined(found.segment, found.length, found.modified_at, fault, found.bad_seq)
