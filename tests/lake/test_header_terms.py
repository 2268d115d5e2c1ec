"""A life knows what its message went under, and no report asks the journal for it."""

from __future__ import annotations

import random
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from cases import planted_records, records
from journals import two_parties
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import StructField, StructType

from onceonly.lake import header_terms, model, schemas
from onceonly.lake.expressions import is_event, is_passing
from onceonly.lake.ingest.segments import SEQ_MAX
from onceonly.lake.schemas import KEY
from onceonly.message.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark
TERMS = header_terms.COLUMNS


def row(event: Event, seq: int, action: str | None, **more: Any) -> dict[str, Any]:
    is_ours = event is Event.SUBMITTED
    told = {
        "party": "a" if is_ours else "b",
        "event": event.value,
        "at": seq,
        "seq": seq,
        "direction": "out" if is_ours else "in",
        "from_party": "a",
        "to_party": "b",
        "message_id": "m",
        "agreement_id": "tpa-1",
        "profile": "rm-2000",
        "semantics": "OnceAndOnlyOnce",
        "service": "ordering",
        "action": action,
    }
    return {name: (told | more).get(name) for name in schemas.JOURNAL.names}


def rows_of(spark: SparkSession, rows: Sequence[dict[str, Any]]) -> DataFrame:
    schema = StructType([StructField(one.name, one.dataType) for one in schemas.JOURNAL])
    return spark.createDataFrame([tuple(one.values()) for one in rows], schema)


def named(spark: SparkSession, *parts: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The terms of each life, the rows being folded part by part."""
    frames = [rows_of(spark, part) for part in parts]
    lives, terms = model.partial(frames[0]), model.terms(frames[0])
    for frame in frames[1:]:
        lives = lives.unionByName(model.partial(frame))
        terms = terms.unionByName(model.terms(frame))
    return [
        tuple(one) for one in model.with_terms(model.merge(lives), terms).select(*TERMS).collect()
    ]


def by_journal(judged: DataFrame, journal: DataFrame) -> DataFrame:
    """The rule in words: the first Submitted by its number, else the first Stored."""
    told = F.struct(is_event(Event.STORED).alias("is_stored"), "seq", F.struct(*TERMS).alias("t"))
    firsts = (
        journal.where(is_event(Event.SUBMITTED, Event.STORED) & ~is_passing())
        .groupBy(*KEY)
        .agg(F.min(told).alias("first"))
        .select(*KEY, "first.t.*")
    )
    return judged.select(*KEY).join(firsts, list(KEY), "left")


def same(one: DataFrame, other: DataFrame) -> bool:
    columns = (*KEY, *TERMS)
    return sorted(map(repr, one.select(*columns).collect())) == sorted(
        map(repr, other.select(*columns).collect())
    )


def test_every_life_has_the_terms_that_the_journals_tell(frame: Frame):
    """Of a message of every fate, also on the way through an intermediary."""
    journal = frame(planted_records())
    lives = model.partial(journal)
    named_lives = model.with_terms(lives, model.terms(journal))
    assert named_lives.columns == [*lives.columns, *TERMS]
    assert same(named_lives, by_journal(lives, journal))
    assert named_lives.where("action IS NOT NULL").count() > 20


def test_terms_of_random_journals_are_those_of_the_first_row(spark: SparkSession):
    """Many rows per message, with other words and with nulls, in any journal."""
    choice = random.Random(7)
    rows = [
        row(
            choice.choice([Event.SUBMITTED, Event.STORED, Event.TRANSMITTING]),
            seq,
            choice.choice([None, "Order", "Cancel"]),
            message_id=f"m-{choice.randrange(60)}",
            hop=choice.choice([None, None, None, 1]),
            **{name: choice.choice([None, "x", "y"]) for name in TERMS[:-1]},
        )
        for seq in choice.sample(range(1, 10_000), 300)
    ]
    journal = rows_of(spark, rows)
    lives = model.partial(journal)
    assert same(model.with_terms(lives, model.terms(journal)), by_journal(lives, journal))


def test_the_sender_s_first_row_decides_however_rows_are_cut_and_ordered(spark: SparkSession):
    """A receiver's row counts only where the sender's journal lacks the message (E4)."""
    rows = [
        row(Event.STORED, 1, "as stored"),
        row(Event.SUBMITTED, 5, "first"),
        row(Event.SUBMITTED, 9, "again"),
    ]
    for order in permutations(rows):
        assert named(spark, order[:1], order[1:]) == [tuple(rows[1][name] for name in TERMS)]
    assert named(spark, rows[:1]) == [tuple(rows[0][name] for name in TERMS)]


def test_a_number_given_twice_is_told_the_same_by_every_cut(spark: SparkSession):
    """A store that was rolled back: whatever is told, no file and no task decides it (E4)."""
    rows = [row(Event.SUBMITTED, 5, action) for action in ("one", "other", None)]
    found = {tuple(named(spark, order[:2], order[2:])) for order in permutations(rows)}
    assert len(found) == 1


def test_rows_beyond_any_place_still_tell_their_terms(spark: SparkSession):
    """The greatest number that a row may have."""
    rows = [row(Event.SUBMITTED, SEQ_MAX - n, "Order") for n in range(2)]
    assert named(spark, rows) == [tuple(rows[0][name] for name in TERMS)]


def test_a_null_has_its_place_in_the_number(spark: SparkSession):
    """Spark's hash passes over nulls: (null, x) and (x, null) would be one."""
    one, other = (
        row(Event.SUBMITTED, 1, None, service="x"),
        row(Event.SUBMITTED, 2, "x", service=None, message_id="n"),
    )
    numbers = model.terms(rows_of(spark, [one, other])).select(header_terms.NUMBER).distinct()
    assert numbers.count() == 2


def test_an_unknown_number_makes_no_life_vanish(frame: Frame):
    """The words are null where the frame of terms lacks them."""
    there, _ = two_parties()
    there.matched("m@example")
    journal = frame(records(there))
    none = model.terms(journal).where("false")
    [life] = model.with_terms(model.partial(journal), none).collect()
    assert [life[name] for name in TERMS] == [None] * len(TERMS)
