"""A DataFrame sent on one side, received as a stream on the other, with faults in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from faulty_run import run

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.process]

ROWS = 1_000


@pytest.mark.long
def test_what_is_sent_is_what_is_received_row_for_row(spark: SparkSession, tmp_path: Path) -> None:
    """Over a link with faults, both gateways killed on the way: nothing lost, doubled, altered."""
    found = run(spark, tmp_path, rows=ROWS, loss=0.1, kills=2, seed=7)
    assert (found["lost"], found["extra"], found["received"]) == (0, 0, ROWS)
    assert found["kills"] == 2
    assert sum(found["faults"].values()) > 0
    job, report = found["job"], found["report"]
    assert (job["rows"], job["accepted"], job["acknowledged"]) == (ROWS, ROWS, ROWS)
    assert (report["rows"], report["accepted"]) == (ROWS, ROWS)
