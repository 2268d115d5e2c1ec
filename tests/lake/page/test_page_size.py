"""The page has a size that is sent by mail and opened at once, however much is wrong."""

from __future__ import annotations

from dataclasses import replace

from onceonly.lake.catalogue import TABLES
from onceonly.lake.jobs import findings as asked
from onceonly.lake.page.chapters import render
from onceonly.lake.page.findings import PAIRS_LISTED, Findings
from onceonly.lake.page.selection import ALL_PAIRS
from onceonly.lake.verdicts import CLASSES
from pages import OVERALL, extract_of, findings

SIZE_MAX = 1_000_000
"""Bytes: a megabyte."""
BINS = asked.BINS_WANTED
"""Bins in a picture, by how their width is chosen."""
TOLD_APART = {
    "error_trend": asked.ERRORS_DRAWN * BINS,
    "reconciliation": 12 * 40,
}
"""Rows of pictures that tell some lines apart, each in so many bins."""
PARTIES = [f"urn:duns:{number:09d}" for number in range(PAIRS_LISTED)]


def crowded() -> Findings:
    """Five thousand messages of every class, by two hundred pairs; no table has room for more."""
    counts = {row.verdict: 2 for row in CLASSES}
    made = findings(2, parties=PARTIES, counts=counts, broken=["I1"], faults=["x" * 90] * 20)
    assert made.judged.messages > 5_000
    definitions = {table.name: table.definition for table in TABLES}
    most = {ask.table: ask.most for ask in asked.PER_PAIR}
    most |= {"outages": asked.INTERVALS_SHOWN, "volume": asked.PAIRS_SHOWN}
    most |= {"differences": asked.DIFFERENCES_SHOWN, **TOLD_APART}
    per_pair = {
        name: extract_of(definitions[name], number, parties=PARTIES)
        for name, number in most.items()
    }
    overall = {name: extract_of(definitions[name], BINS, parties=[ALL_PAIRS]) for name in OVERALL}
    rows = asked.EVIDENCE_SHOWN // asked.DIFFERENCES_SHOWN
    evidence = [{**row, "seq": seq} for row in made.evidence[:1] for seq in range(rows)]
    return replace(
        made,
        per_pair={**made.per_pair, **per_pair},
        overall={**made.overall, **overall},
        evidence=[
            {**one, **{name: row[name] for name in ("from_party", "to_party", "message_id")}}
            for row in per_pair["differences"].rows
            for one in evidence
        ],
    )


def test_a_crowded_page_is_no_larger_than_a_megabyte():
    """Every table full, every picture drawn, every cause there; most of a lake is less."""
    page = render(crowded())
    assert page.count("<svg") > 20
    assert page.count("<tr>") > 1_000
    assert len(page.encode()) <= SIZE_MAX
