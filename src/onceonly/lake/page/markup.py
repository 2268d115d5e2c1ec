"""HTML out of values, with everything escaped exactly once.

`Html` is text that is markup already; any other value is text and is escaped where it is placed.
"""

import unicodedata
from collections.abc import Iterable
from html import escape
from typing import Any, Final

from onceonly.lake.page.words import short

_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode's classes of what is not seen and may turn around, hide or break what is around it."""
TEXT_MAX: Final = 300
"""Characters of one foreign text on the page; nobody reads more, and the tables have all."""


NAME_MAX: Final = 90
"""Characters of a name in a table; a MessageId of the usual kinds is shorter."""


class Html(str):
    """Markup: made here, or by a chart; never made of foreign text unescaped."""

    __slots__ = ()


def visible(value: str) -> str:
    """The text with everything that cannot be seen written as an escape, and bounded."""
    cut = value if len(value) <= TEXT_MAX else value[: TEXT_MAX - 1] + "…"
    return "".join(
        _escape(sign) if unicodedata.category(sign) in _INVISIBLE else sign for sign in cut
    )


def named(value: str) -> str:
    """`visible`, for what somebody else named: no blank in it is taken for another, or for none.

    One between two other signs is seen, if it is a plain one.
    """
    shown = visible(value)
    return "".join(
        _escape(sign) if _is_odd_blank(shown, at) else sign for at, sign in enumerate(shown)
    )


def _is_odd_blank(whole: str, at: int) -> bool:
    if whole[at] != " ":
        return unicodedata.category(whole[at]) == "Zs"
    return at in (0, len(whole) - 1) or whole[at - 1] == " "


def _escape(sign: str) -> str:
    return f"\\u{ord(sign):04x}"


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


def foreign(value: Any, kind: str = "id") -> Html:
    """Text from outside, kept apart from the direction of writing around it.

    A long one is cut in its middle, and whole where it is pointed at.
    """
    if value is None:
        return Html("")
    whole = named(str(value))
    cut = short(whole, NAME_MAX)
    return tag("bdi", cut, kind=kind, title=None if cut == whole else whole)


def pair(sender: Any, receiver: Any) -> Html:
    """Who sends to whom."""
    ends = [foreign("?" if end is None else end) for end in (sender, receiver)]
    return tag("span", ends[0], Html(" → <wbr>"), ends[1], kind="pair")


def link(anchor: str, words: Any) -> Html:
    """A jump within the page."""
    return tag("a", words, href=f"#{anchor}")


def table(heads: Iterable[Html], rows: Iterable[Html], *, caption: str) -> Html:
    """A table that scrolls by itself on narrow screens, with the keyboard too."""
    whole = tag(
        "table",
        tag("caption", caption, kind="unseen"),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *rows),
    )
    return tag("div", whole, kind="scroll", tabindex="0", role="region", aria_label=caption)


def head(title: Any, kind: str = "", meaning: str | None = None) -> Html:
    """The head of a column."""
    return tag("th", title, kind=kind, scope="col", title=meaning)


def cell(value: Any, kind: str = "") -> Html:
    """A cell."""
    return tag("td", value, kind=kind)


def folded(summary: Any, *content: Any, kind: str = "") -> Html:
    """What is there to be opened."""
    return tag("details", tag("summary", summary), *content, kind=kind)
