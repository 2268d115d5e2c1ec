"""How segments fit together: which continue one another, and which contradict one another.

The theory
----------
The first row of a segment proves nothing by itself: its hash is over the row before it, which lies
in another segment. Where a segment ends right before it, that one's last hash settles it. A
segment whose first row follows none of the segments that end before it is edited there, or was cut
from another history: it is *contradicted*, and its rows do not count.

What counts is a function of the whole set of segments, never of the order in which they came
(invariant E4). So a segment may turn out to be contradicted long after it was taken in, when the
one before it arrives at last.

Segments may overlap: a publisher that died publishes some rows twice, and a store that was rolled
back publishes other rows under the same numbers. Those are compared row by row, where they are
taken in, by all that is in them: a first row that was edited and kept its hash stands beside the
true one, whichever came first, and is counted as a fork.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from onceonly.lake.ingest.segments import Look


class Fit(NamedTuple):
    """The result for a set of whole segments; both fields are by the name of the segment."""

    accepted: Mapping[str, Look]
    contradicted: Mapping[str, Look]
    """With their faults."""


def fit(looks: Iterable[Look]) -> Fit:
    """Lay the segments end to end."""
    accepted: dict[str, Look] = {}
    contradicted: dict[str, Look] = {}
    ending: defaultdict[int, list[Look]] = defaultdict(list)
    for one in sorted(looks, key=lambda look: (look.first_seq, look.last_seq, look.segment)):
        before = ending[one.first_seq - 1]
        if before and not any(other.is_followed_by(one) for other in before):
            contradicted[one.segment] = one._replace(
                bad_seq=one.first_seq,
                fault=f"edited: row {one.first_seq} does not follow {before[0].segment}",
            )
        else:
            accepted[one.segment] = one
            ending[one.last_seq].append(one)
    return Fit(accepted, contradicted)


def without_repeats(looks: Iterable[Look], known: Iterable[Look] = ()) -> list[Look]:
    """The segments that hold other rows than those before them and those that are `known`."""
    seen = {one.content for one in known}
    fresh = []
    for one in looks:
        if one.content not in seen:
            seen.add(one.content)
            fresh.append(one)
    return fresh
