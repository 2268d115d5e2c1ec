"""Report 19 on the page: how far the parties' clocks are apart."""

from itertools import groupby
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onceonly.lake.page import due, plots, words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Extract, Findings, Row, Rows
from onceonly.lake.page.listing import PAIR, behind
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import clock_skew

DEFINITION: Final = clock_skew.DEFINITION
PAIRS_DRAWN: Final = 4
"""Pairs with a strip each: those whose clocks are farthest apart."""
_NEAR: Final = 0.05
"""Where the clocks use less of the agreed accuracy than this, its band is outside the picture."""
_BEHIND: Final = (
    *("bin_at", PAIR, "messages", "lower_us", "skew_us", "upper_us", "median_us"),
    *("is_consistent", "is_within_accuracy", "drift_ppm"),
)


def card(found: Findings) -> Card:
    """A strip for each of the pairs that are farthest apart."""
    extract = found.of(DEFINITION)
    accuracy_us = found.judged.policy.clock_accuracy_us
    title = "Clocks"
    body: tuple[Html, ...] = ()
    if extract.rows:
        drawn = _farthest(extract.rows)
        height = 0.6 + 1.35 * len(drawn)
        drawer = _drawer(drawn, found.width_us(DEFINITION), accuracy_us)
        says = _says(drawn, extract.number(due.BINS_APART), accuracy_us)
        plot = plots.Plot("clocks", title, says, drawer, height, is_wide=True)
        rows = sorted((row for of in drawn for row in of), key=lambda row: row["bin_at"])
        figures = behind(DEFINITION, Extract(rows, extract.total), _BEHIND, caption=title)
        body = (plots.picture(plot), figures)
    return Card(
        "clocks",
        title,
        "By how much the receiver's clock is ahead of the sender's: somewhere in the shaded band, "
        f"which the messages bound from both sides. Agreed are ±{words.span(accuracy_us)}.",
        body,
        "no message is told whole by both journals, so nothing bounds the clocks.",
        (DEFINITION,),
        is_wide=True,
    )


def _pair(row: Row) -> tuple[str, str]:
    return row["from_party"] or "", row["to_party"] or ""


def _farthest(rows: Rows) -> list[list[Row]]:
    ordered = sorted(rows, key=lambda row: (*_pair(row), row["bin_at"]))
    pairs = [list(of) for _, of in groupby(ordered, key=_pair)]
    return sorted(pairs, key=lambda of: max(map(_apart, of)), reverse=True)[:PAIRS_DRAWN]


def _apart(row: Row) -> tuple[int, int]:
    """By how much the clocks surely differ, and by how much if the middle is the truth."""
    return max(row["lower_us"], -row["upper_us"], 0), abs(row["skew_us"])


def _says(pairs: list[list[Row]], outside: int, accuracy_us: int) -> str:
    worst = max(abs(row["skew_us"]) for of in pairs for row in of)
    return (
        f"Farthest apart: {words.span(worst)}; {words.counted(outside, 'bin')} outside the agreed "
        f"accuracy of {words.span(accuracy_us)}."
    )


def _drawer(pairs: list[list[Row]], width_us: int, accuracy_us: int) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        strips = figure.subplots(len(pairs), 1, squeeze=False)[:, 0]
        start = min(of[0]["bin_at"] for of in pairs)
        end = max(of[-1]["bin_at"] for of in pairs) + width_us
        for axes, rows in zip(strips, pairs, strict=True):
            _strip(axes, rows, width_us, accuracy_us)
            plots.time_axis(axes, start, end)
            if axes is not strips[-1]:
                axes.tick_params(axis="x", labelbottom=False)

    return draw


def _strip(axes: Axes, rows: list[Row], width_us: int, accuracy_us: int) -> None:
    middles = plots.moments([row["bin_at"] + width_us // 2 for row in rows])
    bounds = [[min(row["lower_us"], row["upper_us"]) for row in rows]]
    bounds += [[max(row["lower_us"], row["upper_us"]) for row in rows]]
    style: dict[str, Any] = {"color": plots.SKY, "alpha": 0.35, "linewidth": 0}
    axes.fill_between(middles, bounds[0], bounds[1], **style)
    skews = [row["skew_us"] for row in rows]
    axes.plot(middles, skews, color=plots.BLUE, marker=plots.dot(len(rows)), linewidth=1.4)
    reach = max(abs(value) for bound in bounds for value in bound) or 1
    told = f"{plots.label(rows[0]['from_party'])} → {plots.label(rows[0]['to_party'])}"
    if reach > accuracy_us * _NEAR:
        reach = max(reach, accuracy_us)
        for edge in (-accuracy_us, accuracy_us):
            axes.axhline(edge, color=plots.RED, linestyle="--", linewidth=1)
    else:
        told += f" (±{words.span(accuracy_us)} is far outside the picture)"
    axes.axhline(0, color=plots.MUTED, linewidth=0.8)
    axes.set_ylim(-1.15 * reach, 1.15 * reach)
    plots.plain_span_axis(axes.yaxis)
    axes.set_title(told, fontsize=8.5, loc="left")
