"""The charts of the first page: counters over time as bins, steps and areas."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.api.counters import Counter, Counters, Happened
from onceonly.console import plots
from onceonly.console.plots import HEIGHT, RANGES, WIDTH, plots_of, quantile_s, query_of
from onceonly.store.contract import counters as kept

NOW = datetime(2026, 11, 26, 12, 34, 56, tzinfo=UTC)
BOUNDS_S = kept.LATENCY_BOUNDS_S
NONE = {
    **dict.fromkeys(("submitted", "transmitted", "acknowledged", "first_try", "sent"), 0),
    **dict.fromkeys(("in_doubt", "failed", "expired", "cancelled", "late", "received"), 0),
    **dict.fromkeys(("handed_over", "duplicates", "collisions", "refused", "errors"), 0),
    **dict.fromkeys(("security", "bugs"), 0),
    **dict.fromkeys(("latency_mean_s", "latency_p50_s", "latency_p95_s", "latency_p99_s"), None),
    "latencies": (),
}


def classes(*found):
    """Latencies by class: pairs of a class and how many are in it."""
    counts = dict(found)
    return tuple(counts.get(n, 0) for n in range(kept.CLASSES))


def counted(*steps, step="minute"):
    """What the API says of these steps: pairs of how long ago each began, and its numbers."""
    return Counters(
        step=step,
        agreement=None,
        since="2026-11-26T00:00:00Z",
        until="2026-11-26T12:35:00Z",
        counted_seq=9,
        last_seq=9,
        latency_bounds_s=BOUNDS_S,
        counters=tuple(
            Counter(begins_at=(NOW - before).isoformat(), **{**NONE, **numbers})
            for before, numbers in steps
        ),
        together=Happened(**NONE),
    )


MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("chosen", RANGES.values(), ids=RANGES)
def test_a_range_ends_with_the_bin_that_is_not_over(chosen):
    """It begins as many bins before, on a whole step of the counters."""
    query = query_of(chosen, NOW)
    since, until = (datetime.fromisoformat(text) for text in (query.since, query.until))
    assert until - since == timedelta(seconds=chosen.bin_s * chosen.bins)
    assert until - timedelta(seconds=chosen.bin_s) <= NOW < until
    drawn = plots_of(chosen, NOW, counted())
    assert (drawn.bins[0].begins, len(drawn.bins)) == (since, chosen.bins)


def test_steps_of_one_bin_are_added():
    """Also their latencies, from which the shares of the whole bin are told."""
    first = {"submitted": 2, "acknowledged": 1, "latencies": classes((1, 1))}
    second = {"submitted": 3, "acknowledged": 3, "duplicates": 1, "latencies": classes((4, 3))}
    drawn = plots_of(RANGES["24h"], NOW, counted((MINUTE, first), (2 * MINUTE, second)))
    last = drawn.bins[-1]
    assert (last.submitted, last.acknowledged, last.duplicates) == (5, 4, 1)
    assert last.p99_s == quantile_s(BOUNDS_S, classes((1, 1), (4, 3)), 0.99)
    assert (drawn.submitted, drawn.acknowledged, drawn.duplicates, drawn.most) == (5, 4, 1, 5)


def test_what_lies_outside_of_the_range_is_not_drawn():
    """A gateway whose clock was set may know steps that have not come."""
    drawn = plots_of(
        RANGES["15min"], NOW, counted((-MINUTE, {"submitted": 1}), (16 * MINUTE, {"submitted": 1}))
    )
    assert drawn.submitted == 0


def test_the_gap_is_what_was_sent_and_not_acknowledged():
    """As high as the difference, and where the difference is."""
    step = {"submitted": 10, "acknowledged": 4, "duplicates": 1}
    drawn = plots_of(RANGES["15min"], NOW, counted((0 * MINUTE, step)))
    (gap,), (bar,) = drawn.gaps, drawn.bars
    assert (gap.y, gap.height) == (0.0, 0.6 * HEIGHT)
    assert bar.height == pytest.approx(HEIGHT / 10)
    assert gap.x < bar.x < bar.x + bar.width < gap.x + gap.width == pytest.approx(WIDTH, abs=0.1)


def test_without_traffic_there_are_axes_and_no_latency():
    """The line lies on the ground."""
    drawn = plots_of(RANGES["1h"], NOW, counted())
    assert drawn.most == 1
    assert set(drawn.latency_lines.values()) == {""}
    assert set(re.findall(r"[V ]([\d.]+)", drawn.sent_line)) == {f"{HEIGHT:.1f}"}


def test_a_pause_is_a_hole_in_the_latency():
    """Nothing is drawn between two bins with acknowledgements and one without."""
    one = {"acknowledged": 1, "latencies": classes((3, 1))}
    steps = ((0 * MINUTE, one), (MINUTE, one), (3 * MINUTE, one))
    line = plots_of(RANGES["15min"], NOW, counted(*steps)).latency_lines["p50"]
    assert (line.count("M"), line.count("H")) == (2, 3)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 59),
            st.integers(0, 10**6),
            st.integers(0, 10**6),
            st.integers(0, 10**6),
            st.integers(0, kept.CLASSES - 1),
        ),
        max_size=8,
    )
)
def test_nothing_is_drawn_outside_of_the_drawing(steps):
    """Whatever happened, however often, however slowly."""
    found = counted(
        *(
            (
                minutes * MINUTE,
                {
                    "submitted": submitted,
                    "acknowledged": acknowledged,
                    "duplicates": duplicates,
                    "latencies": classes((slowness, acknowledged)),
                },
            )
            for minutes, submitted, acknowledged, duplicates, slowness in steps
        )
    )
    drawn = plots_of(RANGES["1h"], NOW, found)
    paths = (drawn.sent_line, drawn.acknowledged_area, *drawn.latency_lines.values())
    for path in paths:
        assert all(0 <= float(y) <= HEIGHT for y in re.findall(r"[V ](-?[\d.]+)", path))
        assert all(0 <= float(x) <= WIDTH for x in re.findall(r"[MH](-?[\d.]+)", path))
    for bar in (*drawn.gaps, *drawn.bars):
        assert bar.height >= 0
        assert 0 <= bar.y <= bar.y + bar.height <= HEIGHT + 0.1


@given(st.lists(st.integers(0, 1000), min_size=kept.CLASSES, max_size=kept.CLASSES))
def test_a_share_is_what_the_gateway_says_of_the_same_numbers(latencies):
    """One definition in two places, held equal here."""
    for share in (0.5, 0.95, 0.99):
        assert quantile_s(BOUNDS_S, latencies, share) == kept.quantile_s(latencies, share)


def test_an_unknown_range_is_the_usual_one():
    """An address that somebody typed."""
    assert plots.range_of("yesterday") is plots.range_of(None) is plots.USUAL
