"""Tables of Delta and Iceberg by their own jars: days, versions, and what is not ours."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import runner, versions
from onceonly.lake.formats import TableFormat
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    # PySpark 4.1 leaves the closing of its sockets to the collector of garbage.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FIRST, SECOND, THIRD = (date(2026, 1, day) for day in (1, 2, 3))
DAYS = (FIRST, SECOND, THIRD, None)


class Place(NamedTuple):
    """Where a table is to be, and as what."""

    spark: SparkSession
    table_format: TableFormat
    name: str

    def write(self, frame: DataFrame, days: tuple[date | None, ...] | None = None) -> int:
        """The version that holds the frame."""
        version = runner.write_table(frame, self.name, self.table_format, days)
        assert version is not None
        return version

    def rows(self, version: int) -> list[tuple[int, date | None]]:
        """What a version holds, in order."""
        found = versions.read(self.spark, self.name, self.table_format, version)
        return sorted((row["id"], row["day"]) for row in found.select("id", "day").collect())

    def now(self) -> DataFrame:
        """What everybody reads who names no version."""
        if self.table_format is TableFormat.ICEBERG:
            return self.spark.table(self.name)
        return self.spark.read.format(self.table_format).load(self.name)

    def files(self, day: date | None) -> set[str]:
        """The files with rows of a day."""
        of_day = F.col("day").eqNullSafe(F.lit(day).cast("date"))
        found = self.now().where(of_day).select(F.input_file_name().alias("file")).distinct()
        return {row["file"] for row in found.collect()}


@pytest.fixture(params=[TableFormat.DELTA, TableFormat.ICEBERG])
def place(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Place:
    """A place where nothing is."""
    if request.param is TableFormat.DELTA:
        return Place(spark, request.param, str(tmp_path / "tables" / "a `table`"))
    name = f"t{abs(hash(str(tmp_path)))}"
    return Place(spark, request.param, f"lake.onceonly.{name}")


def four_days(spark: SparkSession, added: int = 0) -> DataFrame:
    """Twelve rows of three days, and of none."""
    days = [(number + added, DAYS[number % 4]) for number in range(12)]
    return spark.createDataFrame(days, "id bigint, day date")


def test_a_day_that_did_not_change_keeps_its_files(place: Place):
    """Only the day that did has others."""
    first = place.write(four_days(place.spark), DAYS)
    before = {day: place.files(day) for day in DAYS}
    of_second = F.col("day") == F.lit(SECOND)
    changed = four_days(place.spark).withColumn("id", F.col("id") + of_second.cast("int") * 100)
    second = place.write(changed, (SECOND,))
    after = {day: place.files(day) for day in DAYS}
    assert [day for day in DAYS if after[day] != before[day]] == [SECOND]
    assert not after[SECOND] & before[SECOND]
    assert [number for number, _ in place.rows(second)] == [
        0,
        2,
        3,
        4,
        6,
        7,
        8,
        10,
        11,
        101,
        105,
        109,
    ]
    assert [number for number, _ in place.rows(first)] == list(range(12))


def test_rows_without_a_day_are_replaced_as_a_day_is(place: Place):
    """And a day whose rows are all gone is empty then."""
    place.write(four_days(place.spark), DAYS)
    rest = four_days(place.spark, 100).where(F.col("day").isNull())
    version = place.write(rest, (None, THIRD))
    assert place.rows(version) == sorted(
        [(n, DAYS[n % 4]) for n in range(12) if n % 4 < 2] + [(n, None) for n in (103, 107, 111)],
        key=lambda row: row[0],
    )


def test_each_write_is_one_version(place: Place):
    """Reading an older one gives the older table; where no day has changed it is the last one."""
    written = [place.write(four_days(place.spark, added)) for added in (0, 100)]
    written.append(place.write(four_days(place.spark, 200), ()))
    written.append(place.write(four_days(place.spark).where("id < 0")))
    assert len(set(written)) == 3
    assert written[1] == written[2]
    ids = [[number for number, _ in place.rows(version)] for version in written]
    assert ids == [list(range(12)), list(range(100, 112)), list(range(100, 112)), []]


def test_a_new_column_writes_every_day_again(place: Place):
    """Since the days before have none; the older version is without it."""
    older = place.write(four_days(place.spark), DAYS)
    wider = four_days(place.spark).withColumn("why", F.lit("new"))
    newer = place.write(wider, (SECOND,))
    assert place.now().where("why = 'new'").count() == 12
    found = versions.read(place.spark, place.name, place.table_format, older)
    assert found.columns == ["id", "day"]
    assert len(place.rows(newer)) == 12


def test_a_table_without_days_is_replaced_as_a_whole(place: Place):
    """By one commit."""
    written = [place.write(place.spark.range(n), (SECOND,)) for n in (3, 5)]
    read = [
        versions.read(place.spark, place.name, place.table_format, version).count()
        for version in written
    ]
    assert read == [3, 5]


def test_a_killed_writer_leaves_the_version_before(place: Place, tmp_path: Path):
    """Whatever of its files lies about, no reader sees it, and the next writer goes on."""
    version = place.write(four_days(place.spark), DAYS)
    warehouse = Path(place.spark.conf.get("spark.sql.catalog.lake.warehouse") or "").parent
    program = Path(__file__).with_name("dying_writer.py")
    run = subprocess.run(
        [sys.executable, program, place.table_format, place.name, warehouse],
        check=False,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert run.returncode == -9, run.stderr
    assert place.now().count() == 12
    again = place.write(four_days(place.spark, 100), (FIRST,))
    assert len(place.rows(version)) == len(place.rows(again)) == 12


def test_a_table_of_others_stays_as_it_is(place: Place):
    """It is not ours to replace, be it never so like ours."""
    strangers = place.spark.range(3)
    if place.table_format is TableFormat.ICEBERG:
        strangers.writeTo(place.name).using("iceberg").create()
    else:
        strangers.write.format("delta").save(place.name)
    with pytest.raises(LocalError, match="no run of onceonly") as refused:
        place.write(four_days(place.spark))
    assert refused.value.name == "NotEmpty"
    assert place.now().count() == 3


def test_files_of_others_stay_as_they_are(spark: SparkSession, tmp_path: Path):
    """Delta itself would write its table into the folder."""
    spark.range(3).write.parquet(str(tmp_path / "t"))
    with pytest.raises(LocalError, match="no run of onceonly") as refused:
        runner.write_table(spark.range(5), str(tmp_path / "t"), TableFormat.DELTA)
    assert refused.value.name == "NotEmpty"
    assert spark.read.parquet(str(tmp_path / "t")).count() == 3


def test_what_others_did_to_our_table_since_is_no_reason_to_refuse(place: Place):
    """Rows that were deleted by hand are there again with the next version."""
    place.write(four_days(place.spark), DAYS)
    name = f"delta.`{place.name.replace('`', '``')}`"
    table = place.name if place.table_format is TableFormat.ICEBERG else name
    place.spark.sql(f"DELETE FROM {table} WHERE day = DATE'2026-01-01'")
    assert place.now().count() == 9
    assert len(place.rows(place.write(four_days(place.spark), (FIRST,)))) == 12
