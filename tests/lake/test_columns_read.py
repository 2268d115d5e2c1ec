"""No table reads more columns of lives or rows of journals than it needs, or sorts all at once."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

import pytest
from cases import evidence, planted_records

from onceonly.lake import catalogue
from onceonly.lake.reports import reconciliation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from onceonly.journal.record import Record
    from onceonly.lake.catalogue import Evidence

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark
FEW = 24
"""Columns of a life, which has more than a hundred, that a table may read."""
WIDE = {
    "delivery_ledger": 42,  # The whole life in one row is what it is for.
    "once_only": 40,  # Nineteen questions.
    "in_doubt": 32,  # What to do about each depends on all that is known of it.
}
ALL_EVENTS = {"journal_quality"}
"""What looks at every row of the journal."""
SMALL = {"message_id", "stretch", "bin", "bin_at", "day", "bucket"}
"""What ends however much the lake has: a message, a stretch, a time, values that are alike."""
FEW_ROWS = {"bin", "first", "occurrences", "run", "stretch", "bucket"}
"""What orders rows of which there are few: one per bin, stretch, run, bucket, or kind of error."""
OF_CLOSINGS = {"channel_intervals", "backlog"}
"""What orders the closings of a pair, which are few."""
_WINDOW = re.compile(r"\bWindow \[.*\], \[([^\]]*)\], \[([^\]#]+)#[^\]]*\]$")
_LIST = re.compile(r"collect_list\((\w*(?:_us|_bytes|middle))#")
_SCAN = re.compile(
    r"FileScan parquet.*/(journal|judged|coverage|wholeness)\]"
    r".*PushedFilters: \[(.*)\], ReadSchema: "
)


class Scan(NamedTuple):
    product: str
    conditions: str
    columns: list[str]


@pytest.fixture(scope="module")
def stored(spark: SparkSession, frame: Frame, tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Evidence that is read from Parquet, as lakes have it."""
    where: Path = tmp_path_factory.mktemp("evidence")
    made = evidence(frame(planted_records()))
    names = ("journal", "judged", "coverage", "wholeness")
    for name in names:
        getattr(made, name).write.parquet(str(where / name))
    return made._replace(**{name: spark.read.parquet(str(where / name)) for name in names})


@pytest.fixture(autouse=True)
def _whole_plans(spark: SparkSession) -> Iterator[None]:
    """Spark shortens what it shows of a scan."""
    length = "spark.sql.maxMetadataStringLength"
    spark.conf.set(length, "100000")
    yield
    spark.conf.unset(length)


def planned(frame: DataFrame, what: str) -> list[str]:
    """The lines of the plan that have `what`."""
    shown = StringIO()
    with redirect_stdout(shown):
        frame.explain()
    return [line for line in shown.getvalue().splitlines() if what in line]


def scans(frame: DataFrame) -> list[Scan]:
    found = []
    for line in planned(frame, "FileScan"):
        scan = _SCAN.search(line)
        assert scan is not None, line
        fields = line[scan.end() :].removeprefix("struct<").rstrip(">")
        columns = [field.split(":")[0] for field in fields.split(",") if field]
        found.append(Scan(scan[1], scan[2], columns))
    return found


@pytest.mark.parametrize("table", catalogue.TABLES, ids=lambda table: table.name)
def test_a_table_reads_few_columns_of_a_life(stored: Evidence, table: catalogue.CatalogueEntry):
    """Parquet skips the others; a table that reads more is named here, with the reason."""
    read = [one for one in scans(table.make(stored)) if one.product == "judged"]
    most = WIDE.get(table.name, FEW)
    assert max((len(one.columns) for one in read), default=0) <= most


@pytest.mark.parametrize("table", catalogue.TABLES, ids=lambda table: table.name)
def test_a_table_names_the_rows_of_the_journal(stored: Evidence, table: catalogue.CatalogueEntry):
    """Files without such rows are then not read; they are sorted by event."""
    read = [one for one in scans(table.make(stored)) if one.product == "journal"]
    unnamed = [one for one in read if not re.search(r"\b(event|hop|actor)\b", one.conditions)]
    assert bool(unnamed) is (table.name in ALL_EVENTS)
    only_ends = [one for one in read if one.conditions == "IsNull(hop)"]
    assert not only_ends


@pytest.mark.parametrize("table", catalogue.TABLES, ids=lambda table: table.name)
def test_a_table_sorts_only_what_is_small(stored: Evidence, table: catalogue.CatalogueEntry):
    """A window is one task for each of its lines: they end, or their rows are few."""
    for line in planned(table.make(stored), "Window ["):
        window = _WINDOW.search(line)
        if window is None:
            continue  # Without an order: whatever is grouped so is not sorted.
        of_each = {name.split("#")[0].strip() for name in window[1].split(",")}
        is_small = not of_each.isdisjoint(SMALL) or window[2] in FEW_ROWS
        assert is_small or table.name in OF_CLOSINGS, line


@pytest.mark.parametrize("table", catalogue.TABLES, ids=lambda table: table.name)
def test_a_table_lists_only_the_values_of_what_is_small(
    stored: Evidence, table: catalogue.CatalogueEntry
):
    """A list of values is in the memory of one task: those of a pair would grow with the lake."""
    for line in planned(table.make(stored), "ObjectHashAggregate("):
        if _LIST.search(line):
            [keys] = re.findall(r"keys=\[(.*?)\]", line)
            of_each = {name.split("#")[0].strip() for name in keys.split(",")}
            assert not of_each.isdisjoint(SMALL), line


def test_the_classes_are_counted_in_one_scan(stored: Evidence):
    """Totals, matrix and days come from the same counts."""
    counts = reconciliation.counts(stored.judged)
    [scan] = scans(counts)
    assert len(scan.columns) <= FEW
