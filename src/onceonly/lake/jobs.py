"""The lake's jobs: ingest, reconcile, report. Ordinary functions and ordinary scripts.

    python -m onceonly.lake.jobs reconcile --lake DIR [--lake DIR …] [--master URL]
    spark-submit --master … jobs.py reconcile --lake DIR

Here frames become numbers, and the clock is read; the rules are in the pure modules around.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import checks, invariants, manifest, model, runner, verdicts
from onceonly.lake.reports import page, reconciliation, traffic
from onceonly.lake.reports.findings import Findings, InvariantResult, Judged
from onceonly.lake.schemas import KEY
from onceonly.lake.tables import delivery_ledger, duplicates
from onceonly.lake.verdicts import Policy
from onceonly.message.errors import OnceonlyError

APP_NAME: Final = "onceonly"
AVAILABLE_NOW: Final = "available-now"
LEDGER_FOLDER: Final = "tables/delivery_ledger"

DIFFERENCES_SHOWN: Final = 50
"""Differences on the page; all of them are in the ledger."""
EVIDENCE_SHOWN: Final = 400
"""Journal rows on the page, for the first few differences."""
PAIRS_SHOWN: Final = 200
BINS_WANTED: Final = 48
"""Bins of the promise chart: what a page is wide enough for."""
_ROWS_MAX: Final = 10_000
"""Most rows that any small frame may bring to the driver."""
_DIFFERENCES_FOUND: Final = 11
_NICE_WIDTHS_S: Final = (
    *(0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600),
    *(7_200, 21_600, 43_200, 86_400, 604_800),
)

Lakes = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What is in the lake after an ingest, per party folder: published batches and last row."""

    batches: dict[str, int]
    last_seq: dict[str, int]


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


class _Case(NamedTuple):
    """The evidence, opened."""

    journal: DataFrame
    coverage: DataFrame
    judged: DataFrame
    as_of: int
    policy: Policy


def ingest(
    lake: Lakes, *, master: str | None = None, trigger: str = AVAILABLE_NOW
) -> IngestSummary:
    """Take in every segment published since the last time; again, it changes nothing.

    `trigger` is `available-now`, or an interval such as `1 minute`, which runs until stopped.
    Raises `LocalError` (NoLake, NoJava).
    """
    spark = _session(lake, master)
    how: dict[str, Any] = (
        {"availableNow": True} if trigger == AVAILABLE_NOW else {"processingTime": trigger}
    )
    shelves = manifest.shelves(_lakes(lake), within=JOURNAL_FOLDER)
    runner.ingest(spark, shelves, how)
    known = {f"{shelf.lake}/{shelf.folder}": manifest.load(shelf) for shelf in shelves}
    return IngestSummary(
        batches={name: len(found.batches) for name, found in known.items()},
        last_seq={
            name: max((last for _, last in found.ranges), default=0)
            for name, found in known.items()
        },
    )


def compact(lake: Lakes, *, master: str | None = None) -> IngestSummary:
    """Fold the small batches of many ingests into one per party; no verdict changes."""
    spark = _session(lake, master)
    shelves = manifest.shelves(_lakes(lake))
    known = {f"{shelf.lake}/{shelf.folder}": runner.compact(spark, shelf) for shelf in shelves}
    return IngestSummary(
        batches={name: len(found.products.get("lifecycle", ())) for name, found in known.items()},
        last_seq={
            name: max((last for _, last in found.ranges), default=0)
            for name, found in known.items()
        },
    )


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
    lakes = _lakes(lake)
    spark = _session(lake, master)
    case = _open(spark, lakes, as_of, policy)
    ledger = out or f"{manifest.lake_url(lakes[0])}/{LEDGER_FOLDER}"
    runner.write(delivery_ledger.table(case.judged, case.journal), ledger)
    judged = _judge(case)
    if report_to is not None:
        _write_report(_find(case, judged), report_to)
    case.judged.unpersist()
    return ReconcileSummary(judged, ledger)


def report(
    lake: Lakes,
    *,
    master: str | None = None,
    out: Path,
    as_of: int | None = None,
    policy: Policy = Policy(),  # noqa: B008 - because a Policy is frozen
) -> Path:
    """Write the HTML report on the lakes to `out` and return its path."""
    spark = _session(lake, master)
    case = _open(spark, _lakes(lake), as_of, policy)
    _write_report(_find(case, _judge(case)), out)
    case.judged.unpersist()
    return out


def _write_report(found: Findings, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page.render(found), encoding="utf-8")


def _session(lake: Lakes, master: str | None) -> SparkSession:
    size = manifest.journal_bytes(_lakes(lake))
    return runner.session(master, APP_NAME, journal_bytes=size)


def _lakes(lake: Lakes) -> list[str]:
    return [lake] if isinstance(lake, str) else list(lake)


def _open(spark: SparkSession, lakes: Sequence[str], as_of: int | None, policy: Policy) -> _Case:
    journal = runner.journal(spark, lakes)
    coverage = model.merge_coverage(runner.read(spark, lakes, "coverage")).persist()
    if as_of is None:
        [last] = runner.rows(coverage.agg(F.max("last_at").alias("at")), 1)
        as_of = max(time.time_ns() // 1_000, last["at"] or 0)
    lifecycle = model.merge(runner.read(spark, lakes, "lifecycle"))
    judged = verdicts.verdict(lifecycle, coverage, as_of=as_of, policy=policy)
    return _Case(journal, coverage, judged.persist(), as_of, policy)


def _judge(case: _Case) -> Judged:
    whole = runner.rows(checks.wholeness(case.journal), _ROWS_MAX)
    return Judged(
        as_of=case.as_of,
        policy=case.policy,
        matrix=runner.rows(reconciliation.matrix(case.judged), _ROWS_MAX),
        invariants=(*_sheet(case), _chain(whole)),
        journals=_journals(case, whole),
    )


def _sheet(case: _Case) -> list[InvariantResult]:
    tried = invariants.breaches(case.judged, as_of=case.as_of, policy=case.policy)
    found = {row["name"]: row for row in runner.rows(invariants.sheet(tried), _ROWS_MAX)}
    untried = {"messages": 0, "breaches": 0, "examples": []}
    lines = [(line, found.get(line.name, untried)) for line in invariants.INVARIANTS]
    return [
        InvariantResult(
            line.name, line.claim, row["messages"], row["breaches"], tuple(row["examples"])
        )
        for line, row in lines
    ]


def _chain(whole: Sequence[dict[str, Any]]) -> InvariantResult:
    broken = {row["party"]: row["missing"] + row["edited"] + row["forks"] for row in whole}
    examples = [
        f"{row['party']} row {row['first_bad_seq']}" for row in whole if row["first_bad_seq"]
    ]
    return InvariantResult(
        "E3",
        "No journal row is missing, edited, inserted or moved: the hash chains are whole.",
        sum(row["rows"] for row in whole),
        sum(broken.values()),
        tuple(examples[: invariants.EXAMPLES_MAX]),
    )


def _journals(case: _Case, whole: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    sums = ("suspensions", "quarantines", "resumptions", "security_events", "starts", "drills")
    periods = case.coverage.groupBy("party").agg(
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.max("epochs").alias("epochs"),
        *[F.sum(name).alias(name) for name in sums],
    )
    chains = {row["party"]: row for row in whole}
    found = runner.rows(periods.orderBy("party"), _ROWS_MAX)
    return [{**row, **chains[row["party"]]} for row in found]


def _find(case: _Case, judged: Judged) -> Findings:
    differing = reconciliation.differences(case.judged)
    width_us = _bin_width_us(case)
    return Findings(
        judged=judged,
        differences=runner.rows(differing, DIFFERENCES_SHOWN),
        evidence=_evidence(case, differing),
        promise=runner.rows(traffic.promise(case.judged, width_us=width_us), _ROWS_MAX),
        promise_width_us=width_us,
        turnaround=runner.rows(traffic.turnaround(case.judged), PAIRS_SHOWN),
        retries=runner.rows(traffic.retries(case.judged), _ROWS_MAX),
        outcomes=runner.rows(traffic.outcomes(case.judged), PAIRS_SHOWN),
        duplicate_causes=runner.rows(
            traffic.duplicate_causes(duplicates.table(case.judged)), PAIRS_SHOWN
        ),
        volume=runner.rows(traffic.volume(case.journal), PAIRS_SHOWN),
    )


def _evidence(case: _Case, differing: DataFrame) -> list[dict[str, Any]]:
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


def _bin_width_us(case: _Case) -> int:
    [span] = runner.rows(
        case.judged.agg(
            F.min("first_sent_at").alias("first"), F.max("first_sent_at").alias("last")
        ),
        1,
    )
    length_s = ((span["last"] or 0) - (span["first"] or 0)) / 1_000_000
    nice = [width for width in _NICE_WIDTHS_S if length_s / width <= BINS_WANTED]
    return int((nice[0] if nice else _NICE_WIDTHS_S[-1]) * 1_000_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """The jobs as a script; the result is one JSON object on stdout."""
    parser = argparse.ArgumentParser(prog="python -m onceonly.lake.jobs", description=__doc__)
    parser.add_argument("job", choices=("ingest", "compact", "reconcile", "report"))
    parser.add_argument("--lake", action="append", required=True, help="may be given repeatedly")
    parser.add_argument("--master", help="given to Spark as it is")
    parser.add_argument("--trigger", default=AVAILABLE_NOW)
    parser.add_argument("--as-of", type=int, help="instant of judgement, microseconds UTC")
    parser.add_argument("--out", help="folder of the ledger, or file of the report")
    given = parser.parse_args(arguments)
    try:
        code, found = _run(given)
    except OnceonlyError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(json.dumps(found) + "\n")
    return code


def _run(given: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    if given.job in ("ingest", "compact"):
        done = (
            ingest(given.lake, master=given.master, trigger=given.trigger)
            if given.job == "ingest"
            else compact(given.lake, master=given.master)
        )
        return 0, {"batches": done.batches, "last_seq": done.last_seq}
    if given.job == "report":
        path = report(
            given.lake,
            master=given.master,
            out=Path(given.out or "report.html"),
            as_of=given.as_of,
        )
        return 0, {"report": str(path)}
    found = reconcile(given.lake, master=given.master, as_of=given.as_of, out=given.out)
    return (
        0 if found.holds else _DIFFERENCES_FOUND,
        {
            "verdicts": found.verdicts,
            "differences": found.differences,
            "breaches": {line.name: line.breaches for line in found.invariants},
            "ledger": found.ledger,
        },
    )


if __name__ == "__main__":
    sys.exit(main())
