"""Quantiles and means are what the rows say, in whatever files and tasks they lie (E4)."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from math import ceil
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import pytest
from cases import evidence, planted_records
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import catalogue, quantiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from onceonly.journal.record import Record
    from onceonly.lake.catalogue import Evidence

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark

SOURCE: Final = Path(quantiles.__file__).parent
SHARES: Final = [0, 10, 500, 900, 950, 990, 999, 1_000]
NAMED: Final = {f"of_{share}": share for share in SHARES}
GROUPS: Final = ("busy", "odd", "one", None, "none")
MANY: Final = 30_000
"""Values of a group, of which Spark's own sketch tells other quantiles for every cut."""


def values_of(group: str | None) -> list[int | None]:
    luck = Random(str(group))
    if group == "busy":
        return [int(luck.lognormvariate(12, 3)) for _ in range(MANY)]
    if group == "odd":
        near = [(-1) ** n * 10**digits + n % 3 - 1 for digits in range(19) for n in range(6)]
        return [*near, *[0] * 50, 2**63 - 1, -(2**63), None, None]
    return {"one": [7, None], None: [3, 1, 2, 2]}.get(group, [None])


@pytest.fixture(scope="module")
def told() -> dict[str | None, list[int | None]]:
    return {group: values_of(group) for group in GROUPS}


def rows(spark: SparkSession, told: dict[str | None, list[int | None]], parts: int) -> DataFrame:
    """The values, cut into so many parts, in another order for each number of them."""
    every = [(group, one) for group, values in told.items() for one in values]
    Random(parts).shuffle(every)
    return spark.createDataFrame(every, "group string, value bigint").repartition(parts)


def wanted(values: list[int | None], shares: Sequence[int]) -> list[int | None]:
    """By definition: the least value that at least the share of the values does not exceed."""
    ordered = sorted(one for one in values if one is not None)
    if not ordered:
        return [None] * len(shares)
    ranks = [max(1, ceil(Fraction(share * len(ordered), 1_000))) for share in shares]
    return [ordered[rank - 1] for rank in ranks]


@pytest.mark.parametrize("are_few", [True, False])
@pytest.mark.parametrize("parts", [1, 3, 8])
def test_quantiles_are_the_same_in_every_cut_of_the_rows(
    spark: SparkSession, told: dict[str | None, list[int | None]], parts: int, are_few: bool
) -> None:
    found = quantiles.summed(
        rows(spark, told, parts),
        ["group"],
        [F.count("*").alias("rows")],
        quantiles.Quantiles("value", NAMED, "curve"),
        quantiles.Quantiles("value", {"median": 500}),
        are_few=are_few,
    ).collect()
    curves = {group: wanted(values, range(0, 1_001, 10)) for group, values in told.items()}
    assert {row["group"]: row.asDict() for row in found} == {
        group: {
            "group": group,
            "rows": len(values),
            **dict(zip(NAMED, wanted(values, SHARES), strict=True)),
            "curve": None if group == "none" else curves[group],
            "median": wanted(values, [500])[0],
        }
        for group, values in told.items()
    }


def test_a_mean_is_the_same_in_every_cut_of_the_rows(spark: SparkSession) -> None:
    # Their sum is more than a floating-point number tells one by one.
    values = [86_400_000_000 * 365 + n for n in range(MANY)]
    found = set()
    for parts in (1, 3, 8):
        frame = rows(spark, {"": values}, parts)
        found |= {
            row["mean"] for row in frame.agg(quantiles.mean(F.col("value")).alias("mean")).collect()
        }
    assert found == {sum(values) // len(values)}


LATER: Final = ("acked_at", "late_acked_at", "stored_at", "first_repeat_at", "notified_at")
SIZES: Final = ("sent_bytes", "stored_bytes")
REPORTS: Final = (
    *("turnaround", "turnaround_bins", "turnaround_heat", "sla", "volume", "clock_skew"),
    *("duplicate_causes", "failure_notices"),
)
"""Those that have quantiles of lives alone."""
COPIES: Final = 1_200


@pytest.fixture(scope="module")
def busy(frame: Frame) -> Evidence:
    """Lives of every fate, each with copies of its own durations and sizes."""
    made = evidence(frame(planted_records()))
    chance = F.pmod(F.xxhash64("copy", "message_id"), F.lit(10**7))
    slower = {name: F.col(name) + chance for name in LATER}
    larger = {name: F.col(name) + chance for name in SIZES}
    copies = made.judged.withColumn("copy", F.explode(F.sequence(F.lit(1), F.lit(COPIES))))
    judged = copies.withColumns({**slower, **larger}).drop("copy")
    return made._replace(judged=judged.localCheckpoint())


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_the_same_in_every_cut_of_the_lives(busy: Evidence, name: str) -> None:
    make = catalogue.find(name).make
    found = [
        sorted(map(repr, make(busy._replace(judged=busy.judged.repartition(parts))).collect()))
        for parts in (1, 7)
    ]
    assert found[0]
    assert found[0] == found[1]


ORDER_DECIDES: Final = {
    *("approx_percentile", "percentile_approx", "approxQuantile", "median", "mode"),
    *("approx_count_distinct", "histogram_numeric", "approx_top_k"),
    *("first", "first_value", "last", "last_value", "any_value", "head", "sample", "sampleBy"),
    *("avg", "mean", "stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance"),
    *("skewness", "kurtosis", "corr", "covar_pop", "covar_samp", "sum_distinct"),
    *("monotonically_increasing_id", "spark_partition_id", "rand", "randn", "uuid", "shuffle"),
}
"""What Spark computes of the rows in the order in which it meets them, or by chance."""
METHODS: Final = {"approxQuantile", "crosstab", "freqItems", "randomSplit", "sampleBy"}
"""The same, of a frame."""
SORTED_AFTERWARDS: Final = ("array_sort", "sort_array")
IN_SQL: Final = re.compile(rf"\b({'|'.join(sorted(ORDER_DECIDES))})\(", re.IGNORECASE)


def decided_by_order(text: str) -> list[str]:
    """What in this source is of other rows when they lie otherwise: calls, and pieces of SQL."""
    found: list[str] = []

    def walk(node: ast.AST, around: frozenset[str]) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of, name = node.func.value, node.func.attr
            is_of_spark = isinstance(of, ast.Name) and of.id == "F"
            is_listed = name in ("collect_list", "array_agg") and around.isdisjoint(
                SORTED_AFTERWARDS
            )
            if (is_of_spark and (name in ORDER_DECIDES or is_listed)) or name in METHODS:
                found.append(f"line {node.lineno}: {name}")
            around = around | {name}
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.extend(f"line {node.lineno}: {one[1]}" for one in IN_SQL.finditer(node.value))
        for child in ast.iter_child_nodes(node):
            walk(child, around)

    walk(ast.parse(text), frozenset())
    return found


@pytest.mark.parametrize(
    "text",
    [
        *("F.percentile_approx('took_us', 0.5)", "F.first('at')", "F.collect_list('at')"),
        *("F.expr('avg(took_us)')", "rows.approxQuantile('took_us', [0.5], 0.1)"),
    ],
)
def test_what_the_order_of_the_rows_decides_is_seen(text: str) -> None:
    assert decided_by_order(f"rows.agg({text})")
    assert not decided_by_order("rows.agg(F.array_sort(F.collect_list('at')), F.max('first'))")


def test_no_table_asks_what_the_order_of_the_rows_decides() -> None:
    found = {str(path): decided_by_order(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    assert {path: lines for path, lines in found.items() if lines} == {}
