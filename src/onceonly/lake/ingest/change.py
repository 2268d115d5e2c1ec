"""What a batch of looks makes of what a lake holds: a decision over values."""

from collections.abc import Sequence
from typing import NamedTuple

from onceonly.lake.ingest import seams
from onceonly.lake.ingest.register import Known
from onceonly.lake.ingest.segments import Look
from onceonly.lake.manifest import Quarantined


class Change(NamedTuple):
    """What follows from a batch of looks."""

    looks: Sequence[Look]
    """For the register: those at segments that are whole in themselves."""
    quarantined: tuple[Quarantined, ...]
    """All that are kept apart from now on."""
    rows_of: Sequence[Look]
    """Segments whose rows are to be written; no two of them hold the same rows."""
    is_rebuilt: bool
    """Whether they stand in the place of all rows before: a segment that counted does no more."""


def decide(before: Known, found: Sequence[Look]) -> Change:
    """What follows from these looks."""
    was = seams.fit(before.looks.values())
    kept = [one for one in before.manifest.quarantined if one.segment not in was.contradicted]
    apart = {one.segment: one for one in kept}
    looks = []
    for one in found:
        apart.pop(one.segment, None)
        taken = was.accepted.get(one.segment)
        if taken is not None and (one.fault is not None or one.content != taken.content):
            what = one.fault or "it holds other rows"
            apart[one.segment] = _apart(one, f"changed after it was taken in: {what}")
        elif one.fault is not None:
            apart[one.segment] = _apart(one, one.fault)
        else:
            looks.append(one)
    now = seams.fit({**before.looks, **{one.segment: one for one in looks}}.values())
    apart |= {name: _apart(one, one.fault or "") for name, one in now.contradicted.items()}
    quarantined = tuple(apart[name] for name in sorted(apart))
    if any(name not in now.accepted for name in was.accepted):
        return Change(
            looks, quarantined, seams.without_repeats(now.accepted.values()), is_rebuilt=True
        )
    gained = [one for name, one in now.accepted.items() if name not in was.accepted]
    rows_of = seams.without_repeats(gained, was.accepted.values())
    return Change(looks, quarantined, rows_of, is_rebuilt=False)


def _apart(found: Look, fault: str) -> Quarantined:
    return Quarantined(found.segment, found.length, found.modified_at, fault, found.bad_seq)
