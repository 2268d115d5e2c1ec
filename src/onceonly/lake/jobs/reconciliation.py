"""`reconcile`: a verdict on every message, the delivery ledger, and the tables of the catalogue."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession

from onceonly.lake import activity, catalogue, lease, runner, runs, storage, versions
from onceonly.lake.catalogue import NAMES, Evidence
from onceonly.lake.formats import TableFormat, Target
from onceonly.lake.jobs import keeping, ownership, prerequisites, registration
from onceonly.lake.jobs.apart import put_apart
from onceonly.lake.jobs.case import judge, open_case, rules_of, sheet_of
from onceonly.lake.jobs.findings import find
from onceonly.lake.jobs.known import KnownTables, known
from onceonly.lake.jobs.page import write_report
from onceonly.lake.jobs.publication import publish, write_tables
from onceonly.lake.jobs.reading import LEDGER
from onceonly.lake.jobs.session import Lakes, directories, start
from onceonly.lake.page.findings import InvariantResult, Judged
from onceonly.lake.reports.budgets import Terms
from onceonly.lake.reports.sla import SlaTarget
from onceonly.lake.runs import LakeRun, Written
from onceonly.lake.tables import delivery_ledger
from onceonly.lake.verdicts import Policy
from onceonly.message.errors import LocalError


@dataclass(frozen=True, slots=True)
class ReconcileSummary:
    """What a reconciliation found, and where every message's verdict is."""

    judged: Judged
    ledger: str
    """Where the delivery ledger is: one row per message, with its verdict."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """Where each table is that was written beside it, by name."""
    cautions: Sequence[str] = ()
    """What to know before anything is read from the verdicts, a line each, for people."""
    run: str | None = None
    """Id of the run that published ledger and tables; None where the ledger went elsewhere, alone,
    and the lake's tables are as they were."""

    @property
    def verdicts(self) -> dict[str, int]:
        """Messages per class; every class is there."""
        return self.judged.verdicts

    @property
    def differences(self) -> int:
        """Messages in a class that somebody has to look at."""
        return self.judged.differences

    @property
    def header_unproven(self) -> int:
        """Messages on both sides of which one does not say what the header was."""
        return self.judged.header_unproven

    @property
    def unproven(self) -> int:
        """Matched messages of which one journal does not say the content."""
        return self.judged.unproven

    @property
    def invariants(self) -> tuple[InvariantResult, ...]:
        """The once-and-only-once sheet."""
        return self.judged.invariants

    @property
    def broken(self) -> tuple[InvariantResult, ...]:
        """Lines of the sheet that do not hold; the evidence first, since others may follow."""
        return self.judged.broken

    @property
    def is_whole(self) -> bool:
        """Whether no row of the journals is missing, edited or told by somebody else (E3)."""
        return self.judged.is_whole

    @property
    def holds(self) -> bool:
        """Whether nothing differs and every invariant holds."""
        return self.judged.holds


def reconcile(  # noqa: PLR0913 - because each is one choice of its caller's
    lake: Lakes,
    *,
    master: str | None = None,
    as_of: int | None = None,
    out: str | None = None,
    policy: Policy | None = None,
    evidence: str | None = None,
    report_to: Path | None = None,
    tables: Sequence[str] | None = (),
    terms: Terms = MappingProxyType({}),
    sla: SlaTarget = SlaTarget(),  # noqa: B008 - because a SlaTarget is frozen
    target: Target = Target(),  # noqa: B008 - because a SlaTarget is frozen
    register: str | None = None,
) -> ReconcileSummary:
    """Judge every message of the lakes and write the delivery ledger.

    `as_of` is the instant of judgement in microseconds UTC, by default now, or the last row of
    a drill, whose clock runs ahead; rows that are later than a given `as_of` do not count. `policy`
    has the rules, by default those of `Policy`. `evidence` is the id of a run of the first lake:
    then the rows that it had count, and no others, and instant and rules are its own where none
    are given. With `report_to` the HTML report is written there too, from the tables of this run.

    `tables` names more tables of the `catalogue` to write, None every one; `terms` is what was
    agreed, by agreement id, and `sla` what was promised beside it, for the tables that ask: the
    journal does not tell. `target` is the format of ledger and tables (`formats.target`), plain
    Parquet by default.

    Ledger and tables go into the first lake, under folders of their own, and are published there
    all at once, as a run (`jobs.run`, `jobs.table`): readers have the set of before until all is
    written, and then the new one, which holds these tables and no others. With `register` they are
    views of that database too (`jobs.register`).

    With `out` the ledger goes into that folder: alone, and the lake stays as it is, where no other
    table is asked for; else as a copy.

    Raises before anything is written, and all that needs no Spark before that starts: `LocalError`
    NoLake, NothingIngested, NotMicroseconds, UnknownTable, NoRun, LakeBusy; BadTarget for an `out`
    beside a catalog, a catalog that Spark does not know, or a `register` without a run; NotEmpty
    where others' files or views would be replaced; `OSError` for a place that cannot be written;
    `LocalError` NoJava, NoTableFormat, and EvidenceGone where rows of the `evidence` are gone.
    """
    lakes = directories(lake)
    wanted = [name for name in (NAMES if tables is None else tables) if name != LEDGER]
    apart = ownership.folder_apart(out, lakes[0]) if lakes else out
    is_alone = apart is not None and not wanted
    if register is not None:
        registration.require_name(register)
        if is_alone:
            raise LocalError("BadTarget", "a ledger in a folder of its own (--out) is of no run")
    prerequisites.require_instant(as_of)
    former = None if evidence is None else runs.load(lakes[0], evidence)
    rules = rules_of(policy, former)
    _require(lakes, apart, wanted, target)
    if report_to is not None:
        prerequisites.require_file(report_to)
    with nullcontext() if is_alone else lease.tabling(lakes[0]):
        spark = start(lake, master, has_catalog=register is not None)
        if register is not None:
            registration.require_ours(spark, register)
        versions.require(spark, target)
        case = open_case(spark, lakes, as_of, rules, former)._replace(terms=terms, sla=sla)
        home = storage.lake_url(lakes[0])
        told = case.evidence()
        if is_alone:
            ledger = []
            with activity.step(spark, LEDGER):
                frame = delivery_ledger.table(case.judged, case.journal)
                put_apart(frame, str(apart), target.table_format)
        else:
            ledger = write_tables(told, [LEDGER], home, target)
        judged = judge(case)
        summary = ReconcileSummary(judged, str(apart), {}, [*_cautions(lakes, judged)])
        run: LakeRun | None = None
        if not is_alone:
            told, others, partials = _write_others(told, judged, wanted, known(case, lakes), target)
            run = publish(case, judged, lakes, ledger + others, partials)
            places = {name: run.place(name) for name in run.tables if name != LEDGER}
            found = run.place(LEDGER)
            if apart is not None:
                put_apart(runner.table(spark, run, LEDGER), apart, target.table_format)
                found = apart
            if register is not None:
                registration.register(spark, home, database=register, run_id=run.id)
            summary = ReconcileSummary(judged, found, places, summary.cautions, run.id)
        if report_to is not None:
            case = case._replace(partials=told.partials)
            write_report(find(case, judged, partial(_of_run, spark, run)), report_to)
        case.judged.unpersist()
        return summary


def _cautions(lakes: Sequence[str], judged: Judged) -> Iterator[str]:
    yield from prerequisites.not_ingested(lakes)
    if not any(judged.verdicts.values()):
        # A wrong folder, or one that is not mounted, would look like messages that all arrived; so
        # would an ingest that failed.
        yield f"no message in {', '.join(lakes)}: nothing is judged, and so nothing is proven"
    if not judged.is_whole:
        yield "the evidence is not whole (E3): mend that first, what differs may follow from it"


def _write_others(
    told: Evidence, judged: Judged, names: Sequence[str], there: KnownTables, target: Target
) -> tuple[Evidence, list[Written], list[Written]]:
    """Write the tables beside the ledger, and the partials that they are summed up from first.

    What is `there` already is of this run too. Returns the evidence with the partials, and where
    tables and partials are.
    """
    spark = told.journal.sparkSession
    partials = keeping.write_partials(told, names, there.lake, there.partials)
    frames = there._replace(partials={one.name: one for one in partials}).frames(spark)
    told = told._replace(known_sheet=sheet_of(spark, judged), partials=frames)
    return told, write_tables(told, names, there.lake, target, there.tables), partials


def _of_run(spark: SparkSession, run: LakeRun | None, name: str) -> DataFrame | None:
    return None if run is None or name not in run.tables else runner.table(spark, run, name)


def _require(
    lakes: Sequence[str], apart: str | None, tables: Sequence[str], target: Target
) -> None:
    for name in tables:
        catalogue.find(name)
    if apart is not None and target.catalog is not None:
        raise LocalError("BadTarget", "a ledger in a catalog has no folder of its own (--out)")
    if apart is not None:
        ownership.require_no_place_of_a_run(apart, lakes)
        prerequisites.require_place_of_a_table(apart, lakes)
        if target.table_format is TableFormat.PLAIN:
            prerequisites.require_no_delta_table(apart)
    prerequisites.require_ingested(lakes)
    if apart is not None:
        prerequisites.require_places([apart])
    if apart is None or tables:
        ownership.require_own_places(lakes[0], [LEDGER, *tables], target)
        runs.require_known(lakes[0])
