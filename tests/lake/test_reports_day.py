"""One hour of traffic with a known fate for every message, and what the reports say of it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from cases import evidence, kept, made, part, records
from journals import BUYER, DAWN, SECOND, SELLER, two_parties

from onceonly.lake.catalogue import HOUR_US
from onceonly.lake.reports import sla, turnaround
from onceonly.lake.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record
    from onceonly.lake.catalogue import Evidence

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark

MS = 1_000
EIGHT = datetime(2025, 10, 9, 8, tzinfo=UTC)
DAY = date(2025, 10, 9)
BYTES = 4_096


@pytest.fixture(scope="module")
def hour(frame: Frame) -> Iterator[Evidence]:
    """Twelve messages from the buyer to the seller, within some ten seconds."""
    there, _ = two_parties()
    there.matched("a1")
    there.matched("a2")
    there.matched_after_lost_ack("b1")
    there.matched_after_lost_message("c1")
    there.matched_doubled("d1")
    there.failed_but_delivered("e1")
    there.failed_not_delivered("f1")
    there.matched_late("g1")
    there.best_effort("h1")
    there.queued("i1")
    there.taken_back("k1")
    there.sent_not_received("j1")
    there.orphan_ack("o1")
    case = kept(evidence(frame(records(there))))
    yield case
    case.judged.unpersist()


def only(rows: Sequence[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """The one row with these values."""
    [found] = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


def test_the_promise_counts_each_message_once(hour: Evidence):
    """Best effort is not expected to be acknowledged; what failed for good is not open."""
    [row] = made("promise", hour)
    assert row == {
        "bin_at": EIGHT,
        "from_party": BUYER,
        "to_party": SELLER,
        "sent": 10,
        "acknowledged": 6,
        "handed_over": 7,
        "two_sided": 10,
        "settled": 2,
        "eliminated": 2,
        "unpromised": 1,
        "completeness_share": 0.6,
    }


def test_the_matrix_has_every_message_in_one_class(hour: Evidence):
    """Per day and pair, and their sum is the number of messages."""
    rows = [row for row in made("reconciliation", hour) if row["to_party"] == SELLER]
    assert {row["verdict"]: row["messages"] for row in rows} == {
        Verdict.MATCHED: 5,
        Verdict.MATCHED_LATE: 1,
        Verdict.FAILED_BUT_DELIVERED: 1,
        Verdict.FAILED_NOT_DELIVERED: 1,
        Verdict.BEST_EFFORT: 1,
        Verdict.IN_FLIGHT: 1,
        Verdict.SENT_NOT_RECEIVED: 1,
        Verdict.TAKEN_BACK: 1,
    }
    assert {row["day"] for row in rows} == {DAY}
    assert sum(row["payload_bytes"] for row in rows) == 12 * BYTES


def test_differences_are_the_rows_behind_the_matrix(hour: Evidence):
    """Doubts and alarms, and nothing that both journals agree on."""
    found = {row["message_id"]: row["verdict"] for row in made("differences", hour)}
    assert found == {
        "e1": Verdict.FAILED_BUT_DELIVERED,
        "j1": Verdict.SENT_NOT_RECEIVED,
        "o1": Verdict.ORPHAN_ACK,
    }


def test_only_what_was_given_up_without_knowing_is_in_doubt(hour: Evidence):
    """Late acknowledgements, certain failures and confirmed cancels ended their doubts."""
    [row] = made("in_doubt", hour)
    assert part(row, "message_id", "partner_evidence", "suggested_action", "age_bucket") == (
        "e1",
        "stored",
        "settle as delivered",
        "7 d to 30 d",
    )
    assert row["agreement_id"] == "tpa-1"


def test_every_line_of_the_sheet_is_there(hour: Evidence):
    """Also those that no message was tried on; a month later two are still without a verdict."""
    rows = made("once_only", hour)
    assert [row["line"] for row in sorted(rows, key=lambda row: row["line"])] == list(
        range(1, len(rows) + 1)
    )
    assert [row["name"] for row in rows if not row["holds"]] == ["I21"]
    assert part(only(rows, name="I21"), "messages", "breaches", "examples") == (11, 2, ["i1", "j1"])


def test_turnaround_counts_who_was_never_acknowledged(hour: Evidence):
    """Quantiles are of acknowledged messages; the share over the limit is of all."""
    [row] = [
        one.asDict()
        for one in turnaround.table(hour.judged, as_of=hour.as_of, timeout_us=SECOND).collect()
    ]
    assert part(row, "messages", "acknowledged", "untimed") == (10, 6, 0)
    # 40, 40, 50, 50, 3050 and 3060 ms.
    assert part(row, "p50_us", "p99_us", "worst_us") == (50 * MS, 3_060 * MS, 3_060 * MS)
    assert part(row, "last_p50_us", "last_p95_us") == (40 * MS, 50 * MS)
    assert row["over_timeout_share"] == pytest.approx(0.6)
    assert part(row, "curve_us")[0][0] == 40 * MS
    assert len(row["curve_us"]) == 101
    [unlimited] = made("turnaround", hour)
    assert unlimited["over_timeout_share"] is None


def test_turnaround_has_its_hour_and_weekday(hour: Evidence):
    """The ninth of October 2025 was a Thursday."""
    [bins] = made("turnaround_bins", hour)
    assert part(bins, "bin_at", "messages", "p50_us") == (EIGHT, 6, 50 * MS)
    [heat] = made("turnaround_heat", hour)
    assert part(heat, "weekday", "hour", "messages", "p95_us") == (4, 8, 6, 3_060 * MS)


def test_the_scorecard_misses_what_is_not_acknowledged_in_time(hour: Evidence):
    """Met, missed and excused; open ones with time left are neither."""
    target = sla.SlaTarget(within_us=SECOND, share=0.5)
    [row] = made("sla", hour._replace(target=target))
    assert part(row, "messages", "met", "missed", "pending", "excused") == (11, 4, 6, 0, 1)
    assert part(row, "month", "met_share", "is_kept") == (date(2025, 10, 1), 0.4, False)
    assert part(row, "worst_us", "agreement_id") == (3_065 * MS, "tpa-1")
    # e1 and j1 and i1 have time left; f1 failed, b1 and c1 were slow.
    [row] = made("sla", hour._replace(target=target, as_of=DAWN))
    assert part(row, "met", "missed", "pending", "excused") == (4, 3, 3, 1)


def test_retries_tell_what_each_transmission_was_worth(hour: Evidence):
    """Who is still waited for is not called a failure of the try."""
    first, second = sorted(made("retries", hour), key=lambda row: row["transmission"])
    names = ("reached", "acknowledged", "needless", "given_up", "waiting", "payload_bytes")
    assert part(first, *names) == (9, 4, 0, 3, 1, 10 * BYTES)
    assert part(second, *names) == (2, 2, 1, 0, 0, 2 * BYTES)
    assert first["effectiveness_share"] == pytest.approx(4 / 9)


def test_duplicates_have_a_cause(hour: Evidence):
    """A doubled copy and a lost acknowledgement, two in nine messages stored."""
    [row] = made("duplicate_causes", hour)
    causes = ("doubled", "by_resend", "after_lost_ack", "after_slow_ack", "unexplained")
    assert part(row, "stored", "repeats", *causes) == (9, 2, 1, 0, 1, 0, 0)
    assert row["per_thousand"] == pytest.approx(2_000 / 9)
    assert part(row, "first_p50_us", "first_p95_us") == (15 * MS, 3_025 * MS)
    arrivals = {row["message_id"]: row for row in made("duplicates", hour)}
    assert {name: row["after_us"] for name, row in arrivals.items()} == {
        "b1": 3_025 * MS,
        "d1": 15 * MS,
    }
    assert all(row["was_answered_before"] for row in arrivals.values())


def test_late_and_orphan_acknowledgements_are_told(hour: Evidence):
    """One that came 20 ms after its failure notice, and one for nothing."""
    rows = {row["kind"]: row for row in made("late_acks", hour)}
    assert part(rows["late"], "message_id", "after_us", "was_corrected") == ("g1", 20 * MS, True)
    assert part(rows["orphan"], "message_id", "after_us", "was_corrected") == ("o1", None, None)
    whats = [row["what"] for row in made("acks", hour) if row["message_id"] == "g1"]
    assert sorted(whats) == ["late", "sent"]


def test_every_failure_was_told(hour: Evidence):
    """Four failures: one certain, three not; one of them was corrected."""
    [row] = made("failure_notices", hour)
    counts = ("failures", "told", "missing", "notices_error", "notices_warning", "notices_late")
    assert part(row, "day", *counts) == (DAY, 4, 4, 0, 1, 3, 1)
    assert row["worst_us"] == 35 * MS
    assert len(made("notices", hour)) == 5


def test_volume_is_what_was_submitted(hour: Evidence):
    """Each message once, in its hour, however often it was sent."""
    [row] = made("volume", hour)
    assert part(row, "bin_at", "action", "messages", "received_only", "payload_bytes") == (
        EIGHT,
        "Order",
        12,
        0,
        12 * BYTES,
    )


def test_errors_stand_in_their_phase(hour: Evidence):
    """A failure shows where it began and where it ended, and is counted apart."""
    rows = made("error_pareto", hour)
    counts = {part(row, "phase", "code"): row["occurrences"] for row in rows}
    assert counts == {
        ("transmit", "unknown"): 5,
        ("transmit", "HTTP 503"): 1,
        ("acknowledge", "unknown"): 3,
        ("verdict", "DeliveryFailure"): 5,
    }
    refused = only(rows, code="HTTP 503")
    assert part(refused, "peer", "phase_share", "cumulative_share") == (SELLER, 1 / 6, 1.0)
    trend = {part(row, "phase", "code"): row["occurrences"] for row in made("error_trend", hour)}
    assert trend == counts


def test_the_backlog_ends_with_what_waits(hour: Evidence):
    """One queued, two in flight; whoever is in doubt waits for no transmission."""
    row, *later = sorted(made("backlog", hour), key=lambda row: row["bin_at"])
    assert {part(one, "submitted", "queued", "in_flight") for one in later} == {(0, 1, 2)}
    counts = ("submitted", "started", "settled", "queued", "in_flight")
    # Not settled: i1, j1, and h1, of which nobody says that it was sent.
    assert part(row, *counts) == (12, 11, 9, 1, 2)
    assert row["longest_turn_us"] == 3_060 * MS
    assert row["suspended_us"] == 0


def test_messages_are_kept_by_both_parties(hour: Evidence):
    """Twelve by the sender, nine by the receiver; best effort is no exception."""
    rows = made("messages", hour)
    assert sum(row["role"] == "sender" for row in rows) == 12
    assert sum(row["role"] == "receiver" for row in rows) == 9
    deliveries = made("app_deliveries", hour)
    assert max(row["number"] for row in deliveries) == 2
    assert {row["message_id"] for row in deliveries if row["number"] == 2} == {"h1"}
    assert {row["waited_us"] for row in deliveries if row["message_id"] == "a1"} == {10 * MS}


def test_attempts_have_a_beginning_and_an_end(hour: Evidence):
    """Messages from Transmitting to Transmitted, acknowledgements by their end alone."""
    rows = [row for row in made("attempts", hour) if row["message_id"] == "b1"]
    sent = sorted((row for row in rows if row["what"] == "message"), key=lambda row: row["seq"])
    assert [part(row, "attempt", "outcome", "took_us") for row in sent] == [
        (1, "unknown", 5 * MS),
        (2, "accepted", 5 * MS),
    ]
    acks = [row for row in rows if row["what"] == "acknowledgement"]
    assert [part(row, "party", "peer", "began_at") for row in acks] == [(SELLER, BUYER, None)] * 2


def test_agreements_are_told_by_their_use(hour: Evidence):
    """One agreement id in two degrees of reliability, at both parties."""
    rows = made("agreements", hour)
    assert sorted(part(row, "party", "semantics", "messages", "is_current") for row in rows) == [
        (BUYER, "BestEffort", 1, False),
        (BUYER, "OnceAndOnlyOnce", 11, True),
        (SELLER, "BestEffort", 1, False),
        (SELLER, "OnceAndOnlyOnce", 8, True),
    ]


def test_the_bins_are_aligned(hour: Evidence):
    """Whatever the width, a bin begins at a multiple of it."""
    for width_us in (HOUR_US, 2 * SECOND):
        for row in made("promise", hour._replace(width_us=width_us)):
            start = row["bin_at"].timestamp()
            assert start * SECOND % width_us == 0
