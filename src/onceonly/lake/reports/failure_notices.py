"""Report 12: failures against the notices that their applications got."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import any_of, one_if
from onceonly.lake.quantiles import Quantiles, summed
from onceonly.lake.reports.columns import is_there, utc_day
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    day,
    duration,
)
from onceonly.lake.verdicts import is_promised

DEFINITION: Final = Definition(
    "failure_notices",
    12,
    "one row per pair and day of the submission with failures or notices",
    "whether every failure was told, how sure it was, and how long it took. Whether the "
    "application took the notice is not in the journal",
    (
        day("day", "of the submission"),
        *PAIR_COLUMNS,
        count("failures", "messages", "exhausted, failed or expired, for which a verdict was owed"),
        count("told", "messages", "of which the application was told"),
        count(
            "missing",
            "messages",
            "failed or expired for good without a notice, which must be 0",
        ),
        count("notices_error", "notices", "that say that nothing was delivered"),
        count("notices_warning", "notices", "that say that it may have been"),
        count("notices_late", "notices", "that an acknowledgement came after all"),
        duration("p50_us", "from submission to the first notice, median"),
        duration("p95_us", "19 of 20"),
        duration("worst_us", "longest"),
    ),
)


def table(judged: DataFrame) -> DataFrame:
    """The failures and their notices, per pair and day."""
    is_final = is_there("failed_at") | is_there("expired_at")
    is_failure = is_promised() & (is_final | is_there("exhausted_at"))
    notices = [F.col(name) > 0 for name in ("notices_error", "notices_warning", "notices_late")]
    took = F.col("notified_at") - F.col("submitted_at")
    told = judged.where(is_there("submitted_at") & (is_failure | any_of(*notices))).withColumns(
        {"day": utc_day(F.col("submitted_at")), "took_us": F.when(took >= F.lit(0), took)}
    )
    totals = summed(
        told,
        ("day", *PAIR),
        [
            F.sum(one_if(is_failure)).alias("failures"),
            F.sum(one_if(is_failure & is_there("notified_at"))).alias("told"),
            F.sum(one_if(is_promised() & is_final & ~is_there("notified_at"))).alias("missing"),
            F.sum("notices_error").alias("notices_error"),
            F.sum("notices_warning").alias("notices_warning"),
            F.sum("notices_late").alias("notices_late"),
            F.max("took_us").alias("worst_us"),
        ],
        Quantiles("took_us", {"p50_us": 500, "p95_us": 950}),
        are_few=True,
    )
    return totals.select(*DEFINITION.names)
