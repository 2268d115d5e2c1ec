"""Report 25: why rows of bulk jobs were refused."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.reports.bulk_jobs import rows_of_jobs
from onceonly.lake.tables.definition import (
    Definition,
    count,
    text,
)

DEFINITION: Final = Definition(
    "job_rejects",
    25,
    "one row per party, job, code and reason",
    "what to mend in the rows before the job runs again",
    (
        text("party", "whose gateway"),
        text("job", "the job's name"),
        text("error_code", "code"),
        text("reason", "in words"),
        count("rejected", "refusals", "with it; a row that was tried twice counts twice"),
        count("messages", "MessageIds", "among them; an unreadable row has none"),
        text("example", "the least MessageId"),
    ),
)


def table(journal: DataFrame) -> DataFrame:
    """The refusals in the journal, also of rows that were taken later."""
    return (
        rows_of_jobs(journal)
        .where(~F.col("is_taken"))
        .groupBy("party", "job", "error_code", "reason")
        .agg(
            F.count("*").alias("rejected"),
            F.count_distinct("message_id").alias("messages"),
            F.min("message_id").alias("example"),
        )
    )
