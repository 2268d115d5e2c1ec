"""Every job on a standalone cluster, executors killed in the middle: the same as on a laptop."""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import sys
import sysconfig
from contextlib import redirect_stdout
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from fingerprints import fingerprints
from journals import BUYER, MUCH_LATER, PLANTS, SELLER, healthy, plant, publish
from standalone import WITHIN_S, Program, cluster, settings

from onceonly.lake import jobs
from onceonly.lake.verdicts import DIFFERENCES, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from standalone import Cluster

pytestmark = pytest.mark.spark

ROWS_PER_SEGMENT = 12
"""Enough segments that both executors have some to look at."""
TABLES = ("attempts", "differences", "once_only", "turnaround", "hop_waterfall")
"""Beside the ledger: rows, sums, quantiles, windows. All forty would take their minutes."""

FINISHED = re.compile(r"Finished task .*executor (\d+)")
LOST_EXECUTOR = re.compile(r"Lost executor ")

LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = info
"""
"""The driver says of every task where it starts and ends."""

DRIVER = """
import json, sys
from onceonly.cli.main import cli
from onceonly.lake import jobs
for step in json.loads(sys.argv[1]):
    sys.stderr.write(f"job {step[0]}\\n")
    sys.stderr.flush()
    try:
        code = cli(["lake", *step]) if step[0] in ("pack", "verify", "advise") else jobs.main(step)
    except SystemExit as end:
        code = end.code
    sys.stdout.write(f"{step[0]} ended with {code}\\n")
    sys.stdout.flush()
"""
"""All jobs in one driver, since starting one takes longer than the work."""


class World:
    """Two parties' journals in many segments, the later half of them in a place of its own."""

    def __init__(self, root: Path) -> None:
        there, _ = healthy(seed=5, messages=20)
        self.planted = plant(there, PLANTS)
        self.early, self.late = root / "early", root / "late"
        for ledger in (there.sender, there.receiver):
            last = len(ledger.records)
            for first in range(1, last + 1, ROWS_PER_SEGMENT):
                place = self.early if first < last // 2 else self.late
                until = min(first + ROWS_PER_SEGMENT - 1, last)
                publish(place, ledger, first=first, last=until)

    def steps(self, lake: Path, master: str) -> list[list[str]]:
        """Every job, as its arguments."""
        at, judged_at = ["--lake", str(lake)], ["--as-of", str(MUCH_LATER)]
        named = [word for one in TABLES for word in ("--table", one)]
        pack = str(lake / "pack")
        steps = [
            ["ingest", "--lake", str(self.early), "--into", str(lake)],
            ["ingest", "--lake", str(self.late), "--into", str(lake)],
            ["compact", *at],
            ["reconcile", *at, *judged_at, *named],
            ["report", *at, *judged_at, "--out", str(lake / "report.html")],
            ["pack", str(lake), *judged_at, "--between", BUYER, SELLER, "--out", pack],
            ["verify", pack],
            ["advise", str(lake), "-o", "json"],
        ]
        return [[*step, "--master", master] for step in steps]

    @property
    def differing(self) -> list[str]:
        return [key for key, verdict in self.planted.items() if verdict in DIFFERENCES]

    @property
    def expected(self) -> dict[str, int]:
        counts = {verdict.value: 0 for verdict in Verdict} | {Verdict.MATCHED.value: 40}
        for verdict in self.planted.values():
            counts[verdict] += 1
        return counts


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Cluster]:
    """A master and two workers of one core each."""
    with cluster(tmp_path) as found:
        yield found


class PlainPython:
    """A Python for executors: with Arrow, as a cluster has it, and without this package.

    The first that is started tells so and waits, in the middle of the task that needs it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "python"
        self._told = folder / "told"
        os.mkfifo(self._told)
        # A folder in PYTHONPATH does not have its .pth files read, by which a checkout is found.
        self.path.write_text(
            "#!/bin/sh\n"
            f'if mkdir "{folder}/first" 2>/dev/null; then\n'
            f'  echo "$PPID $$" > "{self._told}"\n'
            f'  read -r never < "{self._told}"\n'
            "fi\n"
            f'PYTHONPATH="$PYTHONPATH:{sysconfig.get_path("purelib")}" '
            f'exec "{sys.executable}" -S "$@"\n'
        )
        self.path.chmod(0o755)

    def kill_executor(self) -> None:
        """Kill the executor that started the first one, and that one."""
        told = os.open(self._told, os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert select.select([told], [], [], WITHIN_S)[0], "no executor needed a Python"
            for pid in os.read(told, 100).split():
                os.kill(int(pid), signal.SIGKILL)
        finally:
            os.close(told)


def hash_of(frame: DataFrame) -> str:
    """One hash of all rows, in whatever order they stand."""
    rows = (row.asDict(recursive=True) for row in frame.collect())
    return sha256(
        "\n".join(sorted(json.dumps(row, default=str) for row in rows)).encode()
    ).hexdigest()


def hashes(spark: SparkSession, place: Path) -> dict[str, str]:
    """Every folder of Parquet in a place, as a hash of all its rows."""
    folders = sorted(path for path in place.iterdir() if path.is_dir())
    return {folder.name: hash_of(spark.read.parquet(str(folder))) for folder in folders}


def tables(spark: SparkSession, lake: Path) -> dict[str, str]:
    """Every table of the lake's run, as a hash of all its rows."""
    names = jobs.run(str(lake)).tables
    return {name: hash_of(jobs.table(spark, str(lake), name)) for name in names}


def without_chance(said: str) -> str:
    """What a job said, without the ids of runs and the names of fresh folders."""
    return re.sub(r"\b[0-9a-f]{16}\b|\b\d{8}-\d{6}-[0-9a-f]{8}\b", "fresh", said)


def ends(said: str) -> list[str]:
    """How each job ended."""
    return re.findall(r"^\w+ ended with .*$", said, re.MULTILINE)


def named(page: Path) -> set[str]:
    """Every message that a page names."""
    return set(re.findall(r"[\w-]+@example", page.read_text()))


def drive(steps: list[list[str]], folder: Path, python: Path) -> Program:
    """The jobs in a program of their own."""
    folder.mkdir(exist_ok=True)
    environment = {**settings(folder), "PYSPARK_PYTHON": str(python)}
    (folder / "log4j2.properties").write_text(LOGGING)
    command = (sys.executable, "-c", DRIVER, json.dumps(steps))
    return Program(*command, environment=environment, stdout=folder / "said")


def drive_here(steps: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> str:
    """The same in the test's own session, and what the jobs say."""
    monkeypatch.setattr(sys, "argv", ["-c", json.dumps(steps)])
    with redirect_stdout(io.StringIO()) as said:
        exec(DRIVER, {})
    return said.getvalue()


@pytest.mark.long
def test_every_job_on_a_cluster_finds_the_same(
    spark: SparkSession, standalone: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Equal by all rows of all products and tables, though executors die in the middle."""
    world = World(tmp_path)
    here, there = tmp_path / "here", tmp_path / "there"
    plain_python = PlainPython(tmp_path)
    far = drive(world.steps(there, standalone.master), tmp_path / "far", plain_python.path)
    try:
        plain_python.kill_executor()
        far.until(LOST_EXECUTOR)
        far.until(re.compile("^job reconcile$"))
        standalone.kill_executor(far.until(FINISHED)[1])
        far.until(LOST_EXECUTOR)
        assert far.ended() == 0, far.last_words
    finally:
        far.kill()
    near = drive_here(world.steps(here, "local[2]"), monkeypatch)
    said = (tmp_path / "far" / "said").read_text()
    assert ends(said) == ends(near), far.last_words
    [found] = [json.loads(line) for line in said.splitlines() if line.startswith('{"verdicts"')]
    assert found["verdicts"] == world.expected
    said = said.replace(str(there), str(here))
    assert without_chance(said) == without_chance(near)
    assert fingerprints(spark, str(there)) == fingerprints(spark, str(here))
    assert tables(spark, there) == tables(spark, here)
    assert hashes(spark, there / "pack") == hashes(spark, here / "pack")
    assert named(there / "report.html") == named(here / "report.html") >= set(world.differing)
