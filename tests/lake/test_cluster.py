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
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Little work: the second compiler would cost more than it saves."""
LINES_MAX = 500
"""Most lines of a daemon's log before it must have said where it listens."""
MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
WORKER = re.compile(r"Successfully registered with master")


def daemon(log: re.Pattern[str], *arguments: str) -> tuple[subprocess.Popen[str], re.Match[str]]:
    """A Spark daemon, and the line that says that it is up."""
    environment = {
        **os.environ,
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_START,
    }
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


BOTH_JOBS = """
import sys
from onceonly.lake import jobs
lake, master, as_of = sys.argv[1:]
jobs.main(["ingest", "--lake", lake, "--master", master])
sys.exit(jobs.main(["reconcile", "--lake", lake, "--master", master, "--as-of", as_of]))
"""
"""Both jobs in one driver, since starting one takes longer than the work."""


def test_a_cluster_finds_what_was_planted(master: str, tmp_path: Path):
    """Ingest and reconcile as a script: planted classes and exit code 11, as on a laptop."""
    there, _ = healthy(seed=5, messages=10)
    planted = plant(there, PLANTS)
    lake = tmp_path / "lake"
    for ledger in (there.sender, there.receiver):
        publish(lake, ledger)
    # The default of 200 shuffle partitions is for clusters that are worth the name.
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.sql.shuffle.partitions 2\n"
        f"spark.driver.extraJavaOptions {QUICK_START}\n"
        f"spark.executor.extraJavaOptions {QUICK_START}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", BOTH_JOBS, str(lake), master, str(MUCH_LATER)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "SPARK_CONF_DIR": str(tmp_path)},
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 11
    expected = {verdict.value: 0 for verdict in Verdict} | {Verdict.MATCHED.value: 20}
    for verdict in planted.values():
        expected[verdict] += 1
    assert found["verdicts"] == expected
