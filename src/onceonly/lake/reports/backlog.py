"""Report 15: which messages wait, how long, and for what."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import bin_start, is_passing
from onceonly.lake.reports.columns import ended, is_there
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables import channel_intervals
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    instant,
)

DEFINITION: Final = Definition(
    "backlog",
    15,
    "one row per bin and pair, from its first submission to its last move, or to the judgement "
    "while anything of it is open",
    "queue depth at the end of the bin, the age of its oldest message, and what held it up",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        count("submitted", "messages", "in the bin"),
        count("started", "messages", "first sent in the bin"),
        count("settled", "messages", "that came to a verdict in the bin"),
        count("queued", "messages", "submitted and not sent at the end of the bin"),
        count("in_flight", "messages", "sent and without a verdict at the end of the bin"),
        duration("oldest_queued_us", "age of the oldest queued message at the end of the bin"),
        duration(
            "longest_turn_us",
            "longest time from first transmission to verdict of what was settled in the "
            "bin: others wait behind it",
        ),
        duration("suspended_us", "of the bin, the pair was suspended or quarantined by its sender"),
    ),
)


_NEVER: Final = 1 << 62
"""The bin of an event that has not happened: after every bin, and without overflow in sums."""
_COUNTS: Final = ("submitted", "started", "settled", "left_queue", "left_flight")


def table(moves: DataFrame, journal: DataFrame, *, as_of: int, width_us: int) -> DataFrame:
    """The queues in bins of `width_us`; the last bin is judged at `as_of` (µs UTC).

    `moves` is what `by_bin` gives of the judged lives, with bins that fit into these.
    """
    last = as_of - as_of % width_us
    dense = _dense(moves, width_us, last)
    here = Window.partitionBy(*PAIR).orderBy("bin")
    so_far = here.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # Backwards, since Spark goes through a frame without an end again for every row.
    later = Window.partitionBy(*PAIR).orderBy(F.desc("bin"))
    later = later.rowsBetween(Window.unboundedPreceding, -1)
    # A message that was in the queue at the end of this bin, and left it later, waited then.
    oldest = F.min("earliest").over(later)
    counted = dense.withColumns(
        {
            "end": F.least(F.col("bin") + F.lit(width_us), F.lit(as_of)),
            "queued": F.sum(F.col("submitted") - F.col("left_queue")).over(so_far),
            "in_flight": F.sum(F.col("started") - F.col("left_flight")).over(so_far),
            "oldest": oldest,
        }
    ).where(F.col("bin") <= F.lit(last))
    waits = F.col("end") - F.col("oldest")
    return (
        _with_suspensions(counted, journal, as_of)
        .withColumns(
            {
                "bin_at": F.timestamp_micros("bin"),
                "oldest_queued_us": F.when((F.col("queued") > 0) & (waits >= 0), waits),
            }
        )
        .select(*DEFINITION.names)
    )


def by_bin(judged: DataFrame, width_us: int, *also: str) -> DataFrame:
    """What happens in each bin of `width_us` of each pair; `bin` is its start, µs UTC."""
    # A clock that was set back between two moves makes no time: none comes before the one before.
    sent = F.when(is_there("first_sent_at"), F.greatest("submitted_at", "first_sent_at"))
    over = F.when(is_there("ended"), F.greatest(F.col("submitted_at"), sent, F.col("ended")))
    turn = F.when(F.col("ended") >= F.col("first_sent_at"), F.col("ended") - F.col("first_sent_at"))
    nothing = F.lit(None).cast("bigint")

    def move(at: Column, wanted: str, also: str = "", earliest: Column = nothing) -> Column:
        bins = F.coalesce(bin_start(at, width_us), F.lit(_NEVER))
        counts = [F.lit(int(name in (wanted, also))).cast("bigint").alias(name) for name in _COUNTS]
        turns = turn if wanted == "settled" else nothing
        return F.struct(bins.alias("bin"), *counts, earliest.alias("earliest"), turns.alias("turn"))

    was_sent = is_there("first_sent_at")
    moves = F.array(
        move(F.col("submitted_at"), "submitted"),
        move(F.coalesce(sent, over), "left_queue", earliest=F.col("submitted_at")),
        F.when(was_sent, move(sent, "started")),
        F.when(was_sent & is_there("ended"), move(over, "left_flight")),
        F.when(is_there("ended"), move(over, "settled")),
    )
    told = (
        judged.where(is_there("submitted_at"))
        .withColumn("ended", ended())
        .select(*PAIR, *also, F.inline(F.array_compact(moves)))
    )
    return _summed(told, *PAIR, "bin", *also)


def _summed(moves: DataFrame, *by: str) -> DataFrame:
    return moves.groupBy(*by).agg(
        *[F.sum(name).alias(name) for name in _COUNTS],
        F.min("earliest").alias("earliest"),
        F.max("turn").alias("turn"),
    )


def _dense(moves: DataFrame, width_us: int, last: int) -> DataFrame:
    """What happens in each bin of each pair, dense from its first bin to its last.

    A pair of which something is open goes on until the bin `last`, in which the judgement is.
    """
    wide = moves.withColumn("bin", bin_start(F.col("bin"), width_us))
    happened = _summed(wide, *PAIR, "bin").withColumnRenamed("turn", "longest_turn_us")
    # The bins without a move, up to the next one or the last of all.
    of_pair = Window.partitionBy(*PAIR)
    is_here = F.col("bin") <= F.lit(last)
    left = F.when(is_here, F.col("submitted") - F.col("settled"))
    following = F.lead("bin").over(of_pair.orderBy("bin"))
    until = (
        F.when(is_here & (following <= F.lit(last)), following - F.lit(width_us))
        .when(is_here & (F.sum(left).over(of_pair) > F.lit(0)), F.lit(last))
        .otherwise(F.col("bin"))
    )
    bins = F.sequence("bin", "until", F.lit(width_us).cast("bigint"))
    is_move, zero = F.col("at") == F.col("bin"), F.lit(0)
    counted = [F.when(is_move, F.col(name)).otherwise(zero).alias(name) for name in _COUNTS]
    told = [F.when(is_move, F.col(name)).alias(name) for name in ("earliest", "longest_turn_us")]
    dense = happened.withColumn("until", until).withColumn("at", F.explode(bins))
    return dense.select(*PAIR, F.col("at").alias("bin"), *counted, *told)


def _with_suspensions(bins: DataFrame, journal: DataFrame, as_of: int) -> DataFrame:
    """With the part of each bin in which its sender kept the pair closed.

    An intermediary that owns the delivery has a pair of the same names; it is left out.
    """
    between = journal.where(is_passing()).select("party", *PAIR).distinct()
    closed = (
        channel_intervals.table(journal, as_of=as_of)
        .where("side = 'sending' AND state != 'open'")
        .join(between, ["party", *PAIR], "left_anti")
        .select(
            *PAIR,
            F.unix_micros("from_at").alias("from_us"),
            (F.unix_micros("from_at") + F.col("length_us")).alias("until_us"),
        )
    )
    overlap = F.least("end", "until_us") - F.greatest("bin", "from_us")
    shut = (
        bins.select(*PAIR, "bin", "end")
        .join(closed, list(PAIR))
        .where((F.col("from_us") < F.col("end")) & (F.col("until_us") > F.col("bin")))
        .groupBy(*PAIR, "bin")
        .agg(F.sum(overlap).alias("suspended_us"))
    )
    return bins.join(shut, [*PAIR, "bin"], "left").withColumn(
        "suspended_us", F.coalesce("suspended_us", F.lit(0))
    )
