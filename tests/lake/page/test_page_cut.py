"""A page that has only some rows of a report tells how many there are in all of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from onceonly.lake.catalogue import find
from onceonly.lake.page import actions, due, outcome
from onceonly.lake.page.cards import availability, backlog, clocks, sla, verdicts
from onceonly.lake.page.findings import Due, Extract, Findings
from onceonly.lake.verdicts import CLASSES, Verdict
from pages import extract_of, findings

MATCHED = {Verdict.MATCHED: 3}
MANY = "5\u202f000"
SAID_BY_PROFILE = "profiles"
"""The header says "At least" where it was cut, and asks nothing of anybody."""


def cut(one: Due, *rows: dict[str, Any], found: Findings | None = None) -> Findings:
    """A clean lake, with a report of which the page has these rows of ten thousand.

    In the whole of it are five thousand of what is due, and nothing else that is.
    """
    clean = found or findings(0, counts=MATCHED)
    made = extract_of(find(one.report).definition, len(rows)).rows
    here = [{**row, **change} for row, change in zip(made, rows, strict=True)]
    alike = {other for other in due.EVERY if (other.report, other.where) == (one.report, one.where)}
    counted = {other: 5_000 * (other in alike) for other in due.of(one.report)}
    extract = Extract(here, 10_000, counted)
    return replace(clean, per_pair={**clean.per_pair, one.report: extract})


def asking(one: Due) -> dict[str, Any]:
    """What makes a row ask for it."""
    return {name: values[0] if values else 7 for name, values in one.where}


def plainly(html: str) -> str:
    return re.sub("<[^>]*>", "", html)


TOLD = [
    (due.DOUBTED, f"{MANY} messages in doubt, in no class above"),
    (due.ENDS_EARLY, f"and 4\u202f999 more: the journals end before {MANY} messages that it lacks"),
    (due.JUMPED, " and 4\u202f999 more: the clock was set"),
    (due.SILENT, " and 4\u202f999 more: no journal in the lake"),
    (due.APART, " and 4\u202f999 more: clocks at least "),
    (due.UNTOLD, f"{MANY} failures that no application was told of"),
    (due.UNCORRECTED, f"{MANY} late acknowledgements not told"),
    (due.QUARANTINED, " and 4\u202f999 more: quarantined"),
    (due.SUSPENDED, " and 4\u202f999 more: suspended"),
    (due.DOWN, " and 4\u202f999 more: the last transmission was not accepted"),
    (due.MISSED, f"{MANY} targets missed"),
    (due.AT_RISK, f"{MANY} agreements whose retries outlive"),
    (due.UNEQUAL, f"{MANY} bulk jobs whose rows do not add up"),
    (due.REFUSED, f"{MANY} rows of bulk jobs refused"),
]


@pytest.mark.parametrize(("one", "says"), TOLD)
def test_actions_tell_how_many_there_are_and_not_how_many_are_here(one: Due, says: str):
    """One row of five thousand is on the page."""
    [action] = actions.actions(cut(one, asking(one)))
    assert says in plainly(str(action.what))


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (due.SUSPENDED, f"{MANY} pairs: suspended"),
        (due.QUARANTINED, f"{MANY} pairs: quarantined"),
        (due.JUMPED, f"{MANY} journals: the clock was set"),
        (due.UNEQUAL, f"{MANY} bulk jobs whose rows do not add up"),
    ],
)
def test_what_has_no_row_on_the_page_is_told_nevertheless(one: Due, says: str):
    """Where something graver fills the extract there is no name, and there is the number."""
    [action] = actions.actions(cut(one))
    assert says in plainly(str(action.what))


def test_every_report_that_the_list_reads_says_what_is_due():
    """A report that is only read from its rows would be told by what was not cut off."""
    read: set[str] = set()

    class Seen(dict[str, Extract]):
        def get(self, name: str, default: Any = None) -> Any:
            read.add(name)
            return super().get(name, default)

    made = findings(3, counts={row.verdict: 2 for row in CLASSES}, broken=["I1", "E3"])
    found = replace(made, per_pair=Seen(made.per_pair))
    actions.actions(found)
    outcome.first_screen(found)
    assert read - {SAID_BY_PROFILE} <= {one.report for one in due.EVERY}
    assert {one.report for one, _ in TOLD} == read - {SAID_BY_PROFILE}


def test_messages_after_the_ends_of_all_journals_are_in_the_sentence():
    """Five thousand of them, in journals of which the page has one."""
    counts = {**MATCHED, Verdict.ACKED_NOT_STORED: 3}
    found = cut(due.LACKED, asking(due.LACKED), found=findings(0, counts=counts))
    assert f"{MANY} are after the end of a journal" in outcome.sentence(found).why


def test_pictures_tell_numbers_of_the_whole_report():
    """What is said beside a picture is not about the rows that happen to be on the page."""
    for card, one, says in (
        (sla.card, due.MISSED, f"{MANY} of 10\u202f000 targets missed"),
        (
            availability.card,
            due.LINES_DOWN,
            f"10\u202f000 lines of transmissions, {MANY} of them down at the end; the longest",
        ),
        (backlog.suspensions, due.SUSPENDED, "10\u202f000 times that a pair stood still"),
        (clocks.card, due.BINS_APART, f"{MANY} bins outside the agreed accuracy"),
    ):
        found = cut(one, asking(one), found=findings(2, counts=MATCHED))
        assert says in "".join(card(found).body)


def test_days_of_some_pairs_are_not_told_as_those_of_all():
    """Twelve pairs have a line, and there are twenty; of their days the page has some."""
    parties = [f"urn:party:{number}" for number in range(20)]
    made = findings(0, parties=parties, counts=MATCHED)
    ends = {"from_party": parties[0], "to_party": parties[1]}
    [shown, _] = verdicts.days(
        cut(due.DIFFERING, {**asking(due.DIFFERING), **ends, "messages": 4}, found=made)
    ).body
    says = "Differing: at least 4 messages, on 1 of at least 1 day, of the 12 pairs that are drawn."
    assert says in shown


def test_a_pair_that_is_closed_now_has_a_line_in_the_picture():
    """However short the time, and however long others stood still before."""
    rows = extract_of(find("channel_intervals").definition, 30).rows
    long = [{**row, "from_party": f"urn:{n}", "length_us": 10**12} for n, row in enumerate(rows)]
    now = {**rows[0], "from_party": "urn:now", "until_at": None, "length_us": 1}
    made = findings(0, counts=MATCHED)
    extract = Extract([*long, now], len(long) + 1)
    found = replace(made, per_pair={due.SUSPENDED.report: extract})
    assert "urn:now" in plainly(backlog.suspensions(found).body[0])


def test_a_name_that_looks_like_a_journal_s_is_found_where_it_is_in_no_pair_that_is_listed():
    """A slip of the pen has no journal; of the pairs the page has those that matter most."""
    silent = {"party": "URN:duns:111111111", "has_journal": False, "status": "no journal"}
    quiet = {"clock_jumps": 0, "behind_end": 0}
    made = cut(due.SILENT, {**silent, **quiet})
    [alike] = [one for one in actions.actions(made) if "taken for one another" in one.what]
    assert "URN:duns:111111111" in alike.what
