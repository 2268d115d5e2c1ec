"""Rows of a report as a table: every column is shown by its declared type and unit."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from onceonly.lake.page import words
from onceonly.lake.page.findings import Extract, Row
from onceonly.lake.page.markup import (
    PROSE,
    Html,
    cell,
    folded,
    foreign,
    head,
    join,
    pair,
    table,
    tag,
)
from onceonly.lake.tables.definition import Column, Definition

PAIR: Final = "pair"
"""Asked for as a column: from_party and to_party together."""
ROWS_SHOWN: Final = 12
"""Rows that stand open; more are there to be unfolded."""
ROWS_LISTED: Final = 32
"""Rows of a report that are there at all: nobody reads more of them on a page."""
ROWS_FOLDED: Final = 50
"""Rows behind a picture, at most: one bin of time each."""

_SUFFIXES: Final = ("_us", "_at", "_bytes", "_share")
_KINDS: Final = {"bigint": "n", "double": "n", "timestamp": "when", "date": "when"}
_LONG: Final = 20
"""Characters from which on a text gets room for more than a word in each line."""
_NAMES: Final = ("_id", "party", "peer", "example")
_SENTENCES: Final = ("reason", "suggested_action", "partner_evidence", "last_answer", "what")
"""Columns whose texts are read as sentences and not compared sign by sign."""
_TITLES: Final = {
    PAIR: "from → to",
    "from_at": "from (UTC)",
    "until_at": "until (UTC)",
    "bin_at": "begins at (UTC)",
    "p50_us": "median",
    "target_share": "share to reach",
    "met_share": "share met",
    "phase_share": "share of its phase",
    "per_thousand": "per 1 000",
    "hop": "hop",
}


def listing(
    definition: Definition, extract: Extract, names: Sequence[str], *, caption: str
) -> Html:
    """The named columns of the rows; where there are many, the rest is there to be unfolded."""
    rows = extract.rows[:ROWS_LISTED]
    bounded = Extract(rows, max(extract.total, len(extract.rows)))
    whole = _table(definition, rows[:ROWS_SHOWN], names, caption)
    if len(rows) > ROWS_SHOWN:
        rest = _table(definition, rows[ROWS_SHOWN:], names, f"{caption}, continued", is_first=False)
        whole = join((whole, folded(f"{len(rows) - ROWS_SHOWN} more", rest)))
    return join((whole, _cut(definition, bounded)))


def behind(definition: Definition, extract: Extract, names: Sequence[str], *, caption: str) -> Html:
    """The figures behind a picture, folded away; `extract` has what was drawn."""
    rows = extract.rows[:ROWS_FOLDED]
    bounded = Extract(rows, max(extract.total, len(extract.rows)))
    inner = join((_table(definition, rows, names, caption), _cut(definition, bounded)))
    return folded("The figures behind the picture", inner, kind="behind")


def _cut(definition: Definition, extract: Extract) -> Html:
    if not extract.is_cut:
        return Html("")
    shown, total = words.count(len(extract.rows)), words.count(extract.total)
    told = f"{shown} of {total} rows; the table {definition.name} in the lake has all of them."
    return tag("p", told, kind="cut")


def _table(
    definition: Definition,
    rows: Sequence[Row],
    names: Sequence[str],
    caption: str,
    *,
    is_first: bool = True,
) -> Html:
    declared = {column.name: column for column in definition.columns}
    heads = [_head(name, declared.get(name), is_told=is_first) for name in names]
    lines = [tag("tr", *[_cell(name, declared.get(name), row) for name in names]) for row in rows]
    return table(heads, lines, caption=caption)


def title_of(name: str) -> str:
    """A column's name as people read it."""
    if name in _TITLES:
        return _TITLES[name]
    bare = name
    for suffix in _SUFFIXES:
        bare = bare.removesuffix(suffix)
    return bare.replace("_", " ") + (" (UTC)" if f"_{name}".endswith("_at") else "")


def _head(name: str, column: Column | None, *, is_told: bool) -> Html:
    is_number = column is not None and column.type in ("bigint", "double")
    return head(
        title_of(name), "n" if is_number else "", column.meaning if column and is_told else None
    )


def _cell(name: str, column: Column | None, row: Row) -> Html:
    if column is None:
        assert name == PAIR
        return cell(pair(row["from_party"], row["to_party"]), "ends")
    value = row[name]
    if value is None:
        return cell(tag("span", words.UNKNOWN, aria_label="not known"), "none")
    return cell(_SHOWN.get(column.type, _text)(value, column), _kind(value, column))


def _kind(value: Any, column: Column) -> str:
    if column.type == "array<string>":
        return "text long" if any(len(one) > _LONG for one in value) else "text"
    if column.type != "string":
        kind = _KINDS.get(column.type, "text")
        return "n zero" if kind == "n" and value == 0 else kind
    if column.name.endswith(_NAMES):
        return "name"
    return "text long" if len(value) > _LONG else "text"


def _text(value: str, column: Column) -> Html:
    if column.name in _SENTENCES:
        return foreign(value, PROSE)
    return foreign(value, "id" if column.name.endswith("_id") else "")


def _whole(value: int, column: Column) -> str:
    if not column.unit:
        return str(value)
    by_unit = {"µs": words.span, "bytes": words.size}
    return by_unit.get(column.unit, words.count)(value)


def _fraction(value: float, column: Column) -> str:
    return words.share(value) if column.unit == "0 to 1" else f"{value:.3g}"


def _list(value: Sequence[Any], _: Column) -> Html:
    return join(tag("div", foreign(one)) for one in value)


_SHOWN: Final[dict[str, Callable[[Any, Column], Any]]] = {
    "string": _text,
    "bigint": _whole,
    "double": _fraction,
    "boolean": lambda value, _: "yes" if value else "no",
    "timestamp": lambda value, _: words.instant(value),
    "date": lambda value, _: words.day(value),
    "array<string>": _list,
    "array<bigint>": lambda value, _: words.count(len(value)),
}
