"""Report 22: what is kept, in which state, and for how long already."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import US_PER_S, one_if
from onceonly.lake.reports.budgets import Terms
from onceonly.lake.reports.columns import (
    age_class,
    by_agreement,
    ended,
    is_given_up,
    is_settled,
    is_there,
)
from onceonly.lake.tables.definition import (
    Definition,
    count,
    size,
    text,
)
from onceonly.lake.verdicts import is_promised

DEFINITION: Final = Definition(
    "retention",
    22,
    "one row per party, role, state and age class",
    "messages and payload bytes by state and age, and what the next purge may take. The "
    "journal knows the sizes of payloads, not what they take on a disk; purgeable is null "
    "unless the agreements' terms are given",
    (
        text("party", "whose store"),
        text("role", "sender or receiver"),
        text("state", "queued, sending, in doubt, settled, stored or handed over"),
        text("age_bucket", "time since it was submitted or stored, in classes"),
        count("messages", "messages", "taken in; how many of them a purge took since is in purges"),
        size("payload_bytes", "size of their payloads"),
        count(
            "remembered",
            "messages",
            "whose MessageIds the receiver must know to eliminate repeats",
        ),
        count(
            "purgeable",
            "messages",
            "settled and past PersistDuration, of a receiver with twice the accuracy; an "
            "archive duration keeps them longer",
        ),
    ),
)


def table(judged: DataFrame, *, as_of: int, terms: Terms) -> DataFrame:
    """What is kept at `as_of` (µs UTC), by both roles, under `terms`."""
    keeps = {name: one.persist_duration_s * US_PER_S for name, one in terms.items()}
    margins = {name: 2 * one.msh_time_accuracy_s * US_PER_S for name, one in terms.items()}
    lives = judged.withColumns({"keep": by_agreement(keeps), "margin": by_agreement(margins)})
    # Both roles in one look at the lives.
    kept = lives.select(F.inline(F.array_compact(F.array(_sent(), _received()))))
    may_go = F.col("is_settled") & (F.col("kept_until") < F.lit(as_of))
    return (
        kept.withColumn("age_bucket", age_class(F.lit(as_of) - F.col("since")))
        .groupBy("party", "role", "state", "age_bucket")
        .agg(
            F.count("*").alias("messages"),
            F.sum(F.coalesce("bytes", F.lit(0))).alias("payload_bytes"),
            F.sum(one_if(F.col("is_remembered"))).alias("remembered"),
            F.when(F.count("kept_until") > 0, F.sum(one_if(may_go))).alias("purgeable"),
        )
        .select(*DEFINITION.names)
    )


def _kept(role: str, party: str, since: str, state: Column, **more: Column) -> Column:
    columns = {"party": F.col(party), "role": F.lit(role), "since": F.col(since), "state": state}
    kept = F.struct(*[value.alias(name) for name, value in {**columns, **more}.items()])
    return F.when(is_there(since), kept)


def _sent() -> Column:
    state = (
        F.when(is_given_up(), F.lit("in doubt"))
        .when(is_settled(), F.lit("settled"))
        .when(is_there("first_sent_at"), F.lit("sending"))
        .otherwise(F.lit("queued"))
    )
    return _kept(
        "sender",
        "from_party",
        "submitted_at",
        state,
        bytes=F.col("sent_bytes"),
        is_settled=is_settled(),
        is_remembered=F.lit(None).cast("boolean"),
        kept_until=F.coalesce(ended(), F.col("submitted_at")) + F.col("keep"),
    )


def _received() -> Column:
    is_handed = is_there("handed_over_at")
    return _kept(
        "receiver",
        "to_party",
        "stored_at",
        F.when(is_handed, F.lit("handed over")).otherwise(F.lit("stored")),
        bytes=F.col("stored_bytes"),
        is_settled=is_handed,
        is_remembered=is_promised(),
        kept_until=F.col("stored_at") + F.col("keep") + F.col("margin"),
    )
