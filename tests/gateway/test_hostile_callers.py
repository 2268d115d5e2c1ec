"""What a hostile caller of the API can do: walk every route there is, and stop at a named refusal.

Callers are any program on this machine, any page in a browser on it, and whoever reaches a port
that has a token. The tables are made of the routes, so that a new one is covered on its own.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import apsw
import pyarrow as pa
import pytest
from calling import (
    AnyOperation,
    members_of,
    query_of,
    received,
    refused,
    takes_documents,
    takes_form,
)
from msgspec import inspect
from packages import ORDER
from running_gateway import Answered, RunningGateway, form, running, serving_api

from onceonly.api.jobs import StagedRow
from onceonly.api.messages import Header
from onceonly.api.operation import ARROW
from onceonly.api.operations import OPERATIONS
from onceonly.client import Client
from onceonly.gateway.api.access import Access
from onceonly.gateway.api.application import FORM_BYTES_MAX
from onceonly.gateway.api.bounds import BODY_BYTES_MAX
from onceonly.gateway.api.declared import fields_of
from onceonly.gateway.api.endpoint import HEAD_BYTES_MAX
from onceonly.gateway.api.forms import PART_HEAD_BYTES_MAX
from onceonly.gateway.api.job_calls import BULK_BYTES_MAX
from onceonly.gateway.api.reading import DEPTH_MAX
from onceonly.gateway.caller import ANYBODY
from onceonly.message.event import Event
from ports import free_port

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
PIECE = b"x" * (1 << 16)
PAYLOAD_BYTES_MAX = 1 << 20
ANSWERED = {200, 201, 202}
VALUES = {"processing": "in-progress", "up_to": 1, "reason": "x"}
"""For members of a body that have to be there."""

HOSTILE_VALUES: list[Any] = [
    *("\ud800", "\x00", "\x1b[2J", "two\nlines", "x" * 5_000),
    *([], {}, [[]], [{}], {"a": []}, True, -1, 0, 1.5, 10**400, float("nan"), float("inf")),
]
HOSTILE_QUERIES = [
    *("-1", "9" * 5_000, "nan", "inf", "-inf", "1e999", "0x1", "", "%00", "%ED%A0%80", "%1b%5b2J"),
    *("٣", "true", "x" * 5_000),
]


class Endless:
    """A body that never ends, and how much of it was taken."""

    def __init__(self) -> None:
        self.taken = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            self.taken += len(PIECE)
            yield PIECE


def path_of(operation: AnyOperation, message_id: str = M, number: str = "0") -> str:
    """The operation's path about a message that is there."""
    path = operation.path.replace("{message_id}", message_id).replace("{n}", number)
    path = path.replace("{offset}", "1").replace("{name}", "monday").replace("{number}", "1")
    path = path.replace("{rule}", "doubts").replace("{way}", "ops")
    path = path.replace("{webhook}", "erp").replace("{seq}", "1")
    path = path.replace("/v1/reports/file", "/v1/reports/file?path=page.html")
    return (
        path.replace("{partner}", "urn:duns:111111111")
        .replace("{conversation}", "c-1")
        .replace("{job}", "job-1")
        .replace("{agreement}", "tpa-ab-1")
    )


def without_waiting(operation: AnyOperation) -> dict[str, str] | None:
    """The query with which the call answers at once; None: that of its path."""
    return {"wait": "0"} if "wait" in query_of(operation) else None


async def said(
    gateway: RunningGateway, operation: AnyOperation, path: str, **more: Any
) -> str | None:
    """The name of the refusal of a call; None where it was answered, perhaps by no JSON."""
    async with asyncio.timeout(10):
        response = await gateway.api.request(operation.method, path, **more)
    if response.status_code in ANSWERED:
        return None
    return seen(Answered(response.status_code, response.json()))


def seen(answer: Answered) -> str | None:
    """The name of a refusal, which is the caller's own fault; None where it was answered."""
    if answer.status in ANSWERED:
        return None
    status, name = refused(answer)
    assert 400 <= status < 500, answer
    return name


@pytest.fixture
async def small(tmp_path, peer):
    """A gateway that takes payloads of a megabyte."""
    async with running(tmp_path, peer, gateway={"payload_bytes_max": PAYLOAD_BYTES_MAX}) as alive:
        yield alive


# --- Bodies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_announced", [True, False], ids=["announced", "in pieces"])
async def test_no_call_reads_an_endless_body(small, is_announced):
    """413 by name (411 where a length is wanted), and no more was read than the call's bound."""
    for operation in OPERATIONS:
        endless = Endless()
        headers = {"content-type": "multipart/form-data; boundary=b"}
        if is_announced:
            headers["content-length"] = str(400 << 20)
        answer = await small.call(
            operation.method, path_of(operation), content=endless.pieces(), headers=headers
        )
        if takes_documents(operation) and not is_announced:
            assert refused(answer) == (411, "LengthRequired"), operation
        else:
            name = "PayloadTooLarge" if takes_documents(operation) else "BodyTooLarge"
            assert refused(answer) == (413, name), operation
        assert endless.taken <= (0 if is_announced else BODY_BYTES_MAX + len(PIECE)), operation


@pytest.mark.parametrize(
    ("path", "bytes_max"),
    [
        ("/v1/messages", PAYLOAD_BYTES_MAX + FORM_BYTES_MAX),
        ("/v1/jobs/job-1/messages", BULK_BYTES_MAX),
    ],
)
async def test_a_body_that_is_longer_than_it_said_is_read_to_the_bound(small, path, bytes_max):
    """The count is of what came, whatever was announced."""
    endless = Endless()
    headers = {"content-type": "multipart/form-data; boundary=b", "content-length": "9"}
    answer = await small.call("POST", path, content=endless.pieces(), headers=headers)
    assert answer.status in (400, 413)
    assert endless.taken <= bytes_max + 2 * len(PIECE)


async def test_who_has_no_token_is_refused_before_his_body_is_read(tmp_path, peer):
    """401, and not a byte was taken."""
    async with running(tmp_path, peer, gateway={"api_token": "s3cret"}) as guarded:
        for operation in OPERATIONS:
            if operation.path in ("/healthz", "/readyz"):
                continue
            endless = Endless()
            answer = await guarded.call(
                operation.method, path_of(operation), content=endless.pieces()
            )
            assert refused(answer) == (401, "Unauthorized"), operation
            assert endless.taken == 0, operation


DEEP = [
    "[" * 60_000,
    '{"a":' * 10_000 + "1" + "}" * 10_000,
    '{"reason":' + "[" * 40 + "]" * 40 + "}",
]
NO_JSON = [*DEEP, '{"reason": "\\ud800"}', '{"\\udfff": 1}', '{"a": NaN}', '{"a": -Infinity}']
NO_JSON += ["9" * 5_000, '{"a": ' + "9" * 5_000 + "}", "[]", "null", '"x"', "{", "\x00"]


async def test_what_is_no_json_object_is_named_on_every_route(gateway, peer):
    """Depth, halves of surrogate pairs, numbers without end: 400 InvalidJson, never a 500."""
    await received(gateway, peer, M, 1)
    bodies = [body.encode() for body in NO_JSON] + [b"\xff\xfe\x00", b'{"a": "\xed\xa0\x80"}']
    for operation in OPERATIONS:
        for body in bodies:
            path = path_of(operation)
            query = without_waiting(operation)
            name = await said(gateway, operation, path, content=body, params=query)
            if not takes_form(operation):
                assert name == "InvalidJson", (operation, body[:40])


async def test_a_wrong_value_in_any_field_of_json_is_named(gateway, peer):
    """Every property of every body that the document describes."""
    await received(gateway, peer, M, 1)
    for operation in OPERATIONS:
        fields = members_of(operation)
        for field in fields:
            for value in HOSTILE_VALUES:
                body = json.dumps({**dict.fromkeys(fields, 1), field: value}).encode()
                answer = await gateway.call(operation.method, path_of(operation), content=body)
                name = seen(answer)
                # A flag may be true, and a reason is free text.
                is_right = type(value) is bool or (field == "reason" and type(value) is str)
                assert name is not None or is_right, (operation, field, value)


async def test_a_wrong_value_in_any_field_of_a_submission_is_named(gateway, peer):
    """The form's JSON, and a row of a job: nothing is stored."""
    message = {"to": peer.party, "service": "Ordering", "action": "NewOrder", "message_id": "m"}
    for field in fields_of(Header):
        for value in HOSTILE_VALUES:
            fields = form(json.dumps({**message, field: value}).encode(), ORDER)
            if isinstance(value, str) and field == "key" and "\ud800" not in value:
                continue
            answer = await gateway.call("POST", "/v1/messages", files=fields)
            assert seen(answer) is not None, (field, value)
    for field in fields_of(StagedRow):
        for number, value in enumerate(HOSTILE_VALUES):
            row = {**message, "message_id": f"{field}-{number}", "payload": "x", field: value}
            answer = await gateway.call(
                "POST", "/v1/jobs/job-1/messages", content=json.dumps(row).encode()
            )
            is_taken = (field, value) == ("row", 0) or (
                field == "payload" and isinstance(value, str) and value != "\ud800"
            )
            outcome = seen(answer) or answer.json["rows"][0]["outcome"]
            assert (outcome in ("accepted", "replayed")) == is_taken, (field, value, answer)
    assert gateway.rows(Event.SUBMITTED) == []


async def test_depth_is_counted_outside_of_texts(gateway, peer):
    """A payload that is JSON itself, as a text, may be as deep as it likes."""
    text = '{"a": ["\\"[' * 5_000
    row = {"message_id": "m", "to": peer.party, "service": "S", "action": "A", "payload": text}
    answer = await gateway.call("POST", "/v1/jobs/job-1/messages", content=json.dumps(row).encode())
    assert [one["outcome"] for one in answer.json["rows"]] == ["accepted"]
    deep = {**row, "payloads": json.loads("[" * DEPTH_MAX + "]" * DEPTH_MAX)}
    answer = await gateway.call(
        "POST", "/v1/jobs/job-1/messages", content=json.dumps(deep).encode()
    )
    assert refused(answer) == (400, "InvalidJson")


@pytest.mark.parametrize(
    "head",
    [
        'Content-Disposition: form-data; name="payload"; filename="a"\r\nX: ' + "y" * 20_000,
        "X" * 20_000 + ": y\r\n" + 'Content-Disposition: form-data; name="payload"; filename="a"',
        'Content-Disposition: form-data; name="' + "n" * 20_000 + '"; filename="a"',
        'Content-Disposition: form-data; name="payload"; filename="a"\r\n' + "X: y\r\n" * 5_000,
        "Content-Disposition: form-data; filename=a",
        "X: y",
    ],
    ids=["long value", "long name", "long part name", "many fields", "no name", "no disposition"],
)
async def test_the_head_of_a_part_is_bounded(gateway, head):
    """400 InvalidMultipart: a head is in memory as a whole."""
    assert len(head) > PART_HEAD_BYTES_MAX or "filename=a" in head or head == "X: y"
    raw = f"--b\r\n{head.rstrip()}\r\n\r\nx\r\n--b--\r\n".encode()
    headers = {"content-type": "multipart/form-data; boundary=b"}
    answer = await gateway.call("POST", "/v1/messages", content=raw, headers=headers)
    assert refused(answer) == (400, "InvalidMultipart")


@pytest.mark.parametrize(
    "kind",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/form-data; boundary=" + "b" * 1_000,
        "multipart/form-data; boundary=b; charset=unicode_escape",
        "multipart/form-data; boundary=b; charset=utf-7",
        "multipart/mixed; boundary=b",
        "",
    ],
)
async def test_another_form_is_refused_by_name(gateway, kind):
    """A form of fields would be in memory as a whole; a codec could make anything of names."""
    raw = b'--b\r\nContent-Disposition: form-data; name="message"; filename="\\ud800"\r\n\r\n{}'
    answer = await gateway.call(
        "POST", "/v1/messages", content=raw + b"\r\n--b--\r\n", headers={"content-type": kind}
    )
    assert refused(answer) == (400, "InvalidMultipart")


# --- Queries and paths ----------------------------------------------------------------------------


async def test_a_wrong_query_is_named_on_every_route(gateway, peer):
    """Every query parameter that the document describes."""
    await received(gateway, peer, M, 1)
    for operation in OPERATIONS:
        for field, declared in fields_of(operation.query_type).items():
            for value in HOSTILE_QUERIES:
                path = f"{path_of(operation)}?{field}={value}"
                path += "&wait=0" if field != "wait" and without_waiting(operation) else ""
                sent = {one: VALUES[one] for one in members_of(operation) if one in VALUES}
                name = await said(gateway, operation, path, json=sent)
                if isinstance(declared.kind, inspect.IntType):
                    assert name is not None, (operation, field, value)


async def test_a_wrong_path_is_named_on_every_route(gateway, peer):
    """Names of any bytes and any length, numbers of any size."""
    await received(gateway, peer, M, 1)
    ids = ["%00", "%ED%A0%80", "%ff", "..", "%2e%2e%2f", "x" * 5_000, "%1b%5b2J", "a%2Fb"]
    for operation in OPERATIONS:
        for message_id in ids:
            path, query = path_of(operation, message_id), without_waiting(operation)
            await said(gateway, operation, path, params=query)
    for number in ("9" * 5_000, "9" * 10, "999999999", "-1", "x"):
        answer = await gateway.call("GET", f"/v1/inbox/{M}/payloads/{number}")
        assert refused(answer) == (404, "NotFound"), number


async def test_what_a_call_does_not_read_is_refused_by_name(gateway, peer):
    """400, and the names that are legal are said: a filter that is not read finds everything."""
    await received(gateway, peer, M, 1)
    for operation in OPERATIONS:
        path, method = path_of(operation), operation.method
        answer = await gateway.call(method, path, params={"status": "in_doubt"})
        assert refused(answer) == (400, "InvalidField"), operation
        text = answer.json["error"]["text"]
        assert "'status' is no parameter" in text, operation
        assert all(name in text for name in query_of(operation)), operation
        for name in query_of(operation):
            answer = await gateway.call(method, f"{path}?{name}=1&{name}=1")
            assert refused(answer) == (400, "InvalidField"), operation
            assert f"{name} is given more than once" in answer.json["error"]["text"]
        if takes_documents(operation):
            continue
        answer = await gateway.call(method, path, json={"to": "x"})
        assert refused(answer) == (400, "InvalidField"), operation
        assert "'to' is no member" in answer.json["error"]["text"], operation
        answer = await gateway.call(method, path, content=b'{"reason": "a", "reason": "b"}')
        assert refused(answer) == (400, "InvalidJson"), operation
    assert gateway.rows(Event.PROCESSING_CHANGED, Event.APPLICATION_REFUSED) == []


async def test_a_head_without_an_end_is_refused(gateway):
    """431: target, header fields and trailers, before the request is complete, without a token."""
    endings = {
        "target": b"GET /v1/messages?to=" + b"x" * (2 * HEAD_BYTES_MAX),
        "field": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * (2 * HEAD_BYTES_MAX),
        "fields": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * HEAD_BYTES_MAX,
    }
    async with serving_api(gateway) as api:
        for name, request in endings.items():
            head, _, body = (await answer_to(api, request)).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 431 "), name
            assert json.loads(body)["error"]["name"] == "HeadTooLarge"
        trailed = (
            b"POST /v1/drain HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        answer = await answer_to(api, trailed + b"2\r\n{}\r\n0\r\nX: ", b"x" * 4 * HEAD_BYTES_MAX)
        assert b"431" in answer


async def test_a_large_upload_is_no_large_head(gateway, peer):
    """Bodies are counted by their calls; many requests follow each other on one connection."""
    async with serving_api(gateway) as api:
        with_body = (b"x" * (1 << 20), "text/plain", "order")

        def call() -> list[str]:
            with Client(api) as client:
                for _ in range(300):
                    client.health()
                sent = client.submit([with_body], to=peer.party, service="S", action="A")
                return [sent.state, *(client.health().status for _ in range(3))]

        assert (await asyncio.to_thread(call))[1:] == ["ok"] * 3


async def test_a_caller_that_goes_away_is_nobodys_bug(gateway, caplog):
    """In the middle of a small body, and of a form: nothing is raised, and others are served."""
    async with serving_api(gateway) as api:
        for path in (b"/v1/drain", b"/v1/messages"):
            _, writer = await asyncio.open_connection(urlsplit(api).hostname, urlsplit(api).port)
            writer.write(
                b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n"
                b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n" % path
            )
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        assert (await answer_to(api, request)).startswith(b"HTTP/1.1 200")
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def answer_to(api: str, *pieces: bytes) -> bytes:
    """What the API says to bytes on a connection of their own, up to its end."""
    reader, writer = await asyncio.open_connection(urlsplit(api).hostname, urlsplit(api).port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        async with asyncio.timeout(10):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


# --- Host -----------------------------------------------------------------------------------------


FOREIGN = [
    "evil.example",
    "evil.example:8411",
    "127.0.0.1.evil.example",
    "localhost.evil",
    "xlocalhost",
]
MALFORMED = [
    "",
    " ",
    "a b",
    "127.0.0.1, evil.example",
    "user@127.0.0.1",
    "[::1",
    "::1",
    "[x]",
    "[1.2.3.4]",
]
MALFORMED += [
    "127.0.0.1:x",
    "127.0.0.1:1:2",
    "127.0.0.1/",
    "\x00",
    "\x1b[2J",
    "gäteway",
    "127.1",
    "0x7f.1",
]
OURS = [
    "127.0.0.1",
    "localhost",
    "LocalHost:8411",
    "localhost.",
    "[::1]:8411",
    "192.0.2.7:80",
    "127.0.0.1:",
]


async def asked(access: Access, *hosts: str, version: str = "1.1", path: str = "/") -> int:
    """The status of a call with these Host heads; 204 where it came through."""
    statuses: list[int] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))
        if message["type"] == "http.response.body" and statuses[0] != 204:
            error = json.loads(message["body"])["error"]
            assert error["name"] == "ForeignHost"
            assert "api_hosts" in error["text"]
            assert error["text"].isprintable()

    async def receive() -> Any:
        raise AssertionError("the head alone decides")

    scope = {
        "type": "http",
        "http_version": version,
        "method": "GET",
        "path": path,
        "headers": [(b"host", host.encode("latin-1")) for host in hosts],
    }
    await access.guard(application)(scope, receive, send)
    return statuses[0]


def open_access(api: str, **more: Any) -> Access:
    """The guard of an API that needs no key."""
    return Access(api=api, caller_of=lambda *_: ANYBODY, note_denied=lambda *_: None, **more)


@pytest.mark.parametrize("host", [*FOREIGN, *MALFORMED])
async def test_a_name_that_is_not_ours_is_misdirected(host):
    """421 ForeignHost: a page whose name was bound to our address says that name."""
    access = open_access("http://127.0.0.1:8411")
    assert await asked(access, host) == 421
    assert await asked(access, host, path="/healthz") == 421


@pytest.mark.parametrize("host", OURS)
async def test_an_address_and_localhost_are_nobodys_to_bind(host):
    """Whoever calls by them meant this machine, through whatever tunnel."""
    assert await asked(open_access("http://0.0.0.0:8411"), host, path="/healthz") == 204


async def test_our_names_are_those_of_the_configuration():
    """The host of `api`, and `api_hosts`, in any spelling."""
    access = open_access("http://gateway.example:8411", hosts=["Proxy.Example"])
    for host in ("gateway.example:8411", "GATEWAY.example", "proxy.example", "proxy.example.:443"):
        assert await asked(access, host) == 204, host
    assert await asked(access, "other.example") == 421


async def test_a_call_has_one_host():
    """Two, or none in HTTP/1.1, are refused; a health check of HTTP/1.0 names none."""
    access = open_access("http://127.0.0.1:8411")
    assert await asked(access, "127.0.0.1", "127.0.0.1") == 421
    assert await asked(access) == 421
    assert await asked(access, version="1.0") == 204
    assert await asked(access, "evil.example", version="1.0") == 421


async def test_every_route_refuses_a_foreign_host(tmp_path, peer):
    """Health too, which says who we are; and before the token is looked at."""
    async with running(tmp_path, peer, gateway={"api_token": "s3cret"}) as guarded:
        for operation in OPERATIONS:
            headers = {"host": "evil.example", "authorization": "Bearer s3cret"}
            answer = await guarded.call(operation.method, path_of(operation), headers=headers)
            assert refused(answer) == (421, "ForeignHost"), operation


async def test_a_configured_name_is_let_in(tmp_path, peer):
    """`api_hosts` arrives where it is used, over the real port."""
    async with (
        running(tmp_path, peer, gateway={"api_hosts": ["gateway.example"]}) as alive,
        serving_api(alive) as api,
    ):
        for host, status in ((b"gateway.example", b"200"), (b"evil.example", b"421")):
            request = b"GET /healthz HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % host
            assert (await answer_to(api, request)).startswith(b"HTTP/1.1 " + status)
        twice = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n"
        answer = await answer_to(api, twice + b"Connection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize(
    "origin", [["http://127.0.0.1:8411", "http://evil.example"], ["null"], [""]]
)
async def test_one_foreign_origin_among_several_is_one_too_many(gateway, origin):
    """No head that comes twice is looked at once."""
    headers = [("origin", one) for one in origin]
    answer = await gateway.call("GET", "/v1/partners", headers=headers)
    assert refused(answer) == (403, "ForeignOrigin")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_our_client_calls_by_address_and_by_name(tmp_path, peer, host):
    """What the client sends as Host is let in, whatever `api` is written as."""
    if host == "[::1]" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    api = f"http://{host}:{free_port()}"
    async with running(tmp_path, peer, gateway={"api": api}) as alive, serving_api(alive):

        def ask() -> Any:
            with Client(api) as client:
                return client.health().status

        assert await asyncio.to_thread(ask) == "ok"


# --- Payloads of partners ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        ("application/xml", "application/xml"),
        ('text/plain; charset="utf-8"', 'text/plain; charset="utf-8"'),
        ("text/plain;\tcharset=utf-8", "text/plain; charset=utf-8"),
        ("text/plain;\r\n\tcharset=utf-8", "text/plain; charset=utf-8"),
        ("text/plain\r\nSet-Cookie: a=b", "text/plain Set-Cookie: a=b"),
        ("text/plain; name=\u20ac", "application/octet-stream"),
        ("text/plain; name=\x1b[2J", "application/octet-stream"),
        ("text/plain; a=" + "b" * 8_000, "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
async def test_a_payload_of_any_type_can_be_fetched(gateway, peer, stored, sent):
    """Its type stands in our head where a head can have it; the item tells it as it is."""
    item = await received(gateway, peer, M, 1)
    with_type(gateway, stored)
    response = await gateway.api.get(item["payloads"][0]["href"])
    assert response.status_code == 200
    assert response.headers["content-type"] == sent
    assert "set-cookie" not in response.headers
    [found] = (await gateway.get("/v1/inbox"))["items"]
    assert found["payloads"][0]["content_type"] == found["payloads"][0]["name"] == stored
    stream = await gateway.api.get("/v1/inbox", headers={"accept": ARROW})
    [row] = pa.ipc.open_stream(stream.content).read_all().to_pylist()
    assert row["content_type"] == row["name"] == stored


def with_type(gateway: RunningGateway, content_type: str) -> None:
    """The first payload is of this type, and called so: stored by a gateway that knew no better."""
    with closing(apsw.Connection(str(gateway.configuration.store))) as store:
        store.execute(
            "UPDATE inbound_message SET payloads = json_set(payloads, '$[0][1]', ?, '$[0][4]', ?)",
            (content_type, content_type),
        )


# --- What no application answers -----------------------------------------------------------------


async def raw_answer(port: int, request: bytes) -> tuple[bytes, dict[str, Any]]:
    """The status line of an answer, and its JSON."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    assert b"content-type: application/json" in head
    assert b"x-content-type-options: nosniff" in head
    return head.partition(b"\r\n")[0], json.loads(body)["error"]


async def test_what_is_no_http_is_refused_in_the_one_shape(gateway):
    """400 InvalidRequest, as JSON."""
    async with serving_api(gateway) as api:
        status, error = await raw_answer(urlsplit(api).port or 0, b"\x00 / HTTP\r\n\r\n")
    assert (status, error["name"]) == (b"HTTP/1.1 400 Bad Request", "InvalidRequest")


async def test_past_the_most_calls_the_refusal_has_the_one_shape(gateway):
    """503 Busy, as JSON: connections are counted, this one as well."""
    async with serving_api(gateway, calls_max=1) as api:
        request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        status, error = await raw_answer(urlsplit(api).port or 0, request)
    assert (status, error["name"]) == (b"HTTP/1.1 503 Service Unavailable", "Busy")
