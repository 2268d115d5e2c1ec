"""The tables of a run, read with Spark: all of one run, in plain sessions and by SQL."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from fingerprints import fingerprint
from journals import MUCH_LATER, SECOND, publish, two_parties

from catalog_servers import metastore
from onceonly.cli.main import cli
from onceonly.lake import catalogue, jobs, lease
from onceonly.lake.formats import TableFormat
from onceonly.lake.jobs import apart
from onceonly.lake.jobs.case import open_case
from onceonly.lake.verdicts import Policy
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def ingested(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both journals of three messages."""
    del spark
    place = tmp_path_factory.mktemp("run_tables") / "lake"
    there, _ = two_parties()
    there.matched("m@example")
    there.failed_but_delivered("n@example")
    there.queued("o@example")
    publish(place, there.sender)
    publish(place, there.receiver)
    jobs.ingest(str(place))
    return place


@pytest.fixture
def lake(ingested: Path, tmp_path: Path) -> str:
    """The same for this test alone, and with a name that is hard on SQL."""
    place = tmp_path / "a l`a[k]e"
    shutil.copytree(ingested, place)
    return str(place)


def ids(spark: SparkSession, lake: str, name: str, run: str | None = None) -> list[str]:
    found = jobs.table(spark, lake, name, run=run).collect()
    return sorted(row["message_id"] for row in found)


def test_a_set_holds_what_its_run_wrote(lake: str, spark: SparkSession):
    """One with other tables is another set; the one before is there by its id, whole."""
    first = jobs.reconcile(lake, as_of=MUCH_LATER, tables=("in_doubt", "hops"))
    assert jobs.tables(lake) == ["delivery_ledger", "hops", "in_doubt", "verdicts"]
    second = jobs.reconcile(lake, as_of=MUCH_LATER + SECOND, tables=())
    assert [one.id for one in jobs.runs(lake)] == [second.run, first.run]
    assert jobs.tables(lake) == ["delivery_ledger", "verdicts"]
    with pytest.raises(LocalError, match=f"last run that wrote it is {first.run}"):
        jobs.table(spark, lake, "in_doubt")
    assert ids(spark, lake, "in_doubt", first.run) == ["n@example"]
    assert ids(spark, lake, "verdicts") == ["m@example", "n@example", "o@example"]
    assert pq.read_table(second.ledger).num_rows == 3


@pytest.mark.parametrize("name", ["once_only", "outages", "availability"])
def test_what_a_run_works_out_once_is_what_the_evidence_says(
    lake: str, spark: SparkSession, name: str
):
    """The sheet that was judged by and the runs that two tables share change no row."""
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=("once_only", "outages", "availability"))
    told = open_case(spark, [lake], MUCH_LATER, Policy()).evidence()
    assert fingerprint(jobs.table(spark, lake, name)) == fingerprint(
        catalogue.find(name).make(told)
    )


def test_the_manifest_says_by_what_was_judged(lake: str):
    """Instant, rules, and how far each journal went: its last row and the hash of it."""
    policy = jobs.Policy(grace_us=7 * SECOND)
    found = jobs.reconcile(lake, as_of=MUCH_LATER, tables=(), policy=policy)
    run = jobs.run(lake)
    assert (run.id, run.as_of, run.differences) == (found.run, MUCH_LATER, found.differences)
    assert jobs.Policy(**run.policy) == policy
    assert run.verdicts == found.verdicts
    journals = {f"party={row['party'].replace(':', '%3A')}": row for row in found.judged.journals}
    assert {one.folder: one.tail for one in run.marks} == {
        folder: (row["last_seq"], row["last_hash"]) for folder, row in journals.items()
    }
    assert {one.folder: one.rows for one in run.marks} == {
        folder: row["rows"] for folder, row in journals.items()
    }


@pytest.mark.long
def test_a_run_that_fails_changes_nothing_for_readers(
    lake: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    """One table cannot be made: the set of before stays, and the next run removes what is left."""
    before, find = jobs.reconcile(lake, as_of=MUCH_LATER, tables=("in_doubt",)), catalogue.find
    broken = catalogue.find("in_doubt")._replace(
        make=lambda _: spark.sql("SELECT raise_error('no')")
    )
    with monkeypatch.context() as patch:
        patch.setattr(catalogue, "find", lambda name: broken if name == "in_doubt" else find(name))
        with pytest.raises(Exception, match="no"):
            jobs.reconcile(lake, as_of=MUCH_LATER, tables=("in_doubt",))
    assert jobs.run(lake).id == before.run
    assert len(list(Path(lake, "tables", "delivery_ledger").iterdir())) == 2
    after = jobs.reconcile(lake, as_of=MUCH_LATER, tables=("in_doubt",))
    kept = {Path(found.ledger).name for found in (before, after)}
    assert {one.name for one in Path(lake, "tables", "delivery_ledger").iterdir()} == kept


def test_a_second_run_into_the_same_lake_is_refused(lake: str):
    """Before anything is computed; a ledger elsewhere is no matter of the lake."""
    with lease.tabling(lake):
        with pytest.raises(LocalError, match="another run writes the tables") as refused:
            jobs.reconcile(lake)
        alone = jobs.reconcile(lake, as_of=MUCH_LATER, out=f"{lake}-ledger", tables=())
    assert refused.value.name == "LakeBusy"
    assert (alone.run, alone.ledger) == (None, f"{lake}-ledger")
    assert not Path(lake, "runs").exists()


def test_a_ledger_of_its_own_is_replaced_whole(lake: str, spark: SparkSession):
    """A copy of the run's; nothing is left beside it, and a link to it stays one."""
    out = Path(f"{lake}-ledger")
    out.mkdir()
    link = out.with_name("link")
    link.symlink_to(out)
    for place in (out, link):
        found = jobs.reconcile(lake, as_of=MUCH_LATER, out=str(place), tables=("hops",))
        assert found.ledger == str(place)
        assert spark.read.parquet(str(out).replace("[", "\\[")).count() == 3
    assert link.is_symlink()
    assert ids(spark, lake, "delivery_ledger") == ["m@example", "n@example", "o@example"]
    assert sorted(one.name for one in out.parent.iterdir()) == [Path(lake).name, out.name, "link"]


def test_folders_change_their_names_where_the_system_cannot_exchange_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Then there is a moment without a folder, and never one with half a table."""
    monkeypatch.setattr(apart, "_exchanged", lambda one, other: False)
    for count in (2, 3):
        apart.put_apart(spark.range(count), str(tmp_path / "ledger"), TableFormat.PLAIN)
    assert spark.read.parquet(str(tmp_path / "ledger")).count() == 3
    assert [one.name for one in tmp_path.iterdir()] == ["ledger"]


def test_what_a_former_version_left_is_not_read_any_more(lake: str):
    """Whoever reads the old path is told that nothing is there, and gets no old rows."""
    old = Path(lake, "tables", "hops")
    old.mkdir(parents=True)
    for name in ("part-0.parquet", ".part-0.parquet.crc", "_SUCCESS"):
        (old / name).write_text("old")
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=("hops",))
    assert [one.is_dir() for one in old.iterdir()] == [True]


def test_the_lake_s_runs_are_listed_without_spark(lake: str):
    """As lines, as JSON, and the folder of one table for whatever reads Parquet."""
    assert CliRunner().invoke(cli, ["lake", "runs", lake]).output == ""
    found = jobs.reconcile(lake, as_of=MUCH_LATER, tables=("hops",))
    line = CliRunner().invoke(cli, ["lake", "runs", lake]).output.split("\t")
    at, differences = "2025-11-08T08:53:20+00:00", f"{found.differences}\n"
    assert line == [found.run, "True", at, "2", differences]
    [told] = json.loads(CliRunner().invoke(cli, ["lake", "runs", lake, "-o", "json"]).output)
    assert told["places"] == {"delivery_ledger": found.ledger, **found.tables}
    asked = ["lake", "runs", lake, "--table", "hops"]
    assert CliRunner().invoke(cli, asked).output == f"{found.tables['hops']}\n"
    paths = CliRunner().invoke(cli, [*asked, "-o", "json"]).output
    assert json.loads(paths) == [found.tables["hops"]]
    missing = CliRunner().invoke(cli, ["lake", "runs", lake, "--table", "acks"])
    assert (missing.exit_code, "NoTable: run" in missing.stderr) == (2, True)


def test_a_compaction_removes_tables_of_former_runs(lake: str, spark: SparkSession):
    """When no job can read them any more; the manifest stays, with the mark of its evidence."""
    first = jobs.reconcile(lake, as_of=MUCH_LATER, tables=())
    second = jobs.reconcile(lake, as_of=MUCH_LATER + SECOND, tables=())
    assert Path(first.ledger).is_dir()
    jobs.compact(lake, keep_s=0.0)
    assert (Path(first.ledger).exists(), Path(second.ledger).is_dir()) == (False, True)
    with pytest.raises(LocalError, match=f"judge again as of {MUCH_LATER}"):
        jobs.table(spark, lake, "delivery_ledger", run=first.run)
    assert jobs.run(lake, first.run).marks == jobs.run(lake).marks


REGISTERED = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
for address in sys.argv[1:]:
    builder = builder.config("spark.hadoop.hive.metastore.uris", address)
spark = builder.config("spark.driver.host", "127.0.0.1").enableHiveSupport().getOrCreate()
rows = spark.table("onceonly.verdicts").orderBy("message_id").collect()
print([row["verdict"] for row in rows], spark.table("onceonly.run").first()["run"])
"""


@pytest.mark.long
def test_the_command_s_views_stay_in_the_catalog_of_the_folder(lake: str, tmp_path: Path):
    """Another program, later, finds those of the last run by name, in Hive's embedded catalog."""
    command = [sys.executable, "-m", "onceonly", "lake", "reconcile", lake, "--ledger-only"]
    as_of = ["--as-of", str(MUCH_LATER)]
    for _ in range(2):
        done = subprocess.run(
            [*command, *as_of, "--register", "-o", "json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 11, done.stderr
    found = subprocess.run(
        [sys.executable, "-c", REGISTERED], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    verdicts = ["MATCHED", "FAILED_BUT_DELIVERED", "IN_FLIGHT"]
    assert found.stdout == f"{verdicts} {json.loads(done.stdout)['run']}\n"


def _read_elsewhere(address: str, folder: Path) -> str:
    """What another program finds at this metastore."""
    command = [sys.executable, "-c", REGISTERED, address]
    read = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True, timeout=300
    )
    return read.stdout


@pytest.mark.long
def test_views_at_a_metastore_are_there_for_every_program(lake: str, tmp_path: Path):
    """Whatever folder they run in, and while another session is at the metastore too."""
    (served := tmp_path / "served").mkdir()
    (elsewhere := tmp_path / "elsewhere").mkdir()
    with metastore(served) as address:
        command = [sys.executable, "-m", "onceonly", "lake", "reconcile", lake, "--ledger-only"]
        known = ["--conf", f"spark.hadoop.hive.metastore.uris={address}"]
        done = subprocess.run(
            [*command, "--as-of", str(MUCH_LATER), "--register", *known, "-o", "json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 11, done.stderr
        with ThreadPoolExecutor() as pool:
            found = list(pool.map(_read_elsewhere, [address] * 2, [elsewhere] * 2))
    verdicts = ["MATCHED", "FAILED_BUT_DELIVERED", "IN_FLIGHT"]
    assert found == [f"{verdicts} {json.loads(done.stdout)['run']}\n"] * 2
    assert not (tmp_path / "metastore_db").exists()


@pytest.fixture
def database(spark: SparkSession) -> Iterator[str]:
    yield "judged"
    spark.sql("DROP DATABASE IF EXISTS judged CASCADE")


@pytest.mark.long
def test_tables_are_views_of_a_database(lake: str, spark: SparkSession, database: str):
    """By name in SQL, with what their columns mean; every instant is a TIMESTAMP."""
    found = jobs.reconcile(lake, as_of=MUCH_LATER, tables=None, register=database)
    shown = {row["tableName"] for row in spark.sql(f"SHOW TABLES IN {database}").collect()}
    assert shown == {*catalogue.NAMES, "verdicts", "run"}
    rows = spark.table(f"{database}.verdicts").orderBy("message_id").collect()
    assert [row["verdict"] for row in rows] == ["MATCHED", "FAILED_BUT_DELIVERED", "IN_FLIGHT"]
    [run] = spark.table(f"{database}.run").collect()
    assert (run["run"], run["differences"]) == (found.run, found.differences)
    for name in shown:
        view = spark.table(f"{database}.{name}")
        kinds = {
            kind for column, kind in view.dtypes if column.endswith("_at") or column == "as_of"
        }
        assert kinds <= {"timestamp"}, name
        if name in found.tables:
            assert view.dtypes == jobs.table(spark, lake, name).dtypes
            assert view.count() == jobs.table(spark, lake, name).count()
    told = spark.sql(f"DESCRIBE {database}.delivery_ledger").collect()
    assert all(row["comment"] for row in told)


def test_views_are_of_the_run_that_was_registered(lake: str, spark: SparkSession, database: str):
    """Until they are made again; those of tables that the next run did not write are gone."""
    first = jobs.reconcile(lake, as_of=MUCH_LATER, tables=("in_doubt",), register=database)
    second = jobs.reconcile(lake, as_of=MUCH_LATER + SECOND, tables=("hops",))
    assert spark.table(f"{database}.in_doubt").count() == 1
    made = jobs.register(spark, lake, database=database)
    assert set(made) == {"delivery_ledger", "hops", "run", "verdicts"}
    assert not spark.catalog.tableExists(f"{database}.in_doubt")
    assert spark.table(f"{database}.run").first()["run"] == second.run  # type: ignore[index]  # because there is a row
    jobs.register(spark, lake, database=database, run_id=first.run)
    assert spark.table(f"{database}.in_doubt").count() == 1


def test_no_view_or_table_of_others_is_replaced(lake: str, spark: SparkSession, database: str):
    """It is named before anything is judged, and stays."""
    spark.sql(f"CREATE DATABASE {database}")
    spark.sql(f"CREATE VIEW {database}.messages AS SELECT 1 AS mine")
    with pytest.raises(LocalError, match=r"judged\.messages was not made by onceonly") as refused:
        jobs.reconcile(lake, register=database)
    assert refused.value.name == "NotEmpty"
    assert spark.table(f"{database}.messages").columns == ["mine"]
    assert not Path(lake, "tables").exists()


def test_a_database_has_a_plain_name(spark: SparkSession, tmp_path: Path):
    """Before Spark starts, and before a lake is looked at."""
    with pytest.raises(LocalError, match="no name of a database"):
        jobs.register(spark, str(tmp_path), database="a.b")
    with pytest.raises(LocalError, match="no name of a database"):
        jobs.reconcile(str(tmp_path), register="a; b")


def test_a_session_of_somebody_else_reads_everything(lake: str, spark: SparkSession):
    """With another time zone and nothing of ours set: the same instants."""
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=())
    ours = jobs.table(spark, lake, "delivery_ledger").orderBy("message_id").collect()
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "America/Lima")
    theirs = jobs.table(other, lake, "delivery_ledger").orderBy("message_id").collect()
    assert theirs == ours
