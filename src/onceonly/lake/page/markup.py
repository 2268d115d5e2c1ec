"""HTML out of values, with everything escaped exactly once.

`Html` is text that is markup already; any other value is text and is escaped where it is placed.
"""

import unicodedata
from collections.abc import Iterable
from html import escape
from itertools import groupby
from typing import Any, Final

from onceonly.lake.page.signs import INVISIBLE, NAME_MAX, Sign, cut_inside, plainly, signs, told

PROSE: Final = "prose"
"""Kind of a foreign text that is read as a sentence: a plain blank between two words is one."""


class Html(str):
    """Markup: made here, or by a chart; never made of foreign text unescaped."""

    __slots__ = ()


def visible(value: str) -> str:
    """Our own words, with everything that cannot be seen written as an escape.

    What a journal tells goes through `foreign`, or through `plainly` where markup has no place.
    """
    return "".join(
        f"\\u{ord(sign):04x}" if unicodedata.category(sign) in INVISIBLE else sign for sign in value
    )


def text(value: Any) -> Html:
    """The value as markup; null is nothing."""
    if isinstance(value, Html):
        return value
    return Html("" if value is None else escape(visible(str(value))))


def tag(name: str, *content: Any, kind: str = "", **attributes: Any) -> Html:
    """One element of class `kind` around the content.

    An attribute that is None is left out; `_` in its name stands for `-`.
    """
    named = {"class": kind or None, **attributes}
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in named.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{join(content)}</{name}>")


def join(parts: Iterable[Any]) -> Html:
    """The parts, one after the other."""
    return Html("".join(text(part) for part in parts))


def between(gap: str, parts: Iterable[Any]) -> Html:
    """The parts, with the gap between each two."""
    return Html(text(gap).join(text(part) for part in parts))


def foreign(value: Any, kind: str = "id", *, most: int = NAME_MAX) -> Html:
    """What somebody else wrote, sign by sign: every string of a journal gets onto the page by this.

    Kept apart from the direction of writing around it. What is not seen, or looks like something
    else, is an escape that tells its code point where it is pointed at. A long one is cut in its
    middle, and whole where it is pointed at.
    """
    if value is None:
        return Html("")
    whole = signs(str(value))
    cut = cut_inside(whole, most)
    title = None if cut is whole else "".join(one.shown for one in whole)
    shown = [_run(list(run), kind) for _, run in groupby(cut, _look)]
    return tag("bdi", *shown, kind="" if kind == PROSE else kind, title=title)


def _look(sign: Sign) -> tuple[bool, bool, bool]:
    return bool(sign.codes), sign.is_left_out, sign.shown == " "


def _run(run: list[Sign], kind: str) -> Html:
    shown = "".join(one.shown for one in run)
    codes = tuple(code for one in run for code in one.codes)
    if codes:
        is_left_out = run[0].is_left_out
        return tag("mark", shown, title=f"Left out: {told(codes)}" if is_left_out else told(codes))
    if shown == " " and kind != PROSE:
        return tag("mark", shown, kind="blank", title=told((shown,)))
    return text(shown)


def pair(sender: Any, receiver: Any) -> Html:
    """Who sends to whom."""
    ends = [foreign("?" if end is None else end) for end in (sender, receiver)]
    return tag("span", ends[0], Html(" → <wbr>"), ends[1], kind="pair")


def link(anchor: str, words: Any) -> Html:
    """A jump within the page."""
    return tag("a", words, href=f"#{anchor}")


def table(heads: Iterable[Html], rows: Iterable[Html], *, caption: str) -> Html:
    """A table that scrolls by itself on narrow screens, with the keyboard too."""
    named = plainly(caption)
    whole = tag(
        "table",
        tag("caption", named, kind="unseen"),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *rows),
    )
    return tag("div", whole, kind="scroll", tabindex="0", role="region", aria_label=named)


def head(title: Any, kind: str = "", meaning: str | None = None) -> Html:
    """The head of a column."""
    return tag("th", title, kind=kind, scope="col", title=meaning)


def cell(value: Any, kind: str = "") -> Html:
    """A cell."""
    return tag("td", value, kind=kind)


def folded(summary: Any, *content: Any, kind: str = "") -> Html:
    """What is there to be opened."""
    return tag("details", tag("summary", summary), *content, kind=kind)
