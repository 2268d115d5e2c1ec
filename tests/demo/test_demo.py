"""The demonstration as a whole: real processes, real kills, real Spark."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onceonly.demo import drive
from onceonly.demo.options import DemoOptions

pytestmark = pytest.mark.process

RUN_S = 400
"""Far more than it takes; a machine that is busy with other tests may be many times slower."""


def demo(out: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "onceonly", "demo", "--out", str(out), *options]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test runner in the background ignores SIGINT, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - because this process has no threads yet
    )


def processes_of(out: Path) -> list[int]:
    """Running processes whose command line names the directory."""
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("needs /proc to see other processes")
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(out).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # it ended while we looked
    return [pid for pid in found if pid != os.getpid()]


@pytest.mark.spark
def test_a_small_run_with_kills_holds_what_was_promised(tmp_path):
    """Twelve messages each way over a bad link, both gateways killed: exit 0 and a true report."""
    out = tmp_path / "demo"
    run = demo(out, "--messages", "12", "--seed", "3", "--loss", "0.25", "--kill-every", "2")
    table, talk = run.communicate(timeout=RUN_S)
    assert run.returncode == 0, table + talk
    report = json.loads((out / "report.json").read_text())
    wanted = {"sent": 24, "acknowledged": 24, "handed_over": 24, "seed": 3, "held": True}
    assert {key: report[key] for key in wanted} == wanted
    assert [report[key] for key in ("lost", "delivered_twice", "altered", "in_doubt")] == [0] * 4
    assert all(kills >= 1 for kills in report["kills_of"].values()), report["kills_of"]
    assert report["verdicts"]["MATCHED"] + report["verdicts"]["MATCHED_LATE"] == 24
    assert sum(report["faults"].values()) > 0
    assert "MATCHED" in table
    assert "\x1b" not in talk
    assert (out / "report.html").stat().st_size > 1000
    assert not (out / "buyer").exists()
    assert processes_of(out) == []


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize(
    ("profile", "more"),
    [("rm-2001", ()), ("ebms-2.0", ()), ("ebms-2.0", ("--unsigned",))],
    ids=["rm-2001", "ebms-2.0", "ebms-2.0-unsigned"],
)
def test_a_window_in_flight_holds_what_was_promised_too(tmp_path, profile, more):
    """The same exchange without numbers, so a line of order has nothing to be tried on.

    In ebms-2.0 every message ends with evidence of receipt, unless nothing is to be signed.
    """
    out = tmp_path / "demo"
    options = ("--messages", "20", "--seed", "5", "--loss", "0.4", "--kill-every", "1.5", "--keep")
    run = demo(out, "--profile", profile, *more, *options)
    table, talk = run.communicate(timeout=RUN_S)
    assert run.returncode == 0, table + talk
    report = json.loads((out / "report.json").read_text())
    wanted = {"profile": profile, "sent": 40, "acknowledged": 40, "handed_over": 40, "held": True}
    assert {key: report[key] for key in wanted} == wanted
    assert report["verdicts"]["MATCHED"] + report["verdicts"]["MATCHED_LATE"] == 40
    assert report["breaches"] == dict.fromkeys(report["breaches"], 0)
    html = (out / "report.html").read_text()
    assert f"profile {profile}" in table
    signed = 40 if profile == "ebms-2.0" and not more else 0
    assert (report["signed"], report["with_evidence"]) == (bool(signed), signed)
    assert ("40 messages with evidence of receipt that verifies" in table) is bool(signed)
    assert (out / "buyer" / "buyer.key").exists() is bool(signed)
    assert [tries(html, name) for name in ("I1", "I15", "I16")] == [40, 0, 0]


def tries(html: str, invariant: str) -> int:
    """On how many messages the report says that an invariant was tried."""
    row = re.search(rf">{invariant}</t[dh]>(.*?)</tr>", html, re.DOTALL)
    assert row, f"the sheet has no line {invariant}"
    return int(re.findall(r"<td[^>]*>\s*(\d+)\s*</td>", row[1])[0])


@pytest.mark.long
@pytest.mark.spark
def test_files_of_a_directory_arrive_as_they_are(tmp_path):
    """Any type, any size, odd names, subdirectories; each file once each way."""
    documents = tmp_path / "documents"
    (documents / "sub").mkdir(parents=True)
    (documents / "empty").write_bytes(b"")
    (documents / "every byte.bin").write_bytes(bytes(range(256)) * 16)
    (documents / "sub" / 'a "quoted" ünï.xml').write_bytes("<ü/>".encode())
    (documents / "large").write_bytes(os.urandom(5_000_000))
    out = tmp_path / "demo"
    run = demo(out, "--documents", str(documents), "--seed", "4", "--kill-every", "0", "--keep")
    table, talk = run.communicate(timeout=RUN_S)
    assert run.returncode == 0, table + talk
    report = json.loads((out / "report.json").read_text())
    assert (report["sent"], report["handed_over"], report["kills"]) == (8, 8, 0)
    assert report["received_bytes"] >= 2 * 5_004_101
    assert (out / "buyer" / "gateway.db").exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_an_interrupted_run_leaves_no_process_behind(tmp_path, number, code):
    """In the middle of the exchange, by Ctrl-C or by an operator's kill."""
    out = tmp_path / "demo"
    run = demo(out, "--messages", "2000", "--seed", "3")
    assert run.stderr is not None
    said = []
    for line in run.stderr:
        said.append(line)
        if "handed over" in line:
            break
    assert len(processes_of(out)) >= 2, "".join(said)
    run.send_signal(number)
    _, talk = run.communicate(timeout=RUN_S)
    assert run.returncode == code, talk
    assert "Traceback" not in talk
    assert processes_of(out) == []


def test_wrong_options_are_refused_before_anything_starts(tmp_path):
    """Exit 2, a line that says why, and nothing written."""
    out = tmp_path / "demo"
    run = demo(out, "--loss", "2")
    _, talk = run.communicate(timeout=RUN_S)
    assert run.returncode == 2
    assert "loss is 0 to 0.8" in talk
    assert not out.exists()


def test_without_pyspark_it_names_what_to_install(tmp_path, monkeypatch, capsys):
    """Exit 1 before a document is sent: without the lake there would be no verdict on any."""
    monkeypatch.setitem(sys.modules, "onceonly.lake", None)
    assert drive.run_demo(DemoOptions(out=tmp_path / "demo")) == drive.EXIT_UNEXPECTED
    assert "the proof needs onceonly[spark]" in capsys.readouterr().err
