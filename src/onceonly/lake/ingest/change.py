"""What a batch of looks makes of what a lake holds: a decision over values."""

from collections.abc import Sequence
from typing import NamedTuple

from onceonly.lake.ingest import seams
from onceonly.lake.ingest.register import GONE, Known
from onceonly.lake.ingest.segments import Look
from onceonly.lake.manifest import Quarantined


class Change(NamedTuple):
    """What follows from a batch of looks."""

    looks: Sequence[Look]
    """For the register: those at segments that are whole in themselves."""
    quarantined: tuple[Quarantined, ...]
    """All that are kept apart from now on."""
    rows_of: Sequence[Look]
    """Segments whose rows are to be read; no two of them, nor one that counts, hold the same."""
    kept: Sequence[Look] = ()
    """Where a segment that counted does no more: those that do, whose rows the lake has."""
    dropped: Sequence[Look] = ()
    """Segments that counted and do no more."""

    @property
    def is_rebuilt(self) -> bool:
        """Whether all rows are to be written anew: the kept ones, and those that are read."""
        return bool(self.dropped)


def decide(before: Known, found: Sequence[Look]) -> Change:
    """What follows from these looks."""
    was = seams.fit(before.looks.values())
    old = [one for one in before.manifest.quarantined if one.segment not in was.contradicted]
    apart = {one.segment: one for one in old}
    looks = []
    for one in found:
        apart.pop(one.segment, None)
        taken = was.accepted.get(one.segment)
        if taken is not None and (one.fault is not None or one.content != taken.content):
            what = one.fault or "it holds other rows"
            apart[one.segment] = _apart(one, f"changed after it was taken in: {what}")
        elif one.fault is not None:
            apart[one.segment] = _apart(one, one.fault)
            if one.segment in before.looks:
                looks.append(one._replace(fault=GONE))
        else:
            looks.append(one)
    together = {**before.looks, **{one.segment: one for one in looks}}
    now = seams.fit(one for one in together.values() if one.fault != GONE)
    apart |= {name: _apart(one, one.fault or "") for name, one in now.contradicted.items()}
    quarantined = tuple(apart[name] for name in sorted(apart))
    gained = [one for name, one in now.accepted.items() if name not in was.accepted]
    kept = [one for name, one in was.accepted.items() if name in now.accepted]
    dropped = [one for name, one in was.accepted.items() if name not in now.accepted]
    rows_of = seams.without_repeats(gained, kept)
    if not dropped:
        return Change(looks, quarantined, rows_of)
    return Change(looks, quarantined, rows_of, seams.without_repeats(kept), dropped)


def _apart(found: Look, fault: str) -> Quarantined:
    return Quarantined(found.segment, found.length, found.modified_at, fault, found.bad_seq)
