"""The bench of `wire` runs, and measures each kind of package in each profile."""

import sys
from pathlib import Path

import pytest

from onceonly.message.profile import PROFILES


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    """The bench is no part of the package; it lies beside it."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2]), *sys.path])
    from bench import wire  # noqa: PLC0415 - because its place is not on the path before

    monkeypatch.setattr(wire, "ROUNDS", 2)
    return wire


def test_a_line_says_what_reading_and_writing_take(bench, capsys):
    """Least and median of each, in microseconds."""
    bench.main()
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [one.name for one in PROFILES for _ in range(2)]
    for line in lines:
        *_, least, median, encode, encode_median = map(float, line.split()[2:])
        assert 0 < least <= median
        assert 0 < encode <= encode_median
