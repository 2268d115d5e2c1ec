"""The only place of the lake that reads, writes, counts or starts anything.

Everything that it carries between storage and storage is made by the pure functions of `model`,
`verdicts`, `invariants`, `hash_chain`, `tables` and `reports`.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import BooleanType, DateType, LongType, StringType, StructField, StructType

from onceonly.lake import (
    class_archive,
    cut,
    header_terms,
    java,
    jvm,
    manifest,
    model,
    runs,
    schemas,
    storage,
    verdicts,
    versions,
)
from onceonly.lake.formats import TableFormat
from onceonly.lake.ingest import neighbours, register, seams, segments
from onceonly.lake.ingest.intake import url
from onceonly.lake.ingest.register import KnownSegments
from onceonly.lake.manifest import Manifest, Quarantined, Shelf
from onceonly.lake.versions import Days
from onceonly.lake.wholeness import Tail, Wholeness, of_copies, of_cut
from onceonly.message.errors import LocalError

SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # What is kept would be cut as the shuffle before it was, into a thousand parts of a large
    # journal, and everything that is made of it would start a task for each.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    # A small map before the large one pays where groups are few; here every message is a group,
    # and the small map hashes its three strings byte by byte (seen in threads at work on 20 M).
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
}
_TASKS: Final = max(2, os.cpu_count() or 2)
_LOCAL_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(_TASKS),
    # Hadoop gives files the modes of an umask of its own, whatever that of the process is.
    "spark.hadoop.fs.permissions.umask-mode": "027",
}

PARTITIONS: Final = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
"""How many parts a shuffle is cut into, which Spark joins again where they turn out small.

What `spark.sql.shuffle.partitions` says is for plans that do not adapt, where none is joined again.
"""
_PARTITION_BYTES: Final = 32 << 20
_PARTITIONS_MAX: Final = 1_000


def partitions(journal_bytes: int) -> int:
    """How many `PARTITIONS` a journal of this size is judged in on one machine.

    With as many as there are processors the lifecycles of 200 million events no longer fit a heap
    of 2 GB, and to judge them took 1.8 times as long.
    """
    return min(max(_TASKS, journal_bytes // _PARTITION_BYTES), _PARTITIONS_MAX)


LIFECYCLE: Final = StructType(
    [StructField(name, StringType()) for name in schemas.KEY]
    + [StructField(fold.name, LongType()) for fold in model.FOLDS]
)
"""What `model.merge` gives."""
JUDGED: Final = StructType(
    [
        *LIFECYCLE.fields,
        StructField("published_on", DateType()),
        StructField("is_two_sided", BooleanType()),
        *[StructField(name, StringType()) for name in (*verdicts.WORDS, *header_terms.COLUMNS)],
    ]
)
"""What `verdicts.verdict` gives of lives `model.with_terms` that are kept by day."""
TERMS: Final = StructType(
    [
        StructField(header_terms.NUMBER, LongType()),
        *[StructField(name, StringType()) for name in header_terms.COLUMNS],
    ]
)
"""What `model.terms` gives."""
_TYPES: Final = {"bigint": LongType, "boolean": BooleanType, "string": StringType}
_SCHEMAS: Final = {
    "journal": schemas.JOURNAL,
    "segments": StructType(
        [StructField(name, _TYPES[kind]()) for name, kind in segments.TYPES.items()]
    ),
    "coverage": StructType(
        [StructField(name, StringType()) for name in model.COVERAGE_KEY]
        + [StructField(fold.name, LongType()) for fold in model.COVERAGE_FOLDS]
    ),
}


def _as_they_are(rows: DataFrame) -> DataFrame:
    return rows


OF_ROWS: Final[Mapping[str, Callable[[DataFrame], DataFrame]]] = {
    "journal": _as_they_are,
    "coverage": model.coverage,
}
"""What is made of journal rows, by product."""
FOLDED: Final = ("coverage",)
FOLDS_MARK: Final = sha256(repr([*map(tuple, model.COVERAGE_FOLDS)]).encode()).hexdigest()[:12]
"""Changes with every fold and rule, so that nothing is merged with what older folds left."""


LITTLE_BYTES: Final = 64 << 20
"""Journals below this size are reconciled faster without the second compiler and its threads."""
# One compiler alone reserves 48 MB for its code, which a session of some minutes fills.
LITTLE_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"

EVERY_JAVA: Final = "-XX:-DontCompileHugeMethods -XX:FreqInlineSize=100 -XX:InlineSmallCode=800"
"""For the code that Spark generates, other code for each table. Java leaves what is longer than
8,000 bytes uncompiled, as is what Spark makes of some eighty folds and a verdict: to judge 20
million events took a fifth longer. The second compiler took a third of the processors: where it
writes fewer other methods into such code, a run over 2 million events takes a tenth less time."""
_QUIET_JAVA: Final = (
    f'"-Dlog4j2.configurationFile={Path(__file__).with_name("log4j2.properties").as_uri()}"'
)
OWN_SETTINGS: Final = frozenset({"SPARK_HOME", "SPARK_CONF_DIR"})
"""Whoever has one of these has a place for Java's options and for `log4j2.properties`."""

TINY_BYTES: Final = 2 << 20
"""Journals below this size, some ten thousand rows, are read sooner than a plan for them is made:
most of such a job would be Spark's compiler, its planning again after every shuffle, and the start
of tasks without rows."""
TINY: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.ui.explainMode": "simple",
}


def session(
    master: str | None,
    app_name: str,
    *,
    journal_bytes: int | None = None,
    has_catalog: bool = False,
    java_options: Sequence[str] = (),
) -> SparkSession:
    """The Spark session: the running one, or a new one.

    `master` is passed on as given. None means what spark-submit was told, or `local[*]`.
    `journal_bytes`, where known, tunes a new local session for little or much. With `has_catalog`
    a new one has a catalog that stays when it ends: Hive's, as Spark is configured for it.
    `java_options` are more words for the Java of a new local session, which starts from the archive
    of its classes where there is one (`class_archive`).
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    home = java.prepare()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    # Workers take the `python3` of the PATH otherwise, which need not have our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setAppName(app_name)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is not None or not is_submitted:
        conf.setMaster(master or "local[*]")
    is_local = not is_submitted and (master or "local").startswith("local")
    settings = {**SETTINGS, **(_LOCAL_SETTINGS if is_local else {})}
    if is_local:
        settings |= _tuned(journal_bytes, java_options)
    if has_catalog:
        conf.set("spark.sql.catalogImplementation", "hive")
    conf.setAll(list(settings.items()))
    if not is_submitted:
        jvm.launch(conf)
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    jvm.know_classes(spark.sparkContext)
    return spark


def _tuned(journal_bytes: int | None, java_options: Sequence[str]) -> dict[str, str]:
    settings, options = {}, [EVERY_JAVA, _QUIET_JAVA, *class_archive.options(), *java_options]
    if journal_bytes is not None:
        settings[PARTITIONS] = str(partitions(journal_bytes))
        if journal_bytes < LITTLE_BYTES:
            options.append(LITTLE_JAVA)
        if journal_bytes < TINY_BYTES:
            settings |= TINY
    if OWN_SETTINGS.isdisjoint(os.environ):
        settings["spark.driver.extraJavaOptions"] = " ".join(options)
    return settings


Copies = Sequence[tuple[Shelf, Manifest]]


@dataclass(frozen=True, slots=True)
class Holdings:
    """What some lakes hold, as their manifests said at one moment; later ingests change nothing."""

    spark: SparkSession
    copies: Mapping[str, Copies]
    """Per party folder: usually one shelf, but several lakes may hold the journal of one party."""
    until: int | None = None
    """Journal rows that are later than this do not count, in microseconds UTC; None: all do."""
    had: Mapping[str, Column] | None = None
    """By `Shelf.root`: which rows of bronze a former run had, and so count; None: all do."""

    @property
    def is_cut(self) -> bool:
        """Whether some rows may not count."""
        return self.until is not None or self.had is not None

    def cut(self, until: int) -> "Holdings":
        """The same without the journal rows that are later than an instant."""
        return replace(self, until=until)

    def as_found(self, marks: Sequence[runs.Mark]) -> "Holdings":
        """The same with the journal rows that a run had, and no others; by its marks.

        Raises `LocalError` (EvidenceGone) where a row of them is not there any more.
        """
        copies: dict[str, list[tuple[Shelf, Manifest]]] = {}
        had = {}
        known = {(shelf.lake, shelf.folder): (shelf, one) for shelf, one in self._shelves()}
        for mark in marks:
            found = known.get((mark.lake, mark.folder))
            if found is None:
                raise _gone(mark, "it is not in these lakes")
            shelf, now = found
            had[shelf.root] = self._had(shelf, now, mark)
            then = replace(
                now,
                rows=mark.rows,
                ranges=mark.ranges,
                first_fork=mark.first_fork,
                quarantined=(),
                distrusted=(),
            )
            copies.setdefault(mark.folder, []).append((shelf, then))
        return replace(self, copies=copies, had=had)

    def _had(self, shelf: Shelf, now: Manifest, mark: runs.Mark) -> Column:
        rows = bronze(self.spark, shelf.paths(now, "journal"))
        [found] = cut.held(rows, mark.ranges, mark.batches, mark.tail).collect()
        if mark.tail is not None and not found["tails"]:
            raise _gone(mark, f"row {mark.tail[0]} has another chain hash, or is not there")
        if found["rows"] == mark.rows:
            return cut.are_in(mark.ranges)
        if found["by_batch"] == mark.rows:
            # Rows that were forked later have numbers of these, and came in a later batch.
            return cut.are_in(mark.ranges) & cut.came_by(mark.batches)
        raise _gone(mark, f"of its {mark.rows} rows then {found['rows']} are there")

    def read(self, product: str) -> DataFrame:
        """Everything of `journal`, `coverage` or `segments`, unmerged.

        No journal row counts twice, and what was folded by an older version is folded again.
        """
        if self.is_cut and product in OF_ROWS:
            each = [self._rows(copies) for copies in self.copies.values()]
            whole = reduce(DataFrame.unionByName, each, folders(self.spark, "journal", []))
            return OF_ROWS[product](whole)
        paths: list[str] = []
        frames = []
        for copies in self.copies.values():
            if product in OF_ROWS and _overlap(copies):
                frames.append(OF_ROWS[product](self._each_once(copies)))
            elif product in FOLDED and any(is_outdated(known) for _, known in copies):
                rows = folders(self.spark, "journal", _paths(copies, "journal"))
                frames.append(OF_ROWS[product](rows))
            else:
                paths += _paths(copies, product)
        return reduce(DataFrame.unionByName, [folders(self.spark, product, paths), *frames])

    def after(self, last_batches: Mapping[str, int]) -> DataFrame:
        """Journal rows of later batches than those, by `Shelf.root`; of other journals all rows.

        Only of lakes of which no two hold the same rows (`is_one_copy`).
        """
        # A frame for each party would be a plan that grows with the parties: what needs no filter,
        # or the same one, is read together.
        paths: defaultdict[int, list[str]] = defaultdict(list)
        for shelf, known in self._shelves():
            last = last_batches.get(shelf.root, -1)
            for path in shelf.paths(known, "journal"):
                # A folder whose name does not tell is of before there were numbers: of batch 0.
                first_in, last_in = manifest.batches_in(path) or (0, 0)
                if last_in > last:
                    paths[last if first_in <= last else -1].append(path)
        frames = [bronze(self.spark, some, after=last) for last, some in paths.items()]
        whole = reduce(DataFrame.unionByName, frames, bronze(self.spark, []))
        return whole.select(*schemas.JOURNAL.names)

    @property
    def is_one_copy(self) -> bool:
        """Whether no row may stand in two of the lakes."""
        return not any(map(_overlap, self.copies.values()))

    def _shelves(self) -> list[tuple[Shelf, Manifest]]:
        return [one for copies in self.copies.values() for one in copies]

    def wholeness(self) -> list[Wholeness]:
        """Whether each party's journal is whole; of those that have rows, or had any trouble."""
        found = self._cut() if self.is_cut else self._whole()
        return [one for one in found if one.rows or one.breaches or one.set_aside]

    def _cut(self) -> Iterator[Wholeness]:
        none = folders(self.spark, "journal", []).withColumn(cut.FOLDER, F.lit(""))
        each = (
            self._rows(copies).withColumn(cut.FOLDER, F.lit(folder))
            for folder, copies in self.copies.items()
        )
        counted = cut.counted(reduce(DataFrame.unionByName, each, none)).collect()
        found = {row[cut.FOLDER]: row.asDict() for row in counted}
        for folder, copies in self.copies.items():
            known = [one for _, one in copies]
            # What is said of segments now is not what a former run was told.
            contradicted = [] if self.had is not None else _contradicted(copies)
            if folder in found:
                yield of_cut(folder, known, found[folder], contradicted)
            else:
                nothing = [replace(one, rows=0, ranges=(), first_fork=None) for one in known]
                yield of_copies(folder, nothing, {}, contradicted)

    def _whole(self) -> Iterator[Wholeness]:
        return (
            of_copies(
                folder,
                [known for _, known in copies],
                _counted(self._each_once(copies)) if _overlap(copies) else {},
                _contradicted(copies),
                _tail(copies),
            )
            for folder, copies in self.copies.items()
        )

    def _rows(self, copies: Copies) -> DataFrame:
        """The journal rows of one party that count, each once."""
        if self.had is None:
            rows = folders(self.spark, "journal", _paths(copies, "journal"))
        else:
            each = [
                bronze(self.spark, shelf.paths(known, "journal")).where(self.had[shelf.root])
                for shelf, known in copies
            ]
            rows = reduce(DataFrame.unionByName, each).select(*schemas.JOURNAL.names)
        # As in `_each_once`.
        once = rows.dropDuplicates() if _overlap(copies) else rows
        return once if self.until is None else cut.until(once, self.until)

    def marks(self) -> list[runs.Mark]:
        """How far each lake's copy of each party's journal goes."""
        return [
            runs.mark(shelf.lake, shelf.folder, known, _tail([(shelf, known)]))
            for copies in self.copies.values()
            for shelf, known in copies
        ]

    def _each_once(self, copies: Copies) -> DataFrame:
        rows = folders(self.spark, "journal", _paths(copies, "journal"))
        # By all columns: a row that was edited and kept its hash stands beside the true one.
        return rows.dropDuplicates()


def holdings(spark: SparkSession, lakes: Sequence[str]) -> Holdings:
    """What the lakes hold now. Raises `LocalError`: NoLake, OlderLake, NewerLake, BadManifest."""
    found: dict[str, list[tuple[Shelf, Manifest]]] = {}
    for shelf in manifest.shelves(lakes):
        found.setdefault(shelf.folder, []).append((shelf, manifest.load(shelf)))
    return Holdings(spark, found)


def _gone(mark: runs.Mark, why: str) -> LocalError:
    text = f"the run had {mark.rows} rows of {mark.folder} in {mark.lake}, and now {why}"
    return LocalError("EvidenceGone", f"{text}: nobody can judge again what it judged")


def read(spark: SparkSession, lakes: Sequence[str], product: str) -> DataFrame:
    """What the lakes hold of one product now (`Holdings.read`)."""
    return holdings(spark, lakes).read(product)


def journal(spark: SparkSession, lakes: Sequence[str]) -> DataFrame:
    """Every published journal row, each once."""
    return read(spark, lakes, "journal")


def wholeness(spark: SparkSession, lakes: Sequence[str]) -> list[Wholeness]:
    """Whether each party's journal is whole."""
    return holdings(spark, lakes).wholeness()


def is_outdated(known: Manifest) -> bool:
    """Whether coverage was folded by other folds than those of this version."""
    return known.rows > 0 and known.folds != FOLDS_MARK


def _paths(copies: Copies, product: str) -> list[str]:
    return [path for shelf, known in copies for path in shelf.paths(known, product)]


def _overlap(copies: Copies) -> bool:
    """Whether a row may stand in two of the copies."""
    ranges = [one for _, known in copies for one in known.ranges]
    return manifest.count(manifest.joined(ranges)) < manifest.count(ranges)


def _tail(copies: Copies) -> Tail | None:
    if len(copies) == 1:
        [(shelf, known)] = copies
        last = neighbours.tail(KnownSegments(shelf, known, {}))
        return None if last is None else (last.last_seq, last.tail_hash or "")
    looks = [one for shelf, known in copies for one in register.looks(shelf, known).values()]
    tails = [(one.last_seq, one.tail_hash or "") for one in seams.fit(looks).accepted.values()]
    return max(tails, default=None)


def _contradicted(copies: Copies) -> list[Quarantined]:
    """Segments that their own lake cannot doubt, and that do not follow what another one holds."""
    if len(copies) == 1:
        return []
    accepted = [
        one._replace(segment=url(shelf.lake, one.segment))
        for shelf, known in copies
        for one in seams.fit(register.looks(shelf, known).values()).accepted.values()
    ]
    return [
        Quarantined(one.segment, one.length, one.modified_at, one.fault or "", one.bad_seq)
        for one in seams.fit(accepted).contradicted.values()
    ]


def _counted(journal: DataFrame) -> dict[str, Any]:
    numbers = journal.groupBy("seq").count()
    doubled = F.when(F.col("count") > F.lit(1), F.col("seq"))
    [found] = numbers.agg(
        F.sum("count").alias("rows"), F.min(doubled).alias("first_fork")
    ).collect()
    return found.asDict()


def folders(spark: SparkSession, product: str, paths: Sequence[str]) -> DataFrame:
    """What is in these folders of `product`, each row as it stands there."""
    return folders_of(spark, _SCHEMAS[product], paths)


def folders_of(spark: SparkSession, schema: StructType, paths: Sequence[str]) -> DataFrame:
    """What is in these folders, by a declared schema."""
    if not paths:
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).parquet(*map(storage.literal, paths))


def bronze(spark: SparkSession, paths: Sequence[str], *, after: int = -1) -> DataFrame:
    """The journal rows in these folders with their `schemas.BATCH`: of batches after that one."""
    rows = folders_of(spark, schemas.BRONZE, paths)
    return rows if after < 0 else rows.where(F.coalesce(schemas.BATCH, F.lit(0)) > F.lit(after))


def folder(spark: SparkSession, path: str, schema: StructType) -> DataFrame:
    """What is in one folder, by a declared schema."""
    return spark.read.schema(schema).parquet(storage.literal(path))


def schema(product: str) -> StructType:
    """The declared schema of a product."""
    return _SCHEMAS[product]


_UNMARKED: Final = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
"""No `_SUCCESS`, since a manifest says what counts."""


def unchecked(path: str) -> dict[str, str]:
    """Options with which Spark leaves no `.crc` files in a local folder, and looks at none.

    Parquet has checksums of its own, and they would be three of every four files of a small batch.
    Elsewhere there are none; and Hadoop's S3 keeps its buffers by the checked local files alone.
    """
    if not storage.is_here(path):
        return {}
    return {
        "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "fs.file.impl.disable.cache": "true",
    }


def write(frame: DataFrame, path: str) -> None:
    """Replace the folder at `path` by the frame, as zstd Parquet and nothing else."""
    frame.write.mode("overwrite").options(**_UNMARKED, **unchecked(path)).parquet(path)


def write_by(frame: DataFrame, path: str, column: str) -> None:
    """Write the frame to `path` with a folder for each value of a column, which moves there."""
    writer = frame.write.partitionBy(column).mode("overwrite")
    writer.options(**_UNMARKED, **unchecked(path)).parquet(path)


def write_table(
    frame: DataFrame, place: str, wanted: TableFormat, days: Days | None = None
) -> int | None:
    """Replace the table at `place` by the frame, columns and all; the version that holds it.

    A plain table has no versions. What `days` means, and what is refused: `versions.write`.
    """
    if wanted is TableFormat.PLAIN:
        frame.write.mode("overwrite").parquet(place)
        return None
    return versions.write(frame, place, wanted, days)


def relation(run: runs.LakeRun, table: runs.Written) -> str:
    """A table of a run as SQL names it, just these folders or this version.

    Raises `LocalError` (NoTable) where its folders are gone.
    """
    columns = ", ".join(quoted(name) for name, _ in table.columns)
    if table.table_format is TableFormat.PLAIN:
        places = [storage.literal(path) for path in run.paths(table.name)]
        sources = [f"parquet.{quoted(path)}" for path in places]
    else:
        is_delta = table.table_format is TableFormat.DELTA
        source = f"delta.{quoted(f'{run.lake}/{table.place}')}" if is_delta else table.place
        at = "" if table.version is None else f" VERSION AS OF {table.version}"
        sources = [f"{source}{at}"]
    return " UNION ALL ".join(
        f"SELECT {columns} FROM {source}"  # noqa: S608 - because every name is quoted or the caller's
        for source in sources
    )


def table(spark: SparkSession, run: runs.LakeRun, name: str) -> DataFrame:
    """The rows of a run's table. Raises `LocalError` (NoTable)."""
    found = run.table(name)
    if found.table_format is not TableFormat.PLAIN:
        return spark.sql(relation(run, found))
    return declared(spark, found, run.paths(name))


def declared(spark: SparkSession, written: runs.Written, paths: Iterable[str]) -> DataFrame:
    """What is in the folders of a plain table or of a partial, by the columns that it has."""
    columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in written.columns)
    return spark.read.schema(columns).parquet(*map(storage.literal, paths))


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def rows(frame: DataFrame, limit: int) -> list[dict[str, Any]]:
    """At most `limit` rows of the frame, for people."""
    return [row.asDict(recursive=True) for row in frame.limit(limit).collect()]
