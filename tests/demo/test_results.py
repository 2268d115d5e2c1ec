"""The report says what was observed, and the exit code is 0 only if all of it held."""

import json
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from onceonly.demo.exchange import Observations
from onceonly.demo.link import Fault
from onceonly.demo.options import DemoOptions
from onceonly.demo.proof import Proof
from onceonly.demo.results import EXIT_DIFFERENCES, EXIT_HELD, Results, show, write
from onceonly.demo.verdict import Delivery, Sent, judge
from onceonly.message.profile import Profile

OBSERVED = Observations(
    sent=(Sent("m1", "buyer", "seller", ("aa",)), Sent("m2", "seller", "buyer", ("bb",))),
    states={"m1": "acknowledged", "m2": "acknowledged"},
    seen=(Delivery("m1", "seller", 1, ("aa",)), Delivery("m2", "buyer", 1, ("bb",))),
    inbox_is_replayable=True,
    received_bytes=2,
    kills={"buyer": 1, "seller": 2},
    faults=Counter({Fault.DOUBLED: 3}),
    requests=40,
    gateway_down=2,
    resumed=0,
    repeated_calls=5,
    elapsed_s=1.23,
)
PROOF = Proof(
    verdicts={("s", "m1"): "MATCHED", ("b", "m2"): "MATCHED"},
    counts={"MATCHED": 2, "ACK_LOST": 0},
    breaches={"I1": 0, "I2": 0},
    events={"DuplicateEliminated": 4, "Transmitting": 9},
    html=Path("report.html"),
)


def results(observed: Observations = OBSERVED, **changes) -> Results:
    given = Results(
        options=DemoOptions(),
        seed=11,
        outcome=judge(observed.sent, observed.states, observed.seen),
        observed=observed,
        proof=PROOF,
        disagreements=(),
        elapsed_s=30.0,
    )
    return replace(given, **changes)


def test_signed_and_acknowledged_without_evidence_is_broken():
    """One of two is proven: that breaks the promise of a signed run, and of no other."""
    observed = replace(OBSERVED, proven=frozenset({"m1"}))
    signed = results(observed, options=DemoOptions(profile=Profile.EBMS_2_0))
    assert signed.exit_code == EXIT_DIFFERENCES
    assert signed.broken == ("1 message(s) acknowledged without evidence of receipt that verifies",)
    assert "1 messages with evidence of receipt that verifies" in printed(signed)
    assert results(observed).exit_code == EXIT_HELD
    proven = replace(OBSERVED, proven=frozenset({"m1", "m2"}))
    both = results(proven, options=DemoOptions(profile=Profile.EBMS_2_0))
    assert (both.exit_code, both.as_json()["with_evidence"]) == (EXIT_HELD, 2)


def printed(result: Results) -> str:
    console = Console(file=StringIO(), width=100)
    show(result, console)
    return console.file.getvalue()


def test_the_report_has_the_agreed_keys_and_the_observed_counts(tmp_path):
    """Design, `onceonly demo`: scripts read these keys."""
    write(results(), tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    agreed = {
        "sent": 2,
        "acknowledged": 2,
        "handed_over": 2,
        "duplicates_eliminated": 4,
        "delivered_twice": 0,
        "lost": 0,
        "altered": 0,
        "in_doubt": 0,
        "kills": 3,
        "seed": 11,
        "profile": "rm-2000",
    }
    assert {key: report[key] for key in agreed} == agreed
    assert report["faults"] == {fault.value: 3 * (fault is Fault.DOUBLED) for fault in Fault}
    assert report["held"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_everything_that_held_is_exit_code_0():
    """And it is said in words."""
    assert results().exit_code == 0
    assert "What was promised held." in printed(results())
    assert "MATCHED" in printed(results())


@pytest.mark.parametrize(
    "broken",
    [
        results(replace(OBSERVED, seen=OBSERVED.seen[:1])),
        results(replace(OBSERVED, inbox_is_replayable=False)),
        results(proof=replace(PROOF, breaches={"I1": 1})),
        results(disagreements=("m1: the journals do not know it",)),
    ],
)
def test_whatever_did_not_hold_is_exit_code_11_and_named(broken):
    """A loss, an inbox that changes, a broken invariant, witnesses that disagree."""
    assert broken.exit_code == 11
    assert broken.broken
    assert all(line in printed(broken) for line in broken.broken)
    assert "did not hold" in printed(broken)
    assert broken.as_json()["held"] is False


def test_a_doubt_alone_is_exit_code_7():
    """Nothing is known to be broken, but not everything has its verdict."""
    observed = replace(OBSERVED, states=OBSERVED.states | {"m1": "in_doubt"})
    assert results(observed).exit_code == 7
    assert "1 message(s) in doubt" in printed(results(observed))
