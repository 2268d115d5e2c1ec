"""Streams of events and long polls, over real sockets: what is committed is told, in order."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from calling import received, refused
from msgspec.structs import asdict
from packages import ORDER
from peer import PATIENCE_S
from running_gateway import running, serving_api

from onceonly.api.events import KIND_OF, EventKind
from onceonly.client import Client
from onceonly.gateway.api import event_calls
from onceonly.gateway.application import following
from onceonly.gateway.shapes import happened_shape
from onceonly.message.event import Event
from onceonly.store.contract.conditions import StoreExhausted

pytestmark = pytest.mark.anyio

ALL: tuple[EventKind, ...] = tuple(dict.fromkeys(KIND_OF.values()))
EVENTS = "/v1/events"


@asynccontextmanager
async def streaming(api: str, query: str = "", **head: str) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of one stream."""
    headers = {"accept": "text/event-stream", **head}
    async with (
        httpx.AsyncClient(base_url=api, timeout=PATIENCE_S) as client,
        client.stream("GET", f"{EVENTS}?{query}", headers=headers) as response,
    ):
        assert response.status_code == 200
        yield response.aiter_lines()


async def told(lines: AsyncIterator[str], count: int) -> list[dict[str, object]]:
    """The next events of a stream; each has its own number as its id, and its kind as its event."""
    found: list[dict[str, object]] = []
    fields: dict[str, str] = {}
    async with asyncio.timeout(PATIENCE_S):
        async for line in lines:
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
                continue
            if "data" in fields:
                event = json.loads(fields["data"])
                assert (fields["id"], fields["event"]) == (str(event["seq"]), event["kind"])
                found.append(event)
            fields = {}
            if len(found) == count:
                return found
    raise AssertionError(f"the stream ended after {found}")


def shown(gateway, *kinds: EventKind) -> list[dict[str, object]]:
    """What the journal has of these kinds, as events."""
    rows = [row for row in gateway.rows() if KIND_OF[row.event] in kinds]
    return [json.loads(json.dumps(asdict(happened_shape(row)))) for row in rows]


async def acknowledged(gateway, peer, *message_ids: str) -> None:
    for message_id in message_ids:
        await gateway.submit(ORDER, to=peer, message_id=message_id)
        await peer.hear("Normal")
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")


async def test_a_verdict_is_told_as_it_comes(gateway, peer):
    """The stream says what the journal has, and from where a reader goes on before anything."""
    async with serving_api(gateway) as api, streaming(api) as lines:
        async with asyncio.timeout(PATIENCE_S):
            assert [await anext(lines) for _ in range(3)] == [
                "retry: 1000",
                f"id: {gateway.store.snapshot().last_seq()}",
                "",
            ]
        await acknowledged(gateway, peer, "m-1")
        (event,) = await told(lines, 1)
    assert event == shown(gateway, "verdicts")[0]
    assert (event["event"], event["message_id"]) == ("AckReceived", "m-1")


async def test_a_browser_goes_on_where_it_was(gateway, peer):
    """Last-Event-ID wins over the address's `after`: nothing is told twice, nothing is left out."""
    await acknowledged(gateway, peer, "m-1", "m-2", "m-3")
    expected = shown(gateway, *ALL)
    kinds = ",".join(ALL)
    seen: list[dict[str, object]] = []
    async with serving_api(gateway) as api:
        while len(seen) < len(expected):
            head = {"last-event-id": str(seen[-1]["seq"])} if seen else {}
            async with streaming(api, f"after=0&kinds={kinds}", **head) as lines:
                seen += await told(lines, min(4, len(expected) - len(seen)))
    assert seen == expected


async def test_the_client_goes_on_by_itself(gateway, peer, monkeypatch):
    """A gateway that goes away and comes back is no end, and leaves no gap."""
    monkeypatch.setattr("onceonly.client.many.PAUSE_S", 0.01)
    seen: list[int] = []

    def follow() -> None:
        with Client(gateway.configuration.api) as client:
            for event in client.follow(0, ALL):
                seen.append(event.seq)
                if event.event is Event.ACK_RECEIVED and event.message_id == "m-3":
                    return

    async with asyncio.timeout(PATIENCE_S):
        reading = asyncio.create_task(asyncio.to_thread(follow))
        for number in (1, 2, 3):
            async with serving_api(gateway):
                await acknowledged(gateway, peer, f"m-{number}")
                if number == 3:
                    await reading
                gateway.parts.following.close()
            await gateway.restart()
    last = gateway.rows(Event.ACK_RECEIVED)[-1].seq
    assert seen == list(range(1, last + 1))


async def test_a_partner_and_kinds_choose(tmp_path, peer, other_peer):
    """Rows of others are not told; a page says how far it has looked all the same."""
    async with running(tmp_path, peer, other_peer) as gateway:
        await acknowledged(gateway, other_peer, "m-1")
        await acknowledged(gateway, peer, "m-2")
        await received(gateway, peer, "in-1", 1)
        page = await gateway.get(f"{EVENTS}?after=0&partner={peer.party}&kinds=verdicts")
        assert [one["message_id"] for one in page["events"]] == ["m-2"]
        page = await gateway.get(f"{EVENTS}?after=0&kinds=inbox,notices")
        assert [one["event"] for one in page["events"]] == ["HandedOver"]
        assert page["next_after"] == gateway.store.snapshot().last_seq()
        page = await gateway.get(f"{EVENTS}?after=0&kinds=verdicts&limit=1")
        assert [one["message_id"] for one in page["events"]] == ["m-1"]
        page = await gateway.get(f"{EVENTS}?after={page['next_after']}&kinds=verdicts&limit=1")
        assert [one["message_id"] for one in page["events"]] == ["m-2"]


async def test_a_poll_waits_for_something(gateway, peer):
    """From now on, if it does not say after what; then from `next_after`."""
    page = await gateway.get(f"{EVENTS}?wait=0")
    assert page["events"] == []
    waiting = asyncio.create_task(gateway.get(f"{EVENTS}?after={page['next_after']}&wait=60"))
    await acknowledged(gateway, peer, "m-1")
    found = await waiting
    assert [one["event"] for one in found["events"]] == ["AckReceived"]


@pytest.mark.parametrize("query", ["kinds=verdict", "kinds=", "kinds=inbox,", "after=-1"])
async def test_another_kind_is_refused(gateway, query):
    """By name, as everywhere."""
    assert refused(await gateway.call("GET", f"{EVENTS}?{query}")) == (400, "InvalidField")


async def test_a_number_of_another_journal_is_refused(gateway):
    """A store that was restored has given the number to another row, or will."""
    last = gateway.store.snapshot().last_seq()
    answer = await gateway.call("GET", f"{EVENTS}?after={last + 1}")
    assert refused(answer) == (409, "JournalBehind")
    head = {"Last-Event-ID": str(last + 1)}
    answer = await gateway.call("GET", EVENTS, headers=head)
    assert refused(answer) == (409, "JournalBehind")


async def test_a_head_alone_is_no_stream(gateway):
    """It would never end, and nobody would read it."""
    async with serving_api(gateway) as api, httpx.AsyncClient(base_url=api) as client:
        answer = await client.head(EVENTS, headers={"accept": "text/event-stream"})
        assert answer.headers["content-type"] == "application/json"


async def test_a_silent_stream_beats(gateway, peer, monkeypatch):
    """The comment has a number too, so that a reader of little goes on from near the end."""
    monkeypatch.setattr(event_calls, "HEARTBEAT_S", 0.05)
    async with serving_api(gateway) as api, streaming(api, "kinds=incidents") as lines:
        await acknowledged(gateway, peer, "m-1")
        last = gateway.store.snapshot().last_seq()
        async with asyncio.timeout(PATIENCE_S):
            async for line in lines:
                if line == f"id: {last}":
                    break
                assert not line.startswith(("event:", "data:"))


async def test_old_rows_are_told_page_by_page(gateway, peer, monkeypatch):
    """However many there are, and while new ones are committed."""
    monkeypatch.setattr(following, "ROWS_PER_READ", 3)
    await acknowledged(gateway, peer, "m-1", "m-2")
    async with serving_api(gateway) as api:
        query = f"after=0&kinds={','.join(ALL)}"
        async with streaming(api, query) as lines, streaming(api, query) as others:
            await acknowledged(gateway, peer, "m-3", "m-4")
            expected = shown(gateway, *ALL)
            assert await told(lines, len(expected)) == expected
            assert await told(others, len(expected)) == expected


async def test_a_hundred_hear_the_same(gateway, peer):
    """One task reads the journal for all of them, and none has a task of its own."""
    reads = 0
    snapshot = gateway.store.snapshot

    class Counted:
        def __getattr__(self, name: str) -> object:
            nonlocal reads
            reads += name == "list_journal"
            return getattr(snapshot(), name)

    async with (
        serving_api(gateway) as api,
        asyncio.timeout(PATIENCE_S),
        contexts(api, 100) as streams,
    ):
        for lines in streams:
            assert await anext(lines) == "retry: 1000"
        before = gateway.store.snapshot().last_seq()
        with replaced_snapshot(gateway, Counted):
            await acknowledged(gateway, peer, "m-1", "m-2")
            heard = await asyncio.gather(*(told(lines, 2) for lines in streams))
        rows = gateway.store.snapshot().last_seq() - before
    assert heard == [shown(gateway, "verdicts")] * 100
    assert reads < 2 * rows + 10, "each of a hundred would read for itself"


@contextmanager
def replaced_snapshot(gateway, kind) -> Iterator[None]:
    snapshot = gateway.store.snapshot
    gateway.store.snapshot = kind
    try:
        yield
    finally:
        gateway.store.snapshot = snapshot


@asynccontextmanager
async def contexts(api: str, count: int) -> AsyncIterator[list[AsyncIterator[str]]]:
    """So many streams, over one client: making one takes longer than a stream."""
    limits = httpx.Limits(max_connections=None)
    async with (
        httpx.AsyncClient(base_url=api, timeout=PATIENCE_S, limits=limits) as client,
        AsyncExitStack() as stack,
    ):
        found = []
        for _ in range(count):
            stream = client.stream("GET", EVENTS, headers={"accept": "text/event-stream"})
            found.append((await stack.enter_async_context(stream)).aiter_lines())
        yield found


async def test_what_nobody_waits_for_any_more_is_not_looked_for(gateway):
    """Polls that each want something else, beside a stream that stays."""
    following = gateway.parts.following
    async with serving_api(gateway) as api, contexts(api, 1) as [lines]:
        await anext(lines)
        for number in range(20):
            await gateway.get(f"{EVENTS}?wait=0.01&partner=urn:x:{number}")
        assert len(following._waiting) <= 1
        assert len(following._waiters) <= 1


async def test_no_more_than_the_bound_follow(gateway, monkeypatch):
    """The next one is told to come back, and a place that was left is free again."""
    monkeypatch.setattr(following, "FOLLOWERS_MAX", 1)
    await gateway.restart()
    async with serving_api(gateway) as api:
        async with streaming(api) as lines:
            await anext(lines)
            answer = await gateway.call("GET", EVENTS)
            assert refused(answer) == (503, "Busy")
        await until_followers(gateway, api, 0)
        await gateway.get(EVENTS)


async def test_who_reads_nothing_is_cut(gateway, peer, monkeypatch):
    """And holds up nobody: others hear, and his place is free after `WRITE_S_MAX`."""
    monkeypatch.setattr(event_calls, "WRITE_S_MAX", 0.1)
    many = shown_event_of(40_000)
    monkeypatch.setattr(event_calls, "_line", lambda event: many)
    async with serving_api(gateway) as api:
        host, port = urlsplit(api).hostname, urlsplit(api).port
        with socket.create_connection((host, port)) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            kinds = ",".join(ALL)
            deaf.sendall(
                f"GET {EVENTS}?after=0&kinds={kinds} HTTP/1.1\r\nHost: {host}\r\n"
                "Accept: text/event-stream\r\n\r\n".encode()
            )
            async with asyncio.timeout(PATIENCE_S):
                await until_followers(gateway, api, 1)
                number = 0
                while gateway.parts.following.followers:
                    number += 1
                    await acknowledged(gateway, peer, f"m-{number}")


def shown_event_of(size: int) -> bytes:
    return b"data: " + b"x" * size + b"\n\n"


async def until_followers(gateway, api: str, count: int) -> None:
    """So many follow; calls that have nothing to do with it are answered meanwhile."""
    async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient(base_url=api) as client:
        while gateway.parts.following.followers != count:
            assert (await client.get("/healthz")).status_code == 200


async def test_a_stop_ends_streams_and_polls_at_once(gateway):
    """They end as whole answers, and nobody may begin to follow any more."""
    async with serving_api(gateway) as api, streaming(api) as lines:
        waiting = asyncio.create_task(gateway.get(f"{EVENTS}?wait=60"))
        for _ in range(3):
            await anext(lines)
        await until_followers(gateway, api, 2)
        gateway.parts.following.close()
        async with asyncio.timeout(PATIENCE_S):
            assert [line async for line in lines] == []
            assert (await waiting)["events"] == []
        assert refused(await gateway.call("GET", EVENTS)) == (503, "Busy")


@pytest.mark.parametrize("is_told", [True, False], ids=["verdict", "no verdict"])
async def test_a_call_waits_for_the_verdict_of_a_message(gateway, peer, is_told):
    """One call, and no look again and again."""
    await gateway.submit(ORDER, to=peer, message_id="m-1")
    await peer.hear("Normal")
    waiting = asyncio.create_task(gateway.get(f"/v1/messages/m-1?wait={60 if is_told else 0.05}"))
    if is_told:
        await peer.acknowledge("m-1")
    assert (await waiting)["state"] == ("acknowledged" if is_told else "sending")


async def test_a_call_waits_until_the_pair_is_closed(tmp_path, peer):
    """Then nobody knows when the message goes on, and the caller is told."""
    async with running(tmp_path, peer) as gateway:
        await gateway.submit(ORDER, to=peer, message_id="m-1")
        await peer.hear("Normal")
        waiting = asyncio.create_task(gateway.get("/v1/messages/m-1?wait=60"))
        await gateway.call("POST", f"/v1/partners/{peer.party}/suspend")
        assert (await waiting)["pair"]["state"] == "suspended"


async def test_a_read_without_a_free_descriptor_is_made_again(gateway, peer, monkeypatch):
    """R-43: it is nobody's end; who follows hears a little later."""
    monkeypatch.setattr(following, "EXHAUSTED_PAUSE_S", 0.01)
    snapshot, failures = gateway.store.snapshot, [StoreExhausted("no descriptor is free")] * 2
    loop_thread = threading.get_ident()

    def exhausted() -> Any:
        if failures and threading.get_ident() != loop_thread:
            raise failures.pop()
        return snapshot()

    async with serving_api(gateway) as api, streaming(api) as lines:
        assert await anext(lines) == "retry: 1000"
        await until_followers(gateway, api, 1)
        monkeypatch.setattr(gateway.store, "snapshot", exhausted)
        await acknowledged(gateway, peer, "m-1")
        (event,) = await told(lines, 1)
    assert event["message_id"] == "m-1"
    assert not failures


async def test_the_client_waits_for_a_free_place(gateway, peer, monkeypatch):
    """Busy is no end either."""
    monkeypatch.setattr(following, "FOLLOWERS_MAX", 1)
    monkeypatch.setattr("onceonly.client.many.PAUSE_S", 0.01)
    await gateway.restart()

    def follow(api: str) -> str | None:
        with Client(api) as client:
            return next(client.follow(0, ["verdicts"])).message_id

    async with serving_api(gateway) as api, asyncio.timeout(PATIENCE_S):
        async with streaming(api) as lines:
            assert await anext(lines) == "retry: 1000"
            reading = asyncio.create_task(asyncio.to_thread(follow, api))
            await acknowledged(gateway, peer, "m-1")
        assert await reading == "m-1"
