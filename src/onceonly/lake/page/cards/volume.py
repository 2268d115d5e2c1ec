"""Report 14 on the page: what was exchanged."""

from typing import Any, Final

from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.bins import every_bin
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Extract, Findings, Row
from onceonly.lake.page.listing import PAIR, behind, listing
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import volume

DEFINITION: Final = volume.DEFINITION
_BEHIND: Final = ("bin_at", "messages", "payload_bytes", "largest_bytes")
_LISTED: Final = (PAIR, "service", "action", "messages", "payload_bytes", "largest_bytes")


def card(found: Findings) -> Card:
    """Messages and bytes over time, and by pair, Service and Action."""
    bins = every_bin(DEFINITION, found.whole(DEFINITION).rows, found.width_us(DEFINITION))
    title = "Volume"
    body: tuple[Html, ...] = ()
    if bins:
        messages = sum(row["messages"] for row in bins)
        size_bytes = sum(row["payload_bytes"] for row in bins)
        says = f"{words.counted(messages, 'message')} with {words.size(size_bytes)} of payload."
        drawer = _drawer(bins, found.width_us(DEFINITION))
        plot = plots.Plot("volume", title, says, drawer, 3.2, is_wide=True)
        kinds = listing(DEFINITION, found.of(DEFINITION), _LISTED, caption="Volume by action")
        numbers = behind(DEFINITION, Extract(bins), _BEHIND, caption=title)
        body = (plots.picture(plot), numbers, kinds)
    return Card(
        "volume",
        title,
        "As submitted; sizes are those of the payloads.",
        body,
        "nothing was submitted.",
        (DEFINITION,),
        is_wide=True,
    )


def _drawer(bins: list[Row], width_us: int) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1)
        starts = [row["bin_at"] for row in bins]
        edges = plots.moments([*starts, starts[-1] + width_us])
        shown = ((upper, "messages", plots.BLUE), (lower, "payload_bytes", plots.PURPLE))
        for axes, name, colour in shown:
            values = [row[name] for row in bins]
            style: dict[str, Any] = {"color": colour, "alpha": 0.55, "linewidth": 0}
            axes.fill_between(edges, [*values, values[-1]], step="post", **style)
            axes.set_ylim(bottom=0)
            axes.grid(visible=True, axis="y")
            plots.time_axis(axes, starts[0], starts[-1] + width_us)
        upper.tick_params(axis="x", labelbottom=False)
        plots.count_axis(upper.yaxis, "messages")
        plots.size_axis(lower.yaxis, "payload")

    return draw
