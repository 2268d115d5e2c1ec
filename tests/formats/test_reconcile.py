"""Whole reconciliations into Delta and Iceberg: all tables, the page, the views, day after day."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from cases import TERMS
from formats_session import JARS, SPARK, why_not
from journals import MUCH_LATER, PLANTS, SECOND, healthy, plant, publish, two_parties

from catalog_servers import metastore, rest_catalog
from onceonly.lake import jobs, runner, versions
from onceonly.lake.catalogue import NAMES
from onceonly.lake.formats import TableFormat, Target
from onceonly.lake.runs import LakeRun
from onceonly.message.errors import LocalError
from ports import free_port
from recipes import examples_of, put

if TYPE_CHECKING:
    from collections.abc import Iterator

    from journals import Exchange
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    # PySpark 4.1 leaves the closing of its sockets to the collector of garbage.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PAGE = "how-to/table-formats.md"
DAY = 86_400 * SECOND
TARGETS = {
    "delta": Target(TableFormat.DELTA),
    "iceberg": Target(TableFormat.ICEBERG, "lake.onceonly"),
    "iceberg in a database": Target(TableFormat.ICEBERG, "database.onceonly"),
    "iceberg in a metastore": Target(TableFormat.ICEBERG, "metastore.onceonly"),
    "iceberg at a service": Target(TableFormat.ICEBERG, "service.onceonly"),
}
SERVED = {"metastore": ("hive", metastore), "service": ("rest", rest_catalog)}
"""By the name of the catalog: its type for Iceberg, and its server."""
LEDGER = "delivery_ledger"


class TwoDays(NamedTuple):
    """A message of every fate on the first day, and some more on the second."""

    exchange: Exchange
    until: dict[str, int]
    """By party: the last row of the first day."""

    def publish(self, lake: Path, day: int) -> None:
        """The segments of a day, and their ingest."""
        for ledger in (self.exchange.sender, self.exchange.receiver):
            end = self.until[ledger.party]
            if day == 1:
                publish(lake, ledger, last=end)
            else:
                publish(lake, ledger, first=end + 1)
        jobs.ingest(str(lake))

    def reconcile(self, lake: Path, to: Target, register: str | None = None) -> LakeRun:
        """All tables of the lake as it is now, and the page."""
        page = lake.parent / "page.html"
        page.unlink(missing_ok=True)
        found = jobs.reconcile(
            str(lake),
            as_of=MUCH_LATER,
            tables=None,
            target=to,
            terms={"tpa-1": TERMS},
            register=register,
            report_to=page,
        )
        assert found.is_whole
        assert "planted-ack_lost@example" in page.read_text("utf-8")
        return jobs.run(str(lake), found.run)


@pytest.fixture(scope="module")
def two_days() -> TwoDays:
    """The rows of both parties."""
    there, _ = two_parties()
    plant(there, PLANTS)
    until = {one.party: len(one.records) for one in (there.sender, there.receiver)}
    there.now += DAY
    there.matched_after_lost_ack("next-day@example")
    there.given_up("next-doubt@example")
    return TwoDays(there, until)


def rows(frame: DataFrame) -> list[str]:
    """All rows, in one order."""
    return sorted(map(repr, frame.collect()))


def contents(spark: SparkSession, run: LakeRun) -> dict[str, list[str]]:
    """The rows of every table of a run, as its readers get them."""
    return {name: rows(jobs.table(spark, run.lake, name, run.id)) for name in run.tables}


@pytest.fixture(scope="module")
def expected(
    spark: SparkSession, two_days: TwoDays, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """The rows of every plain table after both days."""
    lake = tmp_path_factory.mktemp("plain") / "lake"
    two_days.publish(lake, 1)
    two_days.publish(lake, 2)
    return contents(spark, two_days.reconcile(lake, Target()))


@pytest.fixture(params=TARGETS.values(), ids=TARGETS.keys())
def to(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Target]:
    """A target, whose catalog is served where it is at a server."""
    found: Target = request.param
    catalog = (found.catalog or "").partition(".")[0]
    if catalog not in SERVED:
        yield found
        return
    kind, serve = SERVED[catalog]
    (folder := tmp_path / catalog).mkdir()
    with serve(folder) as address:
        spark.conf.set(f"spark.sql.catalog.{catalog}", "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"spark.sql.catalog.{catalog}.type", kind)
        spark.conf.set(f"spark.sql.catalog.{catalog}.uri", address)
        spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", str(folder / "tables"))
        yield found


def test_every_table_is_read_in_the_version_of_its_run(
    spark: SparkSession,
    two_days: TwoDays,
    expected: dict[str, list[str]],
    tmp_path: Path,
    to: Target,
):
    """By `jobs.table` and by the views, whatever has been written since; and as plain tables are.

    The second day is one more version, and the run of the first has its own still.
    """
    lake, database, kind = tmp_path / "lake", "views", to.table_format
    two_days.publish(lake, 1)
    first = two_days.reconcile(lake, to, database)
    before = contents(spark, first)
    two_days.publish(lake, 2)
    second = two_days.reconcile(lake, to, database)

    assert set(first.tables) == set(second.tables) == set(NAMES)
    assert {one.table_format for one in second.tables.values()} == {kind}
    assert contents(spark, second) == expected
    assert contents(spark, first) == before
    other = {name for name in NAMES if before[name] != expected[name]}
    assert LEDGER in other
    assert not {name for name in other if first.table(name).version == second.table(name).version}

    # As a run does that writes some tables and then dies.
    nothing = jobs.table(spark, str(lake), LEDGER).where("false")
    newer = runner.write_table(nothing, second.place(LEDGER), kind)
    assert newer != second.table(LEDGER).version
    assert versions.read(spark, second.place(LEDGER), kind, int(newer or 0)).count() == 0
    try:
        assert contents(spark, second) == expected
        views = {name: rows(spark.table(f"{database}.{name}")) for name in NAMES}
        assert views == expected
        assert [row["run"] for row in spark.table(f"{database}.run").collect()] == [second.id]
    finally:
        spark.sql(f"DROP DATABASE {database} CASCADE")


@pytest.mark.parametrize(
    ("catalog", "said"),
    [
        ("elsewhere.onceonly", r"configure it \(--conf spark\.sql\.catalog\.elsewhere="),
        ("away.onceonly", "no namespace away.onceonly can be made: .*"),
        ("lake.two words", "no namespace lake.two words can be made: .*PARSE_SYNTAX_ERROR"),
    ],
)
def test_a_place_that_cannot_be_made_is_refused(
    spark: SparkSession, two_days: TwoDays, tmp_path: Path, catalog: str, said: str
):
    """A catalog that nobody configured, one that does not answer, and what is no name."""
    spark.conf.set("spark.sql.catalog.away", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.away.type", "rest")
    spark.conf.set("spark.sql.catalog.away.uri", f"http://127.0.0.1:{free_port()}")
    lake = tmp_path / "lake"
    two_days.publish(lake, 1)
    with pytest.raises(LocalError, match=said) as refused:
        two_days.reconcile(lake, Target(TableFormat.ICEBERG, catalog))
    assert refused.value.name == "BadTarget"
    assert not (lake / "runs").exists()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("onceonly lake reconcile /mnt/lake --table-format delta", TableFormat.DELTA),
        ("spark-submit --packages", TableFormat.DELTA),
        ("onceonly lake reconcile /mnt/lake --table-format iceberg", TableFormat.ICEBERG),
    ],
    ids=["delta", "spark-submit", "iceberg"],
)
def test_the_page_s_commands_run(tmp_path: Path, words: str, kind: TableFormat):
    """Each of them, with the jars that are here instead of those that Spark would fetch."""
    if why_not():
        pytest.skip(why_not())
    there, _ = healthy(seed=1, messages=4)
    lake = tmp_path / "lake"
    for ledger in (there.sender, there.receiver):
        publish(lake, ledger)
    [command] = [one for one in examples_of(PAGE, "sh") if words in one]
    # On one machine, as the page says.
    settings = "--conf spark.databricks.delta.snapshotPartitions=2"
    jars = ",".join(map(str, JARS.glob("*.jar")))
    command = put(command, {"/mnt/lake": str(lake)})
    command = re.sub(r"--packages \S+", f"{settings} --jars {jars}", command)
    command = re.sub(r"spark\.jars\.packages=\S+", f"spark.jars={jars} {settings}", command)
    path = f"{Path(sys.executable).parent}:{SPARK / 'bin'}:{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-ec", f"onceonly lake ingest {lake}\n{command}"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        check=False,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode == 0, run.stderr[-4_000:]
    found = jobs.run(str(lake))
    assert set(found.tables) == set(NAMES)
    assert {one.table_format for one in found.tables.values()} == {kind}
    assert found.differences == 0
