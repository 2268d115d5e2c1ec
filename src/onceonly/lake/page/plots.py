"""Pictures as inline SVG that follow the page: light, dark and print.

matplotlib draws in stand-in colours, each of which is replaced by a CSS variable of the page, so
one drawing serves every colour scheme. Text stays text: it can be searched, copied and scaled.
The colours are those of Okabe and Ito, which nearly everybody can tell apart; none of them says
anything alone. Knows matplotlib; no Spark, no page, no report.
"""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final

import matplotlib as mpl
import matplotlib.dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    MaxNLocator,
    MultipleLocator,
    NullLocator,
)

from onceonly.lake.page import words
from onceonly.lake.page.compact import compact
from onceonly.lake.page.markup import Html, tag
from onceonly.lake.page.signs import plainly

_STAND_INS: Final = {
    "ink": "#010101",
    "muted": "#020202",
    "grid": "#030303",
    "blue": "#040404",
    "orange": "#050505",
    "green": "#060606",
    "purple": "#070707",
    "red": "#080808",
    "sky": "#090909",
    "card": "#0a0a0a",
}
"""No real colour is this close to black, so replacing them is safe."""

INK, MUTED, GRID, CARD = (_STAND_INS[name] for name in ("ink", "muted", "grid", "card"))
BLUE, ORANGE, GREEN = (_STAND_INS[name] for name in ("blue", "orange", "green"))
PURPLE, RED, SKY = (_STAND_INS[name] for name in ("purple", "red", "sky"))
CYCLE: Final = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), (PURPLE, ":"))
"""Colour and dash of one line each: what an eye can tell apart, by either."""

WIDE_INCHES: Final = 9.8
HALF_INCHES: Final = 4.7
PHONE_INCHES: Final = 4.0

_MS, _S, _MIN, _H, _DAY = 1_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
_TENS: Final = tuple(digit * 10**zeros for zeros in range(7) for digit in (1, 2, 5))
_STEPS_US: Final = (
    *(digits * unit for unit in (1, _MS) for digits in _TENS[:9]),
    *(digits * unit for unit in (_S, _MIN) for digits in (1, 2, 5, 10, 15, 30)),
    *(hours * _H for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in _TENS),
)
"""From one tick to the next: what a clock or a calendar counts in, and nobody has to divide."""
_DECADES_US: Final = (
    *(digits * unit for unit in (1, _MS) for digits in (1, 10, 100)),
    *(digits * unit for unit in (_S, _MIN) for digits in (1, 10)),
    *(_H, 10 * _H, *(days * _DAY for days in _TENS[3::3])),
)
"""The ticks on logarithms of time; a day is too close to ten hours to be told apart from them."""
_STEPS_BYTES: Final = tuple(1 << power for power in range(63))
_STEPS_MAX: Final = 5
"""Steps on one axis."""
_TICKS_MAX: Final = 6
"""Ticks on one axis of logarithms."""

# The classes of this module carry no types.
_dates: Any = matplotlib.dates

_SETTINGS: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "timezone": "UTC",
    "font.size": 9,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "text.color": INK,
    # A dollar in a PartyId is a dollar.
    "text.parse_math": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "legend.fontsize": 8.5,
}
_NO_METADATA: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
_OWN_STYLE: Final = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)


Drawer = Callable[[Figure], None]
"""What draws a picture into an empty figure."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One picture: what it is called, what it says in words, and how it is drawn.

    `draw` is called once for each width, with an empty figure.
    """

    name: str
    title: str
    says: str
    """For whoever cannot see it: what the picture shows, with its figures."""
    draw: Drawer
    height_inches: float = 2.9
    is_wide: bool = False


def picture(plot: Plot) -> Html:
    """The plot as a figure of the page; a wide one has a second form for narrow screens."""
    if not plot.is_wide:
        return tag("figure", _svg(plot, HALF_INCHES, plot.name), kind="plot half")
    return tag(
        "figure",
        tag("div", _svg(plot, WIDE_INCHES, plot.name), kind="broad"),
        tag("div", _svg(plot, PHONE_INCHES, f"{plot.name}-narrow"), kind="narrow"),
        kind="plot wide",
    )


def _svg(plot: Plot, width_inches: float, name: str) -> Html:
    drawn = _drawn(plot, width_inches, name)
    opening, rest = _OWN_STYLE.sub("", drawn[drawn.index("<svg") :]).split(">", 1)
    [box] = re.findall(r'viewBox="[^"]*"', opening)
    for colour, stand_in in _STAND_INS.items():
        rest = rest.replace(stand_in, f"var(--{colour})")
    rest = compact(rest)
    # The ids of one picture must not meet those of another on the same page.
    rest = rest.replace('id="', f'id="{name}-').replace('="#', f'="#{name}-')
    rest = rest.replace("url(#", f"url(#{name}-")
    title = tag("title", plot.title, id=f"{name}-picture-title")
    said = tag("desc", plot.says, id=f"{name}-picture-desc")
    # matplotlib escapes the text that it places, and the rest of the drawing is its own.
    return Html(
        f'<svg {box} role="img" '
        f'aria-labelledby="{name}-picture-title {name}-picture-desc">{title}{said}{rest}'
    )


def _drawn(plot: Plot, width_inches: float, name: str) -> str:
    # matplotlib reads its settings when an artist is made, so all of it stays inside. What a
    # machine has set for its own pictures is left out: everybody gets the same page.
    with mpl.rc_context(), warnings.catch_warnings():
        # Whether a font has a sign is the reader's business: the text stays text.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        # Where the widest step gives one tick more than was asked for, that is what is wanted.
        warnings.filterwarnings("ignore", message=r"AutoDateLocator was unable to pick")
        mpl.rcdefaults()
        mpl.rcParams.update({**_SETTINGS, "svg.hashsalt": f"onceonly-{name}"})
        figure = Figure(figsize=(width_inches, plot.height_inches), layout="constrained")
        plot.draw(figure)
        out = StringIO()
        figure.savefig(out, format="svg", metadata=_NO_METADATA)
    return out.getvalue()


def label(name: str | None, most: int = words.NAME_SHORT) -> str:
    """A foreign name as a label: short, and without what XML has no place for."""
    return plainly(name, most) if name else "?"


def ends(sender: str | None, receiver: str | None, most: int = 18) -> str:
    """Who sends to whom, as a label."""
    return f"{label(sender, most)} → {label(receiver, most)}"


def is_narrow(figure: Any) -> bool:
    """Whether it is drawn for a phone or half a page."""
    return bool(figure.get_figwidth() < WIDE_INCHES)


DOTS: Final = 24
"""Points with a dot each; of more the line alone tells."""


def dot(points: int) -> str:
    """What marks each point of a line of so many."""
    return "." if points <= DOTS else ""


def count_axis(axis: Any, unit: str = "") -> None:
    """Whole numbers, with narrow spaces between thousands."""
    axis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axis.set_major_formatter(FuncFormatter(lambda value, _: words.count(value)))
    axis.set_label_text(unit)


def span_axis(axis: Any, unit: str = "") -> None:
    """Logarithms of microseconds, as spans of time; what they show is drawn before."""
    low, high = axis.get_view_interval()
    shown = [at for at in _DECADES_US if low <= at <= high]
    if len(shown) < 2:  # One tick tells no distance.
        step = _step(axis, _STEPS_US)
        shown = list(range(-(-int(low) // step) * step, int(high) + 1, step))
    axis.set_major_locator(FixedLocator(shown[:: -(-len(shown) // _TICKS_MAX) or 1]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: words.span(value)))
    axis.set_label_text(unit)


def share_axis(axis: Any) -> None:
    """Shares from 0 to 1, in per cent."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))


def time_axis(axes: Axes, start: int, end: int) -> None:
    """Instants from `start` to `end`, microseconds UTC."""
    few = is_narrow(axes.figure)
    locator = _dates.AutoDateLocator(minticks=3, maxticks=5 if few else 9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(_dates.ConciseDateFormatter(locator))
    limits: Any = (words.moment(start), words.moment(max(end, start + 1)))
    axes.set_xlim(*limits)
    axes.annotate("UTC", (0, 0), (-13, -8), "axes fraction", "offset points", ha="right", **_SMALL)


_SMALL: Final[dict[str, Any]] = {"fontsize": 7.5, "color": MUTED, "va": "top"}


def moments(instants: Sequence[int]) -> Any:
    """Instants as matplotlib wants them."""
    return [words.moment(at) for at in instants]


def legend_above(axes: Axes, columns: int) -> None:
    """The legend over the picture, in one column where the screen is narrow."""
    fits = 2 if is_narrow(axes.figure) and columns > 2 else columns
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=fits, borderaxespad=0.2)


def rows_axis(axes: Axes, labels: Sequence[str]) -> None:
    """One row for each label, the first on top; labels are made by `label`."""
    folded = [label.replace(" → ", "\n→ ") for label in labels]
    shown = folded if is_narrow(axes.figure) else labels
    axes.set_yticks(range(len(labels)), labels=shown, fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")


def beside(axes: Axes, at: tuple[Any, float], told: str, **style: Any) -> None:
    """Words beside a point, as the end of a bar; a space before them would not be drawn."""
    style = {"fontsize": 8, "va": "center", **style}
    axes.annotate(told, at, (4, 0), textcoords="offset points", **style)


def pareto(axes: Axes, labels: Sequence[str], values: Sequence[int], unit: str) -> None:
    """The largest first; beside each bar its count, and the share of all down to it."""
    whole, so_far = sum(values), 0
    rows_axis(axes, labels)
    axes.barh(range(len(values)), values, color=BLUE, height=0.62)
    for place, value in enumerate(values):
        so_far += value
        told = f"{words.count(value)}, together {words.share(so_far / whole)}"
        beside(axes, (value, place), told, color=MUTED)
    axes.set_xlim(0, max(values) * 1.6)
    count_axis(axes.xaxis, unit)


def plain_span_axis(axis: Any) -> None:
    """Microseconds as spans of time, evenly spaced; what they show is drawn before."""
    axis.set_major_locator(MultipleLocator(_step(axis, _STEPS_US)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: words.span(value)))


def size_axis(axis: Any, unit: str = "") -> None:
    """Bytes as sizes; what they show is drawn before."""
    axis.set_major_locator(MultipleLocator(_step(axis, _STEPS_BYTES)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: words.size(value)))
    axis.set_label_text(unit)


def _step(axis: Any, steps: Sequence[int]) -> int:
    """The least of the steps that leaves few ticks on what the axis shows; drawn before."""
    low, high = axis.get_view_interval()
    return next((step for step in steps if (high - low) / step <= _STEPS_MAX), steps[-1])
