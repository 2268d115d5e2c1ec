"""Report 5 on the page: what was sent, and what of it is acknowledged by now."""

from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.bins import every_bin
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Extract, Findings, Row
from onceonly.lake.page.listing import behind
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import promise

DEFINITION: Final = promise.DEFINITION
_BEHIND: Final = (
    *("bin_at", "sent", "acknowledged", "handed_over", "settled", "eliminated"),
    "completeness_share",
)


def card(found: Findings) -> Card:
    """The promise chart."""
    bins = every_bin(DEFINITION, found.whole(DEFINITION).rows, found.width_us(DEFINITION))
    title = "Sent and acknowledged"
    body: tuple[Html, ...] = ()
    if bins:
        drawer = _drawer(bins, found.width_us(DEFINITION))
        plot = plots.Plot("promise", title, _says(bins), drawer, 3.2, is_wide=True)
        body = (plots.picture(plot), behind(DEFINITION, Extract(bins), _BEHIND, caption=title))
    return Card(
        "promise",
        title,
        "By the time of the first transmission. A hatched gap: sent then, and by now neither "
        "acknowledged nor ended otherwise.",
        body,
        "nothing was sent for which an acknowledgement was agreed.",
        (DEFINITION,),
        is_wide=True,
    )


def _says(bins: list[Row]) -> str:
    sent, acked = (sum(row[name] for row in bins) for name in ("sent", "acknowledged"))
    gaps = sum(row["sent"] > row["acknowledged"] + row["settled"] for row in bins)
    return (
        f"{words.counted(sent, 'message')} sent, {words.count(acked)} acknowledged, "
        f"{words.count(sum(row['eliminated'] for row in bins))} copies eliminated, "
        f"from {words.instant(bins[0]['bin_at'])} UTC on in {words.counted(len(bins), 'bin')}; "
        f"{words.count(gaps)} of them with messages that are still open."
    )


def _drawer(bins: list[Row], width_us: int) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        starts = [row["bin_at"] for row in bins]
        edges = plots.moments([*starts, starts[-1] + width_us])
        _areas(axes, edges, bins)
        middles = plots.moments([at + width_us // 2 for at in starts])
        eliminated = [row["eliminated"] for row in bins]
        if any(eliminated):
            style: dict[str, Any] = {"color": plots.ORANGE, "linewidth": 2.2}
            axes.vlines(middles, 0, eliminated, label="copies eliminated", **style)
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, axis="y")
        plots.count_axis(axes.yaxis, f"messages per {words.span(width_us)}")
        plots.time_axis(axes, starts[0], starts[-1] + width_us)
        plots.legend_above(axes, 5)

    return draw


def _areas(axes: Axes, edges: Any, bins: list[Row]) -> None:
    acked = _stepped(bins, "acknowledged")
    ended = [one + two for one, two in zip(acked, _stepped(bins, "settled"), strict=True)]
    sent = _stepped(bins, "sent")
    shape: dict[str, Any] = {"step": "post", "linewidth": 0}
    axes.fill_between(edges, acked, color=plots.GREEN, alpha=0.35, label="acknowledged", **shape)
    if ended != acked:
        grey: dict[str, Any] = {"color": plots.MUTED, "alpha": 0.4, "label": "ended otherwise"}
        axes.fill_between(edges, acked, ended, **grey, **shape)
    if ended != sent:
        gap: dict[str, Any] = {
            "facecolor": "none",
            "edgecolor": plots.RED,
            "hatch": "////",
            "label": "open",
        }
        axes.fill_between(edges, ended, sent, **gap, **shape)
    axes.step(edges, sent, where="post", color=plots.BLUE, linewidth=1.6, label="sent")


def _stepped(bins: list[Row], name: str) -> list[int]:
    values = [row[name] for row in bins]
    return [*values, values[-1]]
