"""What a sender does not know, and what it has to wait for: the registers of what is open."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest
from cases import BETWEEN, TERMS, evidence, made, part, records
from journals import (
    DAWN,
    SECOND,
    Ledger,
    Passage,
    two_parties,
)

from onceonly.lake.reports import in_doubt
from onceonly.lake.reports.columns import AGE_CLASSES, OLDEST
from onceonly.message.errors import Severity
from onceonly.message.event import Direction, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark

MS = 1_000
_GIVES_UP = (Event.EXHAUSTED, Event.NOTIFIED)


def aged(age_us: int) -> str:
    return next((word for limit_us, word in AGE_CLASSES if age_us < limit_us), OLDEST)


def test_each_doubt_has_one_action_and_its_evidence(frame: Frame):
    """Answers of the partner, its journal, and words taken back by a resume."""
    there, _ = two_parties()
    answers = {
        "received": "Received, not-started",
        "unknown": "NotRecognized",
        "on the way": "Forwarded",
        "silent": None,
    }
    for message_id, said in answers.items():
        there.given_up(message_id)
        if said is not None:
            there.out(Event.INQUIRY_SENT, message_id, outcome="accepted", reason="StatusRequest")
            there.out(Event.REPORT_RECEIVED, message_id, reason="nothing")
            there.out(Event.REPORT_RECEIVED, message_id, reason=said)
    there.given_up("taken up again")
    there.send("taken up again")
    there.given_up("queued again")
    there.out(Event.REQUEUED, "queued again", reason="an operator asked for it")
    alone = evidence(frame(there.sender.records))
    found = {row["message_id"]: row["suggested_action"] for row in made("in_doubt", alone)}
    assert found == {
        "received": in_doubt.SETTLE_DELIVERED,
        "unknown": in_doubt.SEND_AGAIN,
        "on the way": in_doubt.ASK_ON_THE_WAY,
        "silent": in_doubt.ASK,
    }
    both = made("in_doubt", evidence(frame(records(there))))
    [silent] = [row for row in both if row["message_id"] == "silent"]
    assert part(silent, "partner_evidence", "suggested_action") == (
        in_doubt.NOT_STORED,
        in_doubt.SEND_AGAIN,
    )
    probes = Counter(row["what"] for row in made("status_probes", alone))
    assert probes == {"we asked": 3, "partner answered": 6}


def test_a_doubt_is_what_the_last_word_leaves_open(frame: Frame):
    """An intermediary that had acknowledged doubts it; a refused connection leaves no doubt."""
    there, _ = two_parties()
    there.submit("doubted", actor="job:night")
    there.send("doubted")
    there.ack("doubted")
    there.out(Event.ERROR_RECEIVED, "doubted", severity=Severity.WARNING)
    there.out(Event.NOTIFIED, "doubted", severity=Severity.WARNING, reason="DeliveryFailure")
    there.submit("denied", actor="job:night")
    there.send("denied")
    there.ack("denied")
    there.out(Event.ERROR_RECEIVED, "denied", severity=Severity.ERROR)
    there.out(Event.NOTIFIED, "denied", severity=Severity.ERROR, reason="DeliveryFailure")
    there.out(Event.FAILED, "denied")
    there.submit("never left", actor="job:night")
    there.send("never left", outcome="refused")
    there.tell("never left", Severity.ERROR)
    case = evidence(frame(there.sender.records), as_of=there.now + SECOND)
    assert [row["message_id"] for row in made("in_doubt", case)] == ["doubted"]
    ages = made("in_doubt_ages", case._replace(width_us=60 * SECOND))
    assert {row["messages"] for row in ages} == {1}
    [job] = made("bulk_jobs", case)
    fates = ("acknowledged", "in_doubt", "failed", "under_way", "adds_up")
    assert part(job, *fates) == (0, 1, 1, 1, True)
    kept_rows = {row["state"]: row["messages"] for row in made("retention", case)}
    assert kept_rows == {"in doubt": 1, "settled": 1, "sending": 1}


def test_what_was_taken_up_again_is_open(frame: Frame):
    """No list calls it settled, and none says by when it has its verdict: no fold tells."""
    there, _ = two_parties()
    there.given_up("m@example")
    there.send("m@example", 2, outcome="unknown")
    case = evidence(frame(records(there)), as_of=there.now + SECOND, terms={"tpa-1": TERMS})
    assert made("in_doubt", case) == []
    [waiting] = made("open_budgets", case)
    assert part(waiting, "transmissions", "verdict_due_at", "is_overdue") == (2, None, None)
    [budget] = made("budgets", case)
    assert part(budget, "open", "longest_verdict_us") == (1, None)
    [kept_row] = made("retention", case)
    assert part(kept_row, "state", "purgeable") == ("sending", 0)
    assert [part(row, "given_up", "waiting") for row in made("retries", case)] == [(0, 0), (0, 1)]
    assert {row["in_flight"] for row in made("backlog", case)} == {1}


def test_doubts_are_counted_while_they_last(frame: Frame):
    """One that ends in the second bin, one that stays; an age is the one at the bin's end."""
    there, _ = two_parties()
    there.given_up("settled")
    there.given_up("open")
    there.now = DAWN + 90 * SECOND
    there.ack("settled", Event.LATE_ACK_RECEIVED)
    case = evidence(frame(records(there)), as_of=DAWN + 150 * SECOND)
    rows = made("in_doubt_ages", case._replace(width_us=60 * SECOND))
    # The first bin begins 20 seconds before dawn, at the full minute.
    counts = [part(row, "age_bucket", "messages") for row in rows]
    assert sorted(counts) == [
        ("1 min to 1 h", 1),
        ("1 min to 1 h", 1),
        ("under 1 min", 2),
    ]


@pytest.mark.parametrize("as_of", [DAWN + 3_620 * SECOND, DAWN + 3_651 * SECOND])
def test_doubts_are_counted_as_somebody_would_by_hand(frame: Frame, as_of: int):
    """Bin by bin and doubt by doubt; the judgement at the end of a bin, and within one."""
    random, width = Random(11), 60 * SECOND
    there, _ = two_parties()
    lasted: dict[str, tuple[int, int | None]] = {}
    for number in range(60):
        there.now = DAWN + random.randrange(-5, 3_700) * 5 * SECOND
        there.given_up(f"m{number}")
        since = min(row.at for row in there.sender.records[-4:] if row.event in _GIVES_UP)
        until = since + random.choice([1, 7, 12, 200, 3_600]) * 5 * SECOND
        lasted[f"m{number}"] = (since, until if number % 3 else None)
        if number % 3:
            there.now = until
            there.ack(f"m{number}", Event.LATE_ACK_RECEIVED)
    by_hand: Counter[tuple[int, str]] = Counter()
    for since, until in lasted.values():
        last = min(as_of, until or as_of)
        for start in range(since - since % width, last - last % width + 1, width):
            end = min(start + width, as_of)
            if since <= as_of and (until is None or until > end):
                by_hand[start, aged(end - since)] += 1
    case = evidence(frame(records(there)), as_of=as_of)
    rows = made("in_doubt_ages", case._replace(width_us=width))
    told = {
        (round(row["bin_at"].timestamp() * SECOND), row["age_bucket"]): row["messages"]
        for row in rows
    }
    assert told == by_hand
    assert len(rows) == len(told)


def test_what_an_intermediary_was_told_is_no_answer_to_the_sender(frame: Frame):
    """It asks its own next hop, and the numbers of its rows say nothing beside the sender's."""
    there, _ = two_parties()
    passage = Passage(there, Ledger(BETWEEN))
    there.given_up("m@example")
    there.out(Event.REPORT_RECEIVED, "m@example", reason="NotRecognized")
    for _ in range(50):
        passage.between.write(Event.STARTED, there.now)
    passage.note(Event.REPORT_RECEIVED, "m@example", Direction.OUT, hop=0, reason="Received")
    rows = records(there) + passage.between.records
    [doubt] = made("in_doubt", evidence(frame(rows)))
    assert part(doubt, "last_answer", "suggested_action") == ("NotRecognized", in_doubt.SEND_AGAIN)


def test_a_late_acknowledgement_is_corrected_by_what_was_said_after_it(frame: Frame):
    """A notice about an earlier one corrects nothing; without a failure notice no time is since."""
    there, _ = two_parties()
    there.matched_late("m@example")
    there.ack("m@example", Event.LATE_ACK_RECEIVED)
    there.submit("untold@example")
    there.send("untold@example")
    there.ack("untold@example", Event.LATE_ACK_RECEIVED)
    rows = sorted(made("late_acks", evidence(frame(records(there)))), key=lambda row: row["seq"])
    assert [part(row, "message_id", "after_us", "was_corrected") for row in rows] == [
        ("m@example", 20 * MS, True),
        ("m@example", 45 * MS, False),
        ("untold@example", None, False),
    ]


def test_what_was_denied_after_its_acknowledgement_met_no_target(frame: Frame):
    """An intermediary had acknowledged both: one it could not deliver, one was taken back."""
    there, _ = two_parties()
    for message_id in ("denied", "taken back"):
        there.submit(message_id)
        there.send(message_id)
        there.ack(message_id)
    there.out(Event.ERROR_RECEIVED, "denied", severity=Severity.ERROR)
    there.tell("denied", Severity.ERROR)
    there.out(Event.FAILED, "denied")
    there.out(Event.CANCELLED, "taken back", reason="confirmed")
    there.matched("delivered")
    [row] = made("sla", evidence(frame(there.sender.records)))
    assert part(row, "messages", "met", "missed", "pending", "excused") == (3, 1, 1, 0, 1)
