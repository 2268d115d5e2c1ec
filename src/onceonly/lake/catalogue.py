"""Every table of the lake, in one place: silver ones from rows, gold ones from verdicts.

Knows which function makes each table from the evidence, and nothing of where it is kept.
`onceonly lake reconcile` writes them all, and the reference prints them all.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from pyspark.sql import DataFrame

from onceonly.lake import invariants, stretches
from onceonly.lake.expressions import US_PER_S
from onceonly.lake.gold.days import BY_DAY, KeptDays
from onceonly.lake.quantiles import LISTED_MAX
from onceonly.lake.reports import (
    availability,
    backlog,
    budgets,
    bulk_jobs,
    clock_skew,
    differences,
    duplicate_causes,
    error_pareto,
    error_trend,
    failure_notices,
    hop_waterfall,
    in_doubt,
    in_doubt_ages,
    job_rejects,
    journal_quality,
    late_acks,
    once_only,
    open_budgets,
    operator_effects,
    outages,
    profiles,
    promise,
    purges,
    reconciliation,
    reconciliation_days,
    retention,
    retries,
    sequence_gaps,
    sla,
    turnaround,
    turnaround_bins,
    turnaround_heat,
    volume,
)
from onceonly.lake.reports.budgets import Terms
from onceonly.lake.reports.sla import SlaTarget
from onceonly.lake.tables import (
    acks,
    agreements,
    app_deliveries,
    attempts,
    channel_intervals,
    delivery_ledger,
    duplicates,
    hops,
    messages,
    notices,
    operator_actions,
    status_probes,
)
from onceonly.lake.tables.definition import Definition
from onceonly.lake.verdicts import Policy
from onceonly.message.errors import LocalError

HOUR_US: Final = 3_600 * US_PER_S


class Evidence(NamedTuple):
    """The inputs of all tables. Instants and durations are in microseconds."""

    journal: DataFrame
    """Every row once."""
    coverage: DataFrame
    """What `model.merge_coverage` gives."""
    wholeness: DataFrame
    """Per party, `wholeness.COLUMNS`."""
    judged: DataFrame
    """What `verdicts.verdict` gives at `as_of`, for lives `model.with_terms`."""
    as_of: int
    policy: Policy
    width_us: int = HOUR_US
    """Width of every bin of time."""
    target: SlaTarget = SlaTarget()
    """What the scorecard is kept against."""
    terms: Terms = MappingProxyType({})
    """What was agreed, by agreement id, if it is known; the journal does not tell it."""
    kept: KeptDays | None = None
    """What is kept by day; None where nothing is."""
    known_counts: DataFrame | None = None
    """The `counts`, where somebody has them already."""
    known_sheet: DataFrame | None = None
    """The `sheet`, where somebody has it already."""
    partials: Mapping[str, DataFrame] = MappingProxyType({})
    """By name, those that somebody has already."""

    @property
    def counts(self) -> DataFrame:
        """What `reconciliation.counts` gives of the judged lives, or of parts of them."""
        if self.known_counts is not None:
            return self.known_counts
        return reconciliation.counts(self.judged)

    @property
    def sheet(self) -> DataFrame:
        """What `invariants.sheet` gives of all the judged lives."""
        if self.known_sheet is not None:
            return self.known_sheet
        tried = invariants.breaches(self.judged, as_of=self.as_of, policy=self.policy)
        return invariants.sheet(invariants.tallies(tried))

    def partial(self, of: "Partial") -> DataFrame:
        """All rows of a partial."""
        known = self.partials.get(of.name)
        return of.make(self) if known is None else known

    @property
    def are_few(self) -> bool:
        """Whether a value of each message has room in a list."""
        return self.kept is not None and self.kept.number <= LISTED_MAX

    @property
    def timeout_us(self) -> int | None:
        """Timeout, where the known agreements have the same."""
        timeouts = {one.timeout_s for one in self.terms.values()}
        return timeouts.pop() * US_PER_S if len(timeouts) == 1 else None


class Partial(NamedTuple):
    """What tables are summed up from, a part for each day or for each stretch of a journal.

    A run keeps it, so that the next one makes only the parts that are of other rows. A part knows
    nothing of the instant of judgement but the verdicts of its lives.
    """

    name: str
    make: Callable[[Evidence], DataFrame]
    of_lives: Callable[[DataFrame, DataFrame], DataFrame] | None = None
    """As in `CatalogueEntry`."""
    of_rows: Callable[[DataFrame], DataFrame] | None = None
    """As in `CatalogueEntry`."""
    of_stretches: Callable[[DataFrame, Policy], DataFrame] | None = None
    """How it is made of journal rows: per `party` and `stretches.STRETCH`."""
    with_others: bool = False
    """Whether journal rows that no life is made of decide it beside the lives of their day."""


def _quality(journal: DataFrame, policy: Policy) -> DataFrame:
    return journal_quality.by_stretch(
        journal, accuracy_us=policy.clock_accuracy_us, stretch_rows=stretches.ROWS_AT_ONCE
    )


QUALITY: Final = Partial(
    "quality_of_stretches",
    lambda e: _quality(e.journal, e.policy),
    of_stretches=_quality,
)
RUNS: Final = Partial(
    "runs_of_stretches",
    lambda e: outages.runs_within(e.journal, stretch_rows=stretches.ROWS_AT_ONCE),
    of_stretches=lambda journal, _: outages.runs_within(
        journal, stretch_rows=stretches.ROWS_AT_ONCE
    ),
)
MOVES: Final = Partial(
    "queue_moves_of_days",
    lambda e: backlog.by_bin(e.judged, HOUR_US),
    of_lives=lambda lives, _: backlog.by_bin(lives, HOUR_US, BY_DAY),
)
ERRORS: Final = Partial(
    "errors_of_days",
    lambda e: error_pareto.by_bin(e.journal, HOUR_US),
    of_rows=lambda rows: error_pareto.by_bin(rows, HOUR_US, BY_DAY),
)
WAYS: Final = Partial(
    "ways_of_days",
    lambda e: hop_waterfall.ways(e.judged, e.journal),
    of_lives=lambda lives, journal: hop_waterfall.ways(lives, journal, BY_DAY),
    with_others=True,
)


def _moves(evidence: Evidence) -> DataFrame:
    """Bins that fit into those of the evidence."""
    if evidence.width_us % HOUR_US:
        return backlog.by_bin(evidence.judged, evidence.width_us)
    return evidence.partial(MOVES)


def _errors(evidence: Evidence) -> DataFrame:
    """Bins that fit into those of the evidence."""
    if evidence.width_us % HOUR_US:
        return error_pareto.by_bin(evidence.journal, evidence.width_us)
    return evidence.partial(ERRORS)


class CatalogueEntry(NamedTuple):
    """One table: what it is, and how it is made."""

    definition: Definition
    make: Callable[[Evidence], DataFrame]
    of_lives: Callable[[DataFrame, DataFrame], DataFrame] | None = None
    """Where every row is of one life: how it is made of judged lives of some days, with the day of
    each, and of the journal rows from the first to the last of them. The rows keep the day."""
    of_rows: Callable[[DataFrame], DataFrame] | None = None
    """Where every row is of one journal row, or of rows of one message: how it is made of all
    journal rows of some days, with the day of each. The rows keep the day."""
    partials: tuple[Partial, ...] = ()
    """What it is summed up from."""
    by_instant: bool = False
    """Whether other evidence than rows, lives and their verdicts decides it: the instant of the
    judgement, what was agreed or promised, and what is known of a journal as a whole."""

    @property
    def name(self) -> str:
        """Its name, which is its folder's too."""
        return self.definition.name


def _of_rows(definition: Definition, table: Callable[..., DataFrame]) -> CatalogueEntry:
    """A table of the journal, of which every row is of rows of one day."""
    return CatalogueEntry(
        definition, lambda e: table(e.journal), of_rows=lambda rows: table(rows, BY_DAY)
    )


TABLES: Final = (
    _of_rows(messages.DEFINITION, messages.table),
    _of_rows(attempts.DEFINITION, attempts.table),
    _of_rows(acks.DEFINITION, acks.table),
    _of_rows(duplicates.DEFINITION, duplicates.table),
    _of_rows(notices.DEFINITION, notices.table),
    _of_rows(status_probes.DEFINITION, status_probes.table),
    _of_rows(app_deliveries.DEFINITION, app_deliveries.table),
    _of_rows(hops.DEFINITION, hops.table),
    CatalogueEntry(
        channel_intervals.DEFINITION,
        lambda e: channel_intervals.table(e.journal, as_of=e.as_of),
        by_instant=True,
    ),
    CatalogueEntry(agreements.DEFINITION, lambda e: agreements.table(e.journal)),
    CatalogueEntry(operator_actions.DEFINITION, lambda e: operator_actions.table(e.journal)),
    CatalogueEntry(
        delivery_ledger.DEFINITION,
        lambda e: delivery_ledger.table(e.judged, e.journal),
        lambda lives, journal: delivery_ledger.table(lives, journal, BY_DAY),
    ),
    CatalogueEntry(
        in_doubt.DEFINITION,
        lambda e: in_doubt.table(e.judged, e.journal, as_of=e.as_of),
        by_instant=True,
    ),
    CatalogueEntry(
        in_doubt_ages.DEFINITION,
        lambda e: in_doubt_ages.table(e.judged, as_of=e.as_of, width_us=e.width_us),
        by_instant=True,
    ),
    CatalogueEntry(
        reconciliation_days.DEFINITION,
        lambda e: reconciliation_days.table(e.counts),
    ),
    CatalogueEntry(differences.DEFINITION, lambda e: differences.table(e.judged)),
    CatalogueEntry(
        once_only.DEFINITION,
        lambda e: once_only.table(e.sheet),
        by_instant=True,
    ),
    CatalogueEntry(promise.DEFINITION, lambda e: promise.table(e.judged, width_us=e.width_us)),
    CatalogueEntry(
        turnaround.DEFINITION,
        lambda e: turnaround.table(
            e.judged, as_of=e.as_of, timeout_us=e.timeout_us, are_few=e.are_few
        ),
        by_instant=True,
    ),
    CatalogueEntry(
        turnaround_bins.DEFINITION,
        lambda e: turnaround_bins.table(e.judged, width_us=e.width_us),
    ),
    CatalogueEntry(
        turnaround_heat.DEFINITION,
        lambda e: turnaround_heat.table(e.judged, are_few=e.are_few),
    ),
    CatalogueEntry(
        sla.DEFINITION,
        lambda e: sla.table(e.judged, as_of=e.as_of, target=e.target, are_few=e.are_few),
        by_instant=True,
    ),
    CatalogueEntry(retries.DEFINITION, lambda e: retries.table(e.judged)),
    CatalogueEntry(duplicate_causes.DEFINITION, lambda e: duplicate_causes.table(e.judged)),
    CatalogueEntry(late_acks.DEFINITION, lambda e: late_acks.table(e.journal)),
    CatalogueEntry(sequence_gaps.DEFINITION, lambda e: sequence_gaps.table(e.journal)),
    CatalogueEntry(failure_notices.DEFINITION, lambda e: failure_notices.table(e.judged)),
    CatalogueEntry(
        budgets.DEFINITION,
        lambda e: budgets.table(e.judged, as_of=e.as_of, terms=e.terms),
        by_instant=True,
    ),
    CatalogueEntry(
        open_budgets.DEFINITION,
        lambda e: open_budgets.table(e.judged, as_of=e.as_of, terms=e.terms),
        by_instant=True,
    ),
    CatalogueEntry(volume.DEFINITION, lambda e: volume.table(e.judged, width_us=e.width_us)),
    CatalogueEntry(
        backlog.DEFINITION,
        lambda e: backlog.table(_moves(e), e.journal, as_of=e.as_of, width_us=e.width_us),
        partials=(MOVES,),
        by_instant=True,
    ),
    CatalogueEntry(
        availability.DEFINITION,
        lambda e: availability.table(outages.runs(e.partial(RUNS))),
        partials=(RUNS,),
    ),
    CatalogueEntry(
        outages.DEFINITION,
        lambda e: outages.table(outages.runs(e.partial(RUNS))),
        partials=(RUNS,),
    ),
    CatalogueEntry(
        error_pareto.DEFINITION,
        lambda e: error_pareto.table(e.partial(ERRORS)),
        partials=(ERRORS,),
    ),
    CatalogueEntry(
        error_trend.DEFINITION,
        lambda e: error_trend.table(_errors(e), width_us=e.width_us),
        partials=(ERRORS,),
    ),
    CatalogueEntry(
        hop_waterfall.DEFINITION,
        lambda e: hop_waterfall.table(
            e.partial(WAYS), as_of=e.as_of, grace_us=e.policy.grace_us, are_few=e.are_few
        ),
        partials=(WAYS,),
        by_instant=True,
    ),
    CatalogueEntry(
        clock_skew.DEFINITION,
        lambda e: clock_skew.table(
            e.judged, width_us=e.width_us, accuracy_us=e.policy.clock_accuracy_us
        ),
    ),
    CatalogueEntry(
        retention.DEFINITION,
        lambda e: retention.table(e.judged, as_of=e.as_of, terms=e.terms),
        by_instant=True,
    ),
    CatalogueEntry(purges.DEFINITION, lambda e: purges.table(e.journal)),
    CatalogueEntry(bulk_jobs.DEFINITION, lambda e: bulk_jobs.table(e.judged, e.journal)),
    CatalogueEntry(job_rejects.DEFINITION, lambda e: job_rejects.table(e.journal)),
    CatalogueEntry(
        operator_effects.DEFINITION, lambda e: operator_effects.table(e.judged, e.journal)
    ),
    CatalogueEntry(
        journal_quality.DEFINITION,
        lambda e: journal_quality.table(
            *(e.partial(QUALITY), e.judged, e.coverage, e.wholeness),
            as_of=e.as_of,
            policy=e.policy,
        ),
        partials=(QUALITY,),
        by_instant=True,
    ),
    CatalogueEntry(profiles.DEFINITION, lambda e: profiles.table(e.judged, e.journal)),
)
"""Silver tables first, then the reports in the order of their numbers."""

NAMES: Final = tuple(table.name for table in TABLES)


def find(name: str) -> CatalogueEntry:
    """The table of that name. Raises `LocalError` (UnknownTable)."""
    for table in TABLES:
        if table.name == name:
            return table
    raise LocalError("UnknownTable", f"there is no table {name!r}; there are {', '.join(NAMES)}")
