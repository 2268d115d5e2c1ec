"""Inbox and journal for programs that take many rows at once, and report on many."""

from base64 import b64decode
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pytest
from packages import ORDER, PayloadPart
from peer import Peer
from running_gateway import RunningGateway, running

from onceonly.api.inbox import InboxQuery
from onceonly.api.operation import ARROW
from onceonly.gateway.api import inbox_calls
from onceonly.gateway.api.arrow import INBOX_SCHEMA
from onceonly.gateway.api.list_calls import inbox_page_filter
from onceonly.gateway.application import inbox as inbox_module
from onceonly.journal.segment import SEGMENT_SCHEMA, to_records
from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.store.contract.listing import InboxFilter

pytestmark = pytest.mark.anyio

BIG = bytes(range(256)) * 400
PARTS = {
    content: PayloadPart(f"part-{n}", "text/plain", content)
    for n, content in enumerate((ORDER, BIG))
}


async def received(gateway: RunningGateway, peer: Peer, *names: str, **fields: Any) -> None:
    start = len(gateway.inbox_ids())
    for number, name in enumerate(names, start + 1):
        await peer.send(name, number, **fields)
        await peer.hear("Acknowledgement")
    await gateway.until(lambda: len(gateway.inbox_ids()) == start + len(names))


async def arrow(gateway: RunningGateway, path: str) -> Any:
    answer = await gateway.api.get(path, headers={"accept": ARROW})
    assert (answer.status_code, answer.headers["content-type"]) == (200, ARROW)
    return pa.ipc.open_stream(answer.content).read_all()


async def report(gateway: RunningGateway, word: str, after: int, up_to: int) -> int:
    body = {"processing": word, "after": after, "up_to": up_to}
    answer = await gateway.call("POST", "/v1/inbox/processing", json=body)
    assert answer.status == 200, answer
    return answer.json["moved"]


async def processing(gateway: RunningGateway) -> list[str]:
    return [item["processing"] for item in (await gateway.get("/v1/inbox"))["items"]]


async def test_payloads_come_along_inline(gateway, peer):
    """In base64, in their order; without the word they do not."""
    parts = list(PARTS.values())
    await received(gateway, peer, "m-1", payloads=parts)
    [item] = (await gateway.get("/v1/inbox?payloads=inline"))["items"]
    assert [b64decode(part["body"]) for part in item["payloads"]] == [ORDER, BIG]
    [plain] = (await gateway.get("/v1/inbox"))["items"]
    assert "body" not in plain["payloads"][0]
    answer = await gateway.call("GET", "/v1/inbox?payloads=all")
    assert (answer.status, answer.json["error"]["name"]) == (400, "InvalidField")


async def test_the_inbox_is_an_arrow_stream(gateway, peer):
    """The first payload in columns of its own, the others behind it."""
    await received(gateway, peer, "m-1", payloads=list(PARTS.values()))
    await received(gateway, peer, "m-2", payloads=())
    table = await arrow(gateway, "/v1/inbox")
    assert table.schema == INBOX_SCHEMA
    first, second = table.to_pylist()
    assert (first["message_id"], first["offset"], first["payload"]) == ("m-1", 1, ORDER)
    assert [part["body"] for part in first["attachments"]] == [BIG]
    assert first["attachments"][0]["digest"] == sha256(BIG).hexdigest()
    assert (second["payload"], second["attachments"]) == (None, [])
    assert (await arrow(gateway, "/v1/inbox?after=2")).num_rows == 0


async def test_a_range_of_the_inbox_ends_where_it_is_said(gateway, peer):
    """`up_to` is the last offset that may come; the greatest there is stands beside the items."""
    await received(gateway, peer, "m-1", "m-2", "m-3")
    page = await gateway.get("/v1/inbox?after=1&up_to=2")
    assert ([item["offset"] for item in page["items"]], page["last_offset"]) == ([2], 3)
    assert (await gateway.get("/v1/inbox?after=3&up_to=3"))["items"] == []
    assert (await gateway.get("/v1/journal?after=1000"))["last_seq"] == len(gateway.rows())


async def test_numbers_say_whose_they_are(gateway, peer):
    """The same after a restart, unlike the epoch: a stream knows its store again, or another."""
    await received(gateway, peer, "m-1")
    pages = [await gateway.get(path) for path in ("/v1/inbox", "/v1/journal")]
    await gateway.restart()
    pages += [await gateway.get(path) for path in ("/v1/inbox?after=99", "/v1/journal?after=99")]
    assert {page["store_id"] for page in pages} == {gateway.rows()[0].chain_hash}


async def test_a_page_with_payloads_is_bounded(gateway, peer, monkeypatch):
    """In bytes as well, but for its first item; what is too large alone is fetched alone."""
    await received(gateway, peer, "m-1", "m-2", payloads=[PARTS[BIG]])
    monkeypatch.setattr(inbox_module, "PAGE_BYTES_MAX", len(BIG))
    assert (await arrow(gateway, "/v1/inbox")).num_rows == 1
    monkeypatch.setattr(inbox_module, "PAYLOAD_BYTES_INLINE_MAX", len(BIG) - 1)
    [row] = (await arrow(gateway, "/v1/inbox")).to_pylist()
    assert (row["payload"], row["size_bytes"]) == (None, len(BIG))
    [item] = (await gateway.get("/v1/inbox?payloads=inline"))["items"]
    assert item["payloads"][0]["body"] is None


def next_after(table: Any) -> int | None:
    """Where the next page begins, as the stream says it."""
    told = (table.schema.metadata or {}).get(b"next_after")
    return None if told is None else int(told)


async def test_an_arrow_stream_says_where_the_next_page_begins(gateway, peer, monkeypatch):
    """After what came, if its bytes cut it; as in JSON, if nothing fitted among what was read."""
    await received(gateway, peer, *(f"m-{n}" for n in range(8)), payloads=[PARTS[BIG]])
    assert next_after(await arrow(gateway, "/v1/inbox")) is None
    assert next_after(await arrow(gateway, "/v1/inbox?limit=2&after=1")) == 3
    assert next_after(await arrow(gateway, "/v1/inbox?limit=2&after=7")) is None
    monkeypatch.setattr(inbox_module, "PAGE_BYTES_MAX", 2 * len(BIG))
    cut = await arrow(gateway, "/v1/inbox?up_to=5")
    assert (cut.num_rows, next_after(cut)) == (2, 2)

    def read_little(query: InboxQuery) -> InboxFilter:
        return changed(inbox_page_filter(query), rows_max=4)

    monkeypatch.setattr(inbox_calls, "inbox_page_filter", read_little)
    path = "/v1/inbox?action=Other"
    page, table = await gateway.get(path), await arrow(gateway, path)
    assert (page["items"], table.num_rows) == ([], 0)
    assert page["next_after"] is not None
    assert next_after(table) == page["next_after"]


async def test_an_arrow_stream_has_no_bytes_where_none_are_asked_for(gateway, peer):
    """All else is as it is with them."""
    await received(gateway, peer, "m-1", payloads=list(PARTS.values()))
    [whole] = (await arrow(gateway, "/v1/inbox")).to_pylist()
    [without] = (await arrow(gateway, "/v1/inbox?payloads=none")).to_pylist()
    [part] = whole["attachments"]
    assert without == {**whole, "payload": None, "attachments": [{**part, "body": None}]}


async def test_the_journal_is_an_arrow_stream(gateway, peer):
    """In the columns of a segment, row for row."""
    await received(gateway, peer, "m-1")
    table = await arrow(gateway, "/v1/journal?after=1")
    assert table.schema.equals(SEGMENT_SCHEMA)
    assert to_records(table) == gateway.rows()[1:]


async def test_a_range_is_reported_at_once(gateway, peer):
    """Above the first offset, up to the last one; again, nothing moves."""
    await received(gateway, peer, "m-1", "m-2", "m-3", "m-4")
    assert await report(gateway, "in-progress", 1, 3) == 2
    expected = ["not-started", "in-progress", "in-progress", "not-started"]
    assert await processing(gateway) == expected
    assert await report(gateway, "in-progress", 1, 3) == 0
    assert len(gateway.rows(Event.PROCESSING_CHANGED)) == 2


async def test_a_report_on_a_range_only_moves_forward(gateway, peer):
    """What has come further stays, and the rest goes on."""
    await received(gateway, peer, "m-1", "m-2")
    assert await report(gateway, "complete", 0, 1) == 1
    assert await report(gateway, "in-progress", 0, 10) == 1
    assert await processing(gateway) == ["complete", "in-progress"]
    assert await report(gateway, "complete", 0, 10) == 1
    assert await report(gateway, "not-started", 0, 10) == 0
    assert await processing(gateway) == ["complete", "complete"]


async def test_a_report_is_about_the_copies_in_its_range(gateway, peer):
    """BestEffort delivers a repeat as an item of its own, and each is work of its own (R-16)."""
    for _ in range(2):
        await peer.send("m-1", None, semantics="BestEffort")
    await gateway.until_handed_over("m-1", "m-1")
    assert await report(gateway, "complete", 0, 1) == 1
    assert await processing(gateway) == ["complete", "not-started"]
    refusal = {"reason": "no such item"}
    await gateway.call("POST", "/v1/inbox/m-1/refuse?offset=2", json=refusal)
    assert await report(gateway, "complete", 0, 2) == 0
    assert await processing(gateway) == ["complete", "not-started"]


async def test_what_was_refused_is_left_alone(gateway, peer):
    """The application will not process it, whatever is said of its neighbours."""
    await received(gateway, peer, "m-1", "m-2")
    await gateway.call("POST", "/v1/inbox/m-1/refuse", json={"reason": "no such item"})
    assert await report(gateway, "complete", 0, 2) == 1
    assert await processing(gateway) == ["not-started", "complete"]


async def test_a_long_range_moves_in_several_steps(gateway, peer, monkeypatch):
    """So that no step is long."""
    monkeypatch.setattr("onceonly.steps.processing.REPORTED_PER_STEP", 2)
    await received(gateway, peer, "m-1", "m-2", "m-3", "m-4", "m-5")
    assert await report(gateway, "complete", 0, 5) == 5


@pytest.mark.parametrize(
    "body",
    [
        {"processing": "complete"},
        {"processing": "complete", "up_to": -1},
        {"processing": "complete", "up_to": True},
        {"processing": "complete", "up_to": "1"},
        {"processing": "complete", "up_to": 1, "after": 1.5},
        {"processing": "done", "up_to": 1},
        {"up_to": 1},
    ],
)
async def test_a_report_on_a_range_is_read_strictly(gateway, body):
    """400 for what is no report."""
    answer = await gateway.call("POST", "/v1/inbox/processing", json=body)
    assert (answer.status, answer.json["error"]["name"]) == (400, "InvalidField")


async def test_reports_need_an_agreement_and_break_nothing_without(tmp_path, peer, other_peer):
    """A message whose agreement is configured no more is refused by name, alone or in a range."""
    async with running(tmp_path, peer, other_peer) as gateway:
        await received(gateway, other_peer, "m-1")
    async with running(tmp_path, peer) as gateway:
        assert await report(gateway, "complete", 0, 1) == 0
        for path, body in (("processing", {"processing": "complete"}), ("refuse", {})):
            answer = await gateway.call("POST", f"/v1/inbox/m-1/{path}", json=body)
            assert answer.json["error"]["name"] == "UnknownAgreement"
        assert await processing(gateway) == ["not-started"]
