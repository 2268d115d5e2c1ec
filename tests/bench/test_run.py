"""What the bench makes of its figures; that it runs is shown by `tests/repo/test_targets.py`."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(monkeypatch):
    """The bench is no part of the package; it lies beside it."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    from bench import run  # noqa: PLC0415 - because its place is not on the path before

    return run


def rounds(*rates: float) -> list[dict[str, float]]:
    return [{"rate": rate, "cpu_us": 50.0} for rate in rates]


def test_a_summary_is_the_median_of_ratios_taken_in_pairs(run, capsys):
    """The ratio is between neighbours in time, not between two medians."""
    measured = {"floor of x": rounds(100.0, 200.0, 400.0), "x": rounds(50.0, 40.0, 40.0)}
    case = run.summary("x", measured, {"commits": 4.0})
    assert case["ratio"] == 0.2
    assert case["floor"] == 200
    assert case["cpu_us_per_message"] == 50
    assert case["counts"] == {"commits": 4.0}
    assert "ratio 0.200" in capsys.readouterr().out


def test_a_case_is_set_beside_another_one_of_the_same_rounds(run):
    """Through the API beside embedded: where the other was not measured, nothing is said."""
    name, beside = "api-one-writer", "pair-stop-and-wait"
    measured = {f"floor of {name}": rounds(100.0), name: rounds(30.0), beside: rounds(60.0)}
    assert run.summary(name, measured, {})["ratio_beside"] == 0.5
    del measured[beside]
    assert "ratio_beside" not in run.summary(name, measured, {})


def test_a_peer_is_what_each_case_is_a_part_of(run):
    """Round by round as well."""
    measured = {"peer": rounds(100.0, 200.0, 400.0), "x": rounds(50.0, 40.0, 40.0)}
    peer = run.peer_summary("peer", measured, ["x"])
    assert peer == {"peer": "peer", "rate": 200, "cpu_us_per_message": 50, "ratios": {"x": 0.2}}


def test_without_a_broker_the_bench_says_so_and_goes_on(run, monkeypatch, capsys):
    """One line, and no peers."""
    monkeypatch.setattr(run, "find_server", lambda: None)
    with run.ExitStack() as stack:
        assert run.start_broker(stack) is None
    assert "RabbitMQ is left out" in capsys.readouterr().out
