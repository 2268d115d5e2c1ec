"""HTML out of values, with everything escaped exactly once.

`Html` is text that is markup already; any other value is text and is escaped where it is placed.
"""

from collections.abc import Iterable
from html import escape
from typing import Any

from onceonly.message.instant import to_datetime


class Html(str):
    """Markup: made here, or by a chart; never made of foreign text unescaped."""

    __slots__ = ()


def text(value: Any) -> Html:
    """The value as markup; null is nothing."""
    if isinstance(value, Html):
        return value
    return Html("" if value is None else escape(str(value)))


def tag(name: str, *content: Any, kind: str = "") -> Html:
    """One element of class `kind` around the content."""
    attribute = f' class="{escape(kind)}"' if kind else ""
    return Html(f"<{name}{attribute}>{join(content)}</{name}>")


def join(parts: Iterable[Any]) -> Html:
    """The parts, one after the other."""
    return Html("".join(text(part) for part in parts))


def cell(value: Any, kind: str = "") -> Html:
    """A table cell."""
    return tag("td", value, kind=kind)


def number(value: float | None) -> Html:
    """A cell with a count; zero is pale."""
    if value is None:
        return cell("", "n")
    shown = f"{value:,.0f}".replace(",", "\u202f")
    return cell(shown, "n zero" if value == 0 else "n")


def duration(seconds: float | None) -> Html:
    """A cell with a length of time."""
    if seconds is None:
        return cell("", "n")
    for unit, size_s in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= size_s:
            return cell(f"{seconds / size_s:.2f} {unit}", "n")
    return cell(f"{seconds * 1_000:.0f} ms", "n")


def instant(at: int | None) -> str:
    """An instant for people, in UTC, to the second."""
    return "" if at is None else f"{to_datetime(at):%Y-%m-%d %H:%M:%S}"


def table(heads: Iterable[tuple[str, str]], rows: Iterable[Html]) -> Html:
    """A table that scrolls on narrow screens; `heads` are titles and classes."""
    head = tag("tr", *[tag("th", title, kind=kind) for title, kind in heads])
    whole = tag("table", tag("thead", head), tag("tbody", *rows))
    return tag("div", whole, kind="scroll")


def section(title: str, note: str, *content: Any, kind: str = "") -> Html:
    """One card of the page."""
    return tag("section", tag("h2", title), tag("p", note, kind="note"), *content, kind=kind)
