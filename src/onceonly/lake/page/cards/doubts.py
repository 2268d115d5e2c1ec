"""Report 2 on the page: messages whose fate is not known, and whether they pile up."""

from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.bins import starts_of
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, Rows
from onceonly.lake.page.listing import PAIR, behind, listing
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import in_doubt, in_doubt_ages
from onceonly.lake.reports.columns import AGES

_REGISTER: Final = (
    *("suggested_action", "partner_evidence", "age_us", PAIR, "message_id", "verdict"),
    *("transmissions", "last_sent_at", "last_answer", "agreement_id"),
)
_HATCHES: Final = ("", "", "", "", "//", "xx")
"""The oldest are told apart by more than a shade."""


def register(found: Findings) -> Card:
    """Every message in doubt, each with the one thing to do.

    First those that no class of differences tells of: the page has them nowhere else.
    """
    extract = found.of(in_doubt.DEFINITION)
    body: tuple[Html, ...] = ()
    if extract.rows:
        body = (listing(in_doubt.DEFINITION, extract, _REGISTER, caption="In-doubt register"),)
    return Card(
        "in-doubt",
        "In-doubt register",
        "Sent, not acknowledged, not refused, and given up waiting for. First those that are in no "
        "class of differences, then the oldest. Sending the same message again is always safe; "
        "sending it under a new MessageId is not.",
        body,
        "no message is in doubt.",
        (in_doubt.DEFINITION,),
        is_wide=True,
        is_long=True,
    )


def ages(found: Findings) -> Card:
    """How many were in doubt at the end of each bin, by age."""
    definition = in_doubt_ages.DEFINITION
    extract = found.whole(definition)
    title = "Messages in doubt, by age"
    body: tuple[Html, ...] = ()
    if extract.rows:
        drawer = _drawer(extract.rows, found.width_us(definition))
        plot = plots.Plot("in-doubt-ages", title, _says(extract.rows), drawer, is_wide=True)
        columns = ("bin_at", "age_bucket", "messages")
        body = (plots.picture(plot), behind(definition, extract, columns, caption=title))
    return Card(
        "in-doubt-ages",
        title,
        "At the end of each span of time, how many messages were in doubt, and for how long "
        "already. One that is being sent again is in doubt until it has an end; the register "
        "leaves it out, since somebody sees to it. What grows fuller in colour is not being "
        "settled.",
        body,
        "no message was ever in doubt.",
        (definition,),
        is_wide=True,
    )


def _says(rows: Rows) -> str:
    sums: dict[int, int] = {}
    for row in rows:
        sums[row["bin_at"]] = sums.get(row["bin_at"], 0) + row["messages"]
    return (
        f"At most {words.count(max(sums.values()))} in doubt at once; at the end "
        f"{words.count(sums[max(sums)])}."
    )


def _drawer(rows: Rows, width_us: int) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        starts = starts_of(rows, width_us)
        edges = plots.moments([*starts, starts[-1] + width_us])
        floor = [0] * len(edges)
        for place, age in enumerate(AGES):
            counts = {row["bin_at"]: row["messages"] for row in rows if row["age_bucket"] == age}
            values = [counts.get(at, 0) for at in starts]
            top = [low + value for low, value in zip(floor, [*values, values[-1]], strict=True)]
            if any(values):
                _layer(axes, (edges, floor, top), place, age)
            floor = top
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, axis="y")
        plots.count_axis(axes.yaxis, "messages in doubt")
        plots.time_axis(axes, starts[0], starts[-1] + width_us)
        plots.legend_above(axes, len(AGES))

    return draw


def _layer(axes: Axes, shape: tuple[Any, Any, Any], place: int, age: str) -> None:
    style: dict[str, Any] = {"facecolor": plots.ORANGE, "edgecolor": plots.INK, "linewidth": 0}
    depth = 0.2 + 0.8 * place / (len(AGES) - 1)
    axes.fill_between(*shape, step="post", alpha=depth, hatch=_HATCHES[place], label=age, **style)
