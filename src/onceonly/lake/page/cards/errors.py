"""Report 17 on the page: where errors come from, and whether they grow."""

from typing import Final

from matplotlib.figure import Figure

from onceonly.lake.page import plots, words
from onceonly.lake.page.bins import starts_of
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, Rows
from onceonly.lake.page.listing import behind
from onceonly.lake.page.markup import Html
from onceonly.lake.reports import error_pareto, error_trend

BARS: Final = 9
"""Bars in the picture, with one more for the rest."""
_LISTED: Final = (
    *("phase", "code", "occurrences", "messages", "phase_share", "party", "peer", "transport"),
    *("first_at", "last_at"),
)


def pareto(found: Findings) -> Card:
    """The most frequent errors first."""
    definition = error_pareto.DEFINITION
    extract = found.of(definition)
    title = "Errors, the most frequent first"
    body: tuple[Html, ...] = ()
    if extract.rows:
        totals = _totals(found.whole(definition).rows)
        labels = [_kind(phase, code) for (phase, code), _ in totals]
        values = [value for _, value in totals]
        if len(values) > BARS:
            values = [*values[:BARS], sum(values[BARS:])]
            labels = [*labels[:BARS], "all others"]
        says = "; ".join(f"{a} {words.count(b)}" for a, b in zip(labels, values, strict=True))

        def draw(figure: Figure) -> None:
            plots.pareto(figure.subplots(), labels, values, "occurrences")

        plot = plots.Plot("errors", title, says, draw, 0.9 + 0.24 * len(values))
        body = (plots.picture(plot), behind(definition, extract, _LISTED, caption=title))
    return Card(
        "errors",
        title,
        "By phase and code. One failure may show in several phases: a transmission that was "
        "refused, and later the verdict.",
        body,
        "no error occurred.",
        (definition,),
    )


def _kind(phase: str, code: str) -> str:
    return f"{plots.label(phase, 12)}: {plots.label(code, 22)}"


def _totals(rows: Rows) -> list[tuple[tuple[str, str], int]]:
    sums: dict[tuple[str, str], int] = {}
    for row in rows:
        key = (row["phase"], row["code"])
        sums[key] = sums.get(key, 0) + row["occurrences"]
    return sorted(sums.items(), key=lambda one: (-one[1], one[0]))


def trend(found: Findings) -> Card:
    """The most frequent errors over time."""
    definition = error_trend.DEFINITION
    extract = found.of(definition)
    title = "Errors over time"
    body: tuple[Html, ...] = ()
    if extract.rows:
        kinds = [kind for kind, _ in _totals(extract.rows)][: len(plots.CYCLE)]
        says = "Drawn are " + ", ".join(_kind(phase, code) for phase, code in kinds) + "."
        drawer = _lines(extract.rows, kinds, found.width_us(definition))
        plot = plots.Plot("error-trend", title, says, drawer)
        columns = ("bin_at", "phase", "code", "occurrences")
        body = (plots.picture(plot), behind(definition, extract, columns, caption=title))
    return Card(
        "error-trend",
        title,
        "The most frequent ones, in spans of time.",
        body,
        "no error occurred.",
        (definition,),
    )


def _lines(rows: Rows, kinds: list[tuple[str, str]], width_us: int) -> plots.Drawer:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        starts = starts_of(rows, width_us)
        middles = plots.moments([at + width_us // 2 for at in starts])
        dot = plots.dot(len(starts))
        known = {(row["bin_at"], row["phase"], row["code"]): row["occurrences"] for row in rows}
        for (phase, code), (colour, dash) in zip(kinds, plots.CYCLE, strict=False):
            values = [known.get((at, phase, code), 0) for at in starts]
            told = f" {_kind(phase, code)}"
            axes.plot(middles, values, color=colour, linestyle=dash, marker=dot, label=told)
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, axis="y")
        plots.count_axis(axes.yaxis, "occurrences")
        plots.time_axis(axes, starts[0], starts[-1] + width_us)
        plots.legend_above(axes, 1)

    return draw
