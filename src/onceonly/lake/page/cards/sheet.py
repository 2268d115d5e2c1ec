"""Report 4 on the page: the once-and-only-once sheet."""

from typing import Final

from onceonly.lake.page import words
from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings, InvariantResult
from onceonly.lake.page.markup import Html, cell, foreign, head, join, table, tag
from onceonly.lake.reports import once_only

DEFINITION: Final = once_only.DEFINITION


def card(found: Findings) -> Card:
    """Every invariant with what it was tried on, the broken ones first."""
    lines = sorted(found.judged.invariants, key=lambda line: line.holds)
    numbers = [head("tried on", "n"), head("breaches", "n")]
    heads = [head(""), head("invariant"), head("claim"), *numbers]
    return Card(
        "sheet",
        "Once and only once",
        "Each line must be 0. Order inside a journal is judged by row numbers, which no wall clock "
        "can move. What breaks a line is named under it.",
        (table(heads, [_line(line) for line in lines], caption="Once and only once"),),
        "",
        (DEFINITION,),
        is_wide=True,
        is_long=True,
    )


def _line(line: InvariantResult) -> Html:
    claim = join((line.claim, _examples(line)))
    tried = cell(words.count(line.messages), "n" if line.messages else "n zero")
    broken = cell(words.count(line.breaches), "n fail" if line.breaches else "n zero")
    return tag("tr", _mark(line), cell(line.name, "word"), cell(claim), tried, broken)


def _examples(line: InvariantResult) -> Html:
    if not line.examples:
        return Html("")
    shown = [join((foreign(example), " ")) for example in line.examples]
    return tag("div", "For example ", *shown, kind="examples")


def _mark(line: InvariantResult) -> Html:
    if not line.holds:
        return cell("✗ broken", "fail")
    return cell("✓ holds", "pass") if line.messages else cell("not tried", "untried")
