"""A lake that grows: taking the whole history in, then one day more on top of it.

The day's cost is set beside what the same day costs in an empty lake: in proportion to the day
means about the same. Then what people wait for: the verdicts alone, every table, the page.
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
from onceonly.lake import jobs


def measure(spark: SparkSession, lake: journals.Lake) -> dict[str, Any]:
    """Seconds and rates of taking in, in lakes of links to the generated segments.

    Each figure is also told as it comes, since the whole takes its time.
    """
    assert SparkSession.getActiveSession() is spark, "jobs run in the measured session"
    work = lake.folder / "growing"
    shutil.rmtree(work, ignore_errors=True)
    try:
        grown, alone = work / "grown", work / "alone"
        _link(lake.path, grown)
        first = _timed("ingest", lambda: jobs.ingest(str(grown)))
        _link(lake.next_path, grown)
        day = _timed("day on top", lambda: jobs.ingest(str(grown)))
        _link(lake.next_path, alone)
        fresh = _timed("day alone", lambda: jobs.ingest(str(alone)))
        # What starting and stopping the queries costs.
        bare = _timed("nothing new", lambda: jobs.ingest(str(grown)))
        verdicts = _timed("verdicts", lambda: jobs.reconcile(str(grown)))
        tables = _timed("tables", lambda: jobs.reconcile(str(grown), tables=None))
        page = _timed("page", lambda: jobs.report(str(grown), out=work / "report.html"))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return {
        "ingest_s": round(first, 3),
        "ingest_events_per_s": round(lake.events / first),
        "day_events": lake.next_events,
        "day_on_top_s": round(day, 3),
        "day_alone_s": round(fresh, 3),
        "nothing_new_s": round(bare, 3),
        "day_on_top_to_alone": round(day / fresh, 3),
        "verdicts_s": round(verdicts, 3),
        "tables_s": round(tables, 3),
        "page_s": round(page, 3),
    }


def _link(source: str, target: Path) -> None:
    for segment in Path(source).glob("journal/*/*.parquet"):
        linked = target / segment.relative_to(source)
        linked.parent.mkdir(parents=True, exist_ok=True)
        os.link(segment, linked)


def _timed(what: str, work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    print(f"  {what}: {seconds:.2f} s", file=sys.stderr)
    return seconds
