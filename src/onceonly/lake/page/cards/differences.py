"""Report 3, message by message: what differs, with the rows that both journals have on it."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from onceonly.lake.page import words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, Row
from onceonly.lake.page.markup import (
    PROSE,
    Html,
    between,
    cell,
    foreign,
    head,
    join,
    pair,
    table,
    tag,
)
from onceonly.lake.reports import differences
from onceonly.lake.verdicts import STANDING_OF, Verdict

DEFINITION: Final = differences.DEFINITION
_NAMED: Final = ("attempt", "outcome", "error_code", "reason")
_DIGEST_SHOWN: Final = 16


def card(found: Findings) -> Card:
    """The gravest differences first, each to be unfolded."""
    extract = found.of(DEFINITION)
    rows_of = {key: list(rows) for key, rows in groupby(found.evidence, key=_key)}
    items = [_difference(row, rows_of.get(_key(row), [])) for row in extract.rows]
    tells = "The gravest first; each opens to the rows that the journals have on it."
    if extract.is_cut:
        shown, total = words.count(len(extract.rows)), words.count(extract.total)
        tells += f" Here are {shown} of {total}; the table differences in the lake has all."
    return Card(
        "differences",
        "Differences, message by message",
        tells,
        tuple(items),
        "no message is told differently by the two journals.",
        (DEFINITION,),
        is_wide=True,
        is_long=True,
    )


def _key(row: Row) -> tuple[str, str, str]:
    return row["from_party"], row["to_party"], row["message_id"]


def _difference(row: Row, evidence: Sequence[Row]) -> Html:
    standing = STANDING_OF[Verdict(row["verdict"])]
    title = join(
        (
            tag("span", row["verdict"], kind=f"word {standing}"),
            " ",
            foreign(row["message_id"]),
            " ",
            pair(row["from_party"], row["to_party"]),
        )
    )
    titles = ("at (UTC)", "journal of", "row", "event", "detail")
    heads = [head(one, "n" if one == "row" else "") for one in titles]
    if row["differs"]:
        differs = tag("span", "differs: ", foreign(row["differs"], PROSE), kind="note")
        title = join((title, " ", differs))
    if row["settled_as"]:
        settled = tag("span", "settled as ", foreign(row["settled_as"], PROSE), kind="note")
        title = join((title, " ", settled))
    inner: Html = tag("p", "The evidence is in the delivery ledger.", kind="note")
    if evidence:
        lines = [_line(line) for line in evidence]
        inner = table(heads, lines, caption=f"Rows on {row['message_id']}")
    return tag("details", tag("summary", title), inner, kind="evidence")


def _line(row: Row) -> Html:
    told = {name: row[name] for name in _NAMED if row[name] is not None}
    detail = [join((f"{name} ", foreign(value, PROSE))) for name, value in told.items()]
    digests = {"digest": row["digest"], "header digest": row["header_digest"]}
    detail += [
        join((f"{name} ", foreign(value[:_DIGEST_SHOWN], PROSE), "…"))
        for name, value in digests.items()
        if value
    ]
    return tag(
        "tr",
        cell(words.instant(row["at"])),
        cell(foreign(row["party"])),
        cell(row["seq"], "n"),
        cell(foreign(row["event"], PROSE), "word"),
        cell(between(", ", detail)),
    )
