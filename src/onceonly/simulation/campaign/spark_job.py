"""A campaign as a Spark job: ranges of seeds out, one row per seed back, added up by Spark.

A range is a row; a task runs it and gives one row per world, written as Parquet. Only then does
the range stand in the ledger, so a campaign that was ended goes on where it was, and no range is
run twice by the same code. A task that dies is run again by Spark and gives the same rows, since
a world is a function of its seed. The package is shipped as a zip, so that the machines of a
cluster run this code and no other; what it depends on must be installed there.

Knows Spark and the ledger, and no worlds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from onceonly.lake import runner
from onceonly.message.word import Word
from onceonly.simulation.campaign.code import code_digest, commit, zipped
from onceonly.simulation.campaign.ledger import Ledger, LedgerEntry, pieces
from onceonly.simulation.campaign.report import (
    COUNTS,
    FINGERPRINT_DIGITS,
    LISTED_MAX,
    Breach,
    Summary,
    found_in,
)
from onceonly.simulation.campaign.worlds import Result, run_range

PROFILE = "swarm"
"""How the worlds were generated: `workload.plan_of`, every class of fault on or off per seed."""

RANGE = 1000
"""Seeds of one task: long enough to hide the cost of a task, short enough to run it again."""

TASKS_PER_CORE = 10
"""Tasks of one wave for each core; what a wave has done is in the ledger when it ends."""

_BREACH = StructType([StructField("invariant", StringType()), StructField("text", StringType())])
_COUNTS = MapType(StringType(), LongType())
ROW = StructType(
    [
        StructField("seed", LongType()),
        StructField("lo", LongType()),
        StructField("breaches", ArrayType(_BREACH)),
        *(StructField(count, LongType()) for count in COUNTS),
        StructField("matrix", _COUNTS),
        StructField("points", _COUNTS),
        StructField("sometimes", ArrayType(StringType())),
        StructField("tags", ArrayType(StringType())),
        StructField("trace_hash", StringType()),
        StructField("seconds", DoubleType()),
    ]
)
"""One world. Everything but `seconds` is a function of the seed and the code."""

Row = tuple[Any, ...]
Progress = Callable[[int, int], None]


class ForeignCode(Exception):  # noqa: N818 - because it names what the worker has
    """A worker would run other code than the ledger says."""


class Campaign(Word):
    """What came of it."""

    summary: Summary
    """Over all worlds of the range, those of earlier runs among them."""
    ran: int
    """Seeds that were run now; the others were in the ledger."""
    tasks_s: tuple[float, float]
    """Seconds of the quickest and of the slowest task: how even the work was."""


def run(
    lo: int, hi: int, *, ledger: str, master: str | None = None, progress: Progress | None = None
) -> Campaign:
    """Run what of the seeds from `lo` up to and without `hi` this code has not run, and add up.

    `master` goes to Spark as it is; `progress` hears how many of how many seeds are done.
    Raises `LocalError` (NoJava), and what ended a task that Spark tried in vain.
    """
    spark = runner.session(master, "onceonly simulate")
    spark.sparkContext.addPyFile(str(_shipped()))
    book = Ledger(ledger)
    missing = book.missing(code_digest(), PROFILE, lo, hi)
    wanted = sum(end - begin for begin, end in missing)
    began_s, ran = perf_counter(), 0
    for wave in _waves(missing, spark.sparkContext.defaultParallelism * TASKS_PER_CORE):
        ran += _run_wave(spark, book, wave)
        if progress is not None:
            progress(ran, wanted)
    seconds = perf_counter() - began_s
    summary = summarise(read(spark, book, lo, hi))
    summary.seconds, summary.timed = seconds, ran
    done = [entry for entry in book.done(code_digest(), PROFILE) if lo <= entry.lo < hi]
    took = [entry.seconds for entry in done] or [0.0]
    summary.core_seconds = sum(took)
    return Campaign(summary, ran, (min(took), max(took)))


@cache
def _shipped() -> Path:
    """The package as a zip, there until this process ends: executors may ask for it late."""
    folder = TemporaryDirectory(prefix="onceonly-")
    _FOLDERS.append(folder)
    return zipped(Path(folder.name))


_FOLDERS: list[TemporaryDirectory[str]] = []


def _waves(missing: list[tuple[int, int]], tasks: int) -> Iterator[list[tuple[int, int]]]:
    ranges = pieces(missing, RANGE)
    while wave := list(islice(ranges, tasks)):
        yield wave


def _run_wave(spark: SparkSession, book: Ledger, wave: list[tuple[int, int]]) -> int:
    """Run the ranges, one task each, write their rows, and only then put them in the ledger."""
    folder = f"{_rows_folder(book)}/wave-{wave[0][0]:012}-{wave[-1][1]:012}"
    runner.write(frame(spark, wave), folder)
    by_range = (
        spark.read.schema(ROW)
        .parquet(folder)
        .groupBy("lo")
        .agg(
            F.count("*").alias("seeds"),
            F.count_if(F.size("breaches") > 0).alias("violations"),
            F.sum("seconds").alias("seconds"),
        )
    )
    found = {row["lo"]: row for row in by_range.collect()}
    book.append(_entry(lo, hi, found[lo]) for lo, hi in wave)
    return sum(row["seeds"] for row in found.values())


def _entry(lo: int, hi: int, found: Any) -> LedgerEntry:
    assert found["seeds"] == hi - lo, "a range has a row for every seed"
    return LedgerEntry(
        code_digest(),
        commit(),
        PROFILE,
        lo,
        hi,
        found["violations"],
        found["seeds"],
        found["seconds"],
    )


def _rows_folder(book: Ledger) -> str:
    return f"{book.url}/rows/{code_digest()[:16]}"


def frame(spark: SparkSession, ranges: list[tuple[int, int]]) -> DataFrame:
    """A row per seed of the ranges; each range is a task. Spark may run a task again at will."""
    tasks = spark.sparkContext.parallelize(ranges, len(ranges))
    rows = tasks.mapPartitions(partial(rows_of, code_digest()))
    return spark.createDataFrame(rows, ROW, verifySchema=False)


def rows_of(code: str, ranges: Iterable[tuple[int, int]]) -> Iterator[Row]:
    """On a worker: the rows of the ranges. Raises `ForeignCode`."""
    if code_digest() != code:
        raise ForeignCode(f"the worker has {code_digest()}, the campaign is of {code}")
    for lo, hi in ranges:
        began_s = perf_counter()
        for result in run_range(lo, hi):
            now_s = perf_counter()
            yield row_of(result, lo, now_s - began_s)
            began_s = now_s


def row_of(result: Result, lo: int, seconds: float) -> Row:
    """A result as a row of `ROW`; `lo` is the beginning of its range."""
    return (
        result.seed,
        lo,
        [(breach.invariant, breach.text) for breach in found_in(result).values()],
        *(getattr(result, count) for count in COUNTS),
        dict(result.matrix),
        dict(result.points),
        sorted(result.sometimes),
        sorted(result.tags),
        result.trace_hash,
        seconds,
    )


def read(spark: SparkSession, book: Ledger, lo: int, hi: int) -> DataFrame:
    """Every row that this code has for seeds from `lo` up to and without `hi`."""
    if not book.done(code_digest(), PROFILE):
        return spark.createDataFrame([], ROW)
    rows = spark.read.schema(ROW).parquet(f"{_rows_folder(book)}/*")
    return rows.where(F.col("seed").between(lo, hi - 1))


def summarise(rows: DataFrame) -> Summary:
    """The rows added up. A seed that has two rows, of which one was lost sight of, counts once.

    Two rows of one seed with unlike traces are a violation: `determinism`.
    """
    twice = _twice(rows).cache()
    once = _once(rows, twice)
    breaches = once.select("seed", F.inline("breaches")).union(_unlike(twice)).cache()
    [total] = once.agg(*_totals()).collect()
    first = breaches.orderBy("seed", "invariant").limit(LISTED_MAX).collect()
    by_invariant = breaches.groupBy("invariant").count().collect()
    summary = Summary(
        seeds=total["seeds"],
        violating=breaches.select("seed").distinct().count(),
        breaches=[Breach(row["seed"], row["invariant"], row["text"]) for row in first],
        invariants=Counter({row["invariant"]: row["count"] for row in by_invariant}),
        matrix=_added_up(once, "matrix"),
        points=_added_up(once, "points"),
        sometimes=_counted(once, "sometimes"),
        counted_combinations=total["combinations"],
        fingerprint=total["fingerprint"] or 0,
    )
    for count in COUNTS:
        setattr(summary, count, total[count] or 0)
    breaches.unpersist()
    twice.unpersist()
    return summary


def _twice(rows: DataFrame) -> DataFrame:
    """The seeds that have several rows, and whether those tell of one and the same world."""
    runs = rows.groupBy("seed").agg(
        F.count("*").alias("runs"),
        (F.min("trace_hash") != F.max("trace_hash")).alias("unlike"),
    )
    return runs.where("runs > 1").select("seed", "unlike")


def _once(rows: DataFrame, twice: DataFrame) -> DataFrame:
    """A row of each seed. Only the few that have several go through a shuffle.

    A row has some kilobytes of maps. A million of them, sorted to find duplicates, need more memory
    than a driver on a laptop has.
    """
    if twice.isEmpty():
        return rows
    alone = rows.join(twice, "seed", "left_anti")
    return alone.unionByName(rows.join(twice, "seed", "left_semi").dropDuplicates(["seed"]))


def _unlike(twice: DataFrame) -> DataFrame:
    return twice.where("unlike").select(
        "seed", F.lit("determinism").alias("invariant"), F.lit(_UNLIKE).alias("text")
    )


_UNLIKE = "two runs of the same world had different traces"


def _totals() -> list[Column]:
    traces = F.conv(F.substring("trace_hash", 1, FINGERPRINT_DIGITS), 16, 10).cast("long")
    return [
        F.count("*").alias("seeds"),
        F.count_distinct("tags").alias("combinations"),
        F.bit_xor(traces).alias("fingerprint"),
        *(F.sum(count).alias(count) for count in COUNTS),
    ]


def _added_up(rows: DataFrame, column: str) -> Counter[str]:
    entries = rows.select(F.explode(column).alias("name", "count")).groupBy("name")
    return Counter({row[0]: row[1] for row in entries.agg(F.sum("count")).collect()})


def _counted(rows: DataFrame, column: str) -> Counter[str]:
    names = rows.select(F.explode(column).alias("name")).groupBy("name").count()
    return Counter({row[0]: row[1] for row in names.collect()})
