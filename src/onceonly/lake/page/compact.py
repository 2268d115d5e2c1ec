"""A drawing without what nobody sees: a third of the bytes, the same picture.

matplotlib writes six decimals, a group with a name around everything, and the same style at each
of a hundred strokes. Knows how matplotlib writes; leaves every text as it is.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(r"<!--.*?-->|<[^>]+>|[^<]+", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r'([\w:-]+)="([^"]*)"')
_REFERENCE: Final = re.compile(r'(?:xlink:href="#|url\(#)([^")]+)')
_DECIMALS: Final = re.compile(r"-?\d+\.\d+")
_PLAIN_TURN: Final = re.compile(r"rotate\(-?0(\.0)? [^)]*\)")
_SHAPES: Final = ("d", "x", "y", "width", "height", "transform", "points")
_UNUSED_STYLES: Final = ("font-family", "stroke-linejoin", "stroke-linecap", "stroke-miterlimit")
"""The page has its own; the first alone is a third of a drawing."""
_OF_THE_PAGE: Final = {
    "text": ("font-size:9px", "fill:var(--muted)", "text-anchor:start"),
    "use": ("stroke-width:0.8",),
}
"""What the page's own style says of every such element of a drawing."""
_KEPT_BLANKS: Final = ("text", "tspan")


class _Tag(NamedTuple):
    name: str
    attributes: tuple[tuple[str, str], ...]
    is_closed: bool

    @property
    def written(self) -> str:
        inner = "".join(f' {name}="{value}"' for name, value in self.attributes)
        return f"<{self.name}{inner}{'/' if self.is_closed else ''}>"

    @property
    def is_unseen(self) -> bool:
        """Whether it draws nothing: a group without anything in it, a ground without colour."""
        return self.name == "g" or (
            self.name == "path" and dict(self.attributes).get("style") == "fill:none"
        )

    @property
    def look(self) -> tuple[tuple[str, str], ...] | None:
        """Everything but the shape, of a stroke that can be joined with its neighbours."""
        if self.name != "path" or not self.is_closed:
            return None
        return tuple(one for one in self.attributes if one[0] != "d")

    @property
    def shape(self) -> str:
        return dict(self.attributes).get("d", "")


def compact(drawing: str) -> str:
    """The inside of an svg element, as matplotlib wrote it, in fewer bytes."""
    wanted = set(_REFERENCE.findall(drawing))
    short = "".join(_joined(_without_empty(_without_groups(_shortened(drawing, wanted)))))
    return short.replace("xlink:href=", "href=")


def _shortened(drawing: str, wanted: set[str]) -> Iterator[_Tag | str]:
    is_text = False
    for token in _TOKEN.findall(drawing):
        if not token.startswith("<"):
            if is_text:
                yield token
        elif token.startswith("</"):
            is_text = False if token[2:-1] in _KEPT_BLANKS else is_text
            yield token
        elif not token.startswith("<!"):
            made = _tag(token, wanted)
            is_text = made.name in _KEPT_BLANKS
            yield made


def _tag(token: str, wanted: set[str]) -> _Tag:
    name = re.split(r"[\s/>]", token[1:], maxsplit=1)[0]
    kept = []
    for key, value in _ATTRIBUTE.findall(token):
        short = value
        if key == "style":
            short = _style(value, _OF_THE_PAGE.get(name, ()))
        elif key in _SHAPES:
            short = _shape(_PLAIN_TURN.sub("", value))
        if short and (key != "id" or value in wanted):
            kept.append((key, short))
    return _Tag(name, tuple(kept), token.endswith("/>"))


def _style(value: str, unsaid: tuple[str, ...]) -> str:
    parts = [one.strip() for one in re.split(r";(?![^(]*\))", value) if one.strip()]
    named = [part.split(":", 1) for part in parts]
    said = [f"{name}:{what.strip()}" for name, what in named if name not in _UNUSED_STYLES]
    return ";".join(one for one in said if one not in unsaid)


def _shape(value: str) -> str:
    rounded = _DECIMALS.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), value)
    return re.sub(r"\s*([MLQCz])\s*", r"\1", " ".join(rounded.replace("-0 ", "0 ").split()))


def _without_groups(tokens: Iterable[_Tag | str]) -> Iterator[_Tag | str]:
    """Groups that say nothing are there for matplotlib alone."""
    said: list[bool] = []
    for one in tokens:
        if isinstance(one, _Tag) and one.name == "g" and not one.is_closed:
            said.append(bool(one.attributes))
            if said[-1]:
                yield one
        elif one == "</g>":
            if said.pop():
                yield one
        else:
            yield one


def _without_empty(tokens: Iterable[_Tag | str]) -> Iterator[_Tag | str]:
    """Shapes with neither fill nor stroke: the grounds of figure and axes."""
    for one in tokens:
        if not (isinstance(one, _Tag) and one.is_closed and one.is_unseen):
            yield one


def _joined(tokens: Iterable[_Tag | str]) -> Iterator[str]:
    """Strokes of one look that follow each other are one path."""
    for look, run in groupby(tokens, lambda one: one.look if isinstance(one, _Tag) else None):
        some = list(run)
        is_stroke = look is not None and not any(name == "id" for name, _ in look)
        if is_stroke and _may_be_one(dict(look or ()).get("style", "")):
            shape = "".join(one.shape for one in some if isinstance(one, _Tag))
            yield _Tag("path", (("d", shape), *(look or ())), is_closed=True).written
        else:
            yield from (one.written if isinstance(one, _Tag) else one for one in some)


def _may_be_one(style: str) -> bool:
    """Not what shines through: where two of them overlap it is darker."""
    return "opacity" not in style
