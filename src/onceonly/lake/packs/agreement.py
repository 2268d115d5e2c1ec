"""Whether a pack agrees with itself: everything that follows from its rows, computed again; pure.

Every function returns the rows that do not agree, with `what` in words; none of them trusts what
the pack says of itself.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import hash_chain, model
from onceonly.lake.expressions import holder
from onceonly.lake.packs.contents import PREVIOUS, PackScope, gives_its_hash, is_unchained, sender
from onceonly.lake.schemas import KEY

WHERE: Final = "place"
WHAT: Final = "what"


def strangers(rows: DataFrame, pair: PackScope) -> DataFrame:
    """Rows that are not about the two."""
    others = rows.where(~pair.holds(sender(), F.col("to_party")))
    return _told(others, "is not about the two parties of the pack")


def repeats(rows: DataFrame) -> DataFrame:
    """Rows that are in the pack more than once."""
    often = rows.groupBy(*hash_chain.LINK).count().where(F.col("count") > F.lit(1))
    return _told(often, "is in the pack more than once")


def edits(rows: DataFrame) -> DataFrame:
    """Rows whose columns do not give their hash, except those that say they cannot."""
    wrong = rows.where(~is_unchained() & ~gives_its_hash())
    return _told(wrong, "does not give its hash")


def unchained(rows: DataFrame) -> DataFrame:
    """Rows whose hashes cannot be computed: only the maker of the pack says what was in them."""
    return _told(rows.where(is_unchained()), "cannot be proved: its hash cannot be computed")


def breaks(rows: DataFrame) -> DataFrame:
    """Rows that do not follow the row before them, although that is in the pack too."""
    before = rows.select(
        "party",
        (F.col("seq") + F.lit(1)).alias("seq"),
        F.col("chain_hash").alias("hash_before"),
    )
    fits = F.max((F.col("hash_before") == F.col(PREVIOUS)).cast("int"))
    found = rows.join(before, ["party", "seq"]).groupBy(*hash_chain.LINK).agg(fits.alias("fits"))
    return _told(found.where(F.coalesce("fits", F.lit(0)) == F.lit(0)), "does not follow the last")


def outsiders(rows: DataFrame, holders: list[str], pair: PackScope) -> DataFrame:
    """Rows of one of the two whose journal, as the summary has it, was not there.

    One gateway may be both of them, by two PartyIds: then one journal is there, and tells of both.
    """
    absent = [party for party in (pair.one, pair.other) if party not in holders]
    there = rows.where(holder().isin(list(holders))).select("party").distinct()
    others = rows.where(holder().isin(absent)).join(there, "party", "left_anti")
    return _told(others, "is of a journal that was not there")


def lives(rows: DataFrame, claimed: DataFrame, pair: PackScope) -> DataFrame:
    """Messages whose folded lives are not those of the rows."""
    computed = model.partial(rows).where(pair.holds(F.col("from_party"), F.col("to_party")))
    return _unlike(computed, claimed, "its life is not that of its journal rows")


def verdicts(computed: DataFrame, claimed: DataFrame) -> DataFrame:
    """Messages whose verdict is another."""
    return _unlike(computed, claimed, "its verdict is another")


def doubles(claimed: DataFrame, whose: str) -> DataFrame:
    """Messages of which the pack says `whose` more than once."""
    often = claimed.groupBy(*KEY).count().where(F.col("count") > F.lit(1))
    return _told_of_messages(often, f"its {whose} is in the pack more than once")


def _unlike(computed: DataFrame, claimed: DataFrame, what: str) -> DataFrame:
    # Not by a hash: Spark's hash ignores nulls, and anybody can find two rows with an equal hash.
    columns = sorted(set(computed.columns) - set(KEY))
    one = computed.select(*KEY, F.struct(*columns).alias("computed"))
    other = claimed.select(*KEY, F.struct(*columns).alias("claimed"))
    both = one.join(other, list(KEY), "full")
    return _told_of_messages(both.where(~F.col("computed").eqNullSafe(F.col("claimed"))), what)


def _told_of_messages(lives: DataFrame, what: str) -> DataFrame:
    place = F.concat_ws(" ", F.lit("message"), "message_id", F.lit("from"), "from_party")
    return lives.select(place.alias(WHERE), F.lit(what).alias(WHAT))


def _told(rows: DataFrame, what: str) -> DataFrame:
    place = F.concat_ws(" ", F.lit("row"), F.col("seq").cast("string"), F.lit("of"), "party")
    return rows.select(place.alias(WHERE), F.lit(what).alias(WHAT))
