"""Report 27 on the page: what the evidence is worth."""

from typing import Final

from onceonly.lake.page import words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, Row
from onceonly.lake.page.listing import listing
from onceonly.lake.page.markup import PROSE, Html, cell, foreign, head, table, tag
from onceonly.lake.page.signs import TEXT_MAX
from onceonly.lake.reports import journal_quality

DEFINITION: Final = journal_quality.DEFINITION
_CHAIN: Final = (
    *("party", "status", "rows", "first_at", "last_at", "last_seq", "last_hash"),
    *("missing", "quarantined", "forks", "first_bad_seq", "behind_end"),
)
_CONDUCT: Final = (
    *("party", "unmatched_messages", "order_violations", "clock_jumps", "largest_jump_us"),
    *("restarts", "unclean_stops", "unknown_events", "newer_rows", "drills"),
)


def quality(found: Findings) -> Card:
    """Each party's journal, with whatever is wrong with it."""
    extract = found.of(DEFINITION)
    body: tuple[Html, ...] = ()
    if extract.rows:
        body = (
            listing(DEFINITION, extract, _CHAIN, caption="Journals"),
            listing(DEFINITION, extract, _CONDUCT, caption="What the journals contradict"),
        )
    elif found.judged.journals:
        body = (_journals(found),)
    return Card(
        "journals",
        "Journals",
        "The evidence. Every row carries the hash of the row before it: missing, edited and "
        "forked rows show, and so does who gives no evidence at all: such journals come first. Who "
        "holds the last row's number and hash can tell whether a journal is the one that this page "
        "was made from.",
        body,
        "no journal is in the lake.",
        (DEFINITION,),
        is_wide=True,
    )


_NUMBERS: Final = {
    "rows": "rows",
    "missing": "missing",
    "quarantined": "quarantined segments",
    "forks": "forks",
    "epochs": "epochs",
    "suspensions": "suspensions",
    "quarantines": "quarantined pairs",
}
"""Of a journal, where its table was not asked for."""


def _journals(found: Findings) -> Html:
    heads = [head("party"), head("first row (UTC)"), head("last row (UTC)")]
    heads += [head(title, "n") for title in _NUMBERS.values()]
    rows = [
        tag(
            "tr",
            cell(foreign(row["party"])),
            cell(words.instant(row["first_at"])),
            cell(words.instant(row["last_at"])),
            *[cell(words.count(row[name]), "n") for name in _NUMBERS],
        )
        for row in found.judged.journals
    ]
    return table(heads, rows, caption="Journals")


def quarantined(found: Findings) -> Card:
    """Published segments none of whose rows count."""
    body: tuple[Html, ...] = ()
    if found.quarantined:
        titles = [head(title) for title in ("party", "segment and what is wrong with it")]
        rows = [_segment(row) for row in found.quarantined]
        body = (table(titles, rows, caption="Segments in quarantine"),)
    return Card(
        "quarantine",
        "Segments in quarantine",
        "None of their rows count. They are looked at again as soon as somebody publishes them "
        "again.",
        body,
        "every published segment could be trusted.",
        is_wide=True,
    )


def set_aside(found: Findings) -> Card:
    """What a person said of evidence that had counted."""
    body: tuple[Html, ...] = ()
    if found.set_aside:
        titles = [head(title) for title in ("party", "segment and the reason that was given")]
        rows = [_segment(row) for row in found.set_aside]
        body = (table(titles, rows, caption="Evidence set aside by hand"),)
    return Card(
        "set-aside",
        "Evidence set aside by hand",
        "Rows that counted until somebody said that they are not to be believed.",
        body,
        "nobody set any evidence aside.",
        is_wide=True,
    )


def _segment(row: Row) -> Html:
    return tag("tr", cell(foreign(row["party"])), cell(foreign(row["fault"], PROSE, most=TEXT_MAX)))
