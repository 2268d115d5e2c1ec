"""Payloads built per row, in Spark's own expressions."""

import re
from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

_FIELD = re.compile(r"{(\w+)}|{{|}}|[{}]")

_XML = (
    ("&", "&amp;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ('"', "&quot;"),
    ("'", "&apos;"),
    # As they are, a parser makes other characters of them, in attributes of all three.
    ("\t", "&#9;"),
    ("\n", "&#10;"),
    ("\r", "&#13;"),
)

_NOT_XML = r"[\x00-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]"
"""What no XML document can have, in whatever spelling."""


def template(text: str, *, escape: str = "xml") -> Column:
    """A text column: `text` with each `{name}` replaced by that column's value.

    `{{` and `}}` are braces. `escape` is what values are made safe for: `xml` (in content and in
    quoted attributes; a character that XML does not have becomes U+FFFD), `json` (inside quotes) or
    `none`. A null value leaves nothing. Raises `ValueError` for another word, and for a brace that
    is neither doubled nor around a name: it would be sent as it is.

        df.withColumn("payload", template("<Order id='{order_id}'><Buyer>{buyer}</Buyer></Order>"))
    """
    if escape not in _ESCAPES:
        raise ValueError(f"escape is {escape!r}; legal: {', '.join(_ESCAPES)}")
    made_safe = _ESCAPES[escape]
    parts: list[Column] = []
    at = 0
    for found in _FIELD.finditer(text):
        parts.append(F.lit(text[at : found.start()]))
        at, name = found.end(), found[1]
        if found[0] in ("{", "}"):
            here = text[found.start() : found.start() + 20]
            raise ValueError(f"the brace in {here!r} is not around a column's name; double it")
        if name is None:
            parts.append(F.lit(found[0][0]))
        else:
            value = F.coalesce(F.col(name).cast("string"), F.lit(""))
            parts.append(made_safe(value))
    return F.concat(*parts, F.lit(text[at:]))


def _xml(value: Column) -> Column:
    value = F.regexp_replace(value, _NOT_XML, "\ufffd")
    for plain, entity in _XML:
        value = F.replace(value, F.lit(plain), F.lit(entity))
    return value


def _json(value: Column) -> Column:
    # to_json of one field escapes as JSON does; what stands around the value is always the same.
    written = F.to_json(F.struct(value.alias("v")))
    return F.substring(written, F.lit(7), F.length(written) - F.lit(8))


def _as_it_is(value: Column) -> Column:
    return value


_ESCAPES: dict[str, Callable[[Column], Column]] = {"xml": _xml, "json": _json, "none": _as_it_is}
