"""Report 8 on the page: what first tries and retries are worth."""

from typing import Any, Final

from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, Row, Rows
from onceonly.lake.page.listing import behind
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import retries

DEFINITION: Final = retries.DEFINITION
BARS: Final = 10
"""Transmissions with a bar of their own."""
_BEHIND: Final = (
    *("transmission", "reached", "acknowledged", "needless", "given_up", "waiting"),
    *("effectiveness_share", "payload_bytes"),
)


def card(found: Findings) -> Card:
    """How many messages got to each transmission, and how many it settled."""
    extract = found.whole(DEFINITION)
    title = "What each transmission was worth"
    rows = [row for row in extract.rows if row["reached"]][:BARS]
    body: tuple[Html, ...] = ()
    if rows:
        plot = plots.Plot("retries", title, _says(rows), _drawer(rows), 2.8)
        body = (plots.picture(plot), behind(DEFINITION, extract, _BEHIND, caption=title))
    return Card(
        "retries",
        title,
        "Messages that came to a first, second, third transmission. Above each bar: how many of "
        "them that one settled. Needless: the receiver had the message already, only its "
        "acknowledgement was missing.",
        body,
        "nothing that was sent has come to an end yet.",
        (DEFINITION,),
    )


def _says(rows: list[Row]) -> str:
    told = [
        f"transmission {row['transmission']}: {words.count(row['acknowledged'])} of "
        f"{words.counted(row['reached'], 'message')} acknowledged"
        for row in rows
    ]
    return "; ".join(told) + "."


def _drawer(rows: Rows) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        numbers = [row["transmission"] for row in rows]
        needless = [min(row["needless"], row["acknowledged"]) for row in rows]
        useful = [row["acknowledged"] - less for row, less in zip(rows, needless, strict=True)]
        acked = [row["acknowledged"] for row in rows]
        beyond = [row["reached"] - row["acknowledged"] for row in rows]
        axes.bar(numbers, useful, color=plots.GREEN, width=0.7, label="acknowledged")
        if any(needless):
            hatched: dict[str, Any] = {"facecolor": plots.CARD, "edgecolor": plots.GREEN}
            hatched |= {"hatch": "////", "label": "acknowledged, needless"}
            axes.bar(numbers, needless, bottom=useful, width=0.7, **hatched)
        if any(beyond):
            pale: dict[str, Any] = {"color": plots.GRID, "label": "went on, or gave up"}
            axes.bar(numbers, beyond, bottom=acked, width=0.7, **pale)
        for row in rows:
            told = words.share(row["acknowledged"] / row["reached"])
            top = (row["transmission"], row["reached"])
            axes.annotate(told, top, ha="center", va="bottom", fontsize=8, color=plots.MUTED)
        axes.set_xticks(numbers)
        axes.margins(y=0.14)
        axes.grid(visible=True, axis="y")
        axes.set_xlabel("transmission")
        plots.count_axis(axes.yaxis, "messages")
        plots.legend_above(axes, 2)

    return draw
