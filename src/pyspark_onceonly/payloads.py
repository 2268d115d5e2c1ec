"""Payloads built per row, in Spark's own expressions."""

import re
from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

_FIELD = re.compile(r"{(\w+)}|{{|}}")

_XML = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;"))


def template(text: str, *, escape: str = "xml") -> Column:
    """A text column: `text` with each `{name}` replaced by that column's value.

    `{{` and `}}` are braces. `escape` is what values are made safe for: `xml` (in content and in
    quoted attributes), `json` (inside quotes) or `none`. A null value leaves nothing. Raises
    `ValueError` for another word.

        df.withColumn("payload", template("<Order id='{order_id}'><Buyer>{buyer}</Buyer></Order>"))
    """
    if escape not in _ESCAPES:
        raise ValueError(f"escape is {escape!r}; legal: {', '.join(_ESCAPES)}")
    made_safe = _ESCAPES[escape]
    parts: list[Column] = []
    at = 0
    for found in _FIELD.finditer(text):
        parts.append(F.lit(text[at : found.start()]))
        name = found[1]
        if name is None:
            parts.append(F.lit(found[0][0]))
        else:
            value = F.coalesce(F.col(name).cast("string"), F.lit(""))
            parts.append(made_safe(value))
        at = found.end()
    return F.concat(*parts, F.lit(text[at:]))


def _xml(value: Column) -> Column:
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
