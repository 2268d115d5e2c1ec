"""What was sent can be looked at: payloads, the header document, and what lies ahead."""

import asyncio
import hashlib
import json
from contextlib import closing
from datetime import datetime
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import apsw
import pytest
from calling import refused
from click.testing import CliRunner
from peer import Peer
from running_gateway import CLOCK_RATE, RunningGateway, running, serving_api

from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.client import Client
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

BIG = bytes(range(256)) * 1200
"""Long enough to be in the spool."""


async def test_payloads_are_served_as_they_were_submitted(gateway: RunningGateway, peer: Peer):
    """As files and never as pages, whatever their sender calls them (attack R6)."""
    message_id = await gateway.submit(b"<order/>", BIG, to=peer, message_id="m/1@a.example.com")
    shown = (await gateway.get("/v1/messages/m%2F1@a.example.com"))["payloads"]
    assert [one["size_bytes"] for one in shown] == [8, len(BIG)]
    for one, content in zip(shown, (b"<order/>", BIG), strict=True):
        answer = await gateway.api.get(one["href"])
        assert answer.content == content
        assert answer.headers["content-disposition"] == "attachment"
        assert answer.headers["content-security-policy"] == "sandbox"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["etag"] == f'"{hashlib.sha256(content).hexdigest()}"'
    beyond = await gateway.call("GET", f"/v1/messages/{message_id.replace('/', '%2F')}/payloads/2")
    assert refused(beyond) == (404, "NotFound")
    assert refused(await gateway.call("GET", "/v1/messages/x/payloads/0")) == (404, "NotFound")


async def test_the_header_is_that_of_the_wire(gateway: RunningGateway, peer: Peer):
    """The document itself, and each element and attribute of it."""
    message_id = await gateway.submit(b"<order/>", to=peer, action="Neue Bestellung & mehr")
    envelope = await peer.hear("Normal")
    shown = await gateway.get(f"/v1/messages/{message_id}/header")
    assert shown["raw"].encode() in envelope.body
    assert shown["content_type"].startswith("multipart/related")
    elements = [(one["path"], one["value"]) for one in shown["elements"]]
    root = elements[0][0]
    assert elements[0][1] is None
    values = [value for path, value in elements if path.endswith("/MessageId")]
    assert values == [message_id]
    assert [value for path, value in elements if path.endswith("/Action")] == [
        "Neue Bestellung & mehr"
    ]
    assert any(path.startswith(f"{root}/@") for path, _ in elements)


async def test_a_message_that_waits_has_no_header_yet(gateway: RunningGateway, peer: Peer):
    """Its turn gives it the header: with its number, and the time of its sending."""
    await gateway.call("POST", f"/v1/partners/{peer.party}/suspend", json={})
    message_id = await gateway.submit(b"x", to=peer)
    assert refused(await gateway.call("GET", f"/v1/messages/{message_id}/header")) == (
        404,
        "NotFound",
    )
    assert refused(await gateway.call("GET", "/v1/messages/x/header")) == (404, "NotFound")
    shown = await gateway.get(f"/v1/messages/{message_id}")
    assert shown["known"] == "it waits for its turn; no byte of it has left"
    assert (shown["next_attempt_at"], shown["gives_up_at"]) == (None, shown["expires_at"])


async def test_the_next_attempt_and_the_end_are_foretold(tmp_path: Path, peer: Peer):
    """A partner that says nothing: 600 agreed seconds, then twice 1200; 50 of them last one."""
    terms = {"timeout": 600, "retries": 2, "retry_interval": 1200}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(b"x", to=peer)
        row = await gateway.until_row(Event.TRANSMITTED)
        await gateway.everything_said()
        shown = await gateway.get(f"/v1/messages/{message_id}")
    assert (shown["attempt"], shown["attempts_max"]) == (1, 3)
    first, last = (seconds(shown[name]) for name in ("next_attempt_at", "gives_up_at"))
    assert first - row.at / 1e6 == pytest.approx(600 / CLOCK_RATE, abs=2)
    assert last - first == pytest.approx(2400 / CLOCK_RATE, abs=1)
    assert "a copy may have arrived" in shown["known"]


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


async def test_the_commands_show_it(gateway: RunningGateway, peer: Peer, tmp_path: Path):
    """Into a file that is not there yet; the header as rows, and as it left."""
    message_id = await gateway.submit(BIG, b"two", to=peer)
    envelope = await peer.hear("Normal")
    async with serving_api(gateway) as api:
        with Client(api) as client:
            parts = await asyncio.to_thread(lambda: b"".join(client.sent_payload(message_id, 1)))
            shown = await asyncio.to_thread(client.sent_header, message_id)
        assert parts == b"two"
        _, described, _ = await run("message", "show", message_id, "--api", api)
        assert f"payloads         0 order-1.xml, application/xml, {len(BIG)} bytes; 1 " in described
        assert "known            it is under way; a copy may have arrived" in described
        place = tmp_path / "big.bin"
        words = ("message", "payload", message_id, "--to", str(place), "--api", api)
        assert (await run(*words))[0] == Exit.OK
        assert place.read_bytes() == BIG
        code, _, said = await run(*words)
        assert (code, "File exists" in said) == (Exit.USAGE, True)
        missing = await run("message", "payload", message_id, "--number", "2", "--api", api)
        assert missing[0] == Exit.NOT_FOUND
        _, piped, _ = await run("message", "payload", message_id, "--number", "1", "--api", api)
        assert piped == "two"
        _, raw, _ = await run("message", "header", message_id, "--raw", "--api", api)
        assert raw.split() == shown.raw.split()
        assert shown.raw.encode() in envelope.body
        _, rows, _ = await run("message", "header", message_id, "--api", api)
        assert f"MessageId\t{message_id}" in rows
        _, document, _ = await run("message", "header", message_id, "-o", "json", "--api", api)
        assert '"raw"' in document


async def run(*words: str) -> tuple[int, str, str]:
    """One command, in this process."""
    result = await anyio.to_thread.run_sync(partial(CliRunner().invoke, cli, words))
    return result.exit_code, result.stdout, result.stderr


async def test_a_bug_in_a_call_costs_no_other_call(gateway: RunningGateway, peer: Peer):
    """The answer says so, and the connection goes on (R-43)."""
    gateway.expects_bugs = True
    message_id = await gateway.submit(b"<order/>", to=peer)
    with closing(apsw.Connection(str(gateway.configuration.store))) as store:
        store.set_busy_timeout(5_000)
        store.execute("UPDATE outbound_package SET segments = x'00'")
    async with serving_api(gateway) as api:
        address = urlsplit(api)
        with closing(HTTPConnection(address.hostname or "", address.port)) as connection:

            def ask(path: str) -> tuple[int, bytes]:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.read()

            status, text = await asyncio.to_thread(ask, f"/v1/messages/{message_id}/header")
            assert (status, json.loads(text)["error"]["name"]) == (500, "InternalError")
            status, _ = await asyncio.to_thread(ask, "/healthz")
            assert status == 200
