"""A session of our own is quiet, and leaves alone what somebody has set up."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from journals import healthy, publish

if TYPE_CHECKING:
    from pathlib import Path

JAVAS_OWN = "WARNING: Using incubator modules: jdk.incubator.vector"
"""Said by Java itself, since Spark starts it with this module."""


def ingest(lake: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: text for name, text in os.environ.items() if not name.startswith("SPARK_")}
    done = subprocess.run(
        [sys.executable, "-m", "onceonly", "lake", "ingest", str(lake)],
        env={**known, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_command_shows_its_result_and_nothing_of_sparks_log(tmp_path: Path):
    """Warnings about host names and native libraries are nobody's business who waits for rows."""
    there, _ = healthy(seed=1, messages=2)
    publish(tmp_path, there.sender)
    done = ingest(tmp_path)
    assert [line for line in done.stderr.splitlines() if line != JAVAS_OWN] == []
    assert done.stdout.startswith(f"{tmp_path}/party=")


def test_who_has_settings_for_spark_keeps_them(tmp_path: Path):
    """Options for Java in a `spark-defaults.conf` are not replaced by ours."""
    there, _ = healthy(seed=1, messages=2)
    publish(tmp_path / "lake", there.sender)
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(
        "spark.driver.extraJavaOptions -Xlog:gc+init:stderr\n"
    )
    assert "Heap Region Size" in ingest(tmp_path / "lake", SPARK_CONF_DIR=str(conf)).stderr
