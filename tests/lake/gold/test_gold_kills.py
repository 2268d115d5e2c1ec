"""Whoever brings gold up to date and is killed has done it or has done nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dying import died
from journals import MUCH_LATER, SECOND, publish
from test_gold import POLICY, exchanges, is_equal

from onceonly.lake import jobs
from onceonly.lake.gold import days
from onceonly.lake.jobs.case import open_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

REFRESH = """
from onceonly.lake.jobs.case import open_case
from onceonly.lake.verdicts import Policy
lake, as_of = given
open_case(spark, [lake], int(as_of), Policy())
"""

PLACES = (
    ("runner.write", "after", 1),
    ("runner.write", "after", 2),
    ("runner.write_by", "after", 1),
    ("runner.write", "after", 3),
    ("runner.write", "after", 4),
    ("gold.days.publish", "before", 1),
    ("gold.days.publish", "after", 1),
)
"""After terms, lives that are to be placed, days, index, and half of what is counted are written;
and around the end."""


@pytest.mark.long
def test_a_refresh_that_is_killed_anywhere_is_done_again(spark: SparkSession, tmp_path: Path):
    """New rows before each; afterwards gold is what all rows give, and what died is no part."""
    there, _ = exchanges(12)
    lake, rows = str(tmp_path), there.sender.records
    publish(tmp_path, there.receiver)
    step = len(rows) // (len(PLACES) + 1)
    publish(tmp_path, there.sender, last=step)
    jobs.ingest(lake)
    open_case(spark, [lake], MUCH_LATER, POLICY)
    for number, (place, when, count) in enumerate(PLACES, 1):
        before = days.load(days.place([lake]))
        publish(tmp_path, there.sender, first=number * step + 1, last=(number + 1) * step)
        jobs.ingest(lake)
        as_of = MUCH_LATER + number * SECOND
        died(spark, REFRESH, lake, str(as_of), place=place, when=when, count=count)
        is_done = (place, when) == ("gold.days.publish", "after")
        assert (days.load(days.place([lake])) != before) is is_done
    # Each went on from what those before had left: a row that is lost or counted twice stays so.
    assert is_equal(spark, [lake], as_of, has_sheet=True)
