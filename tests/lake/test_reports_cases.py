"""Planted cases, each for the report that has to see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cases import TERMS, evidence, made, part, records
from journals import (
    BUYER,
    DAWN,
    MUCH_LATER,
    SECOND,
    SELLER,
    Exchange,
    Ledger,
    digest_of,
    two_parties,
)

from onceonly.lake import advice
from onceonly.lake.ingest.segments import AT_MAX
from onceonly.lake.reports import journal_quality
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Direction, Event
from onceonly.message.word import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark

MS = 1_000


def test_one_journal_alone_says_what_it_can(frame: Frame):
    """Without the sender: volume from the store, no cause for a repeat, nobody called lost."""
    there, _ = two_parties()
    there.matched_after_lost_ack("m@example")
    case = evidence(frame(there.receiver.records))
    [volume] = made("volume", case)
    assert part(volume, "messages", "received_only") == (1, 1)
    [causes] = made("duplicate_causes", case)
    assert part(causes, "repeats", "unexplained", "after_slow_ack") == (1, 1, 0)
    [row] = made("reconciliation", case)
    assert part(row, "verdict", "one_sided") == ("ONE_SIDED", 1)
    quality = {row["party"]: row for row in made("journal_quality", case)}
    assert part(quality[BUYER], "has_journal", "rows", "unmatched_messages") == (False, 0, 1)
    assert part(quality[SELLER], "has_journal", "unmatched_messages") == (True, 0)
    assert made("promise", case) == []


def test_what_a_stranger_writes_is_never_too_much(frame: Frame):
    """Numbers in words, and a clock that goes to and fro over centuries: sums without an end."""
    there, _ = two_parties()
    there.matched("m@example")
    row = {"direction": Direction.OUT, "attempt": 1, **there.key("m@example")}
    for number in range(2_600):
        is_up = number % 2 == 0
        there.sender.write(
            Event.TRANSMITTED,
            0 if is_up else AT_MAX,
            outcome="accepted" if is_up else "refused",
            **row,
        )
    for _ in range(2):
        there.receiver.write(Event.PURGED, there.now, reason=f"{(1 << 63) - 1} received")
    case = evidence(frame(records(there)))
    [purged] = made("purges", case)
    assert part(purged, "forgotten", "steps") == (None, 2)
    [seen] = [one for one in made("availability", case) if one["party"] == BUYER]
    assert part(seen, "transmissions", "up_us", "availability_share") == (2_601, None, None)
    [life] = advice.exchanges(case.journal).collect()
    assert life["transmitting_us"] is None


def test_a_resend_is_a_cause_of_its_own(frame: Frame):
    """Given up, sent again on somebody's word, and eliminated as a repeat."""
    there, _ = two_parties()
    there.submit("m@example")
    there.send("m@example", outcome="unknown")
    there.arrive("m@example", outcome="unknown")
    there.tell("m@example")
    there.out(Event.REQUEUED, "m@example", reason="an operator asked for it")
    there.send("m@example")
    there.repeat("m@example")
    there.ack("m@example")
    case = evidence(frame(records(there)))
    [causes] = made("duplicate_causes", case)
    assert part(causes, "repeats", "by_resend", "after_lost_ack") == (1, 1, 0)
    [action] = made("operator_effects", case)
    assert part(action, "action", "actor", "verdict", "actions") == (
        "resend",
        None,
        "MATCHED_LATE",
        1,
    )


def test_operators_words_are_told_from_the_gateway_s_own(frame: Frame):
    """A suspension with a message that was given up is a rule's; the others were asked for."""
    there, _ = two_parties()
    there.given_up("m@example")
    there.out(Event.PAIR_SUSPENDED, "m@example", after_ms=0, reason="no acknowledgement")
    there.of_pair(Event.PAIR_RESUMED, reason="operator")
    there.of_pair(Event.PAIR_SUSPENDED, reason="maintenance")
    there.now += 9 * SECOND
    there.of_pair(Event.PAIR_RESUMED, reason="acknowledged late")
    there.submit("n@example", actor="job:night")
    there.out(Event.CANCELLED, "n@example", actor="ann")
    there.sender.write(
        Event.ASKED, there.now, actor="ann (boss)", reason="createKey shop: for the shop"
    )
    there.out(Event.RESENT, "n@example", reason="as o@example: an operator asked for it")
    there.out(Event.RESENT, "o@example", reason="as p@example: submitted again under its key")
    case = evidence(frame(records(there)))
    actions = sorted(made("operator_actions", case), key=lambda row: row["seq"])
    assert [part(row, "action", "actor", "reason") for row in actions] == [
        ("resume", None, "operator"),
        ("suspend", None, "maintenance"),
        ("cancel", "ann", None),
        ("createKey", "ann (boss)", "createKey shop: for the shop"),
        ("resend", None, "as o@example: an operator asked for it"),
    ]
    intervals = made("channel_intervals", case)
    lengths = {row["reason"]: row["length_us"] for row in intervals}
    assert lengths["maintenance"] == 9 * SECOND + 5 * MS
    assert lengths["no acknowledgement"] == 5 * MS
    [row] = made("backlog", case)
    assert row["suspended_us"] == 9 * SECOND + 10 * MS


def test_a_partner_is_down_until_something_is_accepted(frame: Frame):
    """Two outages, one of them still on; nothing is known between transmissions."""
    there, _ = two_parties()
    there.submit("m@example")
    attempts = ("accepted", "unknown", "refused", "accepted", "unknown")
    for attempt, outcome in enumerate(attempts, 1):
        there.send("m@example", attempt, outcome)
        there.now += SECOND - 10 * MS
    case = evidence(frame(records(there)))
    [row] = made("availability", case)
    assert part(row, "party", "peer", "transmissions", "accepted", "refused", "unknown") == (
        BUYER,
        SELLER,
        5,
        2,
        1,
        2,
    )
    assert part(row, "outages", "up_us", "down_us", "is_down") == (2, 2 * SECOND, 2 * SECOND, True)
    assert part(row, "availability_share", "mtbf_us", "mttr_us") == (0.5, SECOND, 2 * SECOND)
    timeline = sorted(made("outages", case), key=lambda row: row["from_at"])
    assert [part(row, "state", "transmissions", "length_us") for row in timeline] == [
        ("up", 1, SECOND),
        ("down", 2, 2 * SECOND),
        ("up", 1, SECOND),
        ("down", 1, 0),
    ]


def test_a_crash_leaves_a_transmission_without_an_end(frame: Frame):
    """What began and never ended is there, with no outcome; the next one is another."""
    there, _ = two_parties()
    there.matched_through_crash("m@example")
    rows = made("attempts", evidence(frame(records(there))))
    sent = [row for row in rows if row["what"] == "message"]
    assert sorted(part(row, "outcome", "took_us") for row in sent if row["outcome"]) == [
        ("accepted", 5 * MS)
    ]
    assert [row["ended_at"] for row in sent if not row["outcome"]] == [None]


def test_numbers_that_do_not_go_on_are_told(frame: Frame):
    """A gap, a reset that was announced, a wrap, a step back, and one that was refused."""
    there, _ = two_parties()
    for number in (1, 2, 5, 1, 999_999_999, 1, 7, 6):
        message_id = f"{number}-{there.now}@example"
        there.number = number
        there.send(message_id)
        there.send(message_id, 2)
    there.of_pair(Event.SEQUENCE_RESET, reason="abandoned")
    there.into(
        Event.REJECTED,
        "late@example",
        sequence_number=9,
        error_code=ErrorCode.INVALID_SEQUENCE_NUMBER,
    )
    rows = made("sequence_gaps", evidence(frame(records(there))))
    by_number = sorted(rows, key=lambda row: (row["side"] == "receiving", row["seq"]))
    assert [
        part(row, "kind", "previous_number", "sequence_number", "missing") for row in by_number
    ] == [
        ("gap", 2, 5, 2),
        ("reset", 5, 1, None),
        ("gap", 1, 999_999_999, 999_999_997),
        ("wrap", 999_999_999, 1, None),
        ("gap", 1, 7, 5),
        ("back", 7, 6, None),
        ("announced", 6, None, None),
        ("refused", None, 9, None),
    ]


def test_budgets_are_held_against_the_terms_that_are_given(frame: Frame):
    """Without terms the journal says nothing of them; with terms the margin is theirs."""
    there, _ = two_parties()
    there.matched_after_lost_message("m@example", losses=2)
    there.sent_not_received("open@example")
    case = evidence(frame(records(there)), as_of=DAWN + 60 * SECOND)
    [unknown] = made("budgets", case)
    assert part(unknown, "messages", "open", "most_attempts", "worst_case_us", "is_at_risk") == (
        2,
        1,
        3,
        None,
        None,
    )
    assert unknown["longest_verdict_us"] == 6 * SECOND + 60 * MS
    known = case._replace(terms={"tpa-1": TERMS})
    [row] = made("budgets", known)
    # 30 s and three times 60 s, against an hour and a day.
    assert part(row, "worst_case_us", "margin_us", "is_at_risk") == (
        210 * SECOND,
        3_390 * SECOND,
        False,
    )
    [waiting] = made("open_budgets", known)
    assert part(waiting, "message_id", "transmissions", "is_overdue") == ("open@example", 1, False)
    assert waiting["margin_us"] == 3_390 * SECOND - 5 * MS
    [late] = made("open_budgets", known._replace(as_of=DAWN + 300 * SECOND))
    assert late["is_overdue"] is True


def test_what_may_be_purged_is_settled_and_old(frame: Frame):
    """Per role, state and age; whether anything may go is known with the terms only."""
    there, _ = two_parties()
    there.matched("m@example")
    there.queued("open@example")
    there.receiver.write(Event.PURGED, there.now, reason="12 received")
    there.receiver.write(Event.PURGED, there.now, reason="3 received")
    case = evidence(frame(records(there)))
    kept_rows = {part(row, "role", "state"): row for row in made("retention", case)}
    assert {key: row["purgeable"] for key, row in kept_rows.items()} == {
        ("sender", "settled"): None,
        ("sender", "queued"): None,
        ("receiver", "handed over"): None,
    }
    assert kept_rows["receiver", "handed over"]["remembered"] == 1
    known = made("retention", case._replace(terms={"tpa-1": TERMS}))
    assert {part(row, "role", "state"): row["purgeable"] for row in known} == {
        ("sender", "settled"): 1,
        ("sender", "queued"): 0,
        ("receiver", "handed over"): 1,
    }
    [purged] = made("purges", case)
    assert part(purged, "party", "what", "forgotten", "steps") == (SELLER, "received", 15, 2)


def test_rows_of_a_job_add_up(frame: Frame):
    """Accepted and refused, and every accepted row is somewhere; a refusal mended is none."""
    there, _ = two_parties()
    job = {"actor": "job:night"}

    def refuse(message_id: str | None, error_code: str = "PayloadTooLarge") -> None:
        there.sender.write(
            Event.REJECTED,
            there.now,
            direction=Direction.OUT,
            message_id=message_id,
            error_code=error_code,
            reason="9 MB",
            **job,
        )

    for message_id in ("acked", "doubted", "queued"):
        there.submit(message_id, **job)
    there.send("acked")
    there.arrive("acked")
    there.ack("acked")
    there.send("doubted", outcome="unknown")
    there.tell("doubted")
    refuse("refused")
    refuse("refused")
    refuse("mended")
    refuse(None)
    refuse(None)
    there.submit("mended", **job)
    refuse("acked", "MessageIdTaken")
    there.matched("of nobody's job")
    case = evidence(frame(records(there)))
    [row] = made("bulk_jobs", case)
    assert part(row, "job", "told", "accepted", "rejected") == ("night", 8, 4, 4)
    assert part(row, "acknowledged", "in_doubt", "under_way", "failed") == (1, 1, 2, 0)
    assert part(row, "adds_up", "is_settled", "payload_bytes") == (True, False, 4 * 4_096)
    rejects = made("job_rejects", case)
    [reject] = [one for one in rejects if one["error_code"] == "PayloadTooLarge"]
    assert part(reject, "error_code", "rejected", "messages", "example") == (
        "PayloadTooLarge",
        5,
        2,
        "mended",
    )
    ledger = {row["message_id"] for row in made("delivery_ledger", case)}
    assert "refused" not in ledger
    submits = [row for row in made("error_pareto", case) if row["phase"] == "submit"]
    told = {part(row, "code", "occurrences") for row in submits}
    assert told == {("PayloadTooLarge", 5), ("MessageIdTaken", 1)}


def test_what_came_back_and_was_refused_is_an_answer_and_no_message(frame: Frame):
    """It stands at the message that waited for it: no row of a job, no gap, no line of a ledger."""
    there, _ = two_parties()
    there.matched("m@example")
    code = ErrorCode.INVALID_SEQUENCE_NUMBER.value
    there.out(Event.REJECTED, "m@example", error_code=code, reason="a response was refused: 5")
    there.sender.write(
        Event.REJECTED, there.now, direction=Direction.IN, message_id="nobodys", error_code=code
    )
    case = evidence(frame(records(there)))
    assert [row["message_id"] for row in made("delivery_ledger", case)] == ["m@example"]
    assert made("bulk_jobs", case) == []
    phases = {part(row, "phase", "code") for row in made("error_pareto", case)}
    assert phases == {("answer", code), ("arrival", code)}
    kinds = [row["kind"] for row in made("sequence_gaps", case) if row["kind"] == "refused"]
    assert len(kinds) == 1, "of nobody's message"


def shifted(rows: list[Record], by_us: int) -> list[Record]:
    return [changed(row, at=row.at + by_us) for row in rows]


def test_every_message_bounds_the_difference_of_the_clocks(frame: Frame):
    """A receiver 100 seconds ahead: the bounds hold it, though its acknowledgements were slow."""
    there, _ = two_parties()
    there.matched("m@example")
    there.matched_after_lost_ack("n@example")
    rows = there.sender.records + shifted(there.receiver.records, 100 * SECOND)
    case = evidence(frame(rows))
    [row] = made("clock_skew", case)
    # Stored 10 ms after the first transmission and 30 ms before the acknowledgement.
    assert part(row, "lower_us", "upper_us", "skew_us") == (
        100 * SECOND - 30 * MS,
        100 * SECOND + 10 * MS,
        100 * SECOND - 10 * MS,
    )
    # The other was sent again: its middle would be half of its waiting.
    assert part(row, "messages", "is_consistent", "is_within_accuracy", "drift_ppm") == (
        1,
        True,
        False,
        None,
    )


def test_a_journal_that_is_cut_at_its_end_has_a_status_of_its_own(frame: Frame):
    """What its partner tells of after its last row is counted; the whole one is whole."""
    there, _ = two_parties()
    there.matched("m@example")
    end = len(there.receiver.records)
    there.matched("acknowledged behind it")
    there.sent_not_received("sent behind it")
    cut = there.sender.records + there.receiver.records[:end]
    quality = {row["party"]: row for row in made("journal_quality", evidence(frame(cut)))}
    assert part(quality[SELLER], "status", "behind_end", "last_seq") == ("ends early", 2, end)
    assert quality[SELLER]["last_hash"] == there.receiver.records[end - 1].chain_hash
    assert part(quality[BUYER], "status", "behind_end") == ("whole", 0)
    of_sender = next(n for n, row in enumerate(there.sender.records) if row.seq == 5)
    there.now += SECOND
    there.received_not_sent("submitted behind it")
    cut = there.sender.records[: of_sender + 1] + there.receiver.records
    quality = {row["party"]: row for row in made("journal_quality", evidence(frame(cut)))}
    assert part(quality[BUYER], "status", "behind_end") == ("ends early", 2)
    assert part(quality[SELLER], "status", "behind_end") == ("whole", 0)


def test_a_clock_that_was_set_shows_in_the_quality_of_the_journal(frame: Frame):
    """A step back of an hour, a crash, an unknown event, and no evidence of the partner."""
    there, _ = two_parties()
    there.matched("m@example")
    there.sender.restart(there.now)
    there.matched("n@example")
    there.delivered_twice("o@example")
    rows = there.sender.records
    cut = next(i for i, row in enumerate(rows) if row.message_id == "n@example")
    turned = rows[:cut] + shifted(rows[cut:], -3_600 * SECOND)
    strange = changed(turned[-1], seq=len(rows) + 1, schema_version=9)
    case = evidence(frame([*turned, strange]))
    quality = {row["party"]: row for row in made("journal_quality", case)}
    mine = quality[BUYER]
    assert part(mine, "restarts", "unclean_stops", "backward_steps", "clock_jumps") == (1, 1, 1, 1)
    assert part(mine, "largest_jump_us", "newer_rows", "order_violations") == (
        3_600 * SECOND,
        1,
        0,
    )
    assert mine["quarantined"] > 0
    assert part(quality[SELLER], "has_journal", "unmatched_messages") == (False, 3)

    def cut_into(stretch_rows: int) -> list[str]:
        accuracy_us = case.policy.clock_accuracy_us
        stretches = journal_quality.by_stretch(
            case.journal, accuracy_us=accuracy_us, stretch_rows=stretch_rows
        )
        others = (case.judged, case.coverage, case.wholeness)
        found = journal_quality.table(stretches, *others, as_of=case.as_of, policy=case.policy)
        return sorted(map(repr, found.collect()))

    assert cut_into(3) == cut_into(1 << 16)


def test_a_turnaround_before_its_beginning_is_no_turnaround(frame: Frame):
    """The sender's clock was set back by an hour between transmission and acknowledgement."""
    there, _ = two_parties()
    there.matched("m@example")
    there.submit("n@example")
    there.send("n@example")
    there.arrive("n@example")
    there.now -= 3_600 * SECOND
    there.ack("n@example")
    case = evidence(frame(records(there)))
    [row] = made("turnaround", case)
    assert part(row, "acknowledged", "untimed", "worst_us") == (2, 1, 40 * MS)
    [skew] = made("clock_skew", case)
    assert skew["is_consistent"] is False


def test_exactly_once_that_is_never_given_up_is_under_way(frame: Frame):
    """No time to a verdict was agreed, so it is open, and in no register of doubts."""
    there, _ = two_parties()
    there.submit("m@example", semantics="ExactlyOnce")
    for attempt in range(1, 6):
        there.send("m@example", attempt, "unknown")
        there.now += 60 * SECOND
    case = evidence(frame(records(there)), as_of=MUCH_LATER)
    assert made("in_doubt", case) == []
    rows = made("retries", case)
    assert {row["transmission"]: part(row, "reached", "waiting") for row in rows} == {
        1: (1, 0),
        2: (1, 0),
        3: (1, 0),
        4: (1, 0),
        5: (0, 1),
    }
    rows = made("backlog", case._replace(width_us=86_400 * SECOND))
    assert {part(row, "queued", "in_flight") for row in rows} == {(0, 1)}
    assert len(rows) == 31, "a day each until the judgement"
    fine = case._replace(width_us=60 * SECOND)
    assert len(made("backlog", fine)) == 30 * 1_440 + 1, "a month of minutes is no long work"
    earlier = case._replace(width_us=60 * SECOND, as_of=DAWN + 60 * SECOND)
    assert len(made("backlog", earlier)) == 2, "nothing behind the judgement"


def test_the_oldest_in_the_queue_is_found_behind_the_head(frame: Frame):
    """Three submitted at once, sent one after the other, a minute apart."""
    there, _ = two_parties()
    ids = ("1", "2", "3")
    for message_id in ids:
        there.submit(message_id)
    for message_id in ids:
        there.send(message_id)
        there.arrive(message_id)
        there.now += 60 * SECOND
        there.ack(message_id)
    case = evidence(frame(records(there)))
    rows = sorted(
        made("backlog", case._replace(width_us=60 * SECOND)), key=lambda row: row["bin_at"]
    )
    assert [
        part(row, "submitted", "started", "settled", "queued", "in_flight") for row in rows
    ] == [
        (3, 1, 0, 2, 1),
        (0, 1, 1, 1, 1),
        (0, 1, 1, 0, 1),
        (0, 0, 1, 0, 0),
    ]
    # Dawn is 20 seconds into its minute; the second message was submitted 10 ms after dawn.
    oldest = [row["oldest_queued_us"] for row in rows]
    assert oldest == [40 * SECOND - 10 * MS, 100 * SECOND - 15 * MS, None, None]
    assert rows[1]["longest_turn_us"] == 60 * SECOND + 40 * MS


def test_a_collision_is_an_arrival_and_no_duplicate(frame: Frame):
    """The same MessageId with another content is counted apart from repeats."""
    there, _ = two_parties()
    there.collision("m@example")
    case = evidence(frame(records(there)))
    [row] = made("duplicates", case)
    assert part(row, "kind", "number", "was_answered_before") == ("collision", 1, True)
    [causes] = made("duplicate_causes", case)
    assert part(causes, "repeats", "collisions") == (0, 1)
    [matrix] = made("reconciliation", case)
    assert matrix["verdict"] == "COLLISION"


def test_processing_states_stand_beside_the_hand_over(frame: Frame):
    """In progress, complete; each at its first word."""
    there, _ = two_parties()
    there.matched("m@example")
    there.into(Event.PROCESSING_CHANGED, "m@example", reason="in-progress")
    there.into(Event.PROCESSING_CHANGED, "m@example", reason="complete")
    [row] = made("app_deliveries", evidence(frame(records(there))))
    assert row["in_progress_at"] < row["complete_at"]
    assert part(row, "number", "digest", "refused_at") == (1, digest_of("m@example"), None)


def test_a_hand_over_that_was_asked_for_has_a_row_of_its_own(frame: Frame):
    """When it was asked for, and how far the application got with it, apart from the first."""
    there, _ = two_parties()
    there.matched("m@example")
    there.into(Event.PROCESSING_CHANGED, "m@example", reason="complete")
    asked = {"attempt": 2, "actor": "Ann", "reason": "restored from last night"}
    there.into(Event.HANDED_OVER_AGAIN, "m@example", **asked)
    there.hand_over("m@example", attempt=2)
    there.into(Event.PROCESSING_CHANGED, "m@example", reason="in-progress", attempt=2)
    case = evidence(frame(records(there)))
    first, second = sorted(made("app_deliveries", case), key=lambda row: row["number"])
    assert part(first, "number", "asked_at", "in_progress_at") == (1, None, None)
    assert part(second, "number", "complete_at") == (2, None)
    assert first["complete_at"] <= second["asked_at"] <= second["handed_over_at"]
    assert second["handed_over_at"] <= second["in_progress_at"]
    [action] = made("operator_actions", case)
    assert part(action, "actor", "action", "reason") == ("Ann", "redeliver", asked["reason"])


def test_a_clock_that_was_set_back_empties_no_queue_below_nothing(frame: Frame):
    """Submitted at eight, and by the clock sent and acknowledged at six."""
    there, _ = two_parties()
    there.submit("m@example")
    there.now -= 2 * 3_600 * SECOND
    there.send("m@example")
    there.arrive("m@example")
    there.ack("m@example")
    rows = made("backlog", evidence(frame(records(there))))
    counts = ("submitted", "started", "settled", "queued", "in_flight")
    assert [part(row, *counts) for row in rows] == [(1, 1, 1, 0, 0)]


def test_what_was_handed_over_and_never_stored_waited_for_no_known_time(frame: Frame):
    """Its store is in a part of the journal that is missing: null is not 0."""
    there, _ = two_parties()
    there.hand_over("m@example")
    [row] = made("app_deliveries", evidence(frame(records(there))))
    assert part(row, "stored_at", "waited_us") == (None, None)


def test_who_refuses_what_is_meant_for_another_answers_for_none_of_its_faults(frame: Frame):
    """A misaddressed message is refused by the first in the alphabet; the last one lost a store."""
    first, last, sender = map(Ledger, ("urn:a", "urn:z", "urn:s"))
    for ledger in (first, last, sender):
        ledger.write(Event.STARTED, DAWN)
    there = Exchange(sender, last)
    there.acked_not_stored("m@example")
    first.write(Event.REJECTED, there.now, direction=Direction.IN, **there.key("astray@example"))
    rows = first.records + records(there)
    quality = {row["party"]: row for row in made("journal_quality", evidence(frame(rows)))}
    assert {party: row["unmatched_messages"] for party, row in quality.items()} == {
        "urn:a": 0,
        "urn:s": 0,
        "urn:z": 1,
    }


def test_profiles_and_evidence_are_counted_by_name(frame: Frame):
    """Asked is proven, without evidence, or not acknowledged; and the signers are there."""
    there, _ = two_parties()
    for name in ("proven", "unproven"):
        there.acked_without_evidence(name)
    there.submit("waits", ack_requested="Signed")
    there.matched("unsigned")
    there.out(Event.EVIDENCE_KEPT, "proven", reason="acknowledgment", signer="ab" * 32)
    # The envelope of our own message is no receipt, and what it says of its signer no receiver's.
    there.out(Event.EVIDENCE_KEPT, "unproven", reason="message", signer="cd" * 32)
    for name in ("proven", "unproven"):
        there.into(Event.EVIDENCE_KEPT, name, reason="message", signer="ef" * 32)
    [row] = made("profiles", evidence(frame(records(there))))
    assert part(row, "from_party", "to_party", "profile") == (BUYER, SELLER, "rm-2000")
    assert part(row, "messages", "differing", "evidence_asked", "evidence_kept") == (4, 1, 3, 1)
    assert part(row, "evidence_missing", "unacknowledged", "signed") == (1, 1, 2)
    assert part(row, "receipt_signers", "message_signers") == (["ab" * 32], ["ef" * 32])


def test_a_profile_is_told_by_one_journal_too(frame: Frame):
    """The receiver's word where the sender's journal is missing; nobody has asked for anything."""
    there, _ = two_parties()
    there.matched("m@example")
    [row] = made("profiles", evidence(frame(there.receiver.records)))
    assert part(row, "profile", "messages", "evidence_asked", "signed") == ("rm-2000", 1, 0, 0)
    assert part(row, "receipt_signers", "message_signers") == ([], [])
