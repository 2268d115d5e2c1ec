"""The client of the application API, against a running gateway and against what is none."""

import asyncio
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

# The gateway and its peer are those of the gateway's own tests.
sys.path.insert(0, str(Path(__file__).parent / "gateway"))

from asking import report
from packages import PayloadPart
from peer import Peer
from running_gateway import OUR_PARTY, RunningGateway, running, serving_api

from onceonly.client import Client, Document, GatewayUnreachable
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from ports import free_port

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop on which the product runs."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    """The partner of agreement tpa-ab-1, listening."""
    partner = Peer("urn:duns:111111111")
    await partner.listen()
    yield partner
    await partner.close()


@pytest.fixture
async def gateway(tmp_path: Path, peer: Peer) -> AsyncIterator[RunningGateway]:
    """A gateway with its API on a port, behind a token."""
    options = {"api_token": "s3cret"}
    async with running(tmp_path, peer, gateway=options) as alive, serving_api(alive):
        yield alive


@pytest.fixture
def client(gateway: RunningGateway) -> Any:
    """A client that has the token."""
    with Client(gateway.configuration.api, token="s3cret") as opened:
        yield opened


async def beside(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """A call of the client in a thread, while the gateway runs on the loop."""
    return await anyio.to_thread.run_sync(partial(call, *arguments, **options))


async def test_bytes_and_files_are_submitted_alike(client, gateway, peer, tmp_path):
    """A document is what it holds, its type and its label."""
    path = tmp_path / "order.xml"
    path.write_bytes(b"<Order/>")
    documents = [
        Document.from_file(path),
        Document(b"\x00\xff", "application/octet-stream", "raw"),
        (b"plain", "text/plain", "note.txt"),
    ]
    header = {"to": peer.party, "service": "S", "action": "A"}
    receipt = await beside(client.submit, documents, **header)
    sent = await peer.hear("Normal")
    assert sent.message_id == receipt.message_id
    assert sent.payloads == [b"<Order/>", b"\x00\xff", b"plain"]
    assert [part["content-type"] for part in sent.parts][1:] == [
        "application/octet-stream",
        "text/plain",
    ]


async def test_a_submission_may_be_repeated(client, gateway, peer):
    """By id and by key: the answer says that it is a replay."""
    header = {"to": peer.party, "service": "S", "action": "A", "message_id": "po-1", "key": "K"}
    document = Document(b"x", "text/plain", "x")
    first = await beside(client.submit, [document], **header)
    again = await beside(client.submit, [document], **header)
    assert (first.replayed, again.replayed) == (False, True)
    assert len(gateway.rows(Event.SUBMITTED)) == 1


async def test_a_message_is_followed_to_its_verdict(client, gateway, peer):
    """get, list and cancel see what the API shows, whatever characters an id has."""
    header = {"to": peer.party, "service": "S", "action": "A", "message_id": "a/b?c#%"}
    await beside(client.submit, [], **header)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    assert (await beside(client.cancel, "a/b?c#%")).recovery.phase == "cancelling"
    await peer.acknowledge("a/b?c#%")
    assert (await beside(client.get, "a/b?c#%")).state == "acknowledged"
    page = await beside(client.list, state="acknowledged", limit=1)
    assert [message.message_id for message in page.messages] == ["a/b?c#%"]


async def test_a_partner_is_asked_about_a_message(client, gateway, peer):
    """Its status, by an operator who only wants to know; and whether it is there at all."""
    receipt = await beside(client.submit, [], to=peer.party, service="S", action="A")
    sent = await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    assert (await beside(client.request_status, sent.message_id)).state == "sending"
    await report(peer, await peer.hear("StatusRequest"), status="NotRecognized")
    found = await beside(client.get, sent.message_id)
    assert found.recovery.status == "NotRecognized"
    with pytest.raises(LocalError) as caught:
        await beside(client.resend, receipt.message_id)
    assert caught.value.name == "NotResendable"
    [ping] = await beside(client.ping, peer.party, 0.01)
    assert (ping.agreement, ping.available) == (peer.agreement, None)


async def test_an_application_refuses_a_message(client, gateway, peer):
    """It says why, and has nothing more to do with it."""
    await peer.send(M, 1)
    await gateway.until_handed_over(M)
    item = await beside(client.find_inbox_item, M)
    assert (await beside(client.refuse, item, "no such article")).message_id == M
    [row] = gateway.rows(Event.APPLICATION_REFUSED)
    assert "no such article" in str(row.reason)


async def test_the_inbox_is_read_and_reported_on(client, gateway, peer):
    """A long poll, the payload in pieces, and the application's progress."""
    polling = asyncio.create_task(beside(client.inbox, wait_s=60))
    content = bytes(range(256)) * 2000
    await peer.send(M, 1, payloads=[PayloadPart("p@a", "text/plain", content)])
    (item,) = await polling
    assert b"".join(await beside(lambda: list(client.payload(item, 0)))) == content
    assert (await beside(client.report, item, "complete")).processing == "complete"
    assert (await beside(client.find_inbox_item, M)).offset == item.offset
    assert await beside(client.find_inbox_item, "none") is None
    about_it = await beside(client.journal_of, M)
    assert [row.message_id for row in about_it] == [M] * len(about_it)
    assert await beside(client.journal_of, "none") == ()
    assert await beside(client.inbox, item.offset) == ()


async def test_an_ambiguous_id_is_refused_with_its_offsets(tmp_path, peer):
    """For programs as numbers; each item is found by its own."""
    other = Peer("urn:duns:333333333", "tpa-cb-1")
    await other.listen()
    async with running(tmp_path, peer, other) as gateway, serving_api(gateway) as api:
        for count, partner in enumerate((peer, other), 1):
            await partner.send(M, 1)
            await gateway.until(lambda count=count: len(gateway.inbox_ids()) == count)
        with Client(api) as client:
            with pytest.raises(LocalError) as caught:
                await beside(client.find_inbox_item, M)
            assert (caught.value.name, caught.value.facts) == ("Ambiguous", {"offsets": [1, 2]})
            items = [await beside(client.find_inbox_item_at, offset) for offset in (1, 2)]
            assert [item.from_ids for item in items] == [(peer.party,), (other.party,)]
            assert await beside(client.find_inbox_item_at, 3) is None
            await beside(client.report, items[0], "complete")
            found = await beside(client.inbox)
            assert [item.processing for item in found] == ["complete", "not-started"]
    await other.close()


async def test_every_id_is_addressed_as_it_is(client, gateway, peer):
    """Whatever has a meaning in a URL: in the item's own calls, its link, and by its offset."""
    for number, name in enumerate(("x", "x/payloads/0", "a%2Fb", "a?b#c", "..;+&=", "items"), 1):
        part = PayloadPart("p@a", "text/plain", name.encode())
        await peer.send(name, number, payloads=[part])
        await gateway.until(lambda count=number: len(gateway.inbox_ids()) == count)
        item = await beside(client.find_inbox_item, name)
        assert (item.message_id, item.offset) == (name, number)
        assert await beside(client.get_inbox_item, name, number) == item
        content = await beside(lambda item=item: b"".join(client.payload(item, 0)))
        assert content == name.encode()
        assert (await beside(client.refuse, item, "no")).message_id == name


async def test_operators_see_and_steer(client, gateway, peer):
    """Partners, incidents, notices, journal, publishing, health."""
    header = {"to": peer.party, "service": "S", "action": "A"}
    receipt = await beside(client.submit, [], **header)
    await peer.hear("Normal")
    await peer.refuse(receipt.message_id, "InvalidSequenceNumber")
    assert len(await beside(client.incidents)) == 1
    assert [n.message_id for n in await beside(client.notices)] == [receipt.message_id]
    states = {p.role: p.state for p in await beside(client.resume, peer.party)}
    assert states["sender"] == "open"
    states = {p.role: p.state for p in await beside(client.suspend, peer.party, "why")}
    assert states["sender"] == "suspended"
    assert await beside(client.partners)
    await gateway.everything_said()
    rows = await beside(client.journal)
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert await beside(client.publish) == len(rows)
    assert (await beside(client.health)).party == (OUR_PARTY,)
    assert await beside(client.is_ready) is True


async def test_without_the_token_it_is_told_so(gateway):
    """The name that the gateway gave."""
    with Client(gateway.configuration.api) as stranger, pytest.raises(LocalError) as caught:
        await beside(stranger.partners)
    assert caught.value.name == "Unauthorized"


async def test_a_gateway_that_is_away_is_unreachable():
    """A condition of its own, since calls with an id are safe to repeat."""
    with Client(f"http://127.0.0.1:{free_port()}") as lonely:
        assert await beside(lonely.is_ready) is False
        with pytest.raises(GatewayUnreachable):
            await beside(lonely.partners)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", LocalError),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops", LocalError),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n[]", LocalError),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
            LocalError,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{", GatewayUnreachable),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx",
            GatewayUnreachable,
        ),
        (b"SSH-2.0-OpenSSH\r\n", GatewayUnreachable),
        (b"", GatewayUnreachable),
    ],
    ids=["page", "500", "no error shape", "redirect", "cut", "miscoded", "no HTTP", "hang up"],
)
async def test_what_is_no_gateway_is_named_not_raised_through(answer, error):
    """R-25 for our own client: two kinds of error and no third."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        with Client(f"http://127.0.0.1:{port}") as client:
            for call in (client.partners, partial(client.inbox_stream, 0, 1)):
                with pytest.raises(error) as caught:
                    await beside(call)
                if error is LocalError:
                    assert caught.value.name == "UnexpectedAnswer"


@pytest.mark.parametrize("api", ["http://127.0.0.1:port", "127.0.0.1:8411", "localhost:8411", ""])
def test_an_address_that_is_none_is_refused(api):
    """At once, by name: nobody would ever answer there."""
    with pytest.raises(LocalError) as caught:
        Client(api)
    assert caught.value.name == "UnusableAddress"


@pytest.mark.parametrize("token", ["s3cret\n", "s3cret ", "s3\x00cret", ""])
def test_a_token_that_no_head_can_have_is_refused_and_not_told(token):
    """As it is read from a file with its line end. An error goes into logs, the token does not."""
    with pytest.raises(LocalError) as caught:
        Client("http://127.0.0.1:1", token=token)
    assert caught.value.name == "UnusableToken"
    assert "s3" not in str(caught.value)


def test_a_token_may_have_any_letters():
    """As the gateway's own file may."""
    with Client("http://127.0.0.1:1", token="geh\u00e9im") as client:
        assert client.is_ready() is False


@pytest.mark.parametrize("job", ["", "a b", "a/b", ".", ".."])
def test_a_job_that_cannot_be_called_so_is_refused_by_name(job: str) -> None:
    """Before anybody is asked: a path with it would lead elsewhere."""
    with Client(f"http://127.0.0.1:{free_port()}") as nobody:
        for call in (nobody.job, nobody.release, nobody.drop, partial(nobody.stage, rows=[])):
            with pytest.raises(LocalError) as refused:
                call(job)
            assert refused.value.name == "InvalidField"


def test_a_traceback_has_the_name_of_the_error() -> None:
    """Of what a worker of Spark raises people see nothing else."""
    text = "".join(traceback.format_exception(LocalError("Unauthorized", "no token")))
    assert "no token" in text
    assert "Unauthorized" in text
