"""The same job on a standalone cluster finds the same, with `--master` passed on as given."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from journals import MUCH_LATER, PLANTS, healthy, plant, publish

from onceonly.lake import java
from onceonly.lake.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.spark

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
LINES_MAX = 500
"""Most lines of a daemon's log before it must have said where it listens."""
MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
WORKER = re.compile(r"Successfully registered with master")


def daemon(log: re.Pattern[str], *arguments: str) -> tuple[subprocess.Popen[str], re.Match[str]]:
    """A Spark daemon, and the line that says that it is up."""
    environment = {**os.environ, "SPARK_NO_DAEMONIZE": "1", "SPARK_LOCAL_IP": "127.0.0.1"}
    home = java.prepare()
    if home is not None:
        environment["JAVA_HOME"] = str(home)
    process = subprocess.Popen(
        [SPARK_CLASS, *arguments], stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    for _, line in zip(range(LINES_MAX), process.stderr, strict=False):
        found = log.search(line)
        if found:
            return process, found
    process.kill()
    process.wait()
    pytest.fail(f"{arguments[0]} did not come up")


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A master and two workers of one core each."""
    package = "org.apache.spark.deploy"
    processes: list[subprocess.Popen[str]] = []
    try:
        where = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        process, found = daemon(MASTER, f"{package}.master.Master", *where)
        processes.append(process)
        for number in range(2):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / f"work{number}"))
            worker, _ = daemon(WORKER, f"{package}.worker.Worker", *where, *size, found[1])
            processes.append(worker)
        yield found[1]
    finally:
        for process in processes:
            process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()


def job(*arguments: str) -> tuple[int, dict[str, dict[str, int]]]:
    """Run a job as a script and read its answer."""
    command = [sys.executable, "-m", "onceonly.lake.jobs", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_cluster_finds_what_a_laptop_finds(master: str, tmp_path: Path):
    """Ingest and reconcile by script: planted classes, exit code 11, same counts as locally."""
    there, _ = healthy(seed=5, messages=10)
    planted = plant(there, PLANTS)
    lake = tmp_path / "lake"
    for ledger in (there.sender, there.receiver):
        publish(lake, ledger)
    code, _ = job("ingest", "--lake", str(lake), "--master", master)
    assert code == 0
    code, found = job(
        "reconcile", "--lake", str(lake), "--master", master, "--as-of", str(MUCH_LATER)
    )
    assert code == 11
    expected = {verdict.value: 0 for verdict in Verdict} | {Verdict.MATCHED.value: 20}
    for verdict in planted.values():
        expected[verdict] += 1
    assert found["verdicts"] == expected
