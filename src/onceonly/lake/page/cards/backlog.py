"""Report 15 on the page: what waits, and what holds it up."""

from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.bins import every_bin
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Extract, Findings, Row, Rows
from onceonly.lake.page.listing import PAIR, behind
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import backlog
from onceonly.lake.tables import channel_intervals

LINES_DRAWN: Final = 10
"""Pairs in the picture of suspensions."""
NAMED: Final = 24
"""Bars with their state beside them, those that go on and the longest: more words would lie upon
each other."""
_BEHIND: Final = (
    *("bin_at", "submitted", "started", "settled", "queued", "in_flight", "oldest_queued_us"),
    "longest_turn_us",
)
_STOOD: Final = ("party", "side", PAIR, "state", "from_at", "until_at", "length_us", "reason")


def queues(found: Findings) -> Card:
    """Depth of the queues over time."""
    extract = found.whole(backlog.DEFINITION)
    bins = every_bin(backlog.DEFINITION, extract.rows, found.width_us(backlog.DEFINITION))
    title = "Backlog"
    body: tuple[Html, ...] = ()
    if any(row["queued"] or row["in_flight"] for row in bins):
        oldest = max(row["oldest_queued_us"] or 0 for row in bins)
        says = (
            f"At most {words.count(max(row['queued'] for row in bins))} messages queued and "
            f"{words.count(max(row['in_flight'] for row in bins))} under way at the end of a bin; "
            f"the oldest had waited {words.span(oldest)}."
        )
        drawer = _depths(bins, found.width_us(backlog.DEFINITION))
        plot = plots.Plot("backlog", title, says, drawer, 2.4, is_wide=True)
        behind_it = behind(backlog.DEFINITION, Extract(bins), _BEHIND, caption=title)
        body = (plots.picture(plot), behind_it)
    return Card(
        "backlog",
        title,
        "Messages that were submitted and not sent yet, and those that were sent and have no "
        "verdict, at the end of each span of time. A pair sends one at a time.",
        body,
        "nothing waited at the end of any span of time.",
        (backlog.DEFINITION,),
        is_wide=True,
    )


def _depths(bins: list[Row], width_us: int) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        starts = [row["bin_at"] for row in bins]
        edges = plots.moments([*starts, starts[-1] + width_us])
        queued = [row["queued"] for row in [*bins, bins[-1]]]
        flying = [row["in_flight"] for row in [*bins, bins[-1]]]
        line: dict[str, Any] = {"where": "post", "linewidth": 1.6}
        axes.fill_between(edges, queued, step="post", color=plots.BLUE, alpha=0.2, linewidth=0)
        axes.step(edges, queued, color=plots.BLUE, label="queued", **line)
        axes.step(edges, flying, color=plots.ORANGE, linestyle="--", label="under way", **line)
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, axis="y")
        plots.count_axis(axes.yaxis, "messages")
        plots.time_axis(axes, starts[0], starts[-1] + width_us)
        plots.legend_above(axes, 2)

    return draw


def suspensions(found: Findings) -> Card:
    """When pairs stood still."""
    definition = channel_intervals.DEFINITION
    extract = found.of(definition)
    title = "Suspensions"
    body: tuple[Html, ...] = ()
    if extract.rows:
        lines = _lines(extract.rows)
        says = f"{words.counted(extract.total, 'time')} that a pair stood still."
        drawer = _gantt(lines, extract.rows, found.judged.as_of)
        height = 1.0 + 0.34 * len(lines)
        plot = plots.Plot("suspensions", title, says, drawer, height, is_wide=True)
        body = (plots.picture(plot), behind(definition, extract, _STOOD, caption=title))
    return Card(
        "suspensions",
        title,
        "When pairs stood still, in the journal of whoever closed them. Suspended: nothing is sent "
        "until somebody resumes it. Quarantined: the store is older than what the partner saw.",
        body,
        "no pair was ever closed.",
        (definition,),
        is_wide=True,
    )


def _lines(rows: Rows) -> list[tuple[Any, ...]]:
    """The pairs that stand still now, then those that did so longest."""
    lengths: dict[tuple[Any, ...], int] = {}
    for row in rows:
        lengths[_line(row)] = lengths.get(_line(row), 0) + row["length_us"]
    still = {_line(row) for row in rows if row["until_at"] is None}
    return sorted(lengths, key=lambda line: (line not in still, -lengths[line]))[:LINES_DRAWN]


def _line(row: Row) -> tuple[Any, ...]:
    return row["party"], row["side"], row["from_party"], row["to_party"]


def _gantt(lines: list[tuple[Any, ...]], rows: Rows, as_of: int) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        drawn = [row for row in rows if _line(row) in lines]
        start, end = min(row["from_at"] for row in drawn), as_of
        plots.rows_axis(axes, [_told(*line) for line in lines])
        for place, row in enumerate(drawn):
            _bar(axes, lines.index(_line(row)), row, end - start, is_named=place < NAMED)
        plots.time_axis(axes, start, end)

    return draw


def _told(_: str, side: str, sender: str, receiver: str) -> str:
    return f"{plots.ends(sender, receiver)}, {plots.label(side, 10)}"


def _bar(axes: Axes, line: int, row: Row, whole_us: int, *, is_named: bool) -> None:
    until = row["from_at"] + max(row["length_us"], whole_us // 500)
    first, last = plots.moments([row["from_at"], until])
    is_suspended = row["state"] == "suspended"
    axes.fill_between(
        [first, last],
        [line - 0.28] * 2,
        [line + 0.28] * 2,
        facecolor=plots.ORANGE if is_suspended else plots.CARD,
        edgecolor=plots.ORANGE if is_suspended else plots.RED,
        hatch="" if is_suspended else "////",
    )
    if not is_named:
        return
    open_end = "" if row["until_at"] is not None else ", goes on"
    told = f"{plots.label(row['state'])}{open_end}"
    plots.beside(axes, (first, line), told, fontsize=7.5)
