"""Write a table and die in the middle of it, with all that belongs to this process.

python dying_writer.py FORMAT PLACE WAREHOUSE
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from formats_session import with_jars

from onceonly.lake import runner
from onceonly.lake.formats import TableFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


def main() -> None:
    """Rows come until the last one, and then the end."""
    table_format, place, warehouse = sys.argv[1:]
    os.setsid()
    group = os.getpgrp()
    spark = with_jars(Path(warehouse))

    def die(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        os.killpg(group, signal.SIGKILL)

    rows = spark.range(10_000).selectExpr("id", "date'2026-01-02' as day")
    runner.write_table(rows.mapInArrow(die, rows.schema), place, TableFormat(table_format))


if __name__ == "__main__":
    main()
