"""Selects the rows of two journals that are about one pair of parties and nobody else; pure.

Rows keep every column, since their hashes are over all of them. The row before a row in its
journal may be about another partner, so it is not in the pack: only its hash is, and that is enough
to compute the hash of the next.
"""

from datetime import UTC, date, datetime
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.record import CHAIN_START
from onceonly.lake import hash_chain
from onceonly.lake.expressions import US_PER_S, chain_hash, is_true, subject
from onceonly.lake.schemas import KEY

PREVIOUS: Final = "previous_hash"
IS_CHAINED: Final = "is_chained"
VERDICT: Final = (*KEY, "verdict", "standing", "is_two_sided", "differs")
_DAY_US: Final = 86_400 * US_PER_S


class PackScope(NamedTuple):
    """The two parties, and the day whose messages are wanted; None is every day."""

    one: str
    other: str
    day: date | None = None

    def holds(self, sender: Column, receiver: Column) -> Column:
        """Whether a message goes from one of them to the other."""
        there = (sender == F.lit(self.one)) & (receiver == F.lit(self.other))
        back = (sender == F.lit(self.other)) & (receiver == F.lit(self.one))
        return is_true(there | back)

    def is_of_the_day(self, at: Column) -> Column:
        """Whether an instant, in microseconds UTC, is in the day."""
        if self.day is None:
            return F.expr("true")
        start = datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC)
        first = int(start.timestamp()) * US_PER_S
        return is_true((at >= F.lit(first)) & (at < F.lit(first + _DAY_US)))


def sender() -> Column:
    """The From party that a row is filed under, as the lifecycle has it."""
    return F.coalesce("from_party", "party")


def lives(lifecycle: DataFrame, pair: PackScope) -> DataFrame:
    """The messages between the two that began on the day."""
    began = F.coalesce("submitted_at", "first_at")
    wanted = pair.holds(F.col("from_party"), F.col("to_party"))
    return lifecycle.where(wanted & pair.is_of_the_day(began))


def rows(journal: DataFrame, wanted: DataFrame, pair: PackScope) -> DataFrame:
    """The journal rows of these messages, and of the pair itself, each once."""
    about = journal.where(pair.holds(sender(), F.col("to_party")))
    keyed = about.withColumns({"key_from": sender(), "key_id": subject()})
    keys = wanted.select(
        F.col("from_party").alias("key_from"),
        F.col("to_party").alias("key_to"),
        F.col("message_id").alias("key_id"),
    )
    same = (
        (keyed["key_from"] == keys["key_from"])
        & (keyed["to_party"] == keys["key_to"])
        & (keyed["key_id"] == keys["key_id"])
    )
    of_messages = keyed.join(keys, same, "left_semi").select(*journal.columns)
    of_pair = about.where(F.col("message_id").isNull() & pair.is_of_the_day(F.col("at")))
    return of_messages.unionByName(of_pair.select(*journal.columns))


def with_links(chosen: DataFrame, journal: DataFrame, odd: DataFrame) -> DataFrame:
    """The rows with the hash of the row before each, and whether their own can be computed.

    `odd` has party, first and last row number of segments with other columns than ours: the lake
    does not hold all that is under the hashes of their rows.
    """
    before = journal.select(
        F.col("party").alias("before_party"),
        (F.col("seq") + F.lit(1)).alias("before_seq"),
        F.col("chain_hash").alias(PREVIOUS),
    )
    is_next = (chosen["party"] == before["before_party"]) & (chosen["seq"] == before["before_seq"])
    linked = chosen.join(before, is_next, "left").drop("before_party", "before_seq")
    first = F.when(F.col("seq") == F.lit(1), F.lit(CHAIN_START))
    linked = linked.withColumn(PREVIOUS, F.coalesce(PREVIOUS, first))
    # If two rows have one number, the row before is the one that this row follows.
    best = Window.partitionBy(*hash_chain.LINK).orderBy(F.desc(gives_its_hash()), PREVIOUS)
    linked = linked.withColumn("rank", F.row_number().over(best)).where("rank = 1").drop("rank")
    within = (linked["party"] == odd["odd_party"]) & linked["seq"].between(
        odd["odd_first"], odd["odd_last"]
    )
    marks = linked.join(F.broadcast(odd), within, "left_semi").select(*hash_chain.LINK)
    marks = marks.dropDuplicates(list(hash_chain.LINK)).withColumn("is_odd", F.lit(1))
    is_chained = F.col("is_odd").isNull() & F.col(PREVIOUS).isNotNull()
    return (
        linked.join(F.broadcast(marks), list(hash_chain.LINK), "left")
        .withColumn(IS_CHAINED, is_chained)
        .select(*chosen.columns, PREVIOUS, IS_CHAINED)
        .orderBy("at", "party", "seq")
    )


def is_unchained() -> Column:
    """Whether the pack says that a row's hash cannot be computed; null means that it can."""
    return is_true(~F.col(IS_CHAINED))


def gives_its_hash() -> Column:
    """Whether a row's own columns, with the hash of the row before it, give its hash."""
    return is_true(chain_hash(F.col(PREVIOUS)) == F.col("chain_hash"))
