"""Pages out of values: templates that escape every text exactly once and hide nothing in it.

Partners and applications choose names, actions, reasons and descriptions. Each text that a template
places is first made visible (`onceonly.message.printable`) and then escaped; only what is markup of
our own stays as it is (attacks X16, X17).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from onceonly.console import spans, words
from onceonly.message import measures
from onceonly.message.printable import printable

ROOT: Final = "/console"
TEXT_LENGTH_MAX: Final = 600
"""Most characters of one text on a page; the JSON twin has the whole."""
NAME_LENGTH_MAX: Final = 72
"""Longest name in a table; a longer one is cut in its middle, and whole where it is pointed at."""

_STANDINGS: Final[Mapping[str, words.StateWords]] = {
    **words.BULK_STATES,
    **words.JOB_STATES,
    **words.PROCESSING_STATES,
    **words.BACKUP_STATES,
    **words.NOTICE_KINDS,
    **words.OUTCOMES,
    **words.PAIR_STATES,
    **words.MESSAGE_STATES,
}


def placed(value: Any) -> Any:
    """Called for every value that a template places, before it is escaped."""
    if value is None:
        return ""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return visible(value)
    return value


def visible(text: str) -> str:
    """The text without anything that cannot be seen, and bounded."""
    cut = text if len(text) <= TEXT_LENGTH_MAX else f"{text[: TEXT_LENGTH_MAX - 1]}…"
    return printable(cut)


def in_lines(text: str) -> Markup:
    """A text of several lines, each without anything that cannot be seen; the caller bounds it."""
    return Markup("\n").join(printable(line) for line in text.splitlines())


def named(value: Any) -> Markup:
    """What somebody else named, kept apart from the direction of writing around it."""
    whole = visible("" if value is None else str(value))
    if len(whole) <= NAME_LENGTH_MAX:
        return Markup('<bdi class="id">{}</bdi>').format(whole)
    tail = NAME_LENGTH_MAX * 2 // 5
    cut = f"{whole[: NAME_LENGTH_MAX - tail - 1]}…{whole[-tail:]}"
    return Markup('<bdi class="id" title="{}">{}</bdi>').format(whole, cut)


def named_all(values: Any) -> Markup:
    """Several names."""
    return Markup(", ").join(named(one) for one in values)


@pass_context
def when(context: Context, instant: str | None) -> Markup:
    """An instant of the API: UTC to the second, with how long ago it was."""
    if instant is None:
        return Markup('<span class="none">&ndash;</span>')
    moment, now = spans.moment(instant), context["now"]
    return _time(moment, now, "%Y-%m-%d %H:%M:%S" if moment.date() != now.date() else "%H:%M:%S")


def _time(moment: datetime, now: datetime, form: str) -> Markup:
    text = Markup('<time datetime="{}" title="{}">{} <span class="ago">{}</span></time>')
    whole = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    return text.format(
        moment.isoformat(), whole, moment.strftime(form), spans.relative(moment, now)
    )


@pass_context
def ago(context: Context, instant: str | None) -> str:
    """How long ago an instant was, without the instant."""
    return "" if instant is None else spans.relative(spans.moment(instant), context["now"])


@pass_context
def age(context: Context, instant: str) -> str:
    """How long something has lasted, in its two greatest units."""
    lasted = context["now"] - spans.moment(instant)
    return measures.span(max(0.0, lasted.total_seconds()))


def standing(word: str) -> Markup:
    """A state as a word in its colour; what it means, where it is pointed at."""
    found = _STANDINGS.get(word, words.UNKNOWN)
    text = Markup('<span class="word {}" title="{}">{}</span>')
    return text.format(found.tone, found.meaning, found.shown or visible(word))


def meaning(word: str) -> str:
    """What a state means, in one sentence."""
    return _STANDINGS.get(word, words.UNKNOWN).meaning


def url(path: str, **query: Any) -> str:
    """The address of a page; a query without a value is left out."""
    given = {name.rstrip("_"): value for name, value in query.items() if value is not None}
    written = urlencode(given, errors="replace")
    return f"{ROOT}/{path}" + (f"?{written}" if written else "")


def environment() -> Environment:
    """The templates of this package."""
    made = Environment(
        autoescape=True,
        loader=PackageLoader("onceonly.console"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=placed,
    )
    made.filters |= {
        "age": age,
        "ago": ago,
        "count": spans.count,
        "in_lines": in_lines,
        "meaning": meaning,
        "named": named,
        "named_all": named_all,
        "size": measures.size,
        "span": measures.span,
        "standing": standing,
        "when": when,
    }
    made.globals |= {"url": url, "lanes": words.LANES}
    return made
