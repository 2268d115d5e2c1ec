"""`reconcile`: a verdict on every message, and the delivery ledger."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onceonly.lake import manifest, runner
from onceonly.lake.jobs.case import judge, open_case
from onceonly.lake.jobs.finding import find
from onceonly.lake.jobs.reporting import write_report
from onceonly.lake.jobs.session import Lakes, directories, start
from onceonly.lake.reports.findings import InvariantResult, Judged
from onceonly.lake.tables import delivery_ledger
from onceonly.lake.verdicts import Policy

LEDGER_FOLDER: Final = "tables/delivery_ledger"


@dataclass(frozen=True, slots=True)
class ReconcileSummary:
    """What a reconciliation found, and where every message's verdict is."""

    judged: Judged
    ledger: str
    """Folder of the delivery ledger: Parquet, one row per message, with its verdict."""

    @property
    def verdicts(self) -> dict[str, int]:
        """Messages per class; every class is there."""
        return self.judged.verdicts

    @property
    def differences(self) -> int:
        """Messages in a class that somebody has to look at."""
        return self.judged.differences

    @property
    def invariants(self) -> tuple[InvariantResult, ...]:
        """The once-and-only-once sheet."""
        return self.judged.invariants

    @property
    def holds(self) -> bool:
        """Whether nothing differs and every invariant holds."""
        return self.judged.holds


def reconcile(
    lake: Lakes,
    *,
    master: str | None = None,
    as_of: int | None = None,
    out: str | None = None,
    policy: Policy = Policy(),  # noqa: B008 - because a Policy is frozen
    report_to: Path | None = None,
) -> ReconcileSummary:
    """Judge every message of the lakes and write the delivery ledger.

    `as_of` is the instant of judgement in microseconds UTC, by default now, or the last row where
    that is later (a drill's clock runs ahead). `out` is the ledger's folder, by default
    `tables/delivery_ledger` in the first lake. With `report_to` the HTML report is written there
    too, from the same judgement. Raises `LocalError` (NoLake, NoJava).
    """
    lakes = directories(lake)
    spark = start(lake, master)
    case = open_case(spark, lakes, as_of, policy)
    ledger = out or f"{manifest.lake_url(lakes[0])}/{LEDGER_FOLDER}"
    runner.write(delivery_ledger.table(case.judged, case.journal), ledger)
    judged = judge(case)
    if report_to is not None:
        write_report(find(case, judged), report_to)
    case.judged.unpersist()
    return ReconcileSummary(judged, ledger)
