"""The charts of the first page: counters over time as shapes of two drawings with one x axis.

Each drawing is `WIDTH` by `HEIGHT` units, stretched to the page's width, so that no text is in it.
Knows the API's counters, and neither calls nor templates.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from onceonly.api.counters import Counters, CountersQuery, CounterStep
from onceonly.console import spans
from onceonly.message.measures import span
from onceonly.message.word import Word

WIDTH: Final = 1000
HEIGHT: Final = 160
BAR: Final = 0.3
"""Width of a bar of duplicates, as a share of its bin: beside the area, not over it."""
LOWEST_DECADE: Final = -2
"""The latency axis begins at 10 ms: what is faster needs nobody's look."""
SHARES: Final = (50, 95, 99)


class ChartRange(Word):
    """How far back the charts look, in bins of which length."""

    name: str
    label: str
    step: CounterStep
    bin_s: int
    bins: int


RANGES: Final = {
    one.name: one
    for one in (
        ChartRange("15min", "15 min", "minute", 60, 15),
        ChartRange("1h", "1 h", "minute", 60, 60),
        ChartRange("24h", "24 h", "minute", 900, 96),
        ChartRange("30d", "30 d", "hour", 21_600, 120),
    )
}
"""As many bins as a screen shows side by side, each whole steps of what the gateway counts."""
USUAL: Final = RANGES["1h"]


class Bin(Word, kw_only=True):
    """What happened between two instants."""

    begins: datetime
    submitted: int = 0
    acknowledged: int = 0
    duplicates: int = 0
    latencies: tuple[int, ...] = ()
    p50_s: float | None = None
    p95_s: float | None = None
    p99_s: float | None = None


class Bar(Word, kw_only=True):
    """An upright rectangle, in units of a drawing."""

    x: float
    y: float
    width: float
    height: float


class Plots(Word, kw_only=True):
    """Both drawings: paths and bars, the labels of their axes, and the numbers that they show."""

    range: ChartRange
    bins: tuple[Bin, ...]
    submitted: int
    acknowledged: int
    duplicates: int
    most: int
    """The top of the first drawing, in messages a bin."""
    sent_line: str
    acknowledged_area: str
    gaps: tuple[Bar, ...]
    bars: tuple[Bar, ...]
    latency_lines: Mapping[str, str]
    """A path for p50, p95 and p99; empty where nothing was acknowledged."""
    latency_labels: tuple[str, ...]
    """Top, middle and bottom of the second drawing."""
    instants: tuple[datetime, ...]
    """Of the x axis, at equal distances; the last label is now."""


def range_of(name: str | None) -> ChartRange:
    """The range of this name, or the usual one."""
    return RANGES.get(name or "", USUAL)


def query_of(chosen: ChartRange, now: datetime) -> CountersQuery:
    """Which counters a range needs; its last bin is the one that is not over."""
    begins = _begins(chosen, now)
    return CountersQuery(
        since=_text(begins),
        until=_text(begins + timedelta(seconds=chosen.bin_s * chosen.bins)),
        step=chosen.step,
    )


def plots_of(chosen: ChartRange, now: datetime, found: Counters) -> Plots:
    """What is drawn of the counters."""
    bins = _bins(chosen, _begins(chosen, now), found)
    most = _round_up(max(max(one.submitted, one.acknowledged, one.duplicates) for one in bins))
    high = max((one.p99_s for one in bins if one.p99_s is not None), default=1.0)
    top = max(math.ceil(math.log10(max(high, 1e-9))), LOWEST_DECADE + 2)
    # The middle of the axis is a power of ten as well.
    top += (top - LOWEST_DECADE) % 2
    quarter = timedelta(seconds=chosen.bin_s * chosen.bins // 4)

    def height_of(latency_s: float) -> float:
        return (
            HEIGHT
            * (math.log10(max(latency_s, 10**LOWEST_DECADE)) - LOWEST_DECADE)
            / (top - LOWEST_DECADE)
        )

    return Plots(
        range=chosen,
        bins=bins,
        submitted=sum(one.submitted for one in bins),
        acknowledged=sum(one.acknowledged for one in bins),
        duplicates=sum(one.duplicates for one in bins),
        most=most,
        sent_line=_steps([one.submitted for one in bins], lambda n: HEIGHT * n / most),
        acknowledged_area=_area([HEIGHT * one.acknowledged / most for one in bins]),
        gaps=_gaps(bins, most),
        bars=_bars(bins, most),
        latency_lines={
            f"p{share}": _steps([getattr(one, f"p{share}_s") for one in bins], height_of)
            for share in SHARES
        },
        latency_labels=tuple(
            span(10.0**decade) for decade in (top, (top + LOWEST_DECADE) // 2, LOWEST_DECADE)
        ),
        instants=tuple(bins[0].begins + quarter * n for n in range(4)),
    )


def quantile_s(bounds_s: Sequence[float], latencies: Sequence[int], share: float) -> float | None:
    """The latency that this share does not exceed, by interpolation in its class.

    The API says it of its own steps; here it is that of several together. What is above the last
    bound counts as that bound.
    """
    rank, below, low_s = share * sum(latencies), 0, 0.0
    if not rank:
        return None
    for bound_s, count in zip(bounds_s, latencies, strict=False):
        if count and below + count >= rank:
            return low_s + (bound_s - low_s) * (rank - below) / count
        below, low_s = below + count, bound_s
    return low_s


def _begins(chosen: ChartRange, now: datetime) -> datetime:
    """When the first bin begins: bins are cut at whole multiples, so that they do not wander."""
    last = now.timestamp() // chosen.bin_s * chosen.bin_s
    return datetime.fromtimestamp(last - chosen.bin_s * (chosen.bins - 1), now.tzinfo)


def _text(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def _bins(chosen: ChartRange, begins: datetime, found: Counters) -> tuple[Bin, ...]:
    length = timedelta(seconds=chosen.bin_s)
    bins = [Bin(begins=begins + length * n) for n in range(chosen.bins)]
    for counter in found.counters:
        at = (spans.moment(counter.begins_at) - begins) // length
        if 0 <= at < len(bins):
            old = bins[at]
            bins[at] = Bin(
                begins=old.begins,
                submitted=old.submitted + counter.submitted,
                acknowledged=old.acknowledged + counter.acknowledged,
                duplicates=old.duplicates + counter.duplicates,
                latencies=_added(old.latencies, counter.latencies),
            )
    return tuple(_with_latency(one, found.latency_bounds_s) for one in bins)


def _added(some: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
    if not some or not more:
        return some or more
    return tuple(a + b for a, b in zip(some, more, strict=True))


def _with_latency(one: Bin, bounds_s: Sequence[float]) -> Bin:
    p50, p95, p99 = (quantile_s(bounds_s, one.latencies, share / 100) for share in SHARES)
    return Bin(
        begins=one.begins,
        submitted=one.submitted,
        acknowledged=one.acknowledged,
        duplicates=one.duplicates,
        latencies=one.latencies,
        p50_s=p50,
        p95_s=p95,
        p99_s=p99,
    )


def _round_up(most: int) -> int:
    """The top of an axis: 1, 2 or 5 times a power of ten, and never 0."""
    decade = int(f"1{'0' * (len(str(most)) - 1)}")
    return next(top for top in (decade, 2 * decade, 5 * decade, 10 * decade) if top >= most)


def _steps(values: Sequence[float | None], height_of: Callable[[float], float]) -> str:
    """A step for each value; None leaves a hole."""
    width, words, is_on = WIDTH / len(values), [], False
    for n, value in enumerate(values):
        if value is None:
            is_on = False
            continue
        y = HEIGHT - height_of(value)
        words.append(f"V{y:.1f}" if is_on else f"M{n * width:.1f} {y:.1f}")
        words.append(f"H{(n + 1) * width:.1f}")
        is_on = True
    return "".join(words)


def _area(heights: Sequence[float]) -> str:
    width = WIDTH / len(heights)
    steps = (f"V{HEIGHT - height:.1f}H{(n + 1) * width:.1f}" for n, height in enumerate(heights))
    return f"M0 {HEIGHT}{''.join(steps)}V{HEIGHT}Z"


def _gaps(bins: Sequence[Bin], most: int) -> tuple[Bar, ...]:
    """What was sent and not acknowledged in the same bin."""
    width = WIDTH / len(bins)
    return tuple(
        Bar(
            x=round(n * width, 1),
            y=round(HEIGHT - HEIGHT * one.submitted / most, 1),
            width=round(width, 1),
            height=round(HEIGHT * (one.submitted - one.acknowledged) / most, 1),
        )
        for n, one in enumerate(bins)
        if one.submitted > one.acknowledged
    )


def _bars(bins: Sequence[Bin], most: int) -> tuple[Bar, ...]:
    width = WIDTH / len(bins)
    return tuple(
        Bar(
            x=round((n + (1 - BAR) / 2) * width, 1),
            y=round(HEIGHT - HEIGHT * one.duplicates / most, 1),
            width=round(BAR * width, 1),
            height=round(HEIGHT * one.duplicates / most, 1),
        )
        for n, one in enumerate(bins)
        if one.duplicates
    )
