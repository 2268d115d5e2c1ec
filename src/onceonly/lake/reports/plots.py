"""Charts as inline SVG that follow the page: light, dark and print.

matplotlib draws in stand-in colours, each of which is replaced by a CSS variable of the page, so
one drawing serves every colour scheme. Text stays text: it can be searched, copied and scaled.
Knows findings and matplotlib; no Spark, no page.
"""

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, Final

import matplotlib as mpl
import matplotlib.dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from onceonly.lake.reports.duplicate_causes import CAUSES
from onceonly.lake.reports.findings import Findings, Rows
from onceonly.message.instant import to_datetime

_COLOURS: Final = {
    "ink": "#010101",
    "muted": "#020202",
    "grid": "#030303",
    "one": "#040404",
    "two": "#050505",
    "three": "#060606",
    "four": "#070707",
    "good": "#080808",
}
"""Stand-ins: no real colour is this close to black, so replacing them is safe."""

# The classes of this module carry no types.
_dates: Any = matplotlib.dates

_INK, _MUTED, _GRID = _COLOURS["ink"], _COLOURS["muted"], _COLOURS["grid"]
_CYCLE: Final = tuple(_COLOURS[name] for name in ("one", "two", "three", "four"))

_SETTINGS: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "onceonly",
    "font.size": 9,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": _GRID,
    "grid.linewidth": 0.6,
    "text.color": _INK,
    # A dollar in a PartyId is a dollar.
    "text.parse_math": False,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "legend.frameon": False,
    "legend.labelcolor": _INK,
}

_WIDE_INCHES: Final = (9.6, 2.9)
_HALF_INCHES: Final = (4.7, 2.9)
_PAIRS_DRAWN: Final = 4
"""Lines in one chart: what an eye can tell apart; the tables have every pair."""


_EMPTY_BIN: Final = {"sent": 0, "acknowledged": 0, "eliminated": 0}


def every_bin(bins: Rows, width_us: int) -> list[Mapping[str, Any]]:
    """The bins in order, with those in which nothing was sent: a silence is drawn as one."""
    known = {row["bin_at"]: row for row in bins}
    starts = range(min(known), max(known) + width_us, width_us)
    return [known.get(at, {"bin_at": at, **_EMPTY_BIN}) for at in starts]


def promise(found: Findings) -> str:
    """Report 5: sent as a step line, acknowledged as an area, eliminated copies as thin bars."""

    def draw(axes: Axes) -> None:
        width_us = found.promise_width_us
        bins = every_bin(found.promise, width_us)
        starts = [row["bin_at"] for row in bins]
        edges: Any = [to_datetime(at) for at in (*starts, starts[-1] + width_us)]
        sent = [row["sent"] for row in bins]
        acked = [row["acknowledged"] for row in bins]
        axes.fill_between(
            edges,
            [*acked, acked[-1]],
            step="post",
            color=_COLOURS["good"],
            alpha=0.3,
            linewidth=0,
            label="acknowledged",
        )
        axes.step(
            edges,
            [*sent, sent[-1]],
            where="post",
            color=_COLOURS["one"],
            linewidth=1.6,
            label="sent",
        )
        middles: Any = [to_datetime(at + width_us // 2) for at in starts]
        eliminated = [row["eliminated"] for row in bins]
        axes.vlines(
            middles, 0, eliminated, color=_COLOURS["two"], linewidth=2.2, label="copies eliminated"
        )
        axes.set_ylim(bottom=0)
        axes.set_xlim(edges[0], edges[-1])
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        locator = _dates.AutoDateLocator(minticks=4, maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(_dates.ConciseDateFormatter(locator))
        axes.set_ylabel(f"messages per {_span(width_us / 1e6)}")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return _svg("promise", _WIDE_INCHES, draw) if found.promise else ""


def turnaround(found: Findings) -> str:
    """Report 6: share of messages acknowledged within a time, per pair."""

    def draw(axes: Axes) -> None:
        drawn = sorted(found.turnaround, key=_messages, reverse=True)[:_PAIRS_DRAWN]
        for colour, row in zip(_CYCLE, drawn, strict=False):
            curve = [max(value, 1e-3) for value in row["curve_s"]]
            shares = [100 * step / (len(curve) - 1) for step in range(len(curve))]
            label = f"{row['from_party']} → {row['to_party']}"
            axes.step(curve, shares, where="post", color=colour, linewidth=1.6, label=label)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _span(value)))
        axes.set_ylim(0, 100)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f} %"))
        axes.set_xlabel("first transmission to acknowledgement")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1, fontsize=7.5)

    return _svg("turnaround", _HALF_INCHES, draw) if found.turnaround else ""


def retries(found: Findings) -> str:
    """Report 8: messages by transmissions needed; above each bar, the share that it settled."""

    def draw(axes: Axes) -> None:
        numbers = [row["transmissions"] for row in found.retries]
        acked = [row["acknowledged"] for row in found.retries]
        rest = [row["messages"] - row["acknowledged"] for row in found.retries]
        axes.bar(numbers, acked, color=_COLOURS["good"], width=0.7, label="acknowledged")
        if any(rest):
            axes.bar(
                numbers, rest, bottom=acked, color=_COLOURS["two"], width=0.7, label="otherwise"
            )
        reached = sum(row["messages"] for row in found.retries)
        for row in found.retries:
            share = 100 * row["acknowledged"] / reached
            axes.annotate(
                f"{share:.0f} %",
                (row["transmissions"], row["messages"]),
                ha="center",
                va="bottom",
                fontsize=8,
                color=_MUTED,
            )
            reached -= row["messages"]
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        axes.margins(y=0.14)
        axes.set_xlabel("transmissions until the end")
        axes.set_ylabel("messages")
        if any(rest):
            axes.legend(loc="upper right")

    return _svg("retries", _HALF_INCHES, draw) if found.retries else ""


def duplicates(found: Findings) -> str:
    """Report 9: eliminated copies per pair, by cause."""
    columns = [(name, cause) for cause, name in CAUSES.items()]
    return _stacked("duplicates", found.duplicate_causes, columns, "copies eliminated")


def outcomes(found: Findings) -> str:
    """What the transport knew when each transmission ended; none of it is a verdict (R-05)."""
    columns = [
        ("sends_accepted", "accepted"),
        ("sends_refused", "refused"),
        ("sends_unknown", "unknown"),
        ("cut_off", "cut off by a crash"),
    ]
    return _stacked("outcomes", found.outcomes, columns, "transmissions")


def _stacked(name: str, rows: Any, columns: list[tuple[str, str]], what: str) -> str:
    shown = [row for row in rows if any(row[column] for column, _ in columns)][:8]

    def draw(axes: Axes) -> None:
        labels = [f"{row['from_party']}\n→ {row['to_party']}" for row in shown]
        lefts = [0] * len(shown)
        for colour, (column, label) in zip(_CYCLE, columns, strict=False):
            widths = [row[column] for row in shown]
            axes.barh(labels, widths, left=lefts, color=colour, height=0.55, label=label)
            lefts = [left + width for left, width in zip(lefts, widths, strict=True)]
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        axes.tick_params(axis="y", labelsize=7.5, length=0)
        axes.set_xlabel(what)
        axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, fontsize=8)

    return _svg(name, _HALF_INCHES, draw) if shown else ""


def _messages(row: Mapping[str, Any]) -> int:
    return int(row["messages"])


def _span(length_s: float) -> str:
    for unit, size_s in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if length_s >= size_s:
            return f"{length_s / size_s:.3g} {unit}"
    return f"{length_s * 1_000:.3g} ms"


def _svg(name: str, inches: tuple[float, float], draw: Callable[[Axes], None]) -> str:
    # matplotlib reads its settings when an artist is made, so all of it stays inside.
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": f"onceonly-{name}"}):
        figure = Figure(figsize=inches, layout="constrained")
        axes = figure.subplots()
        axes.grid(visible=True, axis="y")
        axes.set_axisbelow(True)
        draw(axes)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    drawn = out.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    for colour, stand_in in _COLOURS.items():
        drawn = drawn.replace(stand_in, f"var(--{colour})")
    # The ids of one chart must not meet those of another on the same page.
    drawn = drawn.replace('id="', f'id="{name}-').replace('="#', f'="#{name}-')
    return drawn.replace("url(#", f"url(#{name}-")
