"""An accelerator for Spark changes what a job costs, and nothing of what it finds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from formats_session import BUILD, SPARK, why_not
from journals import MUCH_LATER, PLANTS, plant, publish, two_parties

from onceonly.lake import jobs
from onceonly.lake.catalogue import NAMES

JARS = BUILD / "accelerator"
SETTINGS = (
    "spark.plugins=org.apache.spark.CometPlugin",
    "spark.shuffle.manager=org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
    "spark.memory.offHeap.enabled=true",
    "spark.memory.offHeap.size=4g",
)
ROOT = Path(__file__).parents[2]
PAGE = "how-to/cluster.md"


def run(*words: str, accelerated: bool) -> str:
    """Run a command of the lake, which may find differences; returns what Spark printed."""
    more = []
    if accelerated:
        [jar] = JARS.glob("comet-*.jar")
        settings = (f"spark.jars={jar}", f"spark.driver.extraClassPath={jar}", *SETTINGS)
        more = [word for setting in settings for word in ("--conf", setting)]
    command = [sys.executable, "-m", "onceonly", "lake", *words, *more]
    shown = {**os.environ, "PYTHONPATH": str(SPARK), "ONCEONLY_SPARK_OUTPUT": "show"}
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=shown
    )
    assert ended.returncode in (0, 11), ended.stderr[-3_000:]
    return ended.stdout + ended.stderr


def rows(lake: Path, table: str) -> list[str]:
    """The rows of a table of the lake's run, in some order of their own."""
    whole = jobs.run(str(lake))
    read = [pq.read_table(path).to_pylist() for path in whole.paths(table)]
    return sorted(repr(row) for some in read for row in some)


def test_an_accelerator_finds_the_same(tmp_path: Path):
    """Every table of every planted defect, with Comet and without."""
    if reason := why_not():
        pytest.skip(reason)
    if not list(JARS.glob("*.jar")):
        pytest.skip("the jar of Comet is not here: make formats, which asks Maven")
    page = (ROOT / "docs" / PAGE).read_text("utf-8")
    assert all(f"--conf {setting}" in page for setting in SETTINGS)
    there, _ = two_parties()
    plant(there, PLANTS)
    publish(tmp_path / "plain", there.sender)
    publish(tmp_path / "plain", there.receiver)
    shutil.copytree(tmp_path / "plain", tmp_path / "fast")
    for name, accelerated in (("plain", False), ("fast", True)):
        lake = str(tmp_path / name)
        said = run("ingest", lake, accelerated=accelerated)
        said += run("reconcile", lake, "--as-of", str(MUCH_LATER), accelerated=accelerated)
        assert ("Comet native library" in said) == accelerated
    for table in NAMES:
        assert rows(tmp_path / "fast", table) == rows(tmp_path / "plain", table), table
