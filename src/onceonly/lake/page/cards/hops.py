"""Report 18 on the page: where a message's time goes when it passes intermediaries."""

from itertools import groupby
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, Row, Rows
from onceonly.lake.page.listing import PAIR, listing
from onceonly.lake.reports import hop_waterfall

DEFINITION: Final = hop_waterfall.DEFINITION
PAIRS_DRAWN: Final = 3
"""Pairs with a waterfall each; the table has all."""
_LISTED: Final = (
    *(PAIR, "stage", "place", "hop", "entered", "left", "lost"),
    *("p50_us", "p95_us", "mean_us"),
)
_LEG: Final = "leg"
"""What a turnaround is made of; queue comes before it, everything else lies within or beside."""


def card(found: Findings) -> Card:
    """One waterfall for each of the busiest pairs."""
    extract = found.of(DEFINITION)
    title = "Hop by hop"
    body: tuple[Any, ...] = ()
    if extract.rows:
        drawn = _busiest(extract.rows)
        figures = [_picture(number, rows) for number, rows in enumerate(drawn, 1) if _bars(rows)]
        body = (*figures, listing(DEFINITION, extract, _LISTED, caption=title))
    return Card(
        "hops",
        title,
        "Mean time of each stage of messages that passed an intermediary, each by the one clock of "
        "its place. The legs, there and back, add up to the turnaround as far as the same messages "
        "passed them; what is held lies within them.",
        body,
        "no message passed an intermediary whose journal is in the lake.",
        (DEFINITION,),
        is_wide=True,
    )


def _busiest(rows: Rows) -> list[list[Row]]:
    ordered = sorted(rows, key=lambda row: (*_pair(row), row["step"]))
    pairs = [list(of) for _, of in groupby(ordered, key=_pair)]
    return sorted(pairs, key=lambda of: -max(row["entered"] for row in of))[:PAIRS_DRAWN]


def _pair(row: Row) -> tuple[str, str]:
    return row["from_party"] or "", row["to_party"] or ""


def _picture(number: int, rows: list[Row]) -> Any:
    bars = _bars(rows)
    ends = plots.ends(*_pair(rows[0]), words.NAME_SHORT)
    says = "; ".join(f"{label} {words.span(length)}" for label, _, length in bars)
    lost = sum(row["lost"] for row in rows if row["stage"] == "turnaround")
    says += f"; {words.count(lost)} never acknowledged."

    def draw(figure: Figure) -> None:
        _waterfall(figure.subplots(), bars, ends)

    height = 1.0 + 0.25 * len(bars)
    return plots.picture(plots.Plot(f"hops-{number}", f"Hop by hop, {ends}", says, draw, height))


def _bars(rows: list[Row]) -> list[tuple[str, int, int]]:
    """Label, start and length of each bar: the legs add up to the turnaround."""
    timed = [row for row in rows if row["mean_us"] is not None]
    queue = sum(row["mean_us"] for row in timed if row["stage"] == "queue")
    leg = at = queue
    bars = []
    for row in timed:
        length = row["mean_us"]
        if row["stage"] == _LEG:
            leg, at = at, at + length
        # What is held on the way there is part of the next leg, whatever else of the last one.
        starts = {"queue": 0, "turnaround": queue, "hold": at}
        bars.append((_label(row), starts.get(row["stage"], leg), length))
    return bars


def _label(row: Row) -> str:
    place = "" if row["place"] is None else f", {plots.label(row['place'], 16)}"
    return f"{row['stage']}{place}"


_COLOUR_OF: Final = {"turnaround": plots.GRID, "queue": plots.BLUE, _LEG: plots.BLUE}
"""The whole, and what it is made of; everything else lies within."""


def _waterfall(axes: Axes, bars: list[tuple[str, int, int]], ends: str) -> None:
    plots.rows_axis(axes, [label for label, _, _ in bars])
    for line, (label, start, length) in enumerate(bars):
        colour = _COLOUR_OF.get(label.partition(",")[0], plots.SKY)
        axes.barh(line, length, left=start, color=colour, height=0.6)
        plots.beside(axes, (start + length, line), words.span(length))
    reach = max(start + length for _, start, length in bars) or 1
    axes.set_xlim(0, reach * 1.2)
    plots.plain_span_axis(axes.xaxis)
    axes.set_title(ends, fontsize=9, loc="left")
