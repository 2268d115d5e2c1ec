"""Whatever `make` can do is run by something: here in its smallest form, or by what is named."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not shutil.which("make"), reason="there is no make here"),
]

RUN_BY = {
    "setup": ".ci/run",
    "gate": ".ci/run",
    "check": ".ci/run",
    "test": ".ci/run",
    "coverage": ".ci/run",
    "demo": "tests/demo/test_demo.py",
    "simulate": "tests/cli/test_simulate.py",
    "docs": "tests/repo/test_site.py",
    "excepts": "tests/repo/test_except_clauses.py",
    "fuzz-packages": "tests/hostile/test_odd_packages.py",
    "interop": "tests/interop/test_scorecard.py",
    "release": "tests/repo/test_release.py",
}
"""Targets that something else runs, or all that is in them."""

BY_HAND = {
    "bench-lake": "minutes of Spark; tests/bench/test_lake.py runs its parts",
    "conformance": "writes the page that the build of the documentation compares with the markers",
    "formats": "asks registries for another Spark and its jars; tests/lake has the plain tables",
    "image": "asks registries, by an engine; tests/repo/test_container.py runs the image's parts",
    "lock": "asks a registry",
}
"""Targets that nothing runs, and why."""


@pytest.fixture
def make(root: Path, tmp_path: Path):
    """`make` where the repository is, with a `build` of the test's own and this environment."""
    for entry in root.iterdir():
        if entry.name not in ("build", "demo", "site", ".git", ".venv"):
            (tmp_path / entry.name).symlink_to(entry)
    ready = tmp_path / "ready"
    ready.touch()
    given = [f"BIN={Path(sys.executable).parent}", f"READY={ready}"]
    # Not as a part of the make that may run these tests: it would say where it is.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    def run(target: str, *words: str) -> str:
        command = ["make", "--old-file=.venv/fuzz-ready", *given, target, *words]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**outside, "PYTHONPATH": str(root / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    return run


def targets(root: Path) -> set[str]:
    """What `make help` lists."""
    text = (root / "Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z-]+):.*##", text, re.MULTILINE))


def test_nothing_that_make_can_do_is_run_by_nobody(root: Path):
    """A target is run here, or by what is named above, or it says why not."""
    here = set(re.findall(r"\bmake\(\"([a-z-]+)\"", Path(__file__).read_text("utf-8")))
    assert targets(root) == {*here, "clean", *RUN_BY, *BY_HAND}
    assert not here & (set(RUN_BY) | set(BY_HAND))
    for what in RUN_BY.values():
        assert (root / what).is_file(), what


def test_the_gate_is_all_tests_and_what_else_a_merge_needs(root: Path, make):
    """What `test` starts side by side is what the gate starts, which is what `.ci/run` runs."""
    said = (make(target, "--dry-run") for target in ("test", "gate"))
    of_test, of_gate = (set(re.search(r"--keep-going (.*)", lines)[1].split()) for lines in said)
    assert "coverage" in of_test
    assert of_gate == {*of_test, "check", "fresh"}
    assert (root / ".ci" / "run").read_text("utf-8").splitlines()[-1] == "make gate"


def test_what_python_compiled_is_kept_where_the_environment_forbids_it(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    """Every process that a test starts would compile hundreds of modules again."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    make = request.getfixturevalue("make")
    asked, ask = "asked", "import sys; print(sys.dont_write_bytecode)"
    rule = f"{asked}:;@{shlex.join([sys.executable, '-c', ask])}"
    assert make(asked, f"--eval={rule}").strip() == "False"


def test_help_lists_every_target(root: Path, make):
    """With what it does."""
    assert {line.split("\t")[0] for line in make("help").splitlines()} == targets(root)


@pytest.mark.long
def test_every_case_of_the_bench_starts_and_ends(tmp_path: Path, make):
    """Floor, gateway and peers: all messages are acknowledged, and every process ends well."""
    said = make("bench", "ARGS=--small --rounds 1")
    report = json.loads((tmp_path / "build" / "bench.json").read_text())
    cases = {case["case"]: case for case in report["cases"]}
    assert len(cases) == 13
    assert all(case["rate"] > 0 and case["floor"] > 0 for case in cases.values())
    assert cases["pair-stop-and-wait"]["counts"]["commits"] > 1
    assert cases["api-one-writer"]["ratio_beside"] > 0
    assert len(report["peers"]) == 2 or "RabbitMQ is left out" in said
    assert all(peer["rate"] > 0 for peer in report["peers"])


@pytest.mark.long
def test_a_full_store_is_measured_beside_an_empty_one(tmp_path: Path, make):
    """Every figure is there for both; how full the one is, is a word to the target."""
    make("bench-growth", "ARGS=--messages 500 --known 1000 --rounds 1 --sample 100")
    few, many = json.loads((tmp_path / "build" / "bench-growth.json").read_text()).values()
    assert few.keys() == many.keys()
    assert few["lists_ms"].keys() == many["lists_ms"].keys()
    assert all(page["median_ms"] > 0 for page in many["pages"].values())


def test_the_fuzzer_runs_and_reports(tmp_path: Path, make):
    """Two targets, some hundred inputs."""
    make("fuzz", "ARGS=http-head config --executions 300")
    report = json.loads((tmp_path / "build" / "fuzz.json").read_text())
    assert report["findings"] == 0
    assert [row["target"] for row in report["rows"]] == ["http-head", "config"]


def test_a_planted_bug_is_hunted_and_reported(tmp_path: Path, make):
    """One that the first worlds show."""
    make("mutants", "ARGS=--seeds 60 --processes 1 retry_one_too_many")
    report = json.loads((tmp_path / "build" / "mutants.json").read_text())
    assert (report["killed"], report["survived"]) == (1, 0)


def test_small_changes_are_tried_and_counted(make):
    """Of a module with few lines, in three worlds."""
    said = make("small-mutants", "ARGS=--seeds 3 --tries 1 --processes 1 protocol/sequence.py")
    assert re.search(r"^\d+ small changes", said, re.MULTILINE), said


@pytest.mark.long
def test_the_nemesis_has_figures(tmp_path: Path, make):
    """Both lanes write theirs, which become the one file that the documentation shows."""
    (tmp_path / "docs").unlink()
    one = "test_a_second_process_on_one_store_refuses_to_start"
    make("nemesis", f"ARGS=--cycles 1 -k {one}")
    report = json.loads((tmp_path / "docs" / "proof" / "nemesis.json").read_text())
    assert report["tests"] == {"passed": 2, "failed": 0, "skipped": 0, "error": 0}


def test_clean_takes_away_what_was_made(root: Path, tmp_path: Path):
    """And nothing else."""
    made = [tmp_path / name for name in (".venv", "build", "dist", "site", "demo")]
    for folder in made:
        folder.mkdir()
    (tmp_path / "kept").touch()
    command = ["make", "-f", str(root / "Makefile"), "clean"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
