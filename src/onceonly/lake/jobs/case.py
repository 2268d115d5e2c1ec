"""Opens and judges the evidence of some lakes; reconciliation and report begin with it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.segment import party_folder
from onceonly.lake import activity, invariants, model, runner, storage, verdicts, wholeness
from onceonly.lake.catalogue import HOUR_US, Evidence
from onceonly.lake.gold import refreshing, sums
from onceonly.lake.gold.days import BY_DAY, KeptDays
from onceonly.lake.gold.refreshing import Refresh
from onceonly.lake.page.findings import CHAIN, PAIRS_LISTED, InvariantResult, Judged
from onceonly.lake.reports import reconciliation
from onceonly.lake.reports.budgets import Terms
from onceonly.lake.reports.sla import SlaTarget
from onceonly.lake.runner import Holdings
from onceonly.lake.runs import LakeRun, Mark
from onceonly.lake.verdicts import Policy, Verdict
from onceonly.lake.wholeness import Wholeness

ROWS_MAX: Final = 10_000
"""Most rows that any small frame may bring to the driver."""


class JudgedCase(NamedTuple):
    """The evidence, opened."""

    journal: DataFrame
    coverage: DataFrame
    judged: DataFrame
    as_of: int
    policy: Policy
    wholeness: Sequence[Wholeness]
    """Of every party's journal."""
    terms: Terms = MappingProxyType({})
    """What was agreed, by agreement id, where somebody told."""
    sla: SlaTarget = SlaTarget()
    """What the scorecard is kept against."""
    marks: Sequence[Mark] = ()
    """How far each journal went."""
    until: int | None = None
    """Rows that are later than this do not count, in microseconds UTC; None: every row does."""
    kept: KeptDays | None = None
    """What is kept by day; None where nothing is."""
    partials: Mapping[str, DataFrame] = MappingProxyType({})
    """By name, those that are made already."""

    def counts(self) -> DataFrame:
        """What `reconciliation.counts` gives of the judged lives; where they are kept, by day."""
        if self.kept is None:
            return reconciliation.counts(self.judged)
        return sums.counts(self.judged.sparkSession, self.kept)

    def tallies(self) -> DataFrame:
        """What `invariants.tallies` gives of the judged lives; where they are kept, by day."""
        rules: dict[str, Any] = {"as_of": self.as_of, "policy": self.policy}
        if self.kept is None:
            return invariants.tallies(invariants.breaches(self.judged, **rules))
        alone = sums.tallies(self.judged.sparkSession, self.kept)
        in_order = invariants.breaches_in_order(self.judged, **rules)
        return alone.unionByName(invariants.tallies(in_order))

    def evidence(self, width_us: int = HOUR_US) -> Evidence:
        """What tables with bins of that width are made of."""
        parties = [row["party"] for row in runner.rows(_parties(self.coverage), ROWS_MAX)]
        names = {party_folder(party): party for party in parties}
        whole = [
            (names.get(one.folder, one.party), *one.as_row().values()) for one in self.wholeness
        ]
        return Evidence(
            self.journal,
            self.coverage,
            self.journal.sparkSession.createDataFrame(whole, wholeness.COLUMNS),
            self.judged,
            self.as_of,
            self.policy,
            width_us=width_us,
            target=self.sla,
            terms=self.terms,
            kept=self.kept,
            known_counts=self.counts(),
            partials=self.partials,
        )


def open_case(
    spark: SparkSession,
    lakes: Sequence[str],
    as_of: int | None,
    policy: Policy,
    evidence: LakeRun | None = None,
) -> JudgedCase:
    """What the lakes hold, judged at `as_of`; None is now, or the last row of a drill.

    Rows that are later than a given `as_of` do not count; without one every row does. Of the
    `evidence` of a former run only its rows count, and it is judged at its instant where none is
    given. Raises `LocalError` (EvidenceGone) where not all of them are there any more.
    """
    with activity.step(spark, "evidence"), refreshing.turn(lakes) as is_mine:
        held = runner.holdings(spark, lakes)
        until, marks = as_of, held.marks()
        if evidence is not None:
            marks = [one._replace(lake=place) for one, place in _places(evidence, lakes)]
            found = held.as_found(marks)
            # As long as nothing came since, it is what is there, and gold has it.
            if sorted(marks) != sorted(one for one in held.marks() if one.rows):
                held = found
            if as_of is None:
                as_of, until = evidence.as_of, evidence.until
        coverage = _coverage(held)
        if as_of is None:
            as_of = max(time.time_ns() // 1_000, _end_of_drills(coverage))
        if until is not None and _last_at(coverage) > until:
            held = held.cut(until)
            coverage.unpersist()
            coverage = _coverage(held)
        journal = held.read("journal")
        # Gold has every row, and is of no use where some do not count.
        if is_mine and held.is_one_copy and not held.is_cut:
            kept = refreshing.refresh(Refresh(spark, lakes, held, coverage, as_of, policy))
            judged = refreshing.lives(spark, kept.lives.values()).drop(BY_DAY)
        else:
            kept = None
            lives = model.partial(journal)
            judged = verdicts.verdict(lives, coverage, as_of=as_of, policy=policy)
            judged = model.with_terms(judged, model.terms(journal)).persist()
        whole: Sequence[Wholeness]
        if evidence is None:
            whole = held.wholeness()
        elif until == evidence.until:
            whole = evidence.wholeness
        else:
            whole = _as_told(held.wholeness(), evidence)
        case = JudgedCase(journal, coverage, judged, as_of, policy, whole)
        return case._replace(marks=marks, until=until, kept=kept)


def _coverage(held: Holdings) -> DataFrame:
    # A few rows: in one part, since what is kept is cut as the shuffle was, and a task for each of
    # a thousand empty parts, in each of the many plans that ask, takes longer than all else.
    return model.merge_coverage(held.read("coverage")).coalesce(1).persist()


def rules_of(policy: Policy | None, evidence: LakeRun | None) -> Policy:
    """The rules to judge by: those that are given, those of the run, or the usual ones."""
    if policy is not None:
        return policy
    return Policy() if evidence is None else Policy(**evidence.policy)  # type: ignore[arg-type]  # because JSON tells no types


def _places(evidence: LakeRun, lakes: Sequence[str]) -> Iterator[tuple[Mark, str]]:
    """Each mark, and the lake that it is of: by its name, or by its place where lakes moved."""
    given = [storage.lake_url(lake) for lake in lakes]
    is_moved = not set(evidence.lakes) <= set(given) and len(evidence.lakes) == len(given)
    now = dict(zip(evidence.lakes, given, strict=True)) if is_moved else {}
    return ((mark, now.get(mark.lake, mark.lake)) for mark in evidence.marks if mark.rows)


def _as_told(whole: Sequence[Wholeness], evidence: LakeRun) -> list[Wholeness]:
    """The journals at another instant than the run's, with the segments that were apart then."""
    told = {one.folder: one for one in evidence.wholeness}
    return [
        one._replace(
            quarantined=told[one.folder].quarantined,
            faults=told[one.folder].faults,
            set_aside=told[one.folder].set_aside,
        )
        for one in whole
        if one.folder in told
    ]


def _end_of_drills(coverage: DataFrame) -> int:
    # A drill's clock runs ahead of the world's. Any other clock that does is merely wrong.
    drills = coverage.where(F.col("drills") > F.lit(0)).select("party").distinct()
    drilled = coverage.join(F.broadcast(drills), "party", "left_semi")
    [last] = runner.rows(drilled.agg(F.max("last_at").alias("at")), 1)
    return int(last["at"] or 0)


def _last_at(coverage: DataFrame) -> int:
    [last] = runner.rows(coverage.agg(F.max("last_at").alias("at")), 1)
    return int(last["at"] or 0)


def _parties(coverage: DataFrame) -> DataFrame:
    return coverage.select("party").distinct()


def judge(case: JudgedCase) -> Judged:
    """Count the verdicts and fill in the once-and-only-once sheet."""
    whole = case.wholeness
    spark = case.judged.sparkSession
    with activity.step(spark, "verdicts"):
        counts = case.counts().persist()
        totals = runner.rows(reconciliation.totals(counts), len(Verdict))
        matrix = reconciliation.matrix(counts, PAIRS_LISTED)
        pairs = runner.rows(matrix, PAIRS_LISTED * len(Verdict))
        counts.unpersist()
    with activity.step(spark, "once-and-only-once sheet"):
        sheet = (*_sheet(case), _chain(whole, _told_by_others(case)))
    return Judged(
        as_of=case.as_of,
        policy=case.policy,
        totals={row["verdict"]: row["messages"] for row in totals},
        unproven=sum(row["unproven"] for row in totals),
        matrix=pairs,
        invariants=sheet,
        journals=_journals(case, whole),
        header_unproven=sum(row["header_unproven"] for row in totals),
    )


def _sheet(case: JudgedCase) -> list[InvariantResult]:
    sheet = invariants.sheet(case.tallies())
    found = {row["name"]: row for row in runner.rows(sheet, ROWS_MAX)}
    untried = {"messages": 0, "breaches": 0, "examples": []}
    lines = [(line, found.get(line.name, untried)) for line in invariants.INVARIANTS]
    return [
        InvariantResult(
            line.name, line.claim, row["messages"], row["breaches"], tuple(row["examples"])
        )
        for line, row in lines
    ]


def sheet_of(spark: SparkSession, judged: Judged) -> DataFrame:
    """What `invariants.sheet` gave, of what `judge` found."""
    lines = [
        (line.name, line.messages, line.breaches, list(line.examples))
        for line in judged.invariants
        if line.name != CHAIN
    ]
    return spark.createDataFrame(lines, invariants.SHEET)


def _told_by_others(case: JudgedCase) -> list[dict[str, Any]]:
    return runner.rows(verdicts.false_witnesses(case.coverage), ROWS_MAX)


def _chain(whole: Sequence[Wholeness], told: Sequence[Mapping[str, Any]]) -> InvariantResult:
    examples = [example for one in whole if one.breaches for example in one.examples]
    examples += [f"{row['party']} tells {row['deeds']} deeds of {row['holder']}" for row in told]
    return InvariantResult(
        CHAIN,
        "No journal row is missing, edited, inserted or moved: the hash chains are whole, and no "
        "journal tells the deeds of a party that has its own.",
        sum(one.rows for one in whole),
        sum(one.breaches for one in whole) + sum(row["deeds"] for row in told),
        tuple(examples[: invariants.EXAMPLES_MAX]),
    )


def _journals(case: JudgedCase, whole: Sequence[Wholeness]) -> list[dict[str, Any]]:
    sums = ("suspensions", "quarantines", "resumptions", "security_events", "starts", "drills")
    periods = case.coverage.groupBy("party").agg(
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.max("epochs").alias("epochs"),
        *[F.sum(name).alias(name) for name in sums],
    )
    chains = {one.folder: one.as_row() for one in whole}
    found = runner.rows(periods.orderBy("party"), ROWS_MAX)
    return [{**row, **chains[party_folder(row["party"])]} for row in found]
