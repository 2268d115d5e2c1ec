"""Report 16 on the page: when partners could be reached."""

from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onceonly.lake.page import due, plots, words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Extract, Findings, Row, Rows
from onceonly.lake.page.listing import behind, listing
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import availability, outages

LINES_DRAWN: Final = 12
"""Lines of partners in the picture: those that are down, then those with the longest times down."""
_LISTED: Final = (
    *("party", "peer", "availability_share", "is_down", "outages", "down_us"),
    *("longest_outage_us", "mtbf_us", "mttr_us", "transmissions", "refused", "unknown"),
)
_INTERVALS: Final = ("party", "peer", "state", "from_at", "until_at", "length_us", "transmissions")


def card(found: Findings) -> Card:
    """The timeline of each partner, and its figures."""
    extract, runs = found.of(availability.DEFINITION), found.of(outages.DEFINITION)
    title = "Partner availability"
    body: tuple[Html, ...] = ()
    if extract.rows:
        lines = [(row["party"], row["peer"]) for row in extract.rows[:LINES_DRAWN]]
        table = listing(availability.DEFINITION, extract, _LISTED, caption=title)
        body = (table,)
        if runs.rows:
            height = 1.0 + 0.34 * len(lines)
            drawer = _drawer(lines, runs.rows, found.judged.as_of)
            plot = plots.Plot("availability", title, _says(extract), drawer, height, is_wide=True)
            intervals = behind(outages.DEFINITION, runs, _INTERVALS, caption=f"{title}, runs")
            body = (plots.picture(plot), intervals, table)
    return Card(
        "availability",
        title,
        "As the transmissions show it: down (the thick bar) from a transmission that was not "
        "accepted to the next one that was. Nothing is known in between.",
        body,
        "nothing was transmitted.",
        (availability.DEFINITION, outages.DEFINITION),
        is_wide=True,
    )


def _says(extract: Extract) -> str:
    worst = max((row["longest_outage_us"] or 0 for row in extract.rows), default=0)
    least = "at least " if extract.is_cut else ""
    return (
        f"{words.counted(extract.total, 'line')} of transmissions, "
        f"{words.count(extract.number(due.LINES_DOWN))} of them down at the end; the longest time "
        f"down was {least}{words.span(worst)}."
    )


def _drawer(lines: list[tuple[str, str]], rows: Rows, as_of: int) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        drawn = [row for row in rows if (row["party"], row["peer"]) in lines]
        start = min((row["from_at"] for row in drawn), default=as_of - 1)
        end = max((row["from_at"] + row["length_us"] for row in drawn), default=as_of)
        plots.rows_axis(axes, [plots.ends(party, peer) for party, peer in lines])
        # Strokes of one look beside each other are one path of the drawing.
        for row in sorted(drawn, key=lambda row: str(row["state"])):
            _bar(axes, lines.index((row["party"], row["peer"])), row, end - start)
        plots.time_axis(axes, start, end)

    return draw


def _bar(axes: Axes, line: int, row: Row, whole_us: int) -> None:
    is_up = row["state"] == "up"
    # What is too short to be seen is drawn as a hair, so that nothing is hidden.
    until = row["from_at"] + max(row["length_us"], whole_us // 500)
    ends = plots.moments([row["from_at"], until])
    colour, width = (plots.GREEN, 2.5) if is_up else (plots.RED, 9.0)
    axes.hlines(line, ends[0], ends[1], colors=colour, linewidth=width)
