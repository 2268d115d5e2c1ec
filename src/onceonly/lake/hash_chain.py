"""Whether the journals are whole: the chain, the gaps, the forks (invariant E3).

Knows how rows of one party follow one another. A row that was edited, removed, inserted or moved
breaks the chain after it; a store that was rolled back and went on forks it; a tail that was cut
off shows only in the other party's journal.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.record import CHAIN_START, SCHEMA_VERSION
from onceonly.lake.expressions import chain_hash, is_true, one_if

LINK: Final = ("party", "seq", "chain_hash")
"""Columns by which two whole rows of one party are the same row."""
CONTENT: Final = "content_hash"
LINK_AND_CONTENT: Final = (*LINK, CONTENT)
"""What makes two rows the same whose own hashes nobody has computed yet: the first of a segment may
be edited and keep its hash, and only the row before it, which is not there, would tell."""


def with_content(rows: DataFrame) -> DataFrame:
    """The rows with a hash over all that is in each, without the row before it."""
    return rows.withColumn(CONTENT, chain_hash(F.lit("")))


def links(journal: DataFrame) -> DataFrame:
    """Per row: whether it follows the row before it, and how many numbers are missing there.

    `is_edited`: its own columns do not give its hash. `is_fork`: its number stands in the journal
    twice, with different content. `missing`: row numbers between it and the row before.
    """
    rows = journal.dropDuplicates()
    by_number = Window.partitionBy("party").orderBy(
        "seq", "chain_hash", F.xxhash64(*journal.columns)
    )
    before = rows.withColumns(
        {
            "previous_seq": F.coalesce(F.lag("seq").over(by_number), F.lit(0)),
            "previous_hash": F.coalesce(F.lag("chain_hash").over(by_number), F.lit(CHAIN_START)),
        }
    )
    follows = F.col("seq") == F.col("previous_seq") + F.lit(1)
    # The columns of a newer version are not all here; its rows were verified where they all were.
    is_known = F.col("schema_version") <= F.lit(SCHEMA_VERSION)
    is_unlike = chain_hash(F.col("previous_hash")) != F.col("chain_hash")
    return before.select(
        *LINK,
        "event",
        "at",
        "message_id",
        is_true(follows & is_known & is_unlike).alias("is_edited"),
        (F.col("seq") == F.col("previous_seq")).alias("is_fork"),
        F.greatest(F.col("seq") - F.col("previous_seq") - F.lit(1), F.lit(0)).alias("missing"),
    )


def by_party(journal: DataFrame) -> DataFrame:
    """Per party: rows, gaps (missing numbers), edited rows, forks, and the first bad number."""
    bad = F.col("is_edited") | F.col("is_fork") | (F.col("missing") > F.lit(0))
    return (
        links(journal)
        .groupBy("party")
        .agg(
            F.count("*").alias("rows"),
            F.sum("missing").alias("missing"),
            F.sum(one_if(F.col("is_edited"))).alias("edited"),
            F.sum(one_if(F.col("is_fork"))).alias("forks"),
            F.min(F.when(bad, F.col("seq"))).alias("first_bad_seq"),
        )
    )
