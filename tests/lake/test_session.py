"""A session of our own is quiet, and leaves alone what somebody has set up."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

from journals import healthy, publish

if TYPE_CHECKING:
    from pathlib import Path

JAVAS_OWN = "WARNING: Using incubator modules: jdk.incubator.vector"
"""Said by Java itself, since Spark starts it with this module."""


def ingest(lake: Path, umask: int = -1, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: text for name, text in os.environ.items() if not name.startswith("SPARK_")}
    done = subprocess.run(
        [sys.executable, "-m", "onceonly", "lake", "ingest", str(lake)],
        env={**known, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        umask=umask,
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


def test_what_a_job_writes_is_closed_to_others(tmp_path: Path):
    """Rows, lives, manifests, checkpoints: by Spark, its Java and us, whatever the umask."""
    there, _ = healthy(seed=1, messages=2)
    publish(tmp_path, there.sender)
    ingest(tmp_path, umask=0)
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("ingested/**/*")}
    assert any(path.suffix == ".parquet" for path in found)
    assert {mode for path, mode in found.items() if path.is_dir()} == {0o750}
    assert {mode for path, mode in found.items() if path.is_file()} == {0o640}
