"""What people wait for in an ingested lake, and what a day more costs on top of a history.

A day is everything: taking its segments in, the verdicts, all tables and the page. It is set beside
what the same day costs in an empty lake: in proportion to the day means about the same.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from bench.lake import journals
from bench.lake.side import processor_s
from onceonly.lake import jobs
from onceonly.lake.jobs.case import judge, open_case
from onceonly.lake.verdicts import Policy


def measure(spark: SparkSession, lake: journals.Lake) -> dict[str, Any]:
    """Seconds of every step, in lakes of links to the generated segments.

    Each figure is also told as it comes, since the whole takes its time.
    """
    assert SparkSession.getActiveSession() is spark, "jobs run in the measured session"
    work = lake.folder / "growing"
    shutil.rmtree(work, ignore_errors=True)
    grown, alone = work / "grown", work / "alone"
    page = work / "report.html"
    figures: dict[str, float] = {}

    def timed(name: str, deed: Callable[[], Any]) -> None:
        began, used = time.perf_counter(), processor_s(spark)
        deed()
        seconds, processors = time.perf_counter() - began, processor_s(spark) - used
        print(f"  {name}: {seconds:.2f} s, {processors:.2f} s of processors", file=sys.stderr)
        figures[f"{name}_s"], figures[f"{name}_cpu_s"] = round(seconds, 3), round(processors, 3)

    def day(target: Path) -> None:
        jobs.ingest(str(target))
        jobs.reconcile(str(target), tables=None, report_to=page)

    try:
        _link(lake.path, grown)
        timed("ingest", lambda: jobs.ingest(str(grown)))
        timed("verdicts", lambda: judge(open_case(spark, [str(grown)], None, Policy())))
        timed("tables", lambda: jobs.reconcile(str(grown), tables=None))
        timed("page", lambda: jobs.report(str(grown), out=page))
        # What starting and stopping the queries costs.
        timed("nothing_new", lambda: jobs.ingest(str(grown)))
        _link(lake.next_path, grown)
        timed("day", lambda: day(grown))
        _link(lake.next_path, alone)
        timed("day_alone", lambda: day(alone))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return {
        **figures,
        "ingest_events_per_s": round(lake.events / figures["ingest_s"]),
        "day_events": lake.next_events,
        "day_to_alone": round(figures["day_s"] / figures["day_alone_s"], 3),
    }


def _link(source: str, target: Path) -> None:
    for segment in Path(source).glob("journal/*/*.parquet"):
        linked = target / segment.relative_to(source)
        linked.parent.mkdir(parents=True, exist_ok=True)
        os.link(segment, linked)
