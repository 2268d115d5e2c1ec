"""The only place of the lake that reads, writes, counts or starts anything.

Everything that it carries between storage and storage is made by the pure functions of `model`,
`verdicts`, `invariants`, `checks`, `tables` and `reports`.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import LongType, StringType, StructField, StructType

from onceonly.lake import checks, java, manifest, model, schemas
from onceonly.lake.manifest import Manifest, Shelf

SEGMENTS_PER_BATCH: Final = 500
"""Most segments in one batch, so that a back-fill of years is many small steps."""

SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_LOCAL_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),
}

_FOLDED: Final = {
    "lifecycle": StructType(
        [StructField(name, StringType()) for name in schemas.KEY]
        + [StructField(fold.name, LongType()) for fold in model.FOLDS]
    ),
    "coverage": StructType(
        [StructField(name, StringType()) for name in model.COVERAGE_KEY]
        + [StructField(fold.name, LongType()) for fold in model.COVERAGE_FOLDS]
    ),
}
_SCHEMAS: Final = {"journal": schemas.JOURNAL, **_FOLDED}


LITTLE_BYTES: Final = 64 << 20
"""Journals below this size are reconciled faster without the second compiler and its threads."""
_LITTLE_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def session(master: str | None, app_name: str, *, journal_bytes: int | None = None) -> SparkSession:
    """The Spark session: the running one, or a new one.

    `master` is passed on as given. None means what spark-submit was told, or `local[*]`.
    `journal_bytes`, where known, tunes a new local session for little or much.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    home = java.prepare()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    # Workers take the `python3` of the PATH otherwise, which need not have our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is not None or not is_submitted:
        builder = builder.master(master or "local[*]")
    is_local = not is_submitted and (master or "local").startswith("local")
    settings = {**SETTINGS, **(_LOCAL_SETTINGS if is_local else {})}
    if is_local and journal_bytes is not None and journal_bytes < LITTLE_BYTES:
        settings["spark.driver.extraJavaOptions"] = _LITTLE_JAVA
    for key, setting in settings.items():
        builder = builder.config(key, setting)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def ingest(spark: SparkSession, shelves: Sequence[Shelf], trigger: dict[str, Any]) -> None:
    """Take in the segments that the parties published since the last time: one query for each.

    Every batch ends in its party's manifest exactly once, however often the job dies and starts
    again. Returns when all queries have ended; raises what ended one of them early.
    """
    queries: list[StreamingQuery] = []
    try:
        queries += [_start(spark, shelf, trigger) for shelf in shelves]
        for query in queries:
            query.awaitTermination()
    finally:
        for query in queries:
            query.stop()


def _start(spark: SparkSession, shelf: Shelf, trigger: dict[str, Any]) -> StreamingQuery:
    generation = manifest.begin(shelf).generation

    def take(rows: DataFrame, batch: int) -> None:
        _take_batch(shelf, rows, f"batch-{generation}-{batch}")

    return (
        spark.readStream.schema(schemas.JOURNAL)
        .option("maxFilesPerTrigger", SEGMENTS_PER_BATCH)
        .parquet(shelf.journal)
        .writeStream.queryName(f"ingest {shelf.lake} {shelf.folder}")
        .option("checkpointLocation", shelf.checkpoint(generation))
        .foreachBatch(take)
        .trigger(**trigger)
        .start()
    )


def _take_batch(shelf: Shelf, rows: DataFrame, name: str) -> None:
    known = manifest.load(shelf)
    if name in known.batches:
        return
    spark = rows.sparkSession
    write(rows, f"{shelf.root}/journal/{name}")
    batch = _read(spark, "journal", [f"{shelf.root}/journal/{name}"])
    [extent] = batch.agg(
        F.min("seq").alias("first"),
        F.max("seq").alias("last"),
        F.count("*").alias("rows"),
        F.count_distinct("seq").alias("numbers"),
    ).collect()
    if extent["rows"] == 0:
        return
    if extent["rows"] > extent["numbers"] or known.overlaps(extent["first"], extent["last"]):
        known = replace(known, has_repeats=True)
        batch = _unseen(batch, _read(spark, "journal", shelf.paths(known, "journal")), extent)
    write(model.partial(batch), f"{shelf.root}/lifecycle/{name}")
    write(model.coverage(batch), f"{shelf.root}/coverage/{name}")
    manifest.publish(shelf, known.with_batch(name, extent["first"], extent["last"], list(_SCHEMAS)))


def _unseen(batch: DataFrame, published: DataFrame, extent: Row) -> DataFrame:
    """The rows that no batch has yet: a publisher that died may publish a row in two segments."""
    seen = published.where(F.col("seq").between(extent["first"], extent["last"]))
    link = list(checks.LINK)
    return (
        batch.dropDuplicates(link)
        .join(seen.select(*link), link, "left_anti")
        .select(*batch.columns)
    )


def compact(spark: SparkSession, shelf: Shelf) -> Manifest:
    """Fold the party's folded batches into one; readers see the old ones or the new one."""
    known = manifest.load(shelf)
    if len(known.batches) < 2:
        return known
    name = f"compact-{known.batches[-1]}"
    folds = {"lifecycle": model.merge, "coverage": model.merge_coverage}
    for product, fold in folds.items():
        write(
            fold(_read(spark, product, shelf.paths(known, product))),
            f"{shelf.root}/{product}/{name}",
        )
    products = {**known.products, **{product: (f"{product}/{name}",) for product in folds}}
    compacted = replace(known, products=products)
    manifest.publish(shelf, compacted)
    return compacted


def read(spark: SparkSession, lakes: Sequence[str], product: str) -> DataFrame:
    """Everything published of `journal`, `lifecycle` or `coverage`, unmerged."""
    paths = [
        path
        for shelf in manifest.shelves(lakes)
        for path in shelf.paths(manifest.load(shelf), product)
    ]
    return _read(spark, product, paths)


def journal(spark: SparkSession, lakes: Sequence[str]) -> DataFrame:
    """Every published journal row, each once."""
    rows = read(spark, lakes, "journal")
    return rows.dropDuplicates(list(checks.LINK)) if has_repeats(lakes) else rows


def has_repeats(lakes: Sequence[str]) -> bool:
    """Whether some row may be published twice."""
    return any(manifest.load(shelf).has_repeats for shelf in manifest.shelves(lakes))


def write(frame: DataFrame, path: str) -> None:
    """Replace the folder at `path` by the frame, as zstd Parquet."""
    frame.write.mode("overwrite").parquet(path)


def rows(frame: DataFrame, limit: int) -> list[dict[str, Any]]:
    """At most `limit` rows of the frame, for people."""
    return [row.asDict(recursive=True) for row in frame.limit(limit).collect()]


def _read(spark: SparkSession, product: str, paths: list[str]) -> DataFrame:
    if not paths:
        return spark.createDataFrame([], _SCHEMAS[product])
    return spark.read.schema(_SCHEMAS[product]).parquet(*paths)
