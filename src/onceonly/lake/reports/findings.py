"""What a report says, as plain values: the seam between Spark and the page.

Knows neither. Instants are microseconds UTC, durations seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onceonly.lake.verdicts import DIFFERENCES, Policy, Verdict

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class InvariantResult:
    """One line of the once-and-only-once sheet."""

    name: str
    claim: str
    messages: int
    """How many messages (or, for the chain, journal rows) it was tried on."""
    breaches: int
    examples: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing breaks it."""
        return self.breaches == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What both journals together prove at `as_of`."""

    as_of: int
    policy: Policy
    matrix: Rows
    """Messages per pair and verdict."""
    invariants: tuple[InvariantResult, ...]
    journals: Rows
    """Per party: rows, period, openings, and whether the chain is whole."""

    @property
    def verdicts(self) -> dict[str, int]:
        """Messages per class; every class is there, most of them with 0."""
        counts = {verdict.value: 0 for verdict in Verdict}
        for row in self.matrix:
            counts[row["verdict"]] += row["messages"]
        return counts

    @property
    def messages(self) -> int:
        """Messages that either journal knows."""
        return sum(row["messages"] for row in self.matrix)

    @property
    def differences(self) -> int:
        """Messages in a class that somebody has to look at."""
        counts = self.verdicts
        return sum(counts[verdict.value] for verdict in DIFFERENCES)

    @property
    def holds(self) -> bool:
        """Whether nothing differs and every invariant holds."""
        return self.differences == 0 and all(line.holds for line in self.invariants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything that the page shows."""

    judged: Judged
    differences: Rows
    evidence: Rows
    """Journal rows of the messages that differ, bounded."""
    promise: Rows
    promise_width_us: int
    turnaround: Rows
    retries: Rows
    outcomes: Rows
    duplicate_causes: Rows
    volume: Rows
