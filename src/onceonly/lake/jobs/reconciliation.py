"""`reconcile`: a verdict on every message, the delivery ledger, and the tables of the catalogue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from onceonly.lake import activity, catalogue, runner
from onceonly.lake.catalogue import NAMES
from onceonly.lake.formats import TableFormat, Target
from onceonly.lake.jobs import prerequisites
from onceonly.lake.jobs.case import judge, open_case
from onceonly.lake.jobs.findings import find
from onceonly.lake.jobs.page import write_report
from onceonly.lake.jobs.session import Lakes, directories, start
from onceonly.lake.jobs.tables import TABLES_FOLDER, folder, write_tables
from onceonly.lake.page.findings import InvariantResult, Judged
from onceonly.lake.reports.budgets import Terms
from onceonly.lake.reports.sla import SlaTarget
from onceonly.lake.tables import delivery_ledger
from onceonly.lake.verdicts import Policy
from onceonly.message.errors import LocalError

LEDGER: Final = delivery_ledger.DEFINITION.name
LEDGER_FOLDER: Final = f"{TABLES_FOLDER}/{LEDGER}"


@dataclass(frozen=True, slots=True)
class ReconcileSummary:
    """What a reconciliation found, and where every message's verdict is."""

    judged: Judged
    ledger: str
    """Where the delivery ledger is: one row per message, with its verdict."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """Where each table is that was written beside it, by name."""
    not_ingested: Sequence[str] = ()
    """What is published in the lakes and was not ingested yet, for people."""

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
    policy: Policy = Policy(),  # noqa: B008 - because a Policy is frozen
    report_to: Path | None = None,
    tables: Sequence[str] | None = (),
    terms: Terms = MappingProxyType({}),
    sla: SlaTarget = SlaTarget(),  # noqa: B008 - because a SlaTarget is frozen
    target: Target = Target(),  # noqa: B008 - because a SlaTarget is frozen
) -> ReconcileSummary:
    """Judge every message of the lakes and write the delivery ledger.

    `as_of` is the instant of judgement in microseconds UTC, by default now, or the last row of
    a drill, whose clock runs ahead. `out` is the ledger's folder, by default
    `tables/delivery_ledger` in the first lake. With `report_to` the HTML report is written there
    too, from the same judgement.

    `tables` names more tables of the `catalogue` to write into the first lake, None every one;
    `terms` is what was agreed, by agreement id, and `sla` what was promised beside it, for the
    tables that ask: the journal does not tell.

    `target` is the format of ledger and tables (`formats.target`), plain Parquet by default.

    Raises before anything is written, and all that needs no Spark before that starts: `LocalError`
    NoLake, NothingIngested, NotMicroseconds, UnknownTable; BadTarget for an `out` beside a catalog;
    NotEmpty where `out` holds no table; `OSError` for a place that cannot be written; `LocalError`
    NoJava, NoTableFormat.
    """
    lakes = directories(lake)
    wanted = [name for name in (NAMES if tables is None else tables) if name != LEDGER]
    prerequisites.require_instant(as_of)
    _require(lakes, out, wanted, target)
    if report_to is not None:
        prerequisites.require_file(report_to)
    spark = start(lake, master)
    runner.require(spark, target.table_format)
    case = open_case(spark, lakes, as_of, policy)._replace(terms=terms, sla=sla)
    pending = prerequisites.not_ingested(lakes)
    ledger = target.place(out or folder(lakes[0], LEDGER), LEDGER)
    with activity.step(spark, LEDGER):
        runner.write_table(
            delivery_ledger.table(case.judged, case.journal), ledger, target.table_format
        )
    judged = judge(case)
    if report_to is not None:
        write_report(find(case, judged), report_to)
    written = write_tables(case, wanted, lakes[0], target)
    case.judged.unpersist()
    return ReconcileSummary(judged, ledger, written, pending)


def _require(lakes: Sequence[str], out: str | None, tables: Sequence[str], target: Target) -> None:
    for name in tables:
        catalogue.find(name)
    if out is not None and target.catalog is not None:
        raise LocalError("BadTarget", "a ledger in a catalog has no folder of its own (--out)")
    if out is not None:
        prerequisites.require_place_of_a_table(out, lakes)
    prerequisites.require_ingested(lakes)
    places = (out or folder(lakes[0], LEDGER), *(folder(lakes[0], one) for one in tables))
    if target.catalog is None:
        prerequisites.require_places(places)
    if target.table_format is TableFormat.PLAIN:
        for place in places:
            prerequisites.require_no_delta_table(place)
