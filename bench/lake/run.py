"""`make bench-lake`: the lake's reconciliation beside Spark's floors, DuckDB and polars.

All contestants of a round run one after the other over the same segments, and rounds follow each
other, so that what else the machine does meets all of them; the figures are medians, the ratios
medians of the ratios within a round. On a machine that others use as well the ratios of processor
time (`cpu_ratios`) say more than those of the clock: what waits for its turn costs nothing there.
Spark has a driver heap of 2 GB, and its own settings are the product's. Writes
`build/bench-lake.json`, and a table to stdout.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import SparkSession

from bench.lake import contestants, ingested, journals
from bench.lake.side import processor_s
from onceonly.lake import manifest, runner

ROOT: Final = Path("build/bench-lake")
HEAP: Final = "2g"
FLOORS: Final = ("groupby_count", "shuffle")
RIVALS: Final = ("duckdb", "polars")


class Cost(NamedTuple):
    """What one case took in one round."""

    seconds: float
    processor_s: float


Round = dict[str, Cost]


def session(cores: int) -> SparkSession:
    """The product's session, with the heap that it promises to get by with."""
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--driver-memory {HEAP} pyspark-shell")
    return runner.session(f"local[{cores}]", "onceonly bench", journal_bytes=1 << 40)


def cases(
    spark: SparkSession, lake: journals.Lake, as_of: int, cores: int
) -> dict[str, Callable[[], Any]]:
    """What a round runs, in its order."""
    rows = journals.frame(spark, lake.path)
    files = sorted(map(str, Path(lake.path).glob("journal/*/*.parquet")))
    return {
        "groupby_count": lambda: contestants.group_count(rows),
        "reconcile": lambda: contestants.spark(rows, as_of),
        "shuffle": lambda: contestants.shuffle(rows),
        "lifecycles": lambda: contestants.spark_lifecycles(rows),
        "duckdb": lambda: contestants.by_duckdb(files, as_of, cores),
        "polars": lambda: contestants.by_polars(files, as_of),
    }


def measure(
    spark: SparkSession,
    lake: journals.Lake,
    *,
    days: int,
    rounds: int,
    cores: int,
    without: Sequence[str] = (),
) -> dict[str, Any]:
    """Seconds of every case, per round; and the verdicts, which all contestants must share."""
    as_of = journals.DAWN_US + days * journals.DAY_US
    every = cases(spark, lake, as_of, cores)
    running = {name: run for name, run in every.items() if name not in without}
    taken: list[Round] = []
    verdicts: dict[str, contestants.Counts] = {}
    # One round before the measured ones: classes are loaded and files are in the page cache.
    for number in range(rounds + 1):
        costs = {}
        for name, run in running.items():
            began, used = time.perf_counter(), processor_s(spark)
            found = run()
            costs[name] = Cost(time.perf_counter() - began, processor_s(spark) - used)
            print(f"  round {number}: {_line(name, costs[name])}", file=sys.stderr)
            if found is not None:
                verdicts[name] = found
        if number:
            taken.append(costs)
    _check_equal(verdicts)
    return {"rounds": taken, "verdicts": verdicts["reconcile"]}


def _line(name: str, cost: Cost) -> str:
    return f"{name} {cost.seconds:.2f} s, {cost.processor_s:.2f} s of processors"


def _check_equal(verdicts: dict[str, contestants.Counts]) -> None:
    ours = verdicts["reconcile"]
    for name, theirs in verdicts.items():
        if theirs != ours:
            raise SystemExit(f"{name} finds {theirs}, the lake finds {ours}")


def summary(lake: journals.Lake, measured: dict[str, Any], heap_bytes: int) -> dict[str, Any]:
    """The medians, in the shape that scripts read."""
    taken: list[Round] = measured["rounds"]

    def median(name: str, at: int) -> float:
        return round(statistics.median(costs[name][at] for costs in taken), 3)

    def ratios(at: int) -> dict[str, float]:
        return {
            to: round(statistics.median(c["reconcile"][at] / c[to][at] for c in taken), 3)
            for to in (*FLOORS, *RIVALS)
            if to in taken[0]
        }

    return {
        "events": lake.events,
        "messages": sum(measured["verdicts"].values()),
        "rounds": len(taken),
        **{f"{name}_s": median(name, 0) for name in taken[0]},
        "ratios": ratios(0),
        "cpu_ratios": ratios(1),
        "cpu_s": {name: median(name, 1) for name in taken[0]},
        "reconcile_events_per_s": round(lake.events / median("reconcile", 0)),
        "heap_peak_bytes": heap_bytes,
        "verdicts": dict(sorted(measured["verdicts"].items())),
    }


def peak_heap(spark: SparkSession) -> int:
    """Greatest use of every heap pool since the last call, summed: an upper bound."""
    pools = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()  # noqa: SLF001 - because the JVM's own beans have no other door
    used = 0
    for pool in pools:
        if str(pool.getType()) == "Heap memory":
            used += pool.getPeakUsage().getUsed()
            pool.resetPeakUsage()
    return int(used)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, action="append", help="default: 2 M and 20 M")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seed", type=int, default=7)
    arguments.add_argument("--no-ingest", action="store_true", help="leave the ingested lake out")
    arguments.add_argument(
        "--without",
        action="append",
        default=[],
        choices=[*FLOORS, *RIVALS, "lifecycles"],
        help="leave this one out, where it asks for more memory than there is",
    )
    arguments.add_argument("--out", type=Path, default=Path("build/bench-lake.json"))
    given = arguments.parse_args()
    cores = os.cpu_count() or 2
    spark = session(cores)
    plans = [journals.Plan(n, seed=given.seed) for n in given.events or (2_000_000, 20_000_000)]
    sizes = []
    for plan in sorted(plans, key=lambda plan: plan.events):
        print(f"{plan.events} events wanted", file=sys.stderr)
        lake = journals.ready(ROOT, plan)
        # As the product's own session would have it, which starts with the lake known.
        size = manifest.journal_bytes([lake.path])
        spark.conf.set(runner.PARTITIONS, str(runner.partitions(size)))
        peak_heap(spark)
        found = measure(
            spark,
            lake,
            days=plan.days,
            rounds=given.rounds,
            cores=cores,
            without=given.without,
        )
        sizes.append(summary(lake, found, peak_heap(spark)))
        if not given.no_ingest:
            sizes[-1]["ingested"] = ingested.measure(spark, lake)
            sizes[-1]["ingested"]["heap_peak_bytes"] = peak_heap(spark)
        given.out.parent.mkdir(exist_ok=True)
        given.out.write_text(json.dumps(report(sizes, cores), indent=2) + "\n")
    print(table(sizes))


def report(sizes: list[dict[str, Any]], cores: int) -> dict[str, Any]:
    """The largest size on top, all sizes below it."""
    largest = sizes[-1]
    grown = {}
    if len(sizes) > 1:
        tens = largest["events"] / sizes[0]["events"] / 10
        grown = {
            "growth_10x": round(largest["reconcile_s"] / sizes[0]["reconcile_s"] / tens, 3),
            "growth_10x_cpu": round(
                largest["cpu_s"]["reconcile"] / sizes[0]["cpu_s"]["reconcile"] / tens, 3
            ),
        }
    return {**largest, **grown, "cores": cores, "heap": HEAP, "sizes": sizes}


def table(sizes: list[dict[str, Any]]) -> str:
    """The figures for people."""
    names = [f"{name}_s" for name in sizes[0]["cpu_s"]]
    lines = ["| | " + " | ".join(f"{size['events']:,} events" for size in sizes) + " |"]
    lines.append("|---" * (len(sizes) + 1) + "|")
    lines += [f"| {name} | " + " | ".join(f"{s[name]:.2f}" for s in sizes) + " |" for name in names]
    lines += [
        f"| reconcile / {to}, {unit} | " + " | ".join(f"{s[ratios][to]:.2f}" for s in sizes) + " |"
        for ratios, unit in (("ratios", "time"), ("cpu_ratios", "processor time"))
        for to in sizes[0]["ratios"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
