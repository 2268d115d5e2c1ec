"""Report 6 on the page: how long acknowledgements take, over time, over the week, and per pair."""

import math
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, Row, Rows
from onceonly.lake.page.listing import PAIR, behind
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import turnaround, turnaround_bins, turnaround_heat

PAIRS_DRAWN: Final = 3
"""Pairs with a curve of their own beside that of all; the table has every pair."""
_LEAST_US: Final = 1_000
"""A millisecond: what is faster is drawn as that, since the axis is one of logarithms."""
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LINES: Final = (
    ("p99_us", "99 of 100", plots.ORANGE, ":"),
    ("p95_us", "19 of 20", plots.PURPLE, "--"),
    ("p50_us", "median", plots.BLUE, "-"),
)
_LISTED: Final = (
    *(PAIR, "messages", "acknowledged", "p50_us", "p95_us", "p99_us", "worst_us"),
    *("last_p50_us", "last_p95_us"),
)


def over_time(found: Findings) -> Card:
    """Quantiles in bins of the time of sending."""
    definition = turnaround_bins.DEFINITION
    extract = found.whole(definition)
    title = "Time to acknowledgement"
    body: tuple[Html, ...] = ()
    if extract.rows:
        says = f"Median, 19 of 20 and 99 of 100, {_range(extract.rows)}."
        drawer = _lines(extract.rows, found.width_us(turnaround_bins.DEFINITION))
        plot = plots.Plot("turnaround-bins", title, says, drawer, is_wide=True)
        columns = ("bin_at", "messages", "p50_us", "p90_us", "p95_us", "p99_us")
        body = (plots.picture(plot), behind(definition, extract, columns, caption=title))
    return Card(
        "turnaround",
        title,
        "From the first transmission to the acknowledgement, retries included, by the sender's own "
        "clock; by the time of sending. The axis is one of logarithms.",
        body,
        "no acknowledgement came yet.",
        (definition,),
        is_wide=True,
    )


def _range(rows: Rows) -> str:
    medians = [row["p50_us"] for row in rows]
    worst = max(row["p99_us"] for row in rows)
    return (
        f"medians from {words.span(min(medians))} to {words.span(max(medians))}, "
        f"99 of 100 at most {words.span(worst)}"
    )


def _lines(rows: Rows, width_us: int) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        middles = plots.moments([row["bin_at"] + width_us // 2 for row in rows])
        dot = plots.dot(len(rows))
        for name, words_for, colour, dash in _LINES:
            values = [max(row[name], _LEAST_US) for row in rows]
            axes.plot(middles, values, color=colour, linestyle=dash, marker=dot, label=words_for)
        axes.set_yscale("log")
        axes.grid(visible=True, axis="y")
        plots.span_axis(axes.yaxis)
        plots.time_axis(axes, rows[0]["bin_at"], rows[-1]["bin_at"] + width_us)
        plots.legend_above(axes, 3)

    return draw


def over_the_week(found: Findings) -> Card:
    """Hours of the week; the slower an hour, the stronger its colour."""
    definition = turnaround_heat.DEFINITION
    extract = found.whole(definition)
    title = "By hour and weekday"
    body: tuple[Html, ...] = ()
    if extract.rows:
        worst = max(extract.rows, key=lambda row: row["p95_us"])
        says = (
            f"Slowest is {_DAYS[worst['weekday'] - 1]} {worst['hour']:02d} h UTC: 19 of 20 within "
            f"{words.span(worst['p95_us'])}."
        )
        plot = plots.Plot("turnaround-heat", title, says, _heat(extract.rows), 2.7)
        columns = ("weekday", "hour", "messages", "p50_us", "p95_us")
        body = (plots.picture(plot), behind(definition, extract, columns, caption=title))
    return Card(
        "week",
        title,
        "Time within which 19 of 20 were acknowledged, by hour and weekday of the sending, UTC; "
        "the fuller the colour, the slower. Blank: nothing was sent.",
        body,
        "no acknowledgement came yet.",
        (definition,),
    )


def _heat(rows: Rows) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        levels = [math.log(max(row["p95_us"], _LEAST_US)) for row in rows]
        low, high = min(levels), max(levels)
        for row, level in zip(rows, levels, strict=True):
            depth = 0.12 + 0.88 * ((level - low) / (high - low) if high > low else 0.5)
            corner = (row["hour"], row["weekday"] - 1.46)
            _box(axes, corner, 0.92, 0.92, depth)
        axes.set_xlim(-0.1, 24.1)
        axes.set_xticks(range(0, 25, 6), labels=[f"{hour:02d}" for hour in range(0, 25, 6)])
        axes.set_yticks(range(7), labels=_DAYS)
        axes.set_ylim(6.6, -0.6)
        _scale(axes, math.exp(low), math.exp(high))

    return draw


def _box(
    axes: Axes, corner: tuple[float, float], width: float, height: float, depth: float
) -> None:
    wide = [(corner[0], width)]
    axes.broken_barh(wide, (corner[1], height), facecolor=plots.BLUE, alpha=depth, linewidth=0)


def _scale(axes: Axes, low_us: float, high_us: float) -> None:
    low, high = words.span(low_us), words.span(high_us)
    told = f"{low}; hours UTC" if low == high else f"faint {low}, full {high}; hours UTC"
    axes.set_xlabel(told, fontsize=8.5)


def distribution(found: Findings) -> Card:
    """The share that was acknowledged within a time, per pair."""
    definition = turnaround.DEFINITION
    extract = found.of(definition)
    timed = [row for row in extract.rows if row["curve_us"]]
    title = "Acknowledged within"
    body: tuple[Html, ...] = ()
    if timed:
        whole = [row for row in found.whole(definition).rows if row["curve_us"]]
        says = "; ".join(_told(row, "all pairs") for row in whole) or _told(timed[0], "one pair")
        plot = plots.Plot("turnaround", title, says, _curves(timed, whole), 2.7)
        body = (
            plots.picture(plot),
            behind(definition, extract, _LISTED, caption="Time to acknowledgement per pair"),
        )
    return Card(
        "within",
        title,
        "Share of the acknowledged messages over the time that it took, for all pairs and the "
        "busiest ones.",
        body,
        "no acknowledgement came yet.",
        (definition,),
    )


def _told(row: Row, who: str) -> str:
    return (
        f"{who}: half within {words.span(row['p50_us'])}, 19 of 20 within "
        f"{words.span(row['p95_us'])}, the slowest took {words.span(row['worst_us'])}"
    )


def _curves(rows: list[Row], whole: list[Row]) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        busiest = sorted(rows, key=lambda row: -row["messages"])[:PAIRS_DRAWN]
        lines = [("all pairs", row) for row in whole if len(rows) > 1]
        lines += [(_ends(row), row) for row in busiest]
        for (words_for, row), (colour, dash) in zip(lines, plots.CYCLE, strict=False):
            curve = [max(value, _LEAST_US) for value in row["curve_us"]]
            shares = [step / (len(curve) - 1) for step in range(len(curve))]
            # A label that begins with an underscore would be left out.
            axes.step(
                curve, shares, where="post", color=colour, linestyle=dash, label=f" {words_for}"
            )
        axes.set_xscale("log")
        plots.span_axis(axes.xaxis)
        plots.share_axis(axes.yaxis)
        axes.set_ylim(0, 1.02)
        axes.grid(visible=True)
        plots.legend_above(axes, 1)

    return draw


def _ends(row: Row) -> str:
    return f"{plots.label(row['from_party'])} → {plots.label(row['to_party'])}"
