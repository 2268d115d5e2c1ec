"""Advice on an agreement's times, checked against simulated worlds whose delays and losses are
known: what the model expects of other terms than those it was measured under, the worlds show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from click.testing import CliRunner
from journals import BUYER_TOML, DAWN, SECOND, Exchange, publish, two_parties

from onceonly.cli.main import cli
from onceonly.lake import advice, jobs
from onceonly.message.event import Event
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms, OnExhausted
from onceonly.message.word import changed
from onceonly.simulation.network import Fate, Weather
from onceonly.simulation.plan import Action, Line, Machine, Plan
from onceonly.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark

MESSAGES = 500
GAP_MS = 2_000


class Waits(NamedTuple):
    """The part of the terms that is advised on."""

    timeout_s: int
    retries: int
    retry_interval_s: int


def observed(seed: int, waits: Waits, weather: Weather) -> list[Record]:
    """Both journals of a world in which many messages go one way under these terms."""
    terms = DeliveryTerms(
        is_numbered=False,
        window=16,
        timeout_s=waits.timeout_s,
        retries=waits.retries,
        retry_interval_s=waits.retry_interval_s,
        on_exhausted=OnExhausted.FAIL,
    )
    last_ms = MESSAGES * GAP_MS
    plan = Plan(
        seed=seed,
        machines=(Machine("A"), Machine("B")),
        lines=(Line("A", "B", Profile.RM_2001, terms),),
        weather=weather,
        actions=tuple(
            Action(n * GAP_MS, "submit", "A", {"to": "B", "id": f"m{n}", "agreement": "A-B"})
            for n in range(MESSAGES)
        ),
        heal_ms=last_ms + 3_600_000,
        end_ms=last_ms + 7_200_000,
        events_max=2_000_000,
    )
    world = World(plan)
    try:
        world.run()
    finally:
        world.close()
    assert not world.is_livelocked
    return [row.record for row in world.history.rows]


PATIENT = Waits(30, 3, 30)
HASTY = Waits(4, 2, 6)
LOSSY = Weather({Fate.LOST: 0.2}, delay_ms=1_500)
SLOW = Weather(delay_ms=2_500)


def known(frame: Frame, rows: Sequence[Record]) -> DataFrame:
    return advice.measured(advice.exchanges(frame(rows)))


def only(rows: DataFrame) -> dict[str, Any]:
    [row] = rows.collect()
    return row.asDict()


def terms(spark: SparkSession, waits: Waits, agreement: str = "A-B") -> DataFrame:
    return spark.createDataFrame([(agreement, *waits)], advice.TERMS_SCHEMA)


@pytest.fixture(scope="module")
def patient(frame: Frame) -> DataFrame:
    return known(frame, observed(3, PATIENT, LOSSY)).cache()


def test_losses_are_measured(patient: DataFrame):
    """A fifth of the messages and a fifth of the acknowledgements were lost."""
    row = only(patient)
    assert row["messages"] == MESSAGES
    assert row["arrived"] == pytest.approx(0.8, abs=0.04)
    assert row["answered"] == pytest.approx(0.64, abs=0.04)


def test_what_other_terms_lead_to_is_seen_in_a_world_with_them(
    spark: SparkSession, frame: Frame, patient: DataFrame
):
    """Measured under patient terms, expected under hasty ones: a world with those agrees."""
    told = only(advice.today(patient, terms(spark, HASTY)))
    seen = only(known(frame, observed(4, HASTY, LOSSY)))
    assert told["longest_s"] == 4 + 2 * 6
    assert told["resends"] == pytest.approx(seen["resends_share"], rel=0.15)
    assert told["failures"] == pytest.approx(seen["failed_share"], abs=0.025)
    assert told["false_failures"] == pytest.approx(seen["false_share"], abs=0.025)


def test_needless_resends_are_those_of_a_world_that_loses_nothing(
    spark: SparkSession, frame: Frame
):
    """Where nothing is lost every resend is needless, and arrives as a duplicate."""
    calm = known(frame, observed(5, PATIENT, SLOW))
    assert only(calm)["resends_share"] == 0
    told = only(advice.today(calm, terms(spark, Waits(3, 3, 4))))
    hasty = observed(6, Waits(3, 3, 4), SLOW)
    repeats = sum(row.event is Event.DUPLICATE_ELIMINATED for row in hasty)
    assert repeats > 50
    assert told["needless_resends"] == pytest.approx(repeats / MESSAGES, rel=0.15)
    assert told["needless_resends"] == pytest.approx(told["resends"])


def test_proposed_terms_keep_the_goal_in_a_world(frame: Frame, patient: DataFrame):
    """Terms that are proposed after one world do what they promise in the next one."""
    goal = advice.Goal(needless_resends=0.01, failures=0.001)
    row = only(advice.proposed(patient, goal))
    assert row["keeps_goal"]
    waits = Waits(row["timeout_s"], row["retries"], row["retry_interval_s"])
    seen = only(known(frame, observed(7, waits, LOSSY)))
    assert seen["failed_share"] <= 0.01
    assert seen["resends_share"] == pytest.approx(row["resends"], rel=0.2)
    assert row["longest_s"] < row["time_to_live_s"] < row["persist_duration_s"]
    assert row["persist_duration_s"] % 86_400 == 0


def test_bare_evidence_gives_no_proposal(frame: Frame):
    """A few messages are no distribution."""
    there, _ = two_parties()
    there.matched("m@example")
    assert advice.proposed(known(frame, records(there))).collect() == []


def test_round_trips_begin_at_the_end_of_a_transmission(spark: SparkSession, frame: Frame):
    """R-06: what the transmission itself takes is no part of the wait."""
    there, _ = two_parties()
    for number in range(40):
        slow(there, f"m{number}@example", answer_s=2 if number < 30 else 9)
    row = only(known(frame, records(there)))
    assert row["transmission_us"] == SECOND
    assert row["round_trip_max_us"] == 9 * SECOND
    assert row["answered"] == row["arrived"] == 1
    told = only(advice.expected(known(frame, records(there)).crossJoin(waits_of(spark, 5, 1, 20))))
    assert told["needless_resends"] == pytest.approx(10 / 40)
    assert told["failures"] == pytest.approx((1 / 41) ** 2)
    assert told["false_failures"] == 0


def test_few_answers_promise_little(frame: Frame):
    """All of thirty were answered; the next one may not be, and one retry is no one in 100,000."""
    there, _ = two_parties()
    for number in range(advice.MESSAGES_LEAST):
        slow(there, f"m{number}@example", answer_s=2)
    row = only(advice.proposed(known(frame, records(there))))
    assert (row["retries"], row["keeps_goal"]) == (3, True)
    assert row["failures"] == pytest.approx((1 / 31) ** 4)


def test_a_partner_that_never_answered_breaks_no_advice(spark: SparkSession, frame: Frame):
    """Nothing can be proposed; what today's terms lead to can be said."""
    there, _ = two_parties()
    for number in range(3):
        there.failed_not_delivered(f"m{number}@example")
    seen = known(frame, records(there))
    told = only(advice.expected(seen.crossJoin(waits_of(spark, 5, 3, 20))))
    assert (told["failures"], told["needless_resends"]) == (1, 0)
    assert advice.proposed(seen).collect() == []


def test_one_journal_is_enough_for_times(frame: Frame):
    """Without the receiver's journal what is not answered counts as not arrived."""
    there, _ = two_parties()
    for number in range(40):
        slow(there, f"m{number}@example", answer_s=2)
    row = only(known(frame, [r for r in there.sender.records if r.direction == "out"]))
    assert (row["timed"], row["arrived"], row["false_share"]) == (40, 1, None)


def test_messages_under_way_and_sent_anew_are_left_out(frame: Frame):
    """What has no verdict yet, or was resumed by an operator, tells nothing about waits."""
    there, _ = two_parties()
    there.sent_not_received("under way")
    there.submit("resumed")
    there.send("resumed", outcome="unknown")
    there.tell("resumed")
    there.send("resumed")
    there.arrive("resumed")
    there.ack("resumed", Event.LATE_ACK_RECEIVED)
    assert advice.exchanges(frame(records(there))).collect() == []


def test_a_clock_that_was_set_makes_no_round_trip(frame: Frame):
    """Both gateways woke up in 1970, and were set right while a message was under way."""
    there, _ = two_parties()
    for number in range(40):
        there.matched_after_lost_ack(f"m{number}@example")
    before = (Event.SUBMITTED, Event.TRANSMITTING, Event.TRANSMITTED, Event.STORED)
    rows = [
        changed(row, at=row.at - DAWN)
        if row.message_id == "m0@example" and row.event in before and row.attempt != 2
        else row
        for row in records(there)
    ]
    set_right, calm = known(frame, rows), known(frame, records(there))
    assert set_right.collect() == calm.collect()
    assert advice.proposed(set_right).collect() == advice.proposed(calm).collect()


def test_no_answer_is_timed_across_a_start_and_none_is_too_late(frame: Frame):
    """Only the wall clock goes on behind a start; and a stranger's other clock may say anything."""
    there, _ = two_parties()
    for number in range(40):
        there.matched(f"m{number}@example")
    rows = [
        changed(row, store_epoch=0)
        if row.message_id == "m0@example" and row.event is not Event.ACK_RECEIVED
        else row
        for row in records(there)
    ]
    assert only(known(frame, rows))["timed"] == 39
    late = [
        changed(row, monotonic_ns=(1 << 63) - 1)
        if row.message_id == "m0@example" and row.event is Event.ACK_RECEIVED
        else row
        for row in records(there)
    ]
    assert only(advice.proposed(known(frame, late)))["timed"] == 40


def test_a_transmission_without_an_end_times_no_answer(frame: Frame):
    """A crash cut it off: what nobody measured is not 0."""
    there, _ = two_parties()
    for number in range(40):
        there.submit(f"m{number}@example")
        there.send(f"m{number}@example", outcome=None)
        there.arrive(f"m{number}@example")
        there.ack(f"m{number}@example")
    assert only(known(frame, records(there)))["timed"] == 0


def records(exchange: Exchange) -> list[Record]:
    return exchange.sender.records + exchange.receiver.records


def slow(exchange: Exchange, message_id: str, *, answer_s: int) -> None:
    """A message whose transmission takes a second, and its answer so many more."""
    exchange.submit(message_id)
    row = {"attempt": 1, "sequence_number": exchange.number}
    exchange.out(Event.TRANSMITTING, message_id, **row)
    exchange.out(Event.TRANSMITTED, message_id, 1_000, outcome="accepted", **row)
    sent_at = exchange.now
    exchange.arrive(message_id)
    exchange.now = sent_at
    exchange.ack(message_id, after_ms=answer_s * 1_000)
    assert exchange.now > DAWN


def waits_of(spark: SparkSession, *waits: int) -> DataFrame:
    return spark.createDataFrame([waits], "timeout_s int, retries int, retry_interval_s int")


def test_the_command_sets_today_s_terms_beside_better_ones(spark: SparkSession, tmp_path: Path):
    """From published journals and a configuration to a line for each, and to JSON with more."""
    there, _ = two_parties()
    for number in range(40):
        slow(there, f"m{number}@example", answer_s=2)
    for ledger in (there.sender, there.receiver):
        publish(tmp_path / "lake", ledger)
    jobs.ingest(str(tmp_path / "lake"))
    config = tmp_path / "buyer.toml"
    config.write_text(BUYER_TOML)
    command = ["lake", "advise", str(tmp_path / "lake"), "-c", str(config)]
    table = CliRunner().invoke(cli, command)
    assert table.exit_code == 0, table.output
    today, better = (line.split("\t") for line in table.stdout.splitlines())
    assert today[2:6] == ["today", "1", "2", "7"]
    assert better[2] == "proposed"
    assert int(better[3]) >= 2, "no shorter than the answers take"
    told = CliRunner().invoke(cli, [*command, "-o", "json"])
    [entry] = json.loads(told.stdout)
    assert entry["today"]["expected"]["longest_s"] == 1 + 2 * 7
    assert entry["today"]["expected"]["needless_resends"] == pytest.approx(1)
    assert entry["measured"]["timed"] == 40
    assert entry["keeps_goal"]
