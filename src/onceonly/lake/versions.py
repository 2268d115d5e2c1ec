"""Tables of Delta and Iceberg: written by day, and read by the version that a write has left.

`runner.write_table` is the way to them. A table is ours if a version of it says so; another's is
left as it is. Needs the format's jars in the Spark session, and is free of everything else.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from functools import reduce
from operator import or_
from typing import Final
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import DateType

from onceonly.lake import storage
from onceonly.lake.formats import TableFormat, Target
from onceonly.message.errors import LocalError

DAY: Final = "day"
"""The column by which a table is partitioned, where it is there and a date."""

Days = Collection[date | None]
"""Days of a table; None is the rows of which nobody knows the day."""

_MARK: Final = "onceonly-write"
_SNAPSHOT: Final = f"snapshot-property.{_MARK}"
_LINKAGE: Final = re.compile(
    r"java\.lang\.(?:NoSuchMethod|NoSuchField|IncompatibleClassChange|AbstractMethod|NoClassDefFound)"
    r"Error[^\n]*"
)


def require(spark: SparkSession, target: Target) -> None:
    """Make sure that tables can go there, before anything is computed for them.

    Makes the namespace where the catalog has none of that name. Raises `LocalError` NoTableFormat
    where Spark lacks what the format is written with, BadTarget where it knows no such catalog, or
    the catalog does not answer or has no place for it.
    """
    wanted, catalog = target.table_format, target.catalog
    if wanted is TableFormat.PLAIN:
        return
    try:
        spark.read.format(wanted).load("nowhere")
    except (PySparkException, Py4JJavaError) as error:
        # Anything else is about the place, where there is nothing: then the format is there.
        if "DATA_SOURCE_NOT_FOUND" in str(error):
            text = f"Spark has no jars for {wanted}: name them (--conf spark.jars.packages=…)"
            raise LocalError("NoTableFormat", text) from error
    if catalog is not None:
        _make_namespace(spark, catalog)


def _make_namespace(spark: SparkSession, catalog: str) -> None:
    name, dot, _ = catalog.partition(".")
    setting = f"spark.sql.catalog.{name.strip('`')}"
    if dot and spark.conf.get(setting, None) is None:
        text = f"Spark knows no catalog {name!r}: configure it (--conf {setting}=…)"
        raise LocalError("BadTarget", text)
    try:
        with _of_this_spark(spark, TableFormat.ICEBERG):
            spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}")
    except (PySparkException, Py4JJavaError) as error:
        said = next((line for line in str(error).splitlines() if line.strip()), repr(error))
        raise LocalError("BadTarget", f"no namespace {catalog} can be made: {said}") from error


def write(frame: DataFrame, place: str, wanted: TableFormat, days: Days | None = None) -> int:
    """Make the table hold what the frame says, as one commit; the version that holds it.

    With `days` only their rows are written, and the files of all other days stay as they are;
    where there is no such table yet, or it has other columns, all of the frame is written. So the
    frame has to hold every row. Of no days nothing is written, and the version is our last one.
    Without `days`, and for frames that have none, the table is replaced as a whole; its earlier
    versions stay until somebody removes them.

    Raises `LocalError`: NotEmpty where another program's table is there, NoTableFormat where the
    jars are made for another Spark.
    """
    with _of_this_spark(frame.sparkSession, wanted):
        if wanted is TableFormat.ICEBERG:
            return _write_iceberg(frame, place, days)
        return _write_delta(frame, place, days)


def read(spark: SparkSession, place: str, wanted: TableFormat, version: int) -> DataFrame:
    """The rows of a table as they were in that version, whatever was written since."""
    if wanted is TableFormat.ICEBERG:
        return spark.read.option("versionAsOf", version).table(place)
    return spark.read.format(wanted).option("versionAsOf", version).load(place)


def has_days(frame: DataFrame) -> bool:
    """Whether a table of the frame is partitioned by day."""
    return any(one.name == DAY and isinstance(one.dataType, DateType) for one in frame.schema)


def _write_delta(frame: DataFrame, place: str, days: Days | None) -> int:
    spark, mark = frame.sparkSession, f"{_MARK} {uuid4().hex}"
    commits = _delta_commits(spark, place)
    if commits or (storage.is_arrows_own(place) and storage.entries(storage.lake_url(place))):
        _require_ours(place, (text for _, text in commits))
    table = spark.read.format(TableFormat.DELTA).load(place) if commits else None
    writer = frame.write.format(TableFormat.DELTA).mode("overwrite").option("userMetadata", mark)
    if days is not None and _can_replace_days(frame, table):
        if not days:
            return next(version for version, text in commits if text.startswith(_MARK))
        some = frame.where(_of_days(days))
        writer = some.write.format(TableFormat.DELTA).mode("overwrite")
        writer = writer.option("userMetadata", mark).option("replaceWhere", _sql_of_days(days))
    else:
        writer = writer.option("overwriteSchema", "true")
        writer = writer.partitionBy(DAY) if has_days(frame) else writer
    writer.save(place)
    commits = _delta_commits(spark, place)
    # Where neither rows nor columns changed, as of an empty table, Delta commits nothing.
    return next((version for version, text in commits if text == mark), commits[0][0])


def _delta_commits(spark: SparkSession, place: str) -> list[tuple[int, str]]:
    """Number and note of each version, the latest first; none where there is no Delta table."""
    try:
        history = spark.sql(f"DESCRIBE HISTORY delta.`{place.replace('`', '``')}`")
    except PySparkException as error:
        if error.getCondition() == "DELTA_TABLE_ONLY_OPERATION":
            return []
        raise
    found = history.select("version", "userMetadata").collect()
    return sorted(((row[0], row[1] or "") for row in found), reverse=True)


def _write_iceberg(frame: DataFrame, place: str, days: Days | None) -> int:
    spark, mark = frame.sparkSession, uuid4().hex
    table = spark.table(place) if spark.catalog.tableExists(place) else None
    ours = _iceberg_snapshots(spark, place) if table is not None else []
    if table is not None:
        _require_ours(place, (f"{_MARK} {one}" for _, one in ours))
    if days is not None and _can_replace_days(frame, table):
        if not days:
            return ours[0][0]
        some = frame.where(_of_days(days)).writeTo(place).option(_SNAPSHOT, mark)
        some.overwrite(_of_days(days))
    else:
        whole = frame.writeTo(place).using(TableFormat.ICEBERG).option(_SNAPSHOT, mark)
        whole = whole.partitionedBy(F.col(DAY)) if has_days(frame) else whole
        whole.createOrReplace()
    return next(snapshot for snapshot, one in _iceberg_snapshots(spark, place) if one == mark)


def _iceberg_snapshots(spark: SparkSession, place: str) -> list[tuple[int, str]]:
    """Id and mark of each snapshot that we have written, the latest first."""
    mark = F.col("summary").getItem(_MARK)
    found = spark.table(f"{place}.snapshots").where(mark.isNotNull())
    rows = found.orderBy(F.desc("committed_at")).select("snapshot_id", mark).collect()
    return [(int(row[0]), row[1]) for row in rows]


def _require_ours(place: str, notes: Iterable[str]) -> None:
    if not any(note.startswith(_MARK) for note in notes):
        text = f"at {place} is what no run of onceonly has written, and it stays as it is"
        raise LocalError("NotEmpty", f"{text}: name another place for the table, or move it away")


def _can_replace_days(frame: DataFrame, table: DataFrame | None) -> bool:
    """Whether the table is there and has the very columns of the frame, the day among them."""
    if table is None or not has_days(frame):
        return False
    return _columns(table) == _columns(frame)


def _columns(frame: DataFrame) -> list[tuple[str, str]]:
    return [(one.name, one.dataType.simpleString()) for one in frame.schema]


def _of_days(days: Days) -> Column:
    known = [F.col(DAY) == F.lit(one) for one in sorted(filter(None, days))]
    unknown = [F.col(DAY).isNull()] if None in days else []
    return reduce(or_, [*known, *unknown], F.lit(False))  # noqa: FBT003 - because it is a value


def _sql_of_days(days: Days) -> str:
    known = [f"{DAY} = DATE'{one.isoformat()}'" for one in sorted(filter(None, days))]
    unknown = [f"{DAY} IS NULL"] if None in days else []
    return " OR ".join([*known, *unknown]) or "false"


@contextmanager
def _of_this_spark(spark: SparkSession, wanted: TableFormat) -> Iterator[None]:
    """Say in one line what a jar that was made for another Spark says in many."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        found = _LINKAGE.search(str(error))
        if found is None:
            raise
        text = f"the jars for {wanted} are made for another Spark than {spark.version}"
        raise LocalError("NoTableFormat", f"{text}: {found[0]}") from error
