"""Axes that people can read: ticks where clocks, calendars and computers count."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
from matplotlib.figure import Figure

from onceonly.lake.page import plots

GAP = "\u202f"
S, H, DAY = 1_000_000, 3_600_000_000, 86_400_000_000


def told(axis: Any, values: tuple[float, float], *, log: bool = False) -> list[str]:
    """The labels that stand on an axis which shows these values."""
    axes = Figure().subplots()
    axes.set_xlim(*values)
    if log:
        axes.set_xscale("log")
    axis(axes.xaxis)
    low, high = axes.get_xlim()
    shown = [at for at in axes.xaxis.get_majorticklocs() if low <= at <= high]
    return [text.replace(GAP, " ") for text in axes.xaxis.get_major_formatter().format_ticks(shown)]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (20_000, 2 * DAY, ["100 ms", "10 s", "10 min", "10 h"]),
        (50_000, 40 * S, ["100 ms", "1 s", "10 s"]),
        (300 * S, 40 * DAY, ["10 min", "1 h", "10 h", "10 d"]),
        (2 * S, 8 * S, ["2 s", "4 s", "6 s", "8 s"]),
    ],
)
def test_logarithms_of_time_are_told_in_round_spans(low: int, high: int, ticks: list[str]):
    """No `1.67 min` and no `2.78 h`, which ten to some power of microseconds would be."""
    assert told(plots.span_axis, (low, high), log=True) == ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 110 * S, ["0", "30 s", "1 min", "1.5 min"]),
        (-40_000, 40_000, ["-40 ms", "-20 ms", "0", "20 ms", "40 ms"]),
        (0, 7 * H, ["0", "2 h", "4 h", "6 h"]),
        (0, 900 * DAY, ["0", "200 d", "400 d", "600 d", "800 d"]),
    ],
)
def test_spans_are_told_as_a_clock_counts(low: int, high: int, ticks: list[str]):
    """Minutes are no hundreds of seconds."""
    assert told(plots.plain_span_axis, (low, high)) == ticks


def test_sizes_are_told_in_powers_of_two():
    """No `1.43 MiB`, which a million and a half bytes would be."""
    assert told(plots.size_axis, (0, 5_000_000)) == ["0 B", "1 MiB", "2 MiB", "3 MiB", "4 MiB"]


@pytest.mark.parametrize("axis", [plots.span_axis, plots.plain_span_axis, plots.size_axis])
@pytest.mark.parametrize("high", [1, 10**9, 2**61])
def test_no_axis_has_too_many_ticks_or_none(axis: Any, high: int):
    """Whatever a stranger's journal claims to have taken."""
    assert 1 <= len(told(axis, (0.5, high), log=axis is plots.span_axis)) <= 7


@pytest.mark.parametrize("hours", [1, 5, 30, 60, 71, 100, 24 * 89, 24 * 1_000])
def test_an_axis_of_instants_is_no_matter_of_warnings(hours: int):
    """Who waits for the page at a terminal reads nothing of its plots' libraries."""

    def draw(figure: Figure) -> None:
        plots.time_axis(figure.subplots(), 0, hours * H)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = plots.picture(plots.Plot("times", "Times", "Says nothing.", draw))
    assert len(re.findall("<text", shown)) > 1
