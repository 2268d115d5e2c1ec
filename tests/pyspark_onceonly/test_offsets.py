"""Numbered rows as a stream, without Spark or a gateway: offsets, batches, another store."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from onceonly.client import End
from onceonly.message.errors import LocalError
from pyspark_onceonly.inbox import InboxReader, InboxRows
from pyspark_onceonly.journal import JournalReader, JournalRows
from pyspark_onceonly.offsets import Numbered, NumberedStream, Offset, Range, pieces, until
from pyspark_onceonly.options import GatewayAddress
from pyspark_onceonly.selection import Selection, inbox_schema

LIMIT = ReadMaxRows(10)


class Numbers(NamedTuple):
    """As many rows as there are numbers."""

    last: int
    store_id: str | None = None

    def end(self) -> End:
        return End(self.last, self.store_id)

    def read(self, wanted: Range) -> Iterator[pa.RecordBatch]:
        last = min(wanted.up_to, self.last)
        yield pa.RecordBatch.from_pydict({"n": list(range(wanted.after + 1, last + 1))})


class Growing:
    """Rows of which there is one more whenever somebody asks."""

    def __init__(self) -> None:
        self._last = 20

    def end(self) -> End:
        self._last += 1
        return End(self._last, None)

    def read(self, wanted: Range) -> Iterator[pa.RecordBatch]:
        return Numbers(self._last).read(wanted)


def stream(last: int, kind: str = "inbox", store_id: str | None = None) -> NumberedStream:
    return NumberedStream(kind, Numbers(last, store_id), Numbered(0, 10, 4))


def at(offset: int, kind: str | None = "inbox") -> Offset:
    found: Offset = {"offset": offset, "from": 3}
    return found if kind is None else {**found, "read": kind}


def test_a_batch_goes_on_where_the_last_one_ended() -> None:
    """At most as far as is allowed, in pieces that tasks read."""
    found = stream(25)
    assert found.initialOffset() == {"offset": 0, "from": 0, "read": "inbox"}
    assert found.latestOffset(at(5), LIMIT) == at(15)
    assert found.latestOffset(at(20), LIMIT) == at(25)
    planned = [partition.value for partition in found.partitions(at(5), at(15))]
    assert planned == [Range(5, 9), Range(9, 13), Range(13, 15)]


def test_where_nothing_is_new_the_offset_stays_as_it_is_written() -> None:
    """Also one without the word: another text would be another batch to Spark."""
    for kind in ("inbox", None):
        assert stream(25).latestOffset(at(25, kind), LIMIT) == at(25, kind)


def test_an_old_checkpoint_is_read() -> None:
    """From before offsets said of what they are, and whose; the next batch says it."""
    assert stream(25).latestOffset(at(5, None), LIMIT) == at(15)
    later = stream(25, store_id="a").latestOffset(at(5, None), LIMIT)
    assert later == {**at(15), "store": "a"}
    assert len(stream(25).partitions(at(5, None), at(15, None))) == 3


def test_the_first_batch_begins_where_its_end_says() -> None:
    """Also where Spark asks again for a beginning behind everything: in planning, after a crash."""
    rows = Growing()
    before, after = (NumberedStream("inbox", rows, Numbered(None, 10, 4)) for _ in range(2))
    first = before.initialOffset()
    end = before.latestOffset(first, LIMIT)
    assert end["offset"] > first["offset"]
    for reader in (before, after):
        again = reader.initialOffset()
        assert again["offset"] > end["offset"]
        planned = [partition.value for partition in reader.partitions(again, end)]
        assert planned == [Range(first["offset"], end["offset"])]
    assert after.latestOffset(end, LIMIT)["from"] == first["from"]


@pytest.mark.parametrize("kind", ["inbox", "journal"])
def test_another_store_ends_the_query_by_name(kind: str) -> None:
    """A gateway that begins again at 1 would be read from 500 on, which skips what it has."""
    for ended in (
        lambda: stream(3, kind=kind).latestOffset(at(500, kind), LIMIT),
        lambda: stream(3, kind=kind).partitions(at(490, kind), at(500, kind)),
    ):
        with pytest.raises(LocalError, match="store is new, or an older copy") as refused:
            ended()
        assert refused.value.name == "StoreReplaced"


def test_a_new_store_is_seen_however_far_it_has_grown() -> None:
    """Its numbers reach those of the checkpoint, and are of other rows."""
    start, end = ({**at(number), "store": "a"} for number in (5, 15))
    found = stream(25, store_id="a")
    assert found.latestOffset(start, LIMIT) == end
    assert len(found.partitions(start, end)) == 3
    for ended in (
        lambda: stream(25, store_id="b").latestOffset(start, LIMIT),
        lambda: stream(25, store_id="b").partitions(start, end),
    ):
        with pytest.raises(LocalError, match="of another store") as refused:
            ended()
        assert refused.value.name == "StoreReplaced"


def test_another_store_is_seen_when_everything_that_is_there_is_taken() -> None:
    """The target of `availableNow` is asked for before any batch."""
    found = stream(3)
    found.prepareForTriggerAvailableNow()
    with pytest.raises(LocalError, match="store is new, or an older copy"):
        found.latestOffset(at(500), LIMIT)


def test_a_checkpoint_of_the_other_table_is_refused() -> None:
    """An offset of the journal is no offset of the inbox."""
    with pytest.raises(LocalError, match="of the journal, and the query reads inbox") as refused:
        stream(25).latestOffset(at(5, "journal"), LIMIT)
    assert refused.value.name == "OtherSource"


def test_a_range_comes_in_pieces() -> None:
    """Of at most so many, and nothing of nothing."""
    assert list(pieces(0, 12, 5)) == [Range(0, 5), Range(5, 10), Range(10, 12)]
    assert list(pieces(7, 7, 5)) == []


def test_a_batch_ends_with_the_last_row_at_the_latest() -> None:
    """Nobody knows the last number, so a great one is named: it would be a task for each 10,000."""
    ends = [until(Numbers(25), 7, up_to) for up_to in (None, 10**15, 25, 12, 7, 3)]
    assert ends == [25, 25, 25, 12, 7, 3]


@pytest.mark.parametrize("up_to", [0, 6, 7])
@pytest.mark.parametrize("kind", ["inbox", "journal"])
def test_a_batch_of_nothing_has_one_partition_with_nothing_in_it(kind: str, up_to: int) -> None:
    """Spark replaces none by one without a range. Nobody listens there, so nobody is asked."""
    nobody = GatewayAddress("http://127.0.0.1:1", None, 0.0)
    inbox = InboxReader(InboxRows(nobody, Selection(inbox_schema("binary"), {})), 7, up_to, 5)
    reader = inbox if kind == "inbox" else JournalReader(JournalRows(nobody), 7, up_to, 5)
    [partition] = reader.partitions()
    assert list(reader.read(partition)) == []
