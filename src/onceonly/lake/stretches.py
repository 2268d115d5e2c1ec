"""The greatest of what came before in a long order, without one task that sorts all of it.

The theory
----------
A window over everything of one pair, or of one journal, is one task, and a lake may be one pair. So
an order is cut into stretches of its first column, a whole number. Of each stretch one row tells
the greatest; of these, which are few, the greatest before each stretch is found, and it is laid
before the stretch's own rows, where a window within the stretch meets it first.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

ROWS_AT_ONCE: Final = 1 << 16
"""Numbers in a stretch. Where each number is one row's, a task looks through so many at a time."""

STRETCH: Final = "stretch"
_LAID_BEFORE: Final = "is_laid_before"
_VALUE: Final = "value_before"


def stretch(column: str, length: int = ROWS_AT_ONCE) -> Column:
    """The stretch of a whole number; what has none comes first."""
    return F.coalesce(F.expr(f"{column} div {length}L"), F.lit(-1).cast("bigint"))


IS_HERE: Final = "is_here"


def with_row_before(rows: DataFrame, length: int) -> DataFrame:
    """Journal rows in their `STRETCH`; the last of each also before the next, and not `IS_HERE`."""
    own = stretch("seq", length)
    is_last = F.pmod("seq", F.lit(length)) == F.lit(length - 1)
    both = F.when(is_last, F.array(own, own + F.lit(1))).otherwise(F.array(own))
    return rows.withColumn(STRETCH, F.explode(both)).withColumn(IS_HERE, F.col(STRETCH) == own)


def with_greatest_before(
    rows: DataFrame,
    name: str,
    value: Column,
    *,
    line: Sequence[str],
    order: Sequence[str],
    length: int = ROWS_AT_ONCE,
) -> DataFrame:
    """The rows with `name`: the greatest `value` of those before each in its line, nulls passed.

    What `max(value)` over `rowsBetween(unboundedPreceding, -1)` of the line gives.
    """
    columns = rows.columns
    cut = rows.withColumns({STRETCH: stretch(order[0], length), _VALUE: value})
    before = (Window.unboundedPreceding, -1)
    stretches = Window.partitionBy(*line).orderBy(STRETCH).rowsBetween(*before)
    laid = (
        cut.groupBy(*line, STRETCH)
        .agg(F.max(_VALUE).alias(_VALUE))
        .withColumns({_VALUE: F.max(_VALUE).over(stretches), _LAID_BEFORE: F.lit(1)})
        .where(F.col(_VALUE).isNotNull())
    )
    both = cut.withColumn(_LAID_BEFORE, F.lit(0)).unionByName(laid, allowMissingColumns=True)
    within = Window.partitionBy(*line, STRETCH).orderBy(F.desc(_LAID_BEFORE), *order)
    found = both.withColumn(name, F.max(_VALUE).over(within.rowsBetween(*before)))
    return found.where(F.col(_LAID_BEFORE) == F.lit(0)).select(*columns, name)
