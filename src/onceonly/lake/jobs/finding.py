"""What the page shows, computed from a case: frames become numbers here."""

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import runner
from onceonly.lake.jobs.case import ROWS_MAX, Case
from onceonly.lake.reports import duplicate_causes, reconciliation, traffic
from onceonly.lake.reports.findings import Findings, Judged
from onceonly.lake.schemas import KEY

DIFFERENCES_SHOWN: Final = 50
"""Differences on the page; all of them are in the ledger."""
EVIDENCE_SHOWN: Final = 400
"""Journal rows on the page, for the first few differences."""
PAIRS_SHOWN: Final = 200
BINS_WANTED: Final = 48
"""Bins of the promise chart: what a page is wide enough for."""
_NICE_WIDTHS_S: Final = (
    *(0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600),
    *(7_200, 21_600, 43_200, 86_400, 604_800),
)


def find(case: Case, judged: Judged) -> Findings:
    """Everything that the page shows of a judged case."""
    differing = reconciliation.differences(case.judged)
    width_us = _bin_width_us(case)
    return Findings(
        judged=judged,
        differences=runner.rows(differing, DIFFERENCES_SHOWN),
        evidence=_evidence(case, differing),
        promise=runner.rows(traffic.promise(case.judged, width_us=width_us), ROWS_MAX),
        promise_width_us=width_us,
        turnaround=runner.rows(traffic.turnaround(case.judged), PAIRS_SHOWN),
        retries=runner.rows(traffic.retries(case.judged), ROWS_MAX),
        outcomes=runner.rows(traffic.outcomes(case.judged), PAIRS_SHOWN),
        duplicate_causes=runner.rows(
            traffic.duplicate_causes(duplicate_causes.causes(case.judged)), PAIRS_SHOWN
        ),
        volume=runner.rows(traffic.volume(case.journal), PAIRS_SHOWN),
    )


def _evidence(case: Case, differing: DataFrame) -> list[dict[str, Any]]:
    wanted = differing.select(*KEY).limit(DIFFERENCES_SHOWN)
    columns = (
        "party",
        "seq",
        "at",
        "event",
        "attempt",
        "outcome",
        "error_code",
        "digest",
        "reason",
    )
    found = case.journal.join(F.broadcast(wanted), list(KEY), "left_semi")
    return runner.rows(
        found.select(*KEY, *columns).orderBy(*KEY, "at", "party", "seq"), EVIDENCE_SHOWN
    )


def _bin_width_us(case: Case) -> int:
    [span] = runner.rows(
        case.judged.agg(
            F.min("first_sent_at").alias("first"), F.max("first_sent_at").alias("last")
        ),
        1,
    )
    length_s = ((span["last"] or 0) - (span["first"] or 0)) / 1_000_000
    nice = [width for width in _NICE_WIDTHS_S if length_s / width <= BINS_WANTED]
    return int((nice[0] if nice else _NICE_WIDTHS_S[-1]) * 1_000_000)
