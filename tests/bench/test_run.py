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


def test_a_summary_is_the_median_of_ratios_taken_in_pairs(run, capsys):
    """The ratio is between neighbours in time, not between two medians."""
    floors = [{"rate": rate, "cpu_us": 10.0} for rate in (100.0, 200.0, 400.0)]
    gateways = [{"rate": rate, "cpu_us": 50.0} for rate in (50.0, 40.0, 40.0)]
    case = run.summary("x", floors, gateways)
    assert case["ratio"] == 0.2
    assert case["floor"] == 200
    assert "ratio 0.200" in capsys.readouterr().out
