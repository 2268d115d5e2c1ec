"""Every line of the once-and-only-once sheet finds its breach and nothing else."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from journals import DAWN, MUCH_LATER, SECOND, Exchange, Ledger, healthy

from onceonly.lake import invariants, model
from onceonly.lake.verdicts import Policy, verdict
from onceonly.message.errors import Severity
from onceonly.message.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, Row

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark
POLICY = Policy(retries=3)


def breach_i1(x: Exchange) -> None:
    x.delivered_twice("m")


def breach_i2(x: Exchange) -> None:
    x.content_mismatch("m")


def breach_i3(x: Exchange) -> None:
    x.submit("m")
    x.send("m")
    x.answer("m")
    x.store("m")
    x.hand_over("m")
    x.ack("m")


def breach_i4(x: Exchange) -> None:
    x.submit("m")
    x.send("m")
    x.store("m")
    x.hand_over("m")
    x.ack("m")


def breach_r02(x: Exchange) -> None:
    x.submit("m")
    x.send("m")
    x.into(Event.DUPLICATE_ELIMINATED, "m")
    x.arrive("m")
    x.ack("m")


def breach_i8(x: Exchange) -> None:
    x.collision("m")


def breach_i13(x: Exchange) -> None:
    x.acked_not_stored("m")


def breach_i14(x: Exchange) -> None:
    x.send("m")
    x.submit("m")
    x.arrive("m")
    x.ack("m")


def breach_i15(x: Exchange) -> None:
    x.submit("first")
    x.submit("m")
    x.send("first")
    x.arrive("first")
    x.send("m")
    x.ack("first")
    x.arrive("m")
    x.ack("m")


def breach_i16(x: Exchange) -> None:
    x.submit("first")
    x.submit("m")
    x.send("first")
    x.store("first")
    x.answer("first")
    x.ack("first")
    x.send("m")
    x.arrive("m")
    x.ack("m")
    x.hand_over("first")


def breach_i18(x: Exchange) -> None:
    x.matched_after_lost_message("m", losses=4)


def breach_i20(x: Exchange) -> None:
    x.matched("m")
    x.tell("m")
    x.out(Event.FAILED, "m")


def breach_i21(x: Exchange) -> None:
    x.queued("m")


def breach_i22(x: Exchange) -> None:
    x.submit("m")
    x.send("m", outcome="refused")
    x.out(Event.FAILED, "m")


def breach_i23(x: Exchange) -> None:
    x.submit("m")
    x.send("m")
    x.arrive("m")
    x.tell("m")
    x.ack("m", Event.LATE_ACK_RECEIVED)


def breach_i24(x: Exchange) -> None:
    x.submit("m")
    x.send("m", outcome="unknown")
    x.arrive("m")
    x.tell("m", Severity.ERROR)


def breach_i26(x: Exchange) -> None:
    x.submit("m")
    x.send("m", outcome="unknown")
    x.tell("m")
    x.out(Event.FAILED, "m")
    x.now += 60 * SECOND
    x.arrive("m")


def breach_r08(x: Exchange) -> None:
    x.submit("m")
    x.send("m", outcome="unknown")
    x.arrive("m", outcome="unknown")
    x.tell("m")
    x.into(Event.CANCEL_CONFIRMED, "m")
    x.into(Event.PROCESSING_CHANGED, "m", reason="in-progress")


def breach_l2(x: Exchange) -> None:
    x.not_delivered_to_app("m")


BREACHES: dict[str, Callable[[Exchange], None]] = {
    "I1": breach_i1,
    "I2": breach_i2,
    "I3": breach_i3,
    "I4": breach_i4,
    "R-02": breach_r02,
    "I8": breach_i8,
    "I13": breach_i13,
    "I14": breach_i14,
    "I15": breach_i15,
    "I16": breach_i16,
    "I18": breach_i18,
    "I20": breach_i20,
    "I21": breach_i21,
    "I22": breach_i22,
    "I23": breach_i23,
    "I24": breach_i24,
    "I26": breach_i26,
    "R-08": breach_r08,
    "L2": breach_l2,
}


def broken(rows: DataFrame) -> DataFrame:
    judged = verdict(model.partial(rows), model.coverage(rows), as_of=MUCH_LATER, policy=POLICY)
    return invariants.breaches(judged, as_of=MUCH_LATER, policy=POLICY)


def sheet_of(tried_and_broken: DataFrame) -> dict[str, Row]:
    sheet = invariants.sheet(invariants.tallies(tried_and_broken))
    return {row["name"]: row for row in sheet.collect()}


def test_every_invariant_has_a_breach():
    """A line of the sheet without a planted breach would be a claim without a proof."""
    assert list(BREACHES) == [line.name for line in invariants.INVARIANTS]


def test_every_breach_is_found_and_nothing_else(frame: Frame):
    """One pair of parties per breach, so that each shows alone."""
    rows: list[Record] = []
    for name, breach in BREACHES.items():
        exchange = Exchange(Ledger(f"urn:from:{name}"), Ledger(f"urn:to:{name}"))
        for ledger in (exchange.sender, exchange.receiver):
            ledger.write(Event.STARTED, DAWN)
        breach(exchange)
        rows += exchange.sender.records + exchange.receiver.records
    found = [
        (row["from_party"].removeprefix("urn:from:"), row["message_id"], line)
        for row in broken(frame(rows)).collect()
        for line in invariants.names(row["broken"])
    ]
    assert sorted(found) == sorted((name, "m", name) for name in BREACHES)


def test_a_sure_failure_that_was_sent_again_and_arrived_is_no_breach(frame: Frame):
    """I24: refused connections, a resume by the operator, then the acknowledgement."""
    x = Exchange(Ledger("urn:from:resumed"), Ledger("urn:to:resumed"))
    for ledger in (x.sender, x.receiver):
        ledger.write(Event.STARTED, DAWN)
    x.submit("m")
    x.send("m", outcome="refused")
    x.tell("m", Severity.ERROR)
    x.send("m")
    x.arrive("m")
    found = lines(frame, x, "broken")
    assert "I24" not in found["m"]


def lines(frame: Frame, x: Exchange, bits: str) -> dict[str, set[str]]:
    """The lines of the sheet, by message, whose bits are set in any of its rows."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in broken(frame(x.sender.records + x.receiver.records)).collect():
        found[row["message_id"]].update(invariants.names(row[bits]))
    return found


def test_an_acknowledgement_is_overtaken_by_the_partners_own_word_alone(frame: Frame):
    """I20: an intermediary could not deliver after all; a receiver confirmed a cancel."""
    x = Exchange(Ledger("urn:from:overtaken"), Ledger("urn:to:overtaken"))
    for message_id in ("undeliverable", "confirmed", "on our own", "failed first"):
        x.submit(message_id)
        x.send(message_id)
        if message_id != "failed first":
            x.ack(message_id)
    x.out(Event.ERROR_RECEIVED, "undeliverable", severity=Severity.ERROR)
    x.tell("undeliverable", Severity.ERROR)
    x.out(Event.FAILED, "undeliverable")
    x.into(Event.CANCEL_CONFIRMED, "confirmed")
    x.out(Event.CANCELLED, "confirmed")
    x.out(Event.CANCELLED, "on our own")
    x.tell("failed first")
    x.out(Event.ERROR_RECEIVED, "failed first", severity=Severity.ERROR)
    x.out(Event.FAILED, "failed first")
    x.ack("failed first")
    found = lines(frame, x, "broken")
    assert {name for name, names in found.items() if "I20" in names} == {
        "on our own",
        "failed first",
    }


def test_a_healthy_exchange_breaks_nothing(frame: Frame):
    """Hundreds of messages over a bad line, and every line of the sheet is 0."""
    there, _ = healthy(seed=23, messages=80)
    rows = frame(there.sender.records + there.receiver.records)
    sheet = {
        row["name"]: row for row in invariants.sheet(invariants.tallies(broken(rows))).collect()
    }
    assert {name: row["breaches"] for name, row in sheet.items() if row["breaches"]} == {}
    assert sheet["I1"]["messages"] == 160
    assert sheet["I1"]["examples"] == []


def test_a_hand_over_that_was_asked_for_keeps_the_sheet(frame: Frame):
    """I1: one more than was asked for does not."""
    x = Exchange(Ledger("urn:from:other"), Ledger("urn:to:other"))
    for name, handed in (("asked", 1), ("more", 2)):
        x.matched(name)
        x.into(Event.HANDED_OVER_AGAIN, name, attempt=2, actor="Ann", reason="lost")
        for attempt in range(2, 2 + handed):
            x.hand_over(name, attempt=attempt)
    rows = frame(x.sender.records + x.receiver.records)
    sheet = {
        row["name"]: row for row in invariants.sheet(invariants.tallies(broken(rows))).collect()
    }
    assert {name for name, row in sheet.items() if row["breaches"]} == {"I1"}
    assert sheet["I1"]["breaches"] == 1


def test_every_degree_of_reliability_keeps_the_sheet(frame: Frame):
    """Windows, transports that are reliable themselves, cancels and endless tries break no line.

    A message without a number is tried for no line of order: none was promised.
    """
    x = Exchange(Ledger("urn:from:other"), Ledger("urn:to:other"))
    for ledger in (x.sender, x.receiver):
        ledger.write(Event.STARTED, DAWN)
    x.submit("first")
    x.submit("second")
    x.out(Event.TRANSMITTING, "first", attempt=1)
    x.out(Event.TRANSMITTING, "second", attempt=1)
    for message_id in ("second", "first"):
        x.store(message_id, sequence_number=None)
        x.answer(message_id)
        x.hand_over(message_id)
        x.ack(message_id)
    tried = lines(frame, x, "tried")
    assert all({"I15", "I16"}.isdisjoint(names) for names in tried.values()), tried
    x.sent_by_transport("transport")
    x.refused_by_transport("refused")
    x.sent_only("effort", semantics="BestEffort")
    x.taken_back("back")
    x.taken_back_unseen("unseen")
    x.submit("endless", semantics="ExactlyOnce")
    x.failed_at_most_once("once")
    assert not any(lines(frame, x, "broken").values())
