"""Which options each use of the data source knows, without Spark or a gateway."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, StructType

from pyspark_onceonly.source import USES, DefaultSource

SCHEMA = StructType().add("payload", BinaryType())
OF_SPARK = {"path": "x", "paths": "[]", "checkpointLocation": "c", "queryName": "q"}
HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
PAGES = {"reads": HOW_TO / "consume-stream.md", "writes": HOW_TO / "send-dataframe.md"}


def used(use: str, **options: str) -> Any:
    """What Spark is given for this use."""
    source = DefaultSource({"api": "http://x", **options})
    if use == "batch reads":
        return source.reader(SCHEMA)
    if use == "stream reads":
        return source.streamReader(SCHEMA)
    write = source.writer if use == "batch writes" else source.streamWriter
    return write(SCHEMA, overwrite=False)


@pytest.mark.parametrize("use", USES)
def test_what_spark_hands_on_for_itself_passes(use: str) -> None:
    """A path, and what belongs to a query."""
    assert used(use, **OF_SPARK)


@pytest.mark.parametrize(
    ("use", "name", "nearest"),
    [
        ("batch reads", "uptoo", "up_to"),
        ("stream reads", "row_per_batch", "rows_per_batch"),
        ("batch writes", "messageIdColumn", "message_id_column"),
        ("stream writes", "reject", "rejects"),
    ],
)
def test_a_misspelt_option_is_refused_with_the_nearest(use: str, name: str, nearest: str) -> None:
    """What was meant by it would not hold, and nobody would say so."""
    text = f"no option {name.lower()} for {use}; the nearest is {nearest}"
    with pytest.raises(ValueError, match=text):
        used(use, **{name: "1"})


@pytest.mark.parametrize(
    ("use", "name", "others"),
    [
        ("stream reads", "up_to", "batch reads"),
        ("batch reads", "processing", "stream reads"),
        ("batch reads", "rows_per_request", "batch writes and stream writes"),
        ("stream writes", "job", "batch writes"),
        ("batch writes", "after", "batch reads and stream reads"),
    ],
)
def test_an_option_of_another_use_is_refused(use: str, name: str, others: str) -> None:
    """A stream has no end that could be named, and so on."""
    with pytest.raises(ValueError, match=f"option {name} is for {others}, not for {use}"):
        used(use, **{name: "1"})


@pytest.mark.parametrize(
    ("use", "name"), [("batch reads", "payload"), ("stream reads", "processing")]
)
def test_an_option_of_the_inbox_is_refused_for_the_journal(use: str, name: str) -> None:
    """Its rows have no payload, and nobody asks how far work on them is."""
    with pytest.raises(ValueError, match=f"option {name} is for the inbox, not for the journal"):
        used(use, **{"read": "journal", name: "none"})


def test_more_rows_than_a_request_has_are_refused() -> None:
    """And not cut to what a gateway takes."""
    with pytest.raises(ValueError, match="'1001'; legal: a whole number from 1 to 1000"):
        used("batch writes", rows_per_request="1001")
    assert used("batch writes", rows_per_request="1000")


@pytest.mark.parametrize("job", ["", "a b", "a/b", ".", ".."])
def test_a_job_that_cannot_be_called_so_is_refused_before_a_task_runs(job: str) -> None:
    """It would be another address, or none."""
    with pytest.raises(ValueError, match=r"option job is .*; legal: an identifier without a slash"):
        used("batch writes", job=job)


@pytest.mark.parametrize("use", USES)
def test_every_option_is_on_its_page(use: str) -> None:
    """An option that nobody can read of is none."""
    page = PAGES[use.split()[1]].read_text("utf-8")
    assert not [name for name in USES[use] if f"`{name}`" not in page]
