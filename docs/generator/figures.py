"""Figures as inline SVG in the page's own colours: sequence diagrams and state diagrams.

Knows shapes and text. It must not load anything: a page shows the same without a network.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import copysign, hypot
from typing import NamedTuple

LETTER_W = 7.2
"""Width of an average letter of the 13-pixel text, with a little air."""
NARROW = frozenset("ijltfr.,:;-/|()' 1")
NARROW_W = 4.8
GAP_MIN = 170
"""Between two participants that have little to say to each other."""
EDGE = 6
ARROW_H = 40
LINE_H = 17
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


class Arrow(NamedTuple):
    """From one participant to another one; `kind` is a class of the stylesheet."""

    source: int
    target: int
    text: str
    kind: str = ""
    """call, answer or empty: a package."""
    reach: tuple[float, float] = (0.0, 1.0)
    """Which part of the way is seen: what is lost ends early, what is late begins late."""
    is_lost: bool = False


class Sign(NamedTuple):
    """Something at one participant, a line of text per entry; `kind` is commit, box or time."""

    place: int
    lines: Sequence[str]
    kind: str


Item = Arrow | Sign


def sequence_figure(names: Sequence[str], items: Sequence[Item], label: str) -> str:
    """Participants side by side, and what happens between them from top to bottom."""
    columns = _columns(names, items)
    rows = []
    y = BOX_H + 16.0
    for item in items:
        height = ARROW_H if isinstance(item, Arrow) else LINE_H * len(item.lines) + 20
        rows.append(_item(item, columns, y, height))
        y += height
    lines = [
        f'<line class="life" x1="{x:.1f}" y1="{BOX_H}" x2="{x:.1f}" y2="{y + 6:.1f}"/>'
        for x in columns
    ]
    heads = [_box(x, BOX_H / 2 + 1, name) for x, name in zip(columns, names, strict=True)]
    width = columns[-1] + _half(len(names) - 1, names, items) + EDGE
    return _figure("".join([*lines, *heads, *rows]), width, y + 10, label=label)


def _columns(names: Sequence[str], items: Sequence[Item]) -> list[float]:
    """Where the participants stand: as near to each other as the texts between them allow."""
    columns = [_half(0, names, items) + EDGE]
    for right in range(1, len(names)):
        left = right - 1
        wanted = [
            _text_width(item.text) + 44
            for item in items
            if isinstance(item, Arrow) and {item.source, item.target} == {left, right}
        ]
        heads = (_box_width(names[left]) + _box_width(names[right])) / 2 + 14
        halves = max(_sign_half(left, items), _sign_half(right, items)) + 14
        columns.append(columns[-1] + max(GAP_MIN, heads, halves, *wanted))
    return columns


def _half(place: int, names: Sequence[str], items: Sequence[Item]) -> float:
    """How far the participant reaches to either side."""
    return max(_box_width(names[place]) / 2, _sign_half(place, items))


def _sign_half(place: int, items: Sequence[Item]) -> float:
    own = [item for item in items if isinstance(item, Sign) and item.place == place]
    return max((_sign_width(item) / 2 for item in own), default=0)


def _sign_width(sign: Sign) -> float:
    return max(58, *(_text_width(line) + 20 for line in sign.lines))


def _text_width(text: str) -> float:
    return sum(NARROW_W if letter in NARROW else LETTER_W for letter in text)


def _item(item: Item, columns: Sequence[float], y: float, height: float) -> str:
    if isinstance(item, Arrow):
        return _arrow(item, columns, y + height - 10)
    return _sign(item, columns[item.place], y, height)


def _arrow(arrow: Arrow, columns: Sequence[float], y: float) -> str:
    start, end = columns[arrow.source], columns[arrow.target]
    tail = start + (end - start) * arrow.reach[0]
    tip = start + (end - start) * arrow.reach[1]
    kind = f"line {arrow.kind}".strip() + (" lost" if arrow.is_lost else "")
    drawn = f'<line class="{kind}" x1="{tail:.1f}" y1="{y:.1f}" x2="{tip:.1f}" y2="{y:.1f}"/>'
    if arrow.is_lost:
        drawn += _cross(tip, y)
    elif arrow.reach[1] < 1:
        drawn += f'<circle class="waits" cx="{tip:.1f}" cy="{y:.1f}" r="5"/>'
    else:
        drawn += _head(Point(tip, y), Point(1 if end > start else -1, 0))
    if arrow.reach[0] > 0:
        drawn += f'<circle class="waits" cx="{tail:.1f}" cy="{y:.1f}" r="5"/>'
    fits = _text_width(arrow.text) < abs(tip - tail)
    middle = (tail + tip) / 2 if fits else (start + end) / 2
    return drawn + _text(middle, y - 8, arrow.text, f"{arrow.kind}-text")


def _cross(x: float, y: float) -> str:
    return f'<path class="cross" d="M{x - 6:.1f} {y - 6:.1f} l12 12 m0 -12 l-12 12"/>'


def _sign(sign: Sign, x: float, y: float, height: float) -> str:
    width = _sign_width(sign)
    corner = 4 if sign.kind == "commit" else 12
    back = (
        f'<rect class="back" x="{x - width / 2:.1f}" y="{y + 8:.1f}" width="{width:.1f}" '
        f'height="{height - 14:.1f}"/>'
    )
    rect = (
        f'<rect class="{sign.kind}" x="{x - width / 2:.1f}" y="{y + 6:.1f}" width="{width:.1f}" '
        f'height="{height - 10:.1f}" rx="{corner}"/>'
    )
    lines = [
        _text(x, y + 22 + LINE_H * n, line, f"{sign.kind}-text")
        for n, line in enumerate(sign.lines)
    ]
    return back + rect + "".join(lines)


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
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(text)}</text>'
    )


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
    lines = [_text(middle.x, top + 11 + 14 * n, event, "small") for n, event in enumerate(events)]
    return back + "".join(lines)
