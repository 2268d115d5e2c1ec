"""Figures as inline SVG in the page's own colours: sequence diagrams and state diagrams.

Knows shapes and text. It must not load anything: a page shows the same without a network.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import copysign, hypot
from typing import NamedTuple

LETTER_W = 7.2
"""Width of an average letter of the 13-pixel text, with a little air."""
COLUMN_W = 205
ROW_H = 46
BOX_H = 34
ARROW = 8


class Point(NamedTuple):
    """A place or a direction."""

    x: float
    y: float

    def plus(self, other: "Point") -> "Point":
        """The place that lies `other` from here."""
        return Point(self.x + other.x, self.y + other.y)

    def times(self, factor: float) -> "Point":
        """The direction, so many times as long."""
        return Point(self.x * factor, self.y * factor)

    def to(self, other: "Point") -> "Point":
        """The direction from here to `other`, of length 1."""
        length = hypot(other.x - self.x, other.y - self.y)
        return Point((other.x - self.x) / length, (other.y - self.y) / length)


class SequenceSyntax(ValueError):  # noqa: N818 - because it names what is wrong with the source
    """A line of a sequence block that is none of the known kinds."""


def sequence_figure(source: str) -> str:
    """The figure of a `sequence` block.

    First line: the participants, `|` between them; later lines call them 1, 2, 3 … and are
    `1 -> 2: text`, `1 -x 2: text` (lost on the way), `2 commit: text` (durable from here on),
    `2: text` (something happens there) or `...` (time passes). Raises `SequenceSyntax`.
    """
    head, *lines = [line.strip() for line in source.strip().splitlines()]
    names = [name.strip() for name in head.split("|")]
    width, height = COLUMN_W * len(names), BOX_H + ROW_H * (len(lines) + 1)
    drawn = [_life_line(n, name, height) for n, name in enumerate(names)]
    drawn += [_step(line, BOX_H + ROW_H * (n + 1)) for n, line in enumerate(lines)]
    return _figure("".join(drawn), width, height, label=f"Sequence: {', '.join(names)}")


def _x(participant: int) -> float:
    return COLUMN_W * (participant + 0.5)


def _life_line(number: int, name: str, height: int) -> str:
    x = _x(number)
    line = f'<line class="life" x1="{x}" y1="{BOX_H}" x2="{x}" y2="{height}"/>'
    return line + _box(x, BOX_H / 2 + 1, name)


def _step(line: str, y: float) -> str:
    if line == "...":
        return f'<text class="small" x="12" y="{y + 4}">⋮ time passes</text>'
    where, colon, text = line.partition(":")
    words = where.split()
    match words if colon else []:
        case [sender, ("->" | "-x") as way, receiver]:
            ends = _x(int(sender) - 1), _x(int(receiver) - 1)
            return _arrow(ends, y, text.strip(), is_lost=way == "-x")
        case [place, "commit"]:
            return _commit(_x(int(place) - 1), y, text.strip())
        case [place]:
            return _note(_x(int(place) - 1), y, text.strip())
    raise SequenceSyntax(f"{line!r} is no step of a sequence")


def _arrow(ends: tuple[float, float], y: float, text: str, *, is_lost: bool) -> str:
    start, end = ends
    step = 1 if end > start else -1
    tip = start + (end - start) * 0.62 if is_lost else end
    kind = "line lost" if is_lost else "line"
    drawn = f'<line class="{kind}" x1="{start}" y1="{y}" x2="{tip}" y2="{y}"/>'
    drawn += _cross(tip, y) if is_lost else _head(Point(tip, y), Point(step, 0))
    return drawn + _text((start + end) / 2, y - 7, text)


def _cross(x: float, y: float) -> str:
    return f'<path class="cross" d="M{x - 6} {y - 6} l12 12 m0 -12 l-12 12"/>'


def _head(tip: "Point", way: "Point") -> str:
    """An arrow head at `tip`, pointing along `way`, which has length 1."""
    back = Point(tip.x - way.x * ARROW, tip.y - way.y * ARROW)
    across = Point(-way.y * ARROW / 2, way.x * ARROW / 2)
    left, right = back.plus(across), back.plus(across.times(-1))
    return (
        f'<path class="head" d="M{tip.x:.1f} {tip.y:.1f} L{left.x:.1f} {left.y:.1f} '
        f'L{right.x:.1f} {right.y:.1f} Z"/>'
    )


def _commit(x: float, y: float, text: str) -> str:
    width = max(70, LETTER_W * len(text) + 16)
    rect = (
        f'<rect class="commit" x="{x - width / 2}" y="{y - 13}" width="{width}" height="24" '
        'rx="4"/>'
    )
    return rect + _text(x, y + 4, text, "commit-text")


def _note(x: float, y: float, text: str) -> str:
    width = LETTER_W * len(text) + 18
    rect = (
        f'<rect class="box" x="{x - width / 2}" y="{y - 13}" width="{width}" height="24" rx="12"/>'
    )
    return rect + _text(x, y + 4, text)


def _box(x: float, y: float, name: str, *, is_final: bool = False) -> str:
    width = _box_width(name)
    kind = "box final" if is_final else "box"
    rect = (
        f'<rect class="{kind}" x="{x - width / 2}" y="{y - BOX_H / 2}" '
        f'width="{width}" height="{BOX_H - 2}" rx="8"/>'
    )
    return rect + _text(x, y + 4, name)


def _box_width(name: str) -> float:
    return max(92, LETTER_W * len(name) + 22)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="middle">{escape(text)}</text>'


def _figure(drawn: str, width: float, height: float, *, label: str) -> str:
    return (
        f'<figure class="drawn"><svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(label, quote=True)}">{drawn}</svg>'
        "</figure>"
    )


def state_figure(
    places: Mapping[str, Point],
    edges: Mapping[tuple[str, str], Sequence[str]],
    finals: Iterable[str],
) -> str:
    """The figure of a state machine: a box per state, an arrow per change, its events beside it.

    Raises `KeyError` for a state without a place.
    """
    drawn = [_edge(places, pair, events, edges) for pair, events in edges.items()]
    finals = set(finals)
    drawn += [_box(at.x, at.y, name, is_final=name in finals) for name, at in places.items()]
    width = max(at.x for at in places.values()) + 110
    height = max(at.y for at in places.values()) + BOX_H
    return _figure("".join(drawn), width, height, label=f"States: {', '.join(places)}")


def _edge(
    places: Mapping[str, Point],
    pair: tuple[str, str],
    events: Sequence[str],
    edges: Mapping[tuple[str, str], Sequence[str]],
) -> str:
    source, target = places[pair[0]], places[pair[1]]
    way = source.to(target)
    # Two arrows between the same states go side by side.
    outward = Point(-way.y, way.x).times(1 if pair[::-1] in edges else 0)
    aside = outward.times(13)
    start = _border(source, way, pair[0], aside)
    end = _border(target, way.times(-1), pair[1], aside)
    line = (
        f'<line class="line" x1="{start.x:.1f}" y1="{start.y:.1f}" '
        f'x2="{end.x:.1f}" y2="{end.y:.1f}"/>'
    )
    return line + _head(end, way) + _edge_label(start, end, events, outward)


def _border(centre: Point, way: Point, name: str, aside: Point) -> Point:
    """Where a line that passes `aside` of the box's centre along `way` crosses its border."""
    half_w, half_h = _box_width(name) / 2 + 2, BOX_H / 2 + 1
    sides = ((half_w, way.x, aside.x), (half_h, way.y, aside.y))
    steps = [(half - copysign(off, off * part)) / abs(part) for half, part, off in sides if part]
    return centre.plus(aside).plus(way.times(min(steps)))


def _edge_label(start: Point, end: Point, events: Sequence[str], outward: Point) -> str:
    """The events at the middle of the arrow, moved `outward` by half their own size."""
    width = 6.2 * max(map(len, events)) + 6
    height = 14 * len(events)
    middle = Point(
        (start.x + end.x) / 2 + outward.x * (width / 2 + 3),
        (start.y + end.y) / 2 + outward.y * (height / 2 + 3),
    )
    top = middle.y - height / 2
    back = (
        f'<rect class="back" x="{middle.x - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{height}"/>'
    )
    lines = [
        _text(round(middle.x, 1), round(top + 11 + 14 * n, 1), event, "small")
        for n, event in enumerate(events)
    ]
    return back + "".join(lines)
