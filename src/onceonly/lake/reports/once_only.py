"""Report 4, the once-and-only-once sheet as a table."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.invariants import INVARIANTS
from onceonly.lake.tables.definition import (
    Definition,
    column,
    count,
    flag,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "once_only",
    4,
    "one row per invariant",
    "how many messages each was tried on and how many break it, which must be 0",
    (
        ordinal("line", "place on the sheet"),
        text("name", "the invariant's name"),
        text("claim", "what must hold"),
        count("messages", "messages", "that it was tried on"),
        count("breaches", "messages", "that break it"),
        flag("holds", "none does"),
        column("examples", "array<string>", "", "MessageIds that break it, the least first"),
    ),
)


def table(found: DataFrame) -> DataFrame:
    """The lines of `invariants.sheet`; one that no message was tried on holds with 0 messages."""
    lines = found.sparkSession.createDataFrame(
        [(place, line.name, line.claim) for place, line in enumerate(INVARIANTS, 1)],
        "line bigint, name string, claim string",
    )
    examples = F.coalesce("examples", F.array().cast("array<string>"))
    counted = {name: F.coalesce(name, F.lit(0)) for name in ("messages", "breaches")}
    return (
        lines.join(found, "name", "left")
        .withColumns({**counted, "examples": examples})
        .withColumn("holds", F.col("breaches") == F.lit(0))
        .select(*DEFINITION.names)
    )
