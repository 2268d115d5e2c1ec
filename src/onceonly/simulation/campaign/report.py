"""What many worlds showed, added up: violations, faults, named points, and what was never seen.

A campaign that found nothing must still show that it has tried everything. So it fails, as after a
violation, if no world reached a state that `SOMETIMES` names, or if hardly any process died at some
named point.
Knows results, not how worlds are run.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from msgspec.structs import asdict

from onceonly.gateway.drill import POINTS
from onceonly.message.word import Word
from onceonly.simulation.campaign import tally
from onceonly.simulation.campaign.code import code_digest
from onceonly.simulation.campaign.sometimes import RARE, SOMETIMES
from onceonly.simulation.campaign.worlds import Result
from onceonly.simulation.generator.mishaps import NEVER_REACHED

KILLED_AT = "killed at "
"""How a named point is called at which a process was killed."""


SIGHTED_FROM = 20_000
"""Seeds from which on a campaign must have seen everything that there is to be seen."""

SEEDS_PER_KILL = 1000
"""At each named point one process in so many worlds must have died: 1,000 in a million."""

LISTED_MAX = 1000
"""Violations that are listed; all are counted. More than these nobody reads."""


class Breach(Word, order=True):
    """An invariant that did not hold in the world of a seed."""

    seed: int
    invariant: str
    text: str


@dataclass
class Summary:
    """What a number of worlds showed together. Two of them may be merged in any order."""

    seeds: int = 0
    events: int = 0
    virtual_ms: int = 0
    accepted: int = 0
    delivered: int = 0
    acknowledged: int = 0
    failed: int = 0
    in_doubt: int = 0
    seconds: float = 0.0
    """Wall time, for who knows it, of `timed` of the seeds."""
    timed: int = 0
    core_seconds: float = 0.0
    """On one core, of all the seeds, whichever call ran them."""
    violating: int = 0
    """Seeds with a violation."""
    breaches: list[Breach] = field(default_factory=list)
    """One for each seed and invariant, by seed; the first `LISTED_MAX`."""
    invariants: Counter[str] = field(default_factory=Counter)
    """Seeds in which each invariant was broken."""
    matrix: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    sometimes: Counter[str] = field(default_factory=Counter)
    """Seeds that reached each of the states."""
    combinations: set[tuple[str, ...]] = field(default_factory=set)
    """Sets of fault classes and knobs that were on together."""
    counted_combinations: int = 0
    """How many of them, where somebody else counted."""
    fingerprint: int = 0
    """Exclusive or over the trace hashes: the same for the same seeds under the same code."""

    def add(self, result: Result) -> None:
        """Count one world."""
        self.seeds += 1
        for count in COUNTS:
            setattr(self, count, getattr(self, count) + getattr(result, count))
        self._note(found_in(result))
        self.matrix.update(result.matrix)
        self.points.update(result.points)
        self.sometimes.update(result.sometimes)
        self.combinations.add(tuple(sorted(result.tags)))
        self.fingerprint ^= fingerprint_of(result.trace_hash)

    def merge(self, other: "Summary") -> None:
        """Count what another summary counted, of other worlds."""
        for count in ("seeds", "violating", "core_seconds", *COUNTS):
            setattr(self, count, getattr(self, count) + getattr(other, count))
        self.breaches = sorted([*self.breaches, *other.breaches])[:LISTED_MAX]
        for counter in ("invariants", "matrix", "points", "sometimes"):
            getattr(self, counter).update(getattr(other, counter))
        self.combinations |= other.combinations
        self.fingerprint ^= other.fingerprint

    def _note(self, found: dict[str, Breach]) -> None:
        self.violating += bool(found)
        self.invariants.update(found.keys())
        self.breaches = sorted([*self.breaches, *found.values()])[:LISTED_MAX]

    @property
    def unseen(self) -> list[str]:
        """States that no world reached."""
        return [name for name in SOMETIMES if not self.sometimes[name]]

    @property
    def blind(self) -> list[str]:
        """Those of them for which there were worlds enough."""
        return [name for name in self.unseen if self.seeds >= RARE.get(name, SIGHTED_FROM)]

    @property
    def kills(self) -> dict[str, int]:
        """Processes killed at each named point."""
        return {point: self.points[KILLED_AT + point] for point in POINTS}

    @property
    def spared(self) -> list[str]:
        """Named points at which too few processes died."""
        least = self.seeds // SEEDS_PER_KILL
        return [
            point
            for point, kills in self.kills.items()
            if point not in NEVER_REACHED and kills < least
        ]

    @property
    def is_sighted(self) -> bool:
        """Whether it saw everything, or was too small to have to."""
        return self.seeds < SIGHTED_FROM or not (self.blind or self.spared)

    @property
    def holds(self) -> bool:
        """Whether nothing was violated by a campaign that looked everywhere."""
        return not self.violating and self.is_sighted

    @property
    def combination_count(self) -> int:
        """How many sets of fault classes and knobs were on together."""
        return self.counted_combinations or len(self.combinations)

    @property
    def seeds_per_s(self) -> float:
        """Worlds in a second of wall time; 0 where nobody took it."""
        return self.timed / self.seconds if self.seconds else 0.0


COUNTS = (
    "events",
    "virtual_ms",
    "accepted",
    "delivered",
    "acknowledged",
    "failed",
    "in_doubt",
)
"""What is added up by itself."""

FINGERPRINT_DIGITS = 15
"""Hexadecimal digits of a trace hash in the fingerprint: they fit a signed 64-bit number."""


def fingerprint_of(trace_hash: str) -> int:
    """The part of a trace hash that goes into the fingerprint."""
    return int(trace_hash[:FINGERPRINT_DIGITS], 16)


def found_in(result: Result) -> dict[str, Breach]:
    """The first violation of each invariant in one world."""
    found: dict[str, Breach] = {}
    for violation in result.violations:
        breach = Breach(result.seed, violation.invariant, violation.text)
        found.setdefault(violation.invariant, breach)
    return found


def as_json(summary: Summary) -> dict[str, Any]:
    """The document that `onceonly simulate -o json` prints."""
    return {
        "seeds": summary.seeds,
        "violations": [asdict(breach) for breach in summary.breaches],
        "violating_seeds": summary.violating,
        **{count: getattr(summary, count) for count in COUNTS},
        "faults": _ordered(tally.by_fault(summary.matrix.items())),
        "matrix": _ordered(summary.matrix),
        "points": {
            point: {"reached": summary.points[point], "killed": kills}
            for point, kills in summary.kills.items()
        },
        "spared": summary.spared,
        "sometimes": {name: summary.sometimes[name] for name in SOMETIMES},
        "blind": summary.blind,
        "combinations": summary.combination_count,
        "fingerprint": f"{summary.fingerprint:0{FINGERPRINT_DIGITS}x}",
        "seconds": round(summary.seconds, 3),
        "seeds_per_s": round(summary.seeds_per_s, 1),
        "core_seconds": round(summary.core_seconds, 3),
        "code": code_digest(),
    }


def as_text(summary: Summary) -> str:
    """The same for people."""
    return "\n".join([*_counts(summary), *_faults(summary), *_points(summary), *_seen(summary)])


def _counts(summary: Summary) -> list[str]:
    days = summary.virtual_ms / 86_400_000
    ends = ", ".join(
        f"{getattr(summary, end):,} {end.replace('_', ' ')}"
        for end in ("delivered", "acknowledged", "failed", "in_doubt")
    )
    combinations = f"{summary.combination_count:,} combinations of fault classes"
    return [
        f"{summary.seeds:,} worlds, {summary.events:,} events, {days:,.1f} days of virtual time",
        f"{summary.accepted:,} messages accepted: {ends}",
        f"{combinations}; {summary.seeds_per_s:,.0f} worlds/s",
    ]


def _faults(summary: Summary) -> list[str]:
    lines = ["", f"{'fault':24}{'struck':>12}{'phases':>8}  most in"]
    phases: dict[str, Counter[str]] = {}
    for cell, count in summary.matrix.items():
        fault, _, phase = cell.partition(" x ")
        phases.setdefault(fault, Counter())[phase] += count
    for fault, by_phase in sorted(phases.items(), key=lambda item: -item[1].total()):
        most = ", ".join(phase for phase, _ in by_phase.most_common(3))
        struck = f"{by_phase.total():>12,}{len(by_phase):>8}"
        lines.append(f"{fault:24}{struck}  {most}")
    return lines


def _points(summary: Summary) -> list[str]:
    lines = ["", f"{'named point':24}{'reached':>12}{'killed':>8}"]
    lines += [
        f"{point:24}{summary.points[point]:>12,}{kills:>8,}"
        for point, kills in summary.kills.items()
    ]
    return lines


def _seen(summary: Summary) -> list[str]:
    lines = ["", f"{len(SOMETIMES) - len(summary.unseen)} of {len(SOMETIMES)} states seen"]
    lines += [f"never seen: {name}: {SOMETIMES[name]}" for name in summary.unseen]
    if summary.seeds >= SIGHTED_FROM:
        lines += [f"too few died at: {point}" for point in summary.spared]
    return lines


def complaints(summary: Summary) -> list[str]:
    """One line for each invariant that was broken, with the smallest seed that shows it."""
    first: dict[str, Breach] = {}
    for breach in summary.breaches:
        first.setdefault(breach.invariant, breach)
    lines = [
        f"VIOLATED {name} in {count:,} of {summary.seeds:,} worlds, first in seed "
        f"{first[name].seed}: {first[name].text}"
        for name, count in sorted(summary.invariants.items())
        if name in first
    ]
    if not summary.is_sighted:
        blind = ", ".join(islice([*summary.blind, *summary.spared], 20))
        lines.append(f"BLIND: {summary.seeds:,} worlds never came by {blind}")
    return lines


def _ordered(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items()))
