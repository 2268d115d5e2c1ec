"""A session of our own is quiet, and leaves alone what somebody has set up.

What is printed goes to a terminal of the test's, as a person has it, with an option for Java that
it says something about: `JDK_JAVA_OPTIONS`.
"""

from __future__ import annotations

import os
import pty
import re
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from journals import healthy, publish

if TYPE_CHECKING:
    from pathlib import Path

TALKATIVE = {"JDK_JAVA_OPTIONS": "-Donceonly.talks=yes"}
CHATTER = "Picked up JDK_JAVA_OPTIONS"
"""Said by Java itself, on stderr, at every start."""


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
    assert done.stderr == ""
    assert done.stdout.startswith(f"{tmp_path}/party=")


_STEERING = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_STATUS = re.compile(r"[⠀-⣿] (ingest|reconcile): .*\d:\d\d:\d\d")


def on_a_terminal(*arguments: str, **environment: str) -> list[str]:
    """Every line that a command of the lake leaves on a terminal, or passes over with its status.

    Whatever is drawn over again is a line here as well.
    """
    known = {name: text for name, text in os.environ.items() if not name.startswith("SPARK_")}
    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "onceonly", "lake", *arguments],
        env={**known, **TALKATIVE, "COLUMNS": "300", **environment},
        stdin=child,
        stdout=child,
        stderr=child,
    ) as command:
        os.close(child)
        text = b"".join(iter(lambda: _read(parent), b"")).decode()
        os.close(parent)
    assert command.returncode == 0, text
    lines = re.split(r"[\r\n]+", _STEERING.sub("", text))
    return [line.strip() for line in lines if line.strip() and not _STATUS.fullmatch(line.strip())]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so once nobody holds the other end.
        return b""


@pytest.mark.long
def test_a_terminal_has_our_own_lines_and_no_others(tmp_path: Path):
    """A first ingest, and a reconciliation with a page: Java, Spark and workers start in each."""
    there, _ = healthy(seed=1, messages=2)
    publish(tmp_path, there.sender)
    publish(tmp_path, there.receiver)
    folders = sorted(path.name for path in (tmp_path / "journal").iterdir())
    head, *rows = on_a_terminal("ingest", str(tmp_path))
    assert head.split() == ["journal", "batches", "last_seq"]
    assert [row.split()[:2] for row in rows] == [[f"{tmp_path}/{name}", "1"] for name in folders]
    found = on_a_terminal("reconcile", str(tmp_path), "--ledger-only")
    assert [line.split() for line in found[:2]] == [["verdict", "messages"], ["MATCHED", "4"]]
    [ledger] = found[2:]
    assert ledger.startswith(f"0 differences; ledger: {tmp_path}/tables/delivery_ledger/")


def test_an_ingest_that_finds_no_journal_says_so(tmp_path: Path):
    """A wrong folder is no partner who is silent."""
    done = ingest(tmp_path)
    assert done.returncode == 0
    assert f"no journal in {tmp_path}: a gateway publishes into" in done.stderr


def test_a_reconciliation_of_no_message_says_so(tmp_path: Path):
    """An ingest that found nothing went before: no differences must not look like success."""
    ingest(tmp_path)
    found = on_a_terminal("reconcile", str(tmp_path), "--ledger-only")
    assert f"no message in {tmp_path}: nothing is judged, and so nothing is proven" in found


def test_an_advice_from_no_message_says_so(tmp_path: Path):
    """No proposal must not look like terms that are good as they are."""
    ingest(tmp_path)
    found = on_a_terminal("advise", str(tmp_path))
    assert f"no round trip under an agreement in {tmp_path}: nothing can be proposed" in found


def test_who_asks_sees_what_the_jvm_prints(tmp_path: Path):
    """By a variable of the environment."""
    there, _ = healthy(seed=1, messages=2)
    publish(tmp_path, there.sender)
    asked = {**TALKATIVE, "ONCEONLY_SPARK_OUTPUT": "show"}
    assert CHATTER in ingest(tmp_path, **asked).stderr


def test_a_jvm_that_does_not_start_says_why(tmp_path: Path):
    """Its own words, below the error, although nobody asked for what it prints."""
    there, _ = healthy(seed=1, messages=2)
    publish(tmp_path, there.sender)
    done = subprocess.run(
        [sys.executable, "-m", "onceonly", "lake", "ingest", str(tmp_path)],
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": "--driver-memory 1k pyspark-shell"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1
    assert "What Spark's JVM printed last:" in done.stderr
    assert "Too small maximum heap" in done.stderr


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
