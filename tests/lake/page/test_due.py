"""What asks somebody to act survives the cut of an extract, and is counted in the whole report."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from journals import DAWN
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import catalogue
from onceonly.lake.jobs import findings as asked
from onceonly.lake.page import due
from onceonly.lake.page.selection import plain
from pages import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from onceonly.lake.tables.definition import Definition

pytestmark = pytest.mark.spark

SHAPES = {ask.table: ask.shape for ask in asked.PER_PAIR} | {"reconciliation": asked.DAYS}
REPORTS = sorted({one.report for one in due.EVERY})
CALM: dict[str, Any] = {
    "verdict": "SENT_NOT_RECEIVED",
    "standing": "agreed",
    "status": "whole",
    "has_journal": True,
    "behind_end": 0,
    "clock_jumps": 0,
    "is_within_accuracy": True,
    "missing": 0,
    "was_corrected": True,
    "state": "suspended",
    "until_at": DAWN,
    "is_down": False,
    "is_kept": True,
    "is_at_risk": False,
    "adds_up": True,
    "rejected": 0,
}
"""What asks nothing of anybody."""
ENDS: dict[str, dict[str, Any]] = {
    "least": {
        "string": "",
        "bigint": -(10**15),
        "double": -1.0,
        "boolean": False,
        "timestamp": 0,
        "date": date(1970, 1, 1),
        "array<string>": [],
        "array<bigint>": [],
    },
    "greatest": {
        "string": "~",
        "bigint": 10**15,
        "double": 2.0,
        "boolean": True,
        "timestamp": 2 * DAWN,
        "date": date(2200, 1, 1),
        "array<string>": [],
        "array<bigint>": [],
    },
}
"""Values by type, before all others or after them in whatever order a report has."""


def calm(of: Definition, number: int) -> list[dict[str, Any]]:
    return [
        {name: CALM.get(name, value) for name, value in row.items()} for row in rows_of(of, number)
    ]


def asking(of: Definition, end: str) -> list[dict[str, Any]]:
    """A row for each thing that is due, everything else in it at one end of every order."""
    extreme = {one.name: CALM.get(one.name, ENDS[end][one.type]) for one in of.columns}
    return [
        {**extreme, **{name: values[0] if values else 7 for name, values in one.where}}
        for one in due.of(of.name)
    ]


def frame_of(spark: SparkSession, of: Definition, rows: list[dict[str, Any]]) -> DataFrame:
    """The rows as the report's own frame, with its timestamps."""
    instants = [one.name for one in of.columns if one.type == "timestamp"]
    kinds = [f"{one.name} {'bigint' if one.name in instants else one.type}" for one in of.columns]
    made = spark.createDataFrame(
        [tuple(row[name] for name in of.names) for row in rows], ", ".join(kinds)
    )
    return made.withColumns({name: F.timestamp_micros(name) for name in instants})


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("report", REPORTS)
def test_what_is_due_survives_the_cut_and_is_counted(spark: SparkSession, report: str, end: str):
    """Rows to act on come before all others, whatever is the worst or the latest otherwise.

    Where not even all of them have room, the whole report is counted, as its rows would be.
    """
    definition = catalogue.find(report).definition
    wanted = asking(definition, end)
    rows = [*calm(definition, 4), *wanted]
    shaped = plain(SHAPES[report](frame_of(spark, definition, rows)))
    extract = asked.extract_of(shaped, len(wanted), due.of(report))
    assert extract.is_cut
    expected = {one: one.number(rows) for one in due.of(report)}
    assert all(expected.values())
    assert {one: one.number(extract.rows) for one in expected} == expected
    assert extract.counted == expected
    fewer = asked.extract_of(shaped, 1, due.of(report))
    assert (fewer.total, fewer.counted) == (len(rows), expected)


def test_what_is_not_cut_is_counted_by_its_rows(spark: SparkSession):
    """Spark is not asked again for what is there."""
    definition = catalogue.find("bulk_jobs").definition
    rows = [*calm(definition, 2), *asking(definition, "least")]
    frame = plain(frame_of(spark, definition, rows))
    extract = asked.extract_of(frame, len(rows), due.of("bulk_jobs"))
    assert not extract.is_cut
    assert extract.counted == {}
    assert (extract.number(due.REFUSED), extract.number(due.UNEQUAL)) == (7, 1)
