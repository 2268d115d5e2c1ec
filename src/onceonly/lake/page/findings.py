"""What a report says, as plain values: the seam between Spark and the page.

Knows neither. Instants and durations are whole microseconds, instants UTC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, NamedTuple

from onceonly.lake.tables.definition import Definition
from onceonly.lake.verdicts import DIFFERENCES, Policy, Verdict

Row = Mapping[str, Any]
Rows = Sequence[Row]

PAIRS_LISTED: Final = 200
"""Pairs whose verdicts are told apart; the totals are of all."""
CONTENT_UNPROVEN: Final = "content unproven"
HEADER_UNPROVEN: Final = "header unproven"
"""Causes beside the classes: both have the message, and one does not say of which content."""
CHAIN: Final = "E3"
"""The line of the sheet which says that the evidence itself is whole."""


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
    totals: Mapping[str, int]
    """Messages per class, of those that any fell into."""
    matrix: Rows
    """Messages per pair and verdict, of the `PAIRS_LISTED` pairs that matter most."""
    invariants: tuple[InvariantResult, ...]
    unproven: int
    """Messages that both journals tell of, and one of them without the digest of the content."""
    journals: Rows
    """Per party: rows, period, openings, and whether the chain is whole."""
    header_unproven: int = 0
    """Messages on both sides of which one has no digest of the header: it is not proven."""

    @property
    def mark(self) -> str:
        """What the evidence was: one hash over the last row of each journal, each with its own.

        Whoever holds the journals can compute it again: `party|last_seq|last_hash`, a line each.
        """
        tails = [f"{one['party']}|{one['last_seq']}|{one['last_hash']}\n" for one in self.journals]
        return sha256("".join(sorted(tails)).encode()).hexdigest()

    @property
    def verdicts(self) -> dict[str, int]:
        """Messages per class; every class is there, most of them with 0."""
        return {verdict.value: self.totals.get(verdict.value, 0) for verdict in Verdict}

    @property
    def messages(self) -> int:
        """Messages that either journal knows."""
        return sum(self.totals.values())

    @property
    def differences(self) -> int:
        """Messages in a class that somebody has to look at."""
        counts = self.verdicts
        return sum(counts[verdict.value] for verdict in DIFFERENCES)

    @property
    def broken(self) -> tuple[InvariantResult, ...]:
        """Lines of the sheet that do not hold; the evidence first, since others may follow."""
        lines = [line for line in self.invariants if not line.holds]
        return tuple(sorted(lines, key=lambda line: line.name != CHAIN))

    @property
    def is_whole(self) -> bool:
        """Whether no row of the journals is missing, edited or told by somebody else (E3)."""
        return all(line.name != CHAIN for line in self.broken)

    @property
    def holds(self) -> bool:
        """Whether nothing differs and every invariant holds."""
        return self.differences == 0 and all(line.holds for line in self.invariants)


Value = bool | str | None


class Due(NamedTuple):
    """Rows of a report that ask somebody to act, and what is counted of them."""

    report: str
    where: tuple[tuple[str, tuple[Value, ...]], ...]
    """Columns, each with the values that ask; without values it is any number above 0."""
    each: tuple[str, ...] = ()
    """What has the same values in these columns is counted once; without them every row counts."""
    adds: str = ""
    """Where it is not rows that count: the column that is added up."""

    def of(self, rows: Rows) -> list[Row]:
        """Those of the rows that ask, in their order."""
        return [row for row in rows if all(_asks(row[name], some) for name, some in self.where)]

    def number(self, rows: Rows) -> int:
        """How many there are in these rows."""
        some = self.of(rows)
        if self.adds:
            return sum(row[self.adds] for row in some)
        return len({tuple(row[name] for name in self.each) for row in some} if self.each else some)


def _asks(value: Any, asking: tuple[Value, ...]) -> bool:
    return value in asking if asking else (value or 0) > 0


@dataclass(frozen=True, slots=True)
class Extract:
    """The rows of a report that the page has, in the order in which they are shown."""

    rows: Rows = ()
    total: int = 0
    """Rows of the whole report: more than are here where it was cut."""
    counted: Mapping[Due, int] = field(default_factory=dict)
    """Where it was cut, how many the whole report has of what is due."""

    @property
    def is_cut(self) -> bool:
        """Whether the report has more."""
        return self.total > len(self.rows)

    def number(self, due: Due) -> int:
        """How many the whole report has, and not only the rows that are here."""
        return self.counted[due] if self.is_cut else due.number(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything that the page shows."""

    judged: Judged
    widths: Mapping[str, int]
    """Width of the bins of time by name of the report; under the empty name, of all others."""
    per_pair: Mapping[str, Extract]
    """Reports by name, as they are."""
    overall: Mapping[str, Extract]
    """Reports by name, with all pairs taken as one: what pictures of the whole are drawn from."""
    evidence: Rows
    """Journal rows of the messages that differ, bounded."""
    quarantined: Rows
    """Published segments none of whose rows count: party, fault."""
    causes: Rows = ()
    """What differs or is not proven by its cause: cause (a class, or `CONTENT_UNPROVEN`), differs,
    settled_as, messages, examples (MessageIds)."""
    set_aside: Rows = ()
    """What somebody set aside by hand: party, and the segment with the reason as fault."""

    def of(self, definition: Definition) -> Extract:
        """The report's rows per pair; none where it was not asked for."""
        return self.per_pair.get(definition.name, Extract())

    def about(self, due: Due) -> Extract:
        """The rows of the report in which it is due."""
        return self.per_pair.get(due.report, Extract())

    def whole(self, definition: Definition) -> Extract:
        """The report's rows with all pairs taken as one."""
        return self.overall.get(definition.name, Extract())

    def width_us(self, definition: Definition) -> int:
        """Width of the report's bins of time."""
        return self.widths.get(definition.name, self.widths[""])
