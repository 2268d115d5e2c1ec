"""DataFrames in, from real gateways: what is read, in which pieces, what the gateway is told."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import pytest
from nemesis_gateways import Exchange, build_exchange, until
from pyspark.errors import PySparkException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.streaming.listener import QueryTerminatedEvent

from onceonly.client import Client, Document
from onceonly.gateway.api.arrow import INBOX_SCHEMA
from onceonly.gateway.application.inbox import PAYLOAD_BYTES_INLINE_MAX
from onceonly.message.errors import LocalError
from pyspark_onceonly import ProcessingListener, report_progress
from pyspark_onceonly.checkpoint import Progress
from pyspark_onceonly.inbox import InboxRows, InboxStream
from pyspark_onceonly.offsets import Numbered, Range
from pyspark_onceonly.options import GatewayAddress, Options
from pyspark_onceonly.selection import Selection, chosen_columns, inbox_schema, selection_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.process]

COUNT = 50
QUERY = UUID(int=1)
EVERYTHING = Range(0, 10**9)
WHOLE = Selection(inbox_schema("binary"), {})
TEXTS = Selection(inbox_schema("text"), {}, "text")
LARGE = b"\x00" * (PAYLOAD_BYTES_INLINE_MAX + 1)


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exchange]:
    """Two gateways, and fifty messages that went from one to the other."""
    pair = build_exchange(tmp_path_factory.mktemp("inbox"))
    for gateway in pair.gateways:
        gateway.configure()
    pair.start()
    send(pair, *(f"m-{n:02}" for n in range(COUNT)))
    yield pair
    pair.destroy()


def send(pair: Exchange, *names: str, documents: Any = None) -> None:
    """Send the messages, and wait until they are in the inbox."""
    with pair.clients() as (ours, theirs):
        before = theirs.last_offset()
        for name in names:
            ours.submit(
                documents or [Document(f"<O>{name}</O>".encode(), "application/xml", "o.xml")],
                to=pair.receiver.site.party,
                service="Ordering",
                action="NewOrder",
                message_id=name,
                conversation="c-1",
            )
        until(lambda: theirs.last_offset() == before + len(names), "all are handed over")


def reading(spark: SparkSession, pair: Exchange, **options: Any) -> DataFrame:
    frame = spark.read.format("onceonly").option("api", pair.receiver.site.api)
    return frame.options(**options).load()


def stream(spark: SparkSession, pair: Exchange, **options: Any) -> DataFrame:
    frame = spark.readStream.format("onceonly").option("api", pair.receiver.site.api)
    return frame.options(**options).load()


def run(frame: DataFrame, folder: Path) -> StreamingQuery:
    """Take what is there, into Parquet below `folder`."""
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(folder / "table"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def states(pair: Exchange, after: int = 0) -> Counter[str]:
    """How many messages of the inbox stand how, as a partner who asks is told."""
    with pair.clients() as (_, theirs):
        return Counter(item.processing for item in theirs.inbox(after, 1000))


def test_the_columns_are_those_of_the_gateway() -> None:
    """One fact: the stream's Arrow schema and Spark's name the same columns in the same order."""
    for payload in ("binary", "text"):
        assert inbox_schema(payload).fieldNames() == INBOX_SCHEMA.names


def test_the_inbox_is_a_table(spark: SparkSession, exchange: Exchange) -> None:
    """In several partitions, with headers and payloads, and no state is touched by looking."""
    frame = reading(spark, exchange, rows_per_partition=20, payload="text", up_to=COUNT)
    assert frame.rdd.getNumPartitions() == 3
    rows = frame.orderBy("offset").collect()
    assert [row["offset"] for row in rows] == list(range(1, COUNT + 1))
    first = rows[0]
    assert (first["message_id"], first["payload"]) == ("m-00", "<O>m-00</O>")
    assert (first["content_type"], first["name"]) == ("application/xml", "o.xml")
    assert (first["conversation_id"], first["service"], first["action"]) == (
        "c-1",
        "Ordering",
        "NewOrder",
    )
    assert first["from_party"] == exchange.sender.site.party
    assert states(exchange)["not-started"] >= COUNT


def test_a_range_of_the_inbox_is_a_table_too(spark: SparkSession, exchange: Exchange) -> None:
    """`after` and `up_to`, whose rows are the same whenever they are read."""
    rows = reading(spark, exchange, after=10, up_to=12).collect()
    assert [(row["offset"], bytes(row["payload"])) for row in rows] == [
        (11, b"<O>m-10</O>"),
        (12, b"<O>m-11</O>"),
    ]


class Wire(NamedTuple):
    """What a source asked of the gateway, and how many bytes came."""

    asked: list[str]
    sizes: list[int]


@pytest.fixture
def wire(exchange: Exchange, monkeypatch: pytest.MonkeyPatch) -> Wire:
    """The answers to a source in this process, counted on their way."""
    found = Wire([], [])
    ask = Client.inbox_stream

    def counted(self: Client, *args: Any, **wanted: Any) -> bytes:
        answer = ask(self, *args, **wanted)
        found.asked.append(str(wanted))
        found.sizes.append(len(answer))
        return answer

    monkeypatch.setattr(Client, "inbox_stream", counted)
    return found


def rows_of(pair: Exchange, **options: str) -> InboxRows:
    """The reader's rows for these options."""
    given = Options({"api": pair.receiver.site.api, **options})
    return InboxRows(given.gateway(), selection_of(given, chosen_columns(given)))


def test_a_count_without_payloads_fetches_none(
    spark: SparkSession, exchange: Exchange, wire: Wire
) -> None:
    """Not even one that is too large to come along, and would be fetched by itself."""
    big = [Document(b"<O/>", "application/xml", "o.xml"), Document(LARGE, "a/b", "large.bin")]
    send(exchange, "with-large", documents=big)
    whole = sum(batch.num_rows for batch in rows_of(exchange).read(EVERYTHING))
    with_bytes = sum(wire.sizes)
    wire.sizes.clear()
    batches = list(rows_of(exchange, payload="none").read(EVERYTHING))
    assert sum(batch.num_rows for batch in batches) == whole
    assert not {"payload"} & set(batches[0].schema.names)
    assert sum(wire.sizes) < with_bytes
    frame = reading(spark, exchange, payload="none")
    assert frame.count() == whole
    [large] = frame.where("message_id = 'with-large'").collect()
    assert large["attachments"][0].asDict() == {
        "content_type": "a/b",
        "name": "large.bin",
        "size_bytes": len(LARGE),
        "digest": sha256(LARGE).hexdigest(),
    }


def test_columns_are_chosen_by_name_or_by_a_schema(spark: SparkSession, exchange: Exchange) -> None:
    """In the order in which they are named, and both ways."""
    by_name = reading(spark, exchange, columns="Message_Id,offset", up_to=2)
    assert by_name.columns == ["message_id", "offset"]
    frame = spark.read.format("onceonly").option("api", exchange.receiver.site.api)
    by_schema = frame.schema("message_id string, offset long").option("up_to", 2).load()
    assert by_name.collect() == by_schema.collect() == [("m-00", 1), ("m-01", 2)]
    both = reading(spark, exchange, columns="payload,offset", payload="text", up_to=1)
    assert both.collect() == [("<O>m-00</O>", 1)]


def test_messages_are_chosen_at_the_gateway(spark: SparkSession, exchange: Exchange) -> None:
    """By what an operator chooses them at the command line."""
    party = exchange.sender.site.party
    found = {
        "from": party,
        "service": "Ordering",
        "id_prefix": "m-0",
        "since": "2001-01-01T00:00:00Z",
    }
    assert reading(spark, exchange, **found, payload="none").count() == 10
    assert reading(spark, exchange, service="Billing", payload="none").count() == 0
    assert reading(spark, exchange, until="2001-01-01T00:00:00Z").count() == 0


def test_the_view_of_the_page_reads_the_inbox(spark: SparkSession, exchange: Exchange) -> None:
    """The SQL of the docs as it stands there, for this gateway."""
    page = (Path(__file__).parents[2] / "docs/how-to/consume-stream.md").read_text("utf-8")
    text = page.split("```sql\n")[1].split("```")[0]
    create, select = text.replace("http://127.0.0.1:8412", exchange.receiver.site.api).split(";")[
        :2
    ]
    spark.sql(create)
    try:
        found = {row["message_id"]: row["payload"] for row in spark.sql(select).collect()}
    finally:
        spark.catalog.dropTempView("orders_in")
    assert found["m-07"] == "<O>m-07</O>"
    assert len(found) >= COUNT


def test_filters_of_spark_are_asked_of_the_gateway(spark: SparkSession, exchange: Exchange) -> None:
    """Where the session hands them on; with the same result as without."""
    key = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(key, "true")
    try:
        frame = reading(spark, exchange, push_filters="true", payload="none", rows_per_partition=10)
        some = frame.where(
            "service = 'Ordering' AND offset > 10 AND offset <= 30 AND received_at > 0"
        )
        assert some.rdd.getNumPartitions() == 2
        assert [row["offset"] for row in some.orderBy("offset").collect()] == [*range(11, 31)]
        assert frame.where("service = 'Billing'").count() == 0
    finally:
        spark.conf.unset(key)


def test_a_stream_takes_no_more_bytes_than_it_is_told(exchange: Exchange) -> None:
    """Whole messages, and one at least, however large it is."""
    rows = rows_of(exchange)
    size = len("<O>m-00</O>")
    assert rows.last_within(Range(0, 40), 3 * size) == 3
    assert rows.last_within(Range(3, 40), 1) == 4
    assert rows.last_within(Range(0, 40), 40 * size) == 40
    source = InboxStream(rows, Numbered(0, 100, 10), reports=False, bytes_max=10 * size + 1)
    end = source.latestOffset(source.initialOffset(), ReadMaxRows(30))
    assert end["offset"] == 10
    assert (
        sum(
            batch.num_rows
            for one in source.partitions(source.initialOffset(), end)
            for batch in source.read(one)
        )
        == 10
    )


@pytest.mark.parametrize("read", ["inbox", "journal"])
def test_a_range_with_nothing_in_it_is_an_empty_table(
    spark: SparkSession, exchange: Exchange, read: str
) -> None:
    """Behind the last row, or with an end that is not behind its beginning."""
    for limits in ({"after": 10**9}, {"after": 7, "up_to": 7}, {"after": 7, "up_to": 3}):
        assert reading(spark, exchange, read=read, **limits).collect() == []


def test_an_empty_inbox_is_an_empty_table(spark: SparkSession, exchange: Exchange) -> None:
    """That of a gateway that has only sent."""
    assert reading(spark, exchange, api=exchange.sender.site.api).collect() == []


def test_payloads_of_every_kind_are_read(spark: SparkSession, exchange: Exchange) -> None:
    """Several, none, bytes that are no text, and some too large to come along, under hard ids."""
    with exchange.clients() as (_, theirs):
        before = theirs.last_offset()
    xml, raw = ("application/xml", "o.xml"), ("application/octet-stream", "")
    send(exchange, "k-1", documents=[(b"<O/>", *xml), (b"\xff", *raw)])
    send(exchange, "k-2", documents=[(b"\xff\x00", *raw)])
    send(exchange, "k-3/payloads/0", documents=[(LARGE, *raw)])
    send(exchange, "k%2F4?#;+", documents=[(b"<O/>", *xml), (LARGE, *raw), (b"\xff", *raw)])
    found = reading(spark, exchange, after=before).orderBy("offset").collect()
    first, second, third, fourth = found
    assert bytes(first["payload"]) == b"<O/>"
    assert [bytes(part["body"]) for part in first["attachments"]] == [b"\xff"]
    assert (bytes(second["payload"]), second["attachments"]) == (b"\xff\x00", [])
    assert bytes(third["payload"]) == LARGE
    assert bytes(fourth["payload"]) == b"<O/>"
    assert [bytes(part["body"]) for part in fourth["attachments"]] == [LARGE, b"\xff"]
    texts = reading(spark, exchange, after=before, up_to=before + 2, payload="text")
    assert [row["payload"] for row in texts.orderBy("offset").collect()] == ["<O/>", None]


def test_bytes_that_are_no_text_are_null_and_those_beside_them_are_text(exchange: Exchange) -> None:
    """In the same batch: one document that is none hides no other."""
    with exchange.clients() as (_, theirs):
        before = theirs.last_offset()
    for key, body in (("t-1", b"<O/>"), ("t-2", b"\xff\x00")):
        send(exchange, key, documents=[(body, "application/octet-stream", "")])
    rows = InboxRows(GatewayAddress(exchange.receiver.site.api, None, 60.0), TEXTS)
    found = rows.read(Range(before, before + 2))
    assert [text.as_py() for some in found for text in some.column("payload")] == ["<O/>", None]


def test_a_stream_takes_so_many_at_a_time_and_tells_how_far_it_is(
    spark: SparkSession, exchange: Exchange, tmp_path: Path
) -> None:
    """Admission control; in progress, then complete; the next run takes what came meanwhile."""
    send(exchange, *(f"s1-{n}" for n in range(5)))
    with exchange.clients() as (_, theirs):
        last = theirs.last_offset()
    frame = stream(spark, exchange, after=last - 5, rows_per_batch=2, payload="text")
    query = run(frame, tmp_path)
    taken = [one["numInputRows"] for one in query.recentProgress if one["numInputRows"]]
    assert taken == [2, 2, 1]
    report_progress(str(tmp_path / "checkpoint"), exchange.receiver.site.api)
    assert states(exchange, last - 5) == {"complete": 5}
    assert states(exchange)["not-started"] >= COUNT

    send(exchange, "s1-5")
    assert states(exchange, last) == {"not-started": 1}
    run(frame, tmp_path)
    table = spark.read.parquet(str(tmp_path / "table")).orderBy("offset").collect()
    assert [row["message_id"] for row in table] == [f"s1-{n}" for n in range(6)]
    found = report_progress(str(tmp_path / "checkpoint"), exchange.receiver.site.api)
    with exchange.clients() as (_, theirs):
        store_id = theirs.inbox_end().store_id
    assert store_id is not None
    assert found == Progress(last - 5, last + 1, last + 1, store_id, last)
    assert states(exchange, last - 5) == {"complete": 6}


def test_the_first_batch_of_a_stream_from_the_latest_skips_nothing(exchange: Exchange) -> None:
    """What comes while Spark plans it is read and reported with it, also by the next run."""
    api = exchange.receiver.site.api
    rows = InboxRows(GatewayAddress(api, None, 60.0), WHOLE)
    streams = [InboxStream(rows, Numbered(None, 10, 10), reports=True) for _ in range(2)]
    first = streams[0].initialOffset()
    send(exchange, "s7-0", "s7-1")
    end = streams[0].latestOffset(first, ReadMaxRows(10))
    for stream in streams:
        [planned] = stream.partitions(stream.initialOffset(), end)
        [table] = stream.read(planned)
        assert table.column("message_id").to_pylist() == ["s7-0", "s7-1"]
        assert states(exchange, first["offset"]) == {"in-progress": 2}
    streams[1].latestOffset(end, ReadMaxRows(10))
    assert states(exchange, first["offset"]) == {"complete": 2}


def test_each_start_tells_what_is_new_and_leaves_no_gap(exchange: Exchange) -> None:
    """A run dies behind the commit of a batch that it has not reported: the next one reports it."""
    send(exchange, "s8-0", "s8-1", "s8-2")
    with exchange.clients() as (_, theirs):
        first = theirs.last_offset() - 3
    rows = InboxRows(GatewayAddress(exchange.receiver.site.api, None, 60.0), WHOLE)

    def started(*, reports: bool = True) -> InboxStream:
        return InboxStream(rows, Numbered(first, 1, 1), reports=reports)

    one_row = ReadMaxRows(1)
    run = started()
    one = run.latestOffset(run.initialOffset(), one_row)
    two = run.latestOffset(one, one_row)
    assert [(end["offset"] - first, end["reported"] - first) for end in (one, two)] == [
        (1, 0),
        (2, 1),
    ]
    assert states(exchange, first) == {"complete": 1, "not-started": 2}
    quiet = started(reports=False).latestOffset(two, one_row)
    assert quiet["reported"] == two["reported"]
    three = started().latestOffset(two, one_row)
    assert three["reported"] == two["offset"]
    assert states(exchange, first) == {"complete": 2, "not-started": 1}
    assert started().latestOffset(three, one_row) == three
    assert states(exchange, first) == {"complete": 3}


def commit(checkpoint: Path, query: UUID, end: dict[str, Any]) -> None:
    """The checkpoint of a query, whose first batch ended there and is committed."""
    for name, text in (
        ("metadata", json.dumps({"id": str(query)})),
        ("offsets/0", "v1\n{}\n" + json.dumps(end)),
        ("commits/0", "v1\n{}"),
    ):
        (checkpoint / name).parent.mkdir(exist_ok=True)
        (checkpoint / name).write_text(text)


def test_what_the_checkpoint_knows_to_be_told_is_not_told_again(
    exchange: Exchange, tmp_path: Path
) -> None:
    """Neither by the stream nor by a listener; an old checkpoint knows nothing of it."""
    send(exchange, *(f"s9-{n}" for n in range(4)))
    with exchange.clients() as (_, theirs):
        last = theirs.last_offset()
    api, first = exchange.receiver.site.api, last - 4
    rows = InboxRows(GatewayAddress(api, None, 60.0), WHOLE)
    old = {"offset": last - 2, "from": first, "read": "inbox"}
    known = {**old, "reported": last - 3}

    def start(offset: dict[str, Any]) -> None:
        stream = InboxStream(rows, Numbered(0, 10, 10), reports=True)
        stream.latestOffset(offset, ReadMaxRows(10))

    start(known)
    assert states(exchange, first) == {"not-started": 3, "complete": 1}
    commit(tmp_path, QUERY, {**old, "offset": last - 1, "reported": last - 2})
    listener = ProcessingListener(str(tmp_path), api)
    listener.onQueryTerminated(QueryTerminatedEvent(QUERY, QUERY, None, None))
    assert states(exchange, first) == {"not-started": 2, "complete": 2}
    start(old)
    assert states(exchange, first) == {"not-started": 1, "complete": 3}


def test_a_new_checkpoint_in_the_old_place_is_told_from_its_beginning(
    exchange: Exchange, tmp_path: Path
) -> None:
    """The first query began behind what the second one reads; one listener hears of both."""
    send(exchange, *(f"s10-{n}" for n in range(3)))
    with exchange.clients() as (_, theirs):
        last = theirs.last_offset()
    listener = ProcessingListener(str(tmp_path), exchange.receiver.site.api)
    for query, first, complete in ((QUERY, last - 1, 1), (UUID(int=2), last - 3, 3)):
        commit(tmp_path, query, {"offset": last, "from": first, "read": "inbox"})
        listener.onQueryTerminated(QueryTerminatedEvent(query, query, None, None))
        assert states(exchange, last - 3)["complete"] == complete


def test_a_batch_that_is_worked_on_is_in_progress(
    spark: SparkSession, exchange: Exchange, tmp_path: Path
) -> None:
    """It is planned, and its sink fails: complete would be a lie, not started as well."""
    send(exchange, "s2-0", "s2-1")
    with exchange.clients() as (_, theirs):
        last = theirs.last_offset()

    def burst(batch: Any, number: int) -> None:
        del number
        assert batch.count() == 2
        assert states(exchange, last - 2) == {"in-progress": 2}
        raise ValueError("burst")

    frame = stream(spark, exchange, after=last - 2)
    checkpoint = str(tmp_path / "checkpoint")
    query = (
        frame.writeStream.foreachBatch(burst)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(PySparkException, match="burst"):
        query.awaitTermination()
    assert report_progress(checkpoint, exchange.receiver.site.api) is not None
    assert states(exchange, last - 2) == {"in-progress": 2}
    run(frame, tmp_path)
    report_progress(checkpoint, exchange.receiver.site.api)
    assert states(exchange, last - 2) == {"complete": 2}


def test_a_gateway_with_another_store_ends_the_query(
    spark: SparkSession, exchange: Exchange, tmp_path: Path
) -> None:
    """Its numbers are behind those of the checkpoint, and nobody is told a lie about them."""
    send(exchange, "s6-0")
    with exchange.clients() as (_, theirs):
        last = theirs.last_offset()
    frame, checkpoint = stream(spark, exchange, after=last - 1), tmp_path / "checkpoint"
    run(frame, tmp_path)
    written = checkpoint / "offsets" / "0"
    written.write_text(written.read_text().replace(f'"offset": {last}', f'"offset": {last + 500}'))
    (checkpoint / "offsets" / ".0.crc").unlink()
    with pytest.raises(PySparkException, match="store is new, or an older copy"):
        run(frame, tmp_path)
    with pytest.raises(LocalError, match="store is new, or an older copy"):
        report_progress(str(checkpoint), exchange.receiver.site.api)


def test_a_replayed_batch_is_the_same_batch(
    spark: SparkSession, exchange: Exchange, tmp_path: Path
) -> None:
    """Spark's commit is lost: the file sink knows the batch, and the table has each row once."""
    send(exchange, "s3-0", "s3-1")
    with exchange.clients() as (_, theirs):
        last = theirs.last_offset()
    frame = stream(spark, exchange, after=last - 2, rows_per_batch=1)
    run(frame, tmp_path)
    for name in ("1", ".1.crc"):
        (tmp_path / "checkpoint" / "commits" / name).unlink(missing_ok=True)
    run(frame, tmp_path)
    table = spark.read.parquet(str(tmp_path / "table")).orderBy("offset").collect()
    assert [row["message_id"] for row in table] == ["s3-0", "s3-1"]


def test_a_stream_may_begin_behind_everything_and_keep_quiet(
    spark: SparkSession, exchange: Exchange, tmp_path: Path
) -> None:
    """`after=latest` takes what comes from now on; `processing=none` tells the gateway nothing."""
    frame = stream(spark, exchange, after="latest", processing="none")
    run(frame, tmp_path)
    send(exchange, "s4-0")
    with exchange.clients() as (_, theirs):
        last = theirs.last_offset()
    run(frame, tmp_path)
    table = spark.read.parquet(str(tmp_path / "table")).collect()
    assert [row["message_id"] for row in table] == ["s4-0"]
    assert states(exchange, last - 1) == {"not-started": 1}


def test_a_listener_tells_what_the_checkpoint_says(
    spark: SparkSession, exchange: Exchange, tmp_path: Path
) -> None:
    """Also of the last batch, of which the source hears nothing more."""
    send(exchange, "s5-0")
    with exchange.clients() as (_, theirs):
        last = theirs.last_offset()
    api = exchange.receiver.site.api
    listener = ProcessingListener(str(tmp_path / "checkpoint"), api)
    spark.streams.addListener(listener)
    try:
        run(stream(spark, exchange, after=last - 1, processing="none"), tmp_path)
        until(lambda: states(exchange, last - 1) == {"complete": 1}, "it is complete")
    finally:
        spark.streams.removeListener(listener)


def test_the_journal_is_a_table_and_a_stream(
    spark: SparkSession, exchange: Exchange, tmp_path: Path
) -> None:
    """Of a gateway that publishes nowhere: every row once, in the columns of a segment."""
    frame = reading(spark, exchange, read="journal", up_to=100, rows_per_partition=30)
    rows = frame.orderBy("seq").collect()
    assert [row["seq"] for row in rows] == list(range(1, 101))
    assert rows[0]["party"] == exchange.receiver.site.party
    assert {row["event"] for row in rows} >= {"Stored", "HandedOver"}
    assert all(len(row["chain_hash"]) == 64 for row in rows)
    run(stream(spark, exchange, read="journal", rows_per_batch=60), tmp_path)
    table = spark.read.parquet(str(tmp_path / "table"))
    with exchange.clients() as (_, theirs):
        assert table.count() >= 100
        assert table.count() <= theirs.last_seq()
    assert table.where("seq <= 100").orderBy("seq").collect() == rows
    assert table.select("seq").distinct().count() == table.count()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"read": "outbox"}, "legal: inbox, journal"),
        ({"payload": "xml"}, "legal: binary, text"),
        ({"after": "first"}, "a whole number from 0"),
        ({"rows_per_partition": "0"}, "a whole number from 1"),
        ({"upto": "5"}, "the nearest is up_to"),
    ],
)
def test_what_cannot_be_read_is_refused(
    spark: SparkSession, exchange: Exchange, options: dict[str, str], text: str
) -> None:
    """By name, with what is legal."""
    with pytest.raises(PySparkException, match=text):
        reading(spark, exchange, **options).collect()


@pytest.fixture
def forgetful(tmp_path: Path) -> Iterator[Exchange]:
    """Two gateways that keep what is complete for seconds: a drill hastens no wall clock."""
    folder = tmp_path / "exchange"
    folder.mkdir()
    pair = build_exchange(folder)
    for gateway in pair.gateways:
        gateway.agree(
            timeout=1,
            retries=1,
            retry_interval=1,
            persist_duration="PT3S",
            msh_time_accuracy="00:01",
        )
    pair.start()
    yield pair
    pair.destroy()


def purge_all(pair: Exchange) -> None:
    """Report the inbox complete, and have it forgotten."""
    with pair.clients() as (_, theirs):
        items = theirs.inbox(0, 1000)
        for item in items:
            theirs.report(item, "complete")

        def is_purged() -> bool:
            theirs.start_purge()
            return theirs.count_purged(0, items[-1].offset) == items[-1].offset

        until(is_purged, "the gateway has forgotten what is complete")


def test_a_stream_ends_where_messages_were_purged_before_it_read_them(
    spark: SparkSession, forgetful: Exchange, tmp_path: Path
) -> None:
    """By name, and not with a gap that nobody sees; what was purged before it began is no loss."""
    send(forgetful, "before")
    purge_all(forgetful)
    send(forgetful, "read")
    options = {"processing": "none", "payload": "none"}
    run(stream(spark, forgetful, **options), tmp_path)
    assert table(spark, tmp_path) == ["read"]
    send(forgetful, "lost-1", "lost-2")
    purge_all(forgetful)
    send(forgetful, "after")
    with pytest.raises(PySparkException, match="RowsPurged") as raised:
        run(stream(spark, forgetful, **options), tmp_path)
    assert "2 messages with offsets above 2 up to 5 were purged" in str(raised.value)
    assert table(spark, tmp_path) == ["read"]
    run(stream(spark, forgetful, **options, failOnDataLoss="false"), tmp_path)
    assert table(spark, tmp_path) == ["after", "read"]


@pytest.mark.parametrize("after", [0, None], ids=["empty", "latest"])
@pytest.mark.parametrize("was_told", [True, False], ids=["now", "of an older version"])
def test_what_is_purged_after_a_beginning_without_rows_is_missed(
    forgetful: Exchange, after: int | None, was_told: bool
) -> None:
    """The first batch of a stream may be empty; what comes after it is not to go by unread."""
    if after is None:
        send(forgetful, "before")

    def stream() -> InboxStream:
        return InboxStream(rows_of(forgetful), Numbered(after, 10, 10), reports=False)

    begun = stream()
    began = begun.initialOffset()
    assert begun.latestOffset(began, ReadAllAvailable()) == began
    send(forgetful, "lost")
    purge_all(forgetful)
    resumed = stream()
    start = {name: told for name, told in began.items() if was_told or name != "known"}
    [part] = resumed.partitions(start, resumed.latestOffset(start, ReadAllAvailable()))
    with pytest.raises(LocalError, match="1 messages with offsets above") as raised:
        list(resumed.read(part))
    assert raised.value.name == "RowsPurged"


def table(spark: SparkSession, folder: Path) -> list[str]:
    """The MessageIds in the table of `run`, in order."""
    rows = spark.read.parquet(str(folder / "table")).collect()
    return sorted(row["message_id"] for row in rows)
