"""What the page is drawn from, computed from a case: nothing of the lake is left out by the way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from cases import BETWEEN, evidence, records
from journals import (
    BUYER,
    DAWN,
    PLANTS,
    SECOND,
    SELLER,
    Exchange,
    Ledger,
    Passage,
    plant,
    two_parties,
)

from onceonly.journal.record import COLUMNS
from onceonly.journal.segment import party_folder
from onceonly.lake import catalogue
from onceonly.lake.jobs.case import JudgedCase, judge
from onceonly.lake.jobs.findings import ADDED_UP, causes, find, rows_on_differences
from onceonly.lake.jobs.page import write_report
from onceonly.lake.page.cards import hops
from onceonly.lake.page.findings import CONTENT_UNPROVEN, HEADER_UNPROVEN, Extract, Findings
from onceonly.lake.page.selection import as_one_pair, plain
from onceonly.lake.reports import (
    differences,
    error_pareto,
    failure_notices,
    in_doubt,
    reconciliation_days,
    volume,
)
from onceonly.lake.wholeness import Wholeness
from onceonly.message.event import Direction, Event
from onceonly.message.word import changed
from pages import findings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark
DAY = 86_400 * SECOND
OF_EVERY_ROW = {
    *("party", "event", "at", "monotonic_ns", "seq", "store_epoch", "chain_hash", "schema_version"),
    *("direction", "from_party", "to_party", "message_id"),
}
OPTIONAL = [name for name in COLUMNS if name not in OF_EVERY_ROW]


def case_of(rows: DataFrame) -> JudgedCase:
    made = evidence(rows, as_of=DAWN + 3 * DAY)
    told = {row["party"] for row in rows.select("party").distinct().collect()}
    names = sorted({BUYER, SELLER, BETWEEN} | told)
    whole = [Wholeness(party_folder(name), 0, 0, 0, 0, None) for name in names]
    return JudgedCase(made.journal, made.coverage, made.judged, made.as_of, made.policy, whole)


def found_in(rows: DataFrame) -> Findings:
    case = case_of(rows)
    return find(case, judge(case))


@pytest.mark.long
def test_a_journal_of_receipts_alone_fills_its_days(frame: Frame):
    """Nothing in it was sent; volume and errors are drawn over what it tells, the newest first."""
    there, _ = two_parties()
    for hour in range(48):
        there.now = DAWN + hour * 3_600 * SECOND
        there.arrive(f"{hour}@example", outcome="unknown" if hour % 12 == 0 else "accepted")
    found = found_in(frame(there.receiver.records))
    width_us = found.width_us(volume.DEFINITION)
    bins = found.whole(volume.DEFINITION).rows
    assert sum(row["messages"] for row in bins) == 48
    assert 24 <= (bins[-1]["bin_at"] - bins[0]["bin_at"]) // width_us + 1 <= 49
    assert found.width_us(error_pareto.DEFINITION) != width_us
    days = [row["day"] for row in found.of(reconciliation_days.DEFINITION).rows]
    assert days == sorted(days, reverse=True)
    assert len(set(days)) == 3
    [error] = found.whole(error_pareto.DEFINITION).rows
    assert (error["phase"], error["code"], error["occurrences"]) == ("acknowledge", "unknown", 4)


def test_an_orphan_acknowledgement_is_shown_with_its_row(frame: Frame):
    """It has no receiver, and its row not even a sender."""
    there, _ = two_parties()
    there.orphan_ack("m@example")
    there.orphan_ack("n@example")
    made = evidence(frame(records(there)))
    shown = rows_on_differences(differences.table(made.judged), made.journal, None)
    assert [(row["from_party"], row["to_party"], row["message_id"]) for row in shown] == [
        (BUYER, None, "m@example"),
        (BUYER, None, "n@example"),
    ]


@pytest.mark.long
def test_words_of_a_stranger_hide_no_register(frame: Frame):
    """A journal with more unknown events than there are known ones, before all others."""
    there, _ = two_parties()
    there.given_up("m@example")
    row = there.sender.records[-1]
    strange = [changed(row, event=f"Strange{n}", seq=row.seq + 1 + n) for n in range(200)]
    found = found_in(frame([*strange, *records(there)]))
    assert [row["message_id"] for row in found.of(in_doubt.DEFINITION).rows] == ["m@example"]
    assert found.of(failure_notices.DEFINITION).rows


@pytest.fixture(scope="module")
def several(frame: Frame) -> tuple[list[Record], Findings]:
    """Rows of pairs of which none is worse or busier than another, and what is found in them."""
    rows: list[Record] = []
    for names in (("urn:1", BUYER), ("urn:2", SELLER), ("urn:3", BETWEEN)):
        there, back = two_parties(names)
        there.matched_late("late@example")
        for number in range(3):
            there.matched_after_lost_ack(f"repeated-{number}@example")
            there.given_up(f"given-up-{number}@example")
        there.queued("waits@example")
        there.of_pair(Event.PAIR_SUSPENDED, reason="maintenance")
        back.submit("job@example", actor="job:night")
        back.out(Event.REJECTED, "no@example", actor="job:night", error_code="TooLarge")
        rows += records(there)
    return rows, found_in(frame(rows))


@pytest.mark.long
def test_the_same_journals_give_the_same_page(frame: Frame, several: tuple[list[Record], Findings]):
    """Where pairs are equally bad or busy their names decide, and not the order of the files."""
    rows, one = several
    other = found_in(frame(rows[::-1]))
    assert one.per_pair == other.per_pair
    assert one.overall == other.overall


def test_all_pairs_added_up_are_what_all_pairs_taken_as_one_are(
    frame: Frame, several: tuple[list[Record], Findings]
):
    """Sums over the table are those over the lives, for whatever pictures of the whole show."""
    rows, found = several
    made = evidence(frame(rows), as_of=DAWN + 3 * DAY)
    for ask in ADDED_UP:
        if ask.table not in ("volume", "error_pareto"):
            definition = catalogue.find(ask.table).definition
            one = made._replace(
                judged=as_one_pair(made.judged), width_us=found.width_us(definition)
            )
            expected = [
                row.asDict() for row in plain(catalogue.find(ask.table).make(one)).collect()
            ]
            got = found.overall[ask.table].rows
            expected = [row for row in expected if row.get("repeats", 1) > 0]
            assert len(got) == len(expected) > 0, ask.table
            for row in got:
                told = {name: value for name, value in row.items() if value is not None}
                told.pop("suspended_us", None)
                assert any(told.items() <= other.items() for other in expected), (ask.table, told)


def test_a_waterfall_without_a_timed_stage_is_no_picture(frame: Frame):
    """An intermediary alone, whose next hop refused everything: a table, and nothing to draw."""
    there = Exchange(Ledger(BUYER), Ledger(SELLER))
    passage = Passage(there, Ledger(BETWEEN))
    passage.note(Event.ARRIVED_IN_TRANSIT, "m@example", Direction.IN)
    passage.note(Event.FORWARDED, "m@example", Direction.OUT, outcome="refused")
    made = evidence(frame([*records(there), *passage.between.records]), as_of=DAWN + 3 * DAY)
    [row] = plain(catalogue.find("hop_waterfall").make(made)).collect()
    assert (row["stage"], row["entered"], row["mean_us"]) == ("hold", 1, None)
    found = replace(findings(0), per_pair={"hop_waterfall": Extract([row.asDict()], 1)})
    assert len(hops.card(found).body) == 1


def test_what_differs_is_told_by_its_cause(frame: Frame):
    """How many of each, with the first three by their names; what agrees is in no cause."""
    there, _ = two_parties()
    there.matched("fine@example")
    for number in range(5):
        there.sent_not_received(f"{number}@example")
    case = case_of(frame(records(there)))
    [cause] = causes(case, judge(case))
    assert cause == {
        "cause": "SENT_NOT_RECEIVED",
        "differs": None,
        "settled_as": None,
        "messages": 5,
        "examples": ["0@example", "1@example", "2@example"],
    }


def test_contents_that_one_side_does_not_tell_are_a_cause(frame: Frame):
    """They are matched, and nobody can tell what was."""
    there, _ = two_parties()
    there.matched("m@example")
    silent = {"digest": None, "header_digest": None}
    theirs = [changed(row, **silent) for row in there.receiver.records]
    case = case_of(frame([*there.sender.records, *theirs]))
    judged = judge(case)
    found = {row["cause"]: row["examples"] for row in causes(case, judged)}
    assert found == {CONTENT_UNPROVEN: ["m@example"], HEADER_UNPROVEN: ["m@example"]}
    assert judged.unproven == judged.header_unproven == 1


@pytest.mark.long
def test_a_journal_that_tells_only_what_it_must_fills_a_page(frame: Frame, tmp_path: Path):
    """A partner's gateway need not know sizes, digests, attempts or anything else of its own."""
    there, _ = two_parties()
    plant(there, PLANTS)
    bare = [changed(row, **dict.fromkeys(OPTIONAL)) for row in records(there)]
    write_report(found_in(frame(bare)), tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000
