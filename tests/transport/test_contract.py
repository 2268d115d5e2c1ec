"""What every transport promises, whichever it is: one suite over HTTP, mail and loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from http_peers import (
    CONTENT_TYPE,
    PATIENCE_S,
    Gate,
    Inbox,
    PiecedBody,
    UnreadableBody,
    WholeBody,
    endpoint,
    refuse_unread,
)
from smtp_peers import ENDPOINT, Base64Body, decoding, mail_endpoint, mail_sender

from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.transport.http.client import HttpTransport
from onceonly.transport.http.limits import HttpClientLimits, HttpLimits
from onceonly.transport.loopback import LoopbackNetwork, LoopbackTransport
from onceonly.transport.mail.limits import SmtpLimits
from onceonly.transport.transport import (
    Answer,
    Body,
    Outcome,
    Outgoing,
    Receive,
    Transmission,
    Transport,
)

pytestmark = pytest.mark.anyio

BODY_BYTES_MAX = 3_000_000


class Line:
    """A transport with a receiver at its other end."""

    def __init__(self, transport: Transport, uri: str, hang_up) -> None:
        self.transport = transport
        self.uri = uri
        self.hang_up = hang_up

    async def send(self, body: Body, take_reply=None) -> Transmission:
        outgoing = Outgoing(self.uri, CONTENT_TYPE, body, take_reply=take_reply)
        async with asyncio.timeout(PATIENCE_S):
            return await self.transport.send(outgoing)

    def said(self, status_code: int) -> int:
        """What the other side's answer is called on this line."""
        return status_code


class MailLine(Line):
    """Mail carries text, and has words of its own for answers."""

    async def send(self, body: Body, take_reply=None) -> Transmission:
        return await super().send(Base64Body(body), take_reply)

    def said(self, status_code: int) -> int:
        if status_code < 300:
            return 250
        is_temporary = status_code >= 500 or status_code in (408, 429)
        return 451 if is_temporary else {403: 550, 413: 552}.get(status_code, 554)


@asynccontextmanager
async def http_line(receive: Receive) -> AsyncIterator[Line]:
    async with endpoint(receive, HttpLimits(body_bytes_max=BODY_BYTES_MAX)) as server:
        transport = HttpTransport(limits=HttpClientLimits(connect_pause_s=0.001))
        yield Line(transport, f"http://127.0.0.1:{server.port}/msh", server.close)
        await transport.close()


@asynccontextmanager
async def loopback_line(receive: Receive) -> AsyncIterator[Line]:
    network = LoopbackNetwork(body_bytes_max=BODY_BYTES_MAX)
    uri = "http://peer.example/msh"
    network.listen(uri, receive)

    async def hang_up() -> None:
        network.silence(uri)

    yield Line(LoopbackTransport(network), uri, hang_up)


@asynccontextmanager
async def smtp_line(receive: Receive) -> AsyncIterator[Line]:
    limits = SmtpLimits(mail_bytes_max=BODY_BYTES_MAX * 7 // 5)
    async with (
        mail_endpoint(decoding(receive), limits=limits) as server,
        mail_sender(server.port) as transport,
    ):
        yield MailLine(transport, ENDPOINT, server.close)


@pytest.fixture(params=[http_line, smtp_line, loopback_line], ids=["http", "smtp", "loopback"])
def line(request):
    return request.param


@pytest.fixture(params=[http_line, loopback_line], ids=["http", "loopback"])
def answering_line(request):
    """Mail has no answer that could carry a package."""
    return request.param


async def test_a_small_body_arrives_as_it_was(line):
    """Content type, length and bytes are the same at the other end."""
    inbox = Inbox()
    async with line(inbox) as to_peer:
        transmission = await to_peer.send(WholeBody(b"a message"))
        assert transmission == Transmission(Outcome.ACCEPTED, True, to_peer.said(200), "")
    assert inbox.bodies == [b"a message"]
    assert inbox.requests[0].content_type == CONTENT_TYPE
    assert inbox.requests[0].content_length in (9, None)
    assert inbox.requests[0].peer


async def test_a_large_body_arrives_as_it_was(line):
    """Pieces come out in order whatever their number, with more than any buffer in between."""
    pieces = [bytes([number]) * 256 * 1024 for number in range(10)]
    inbox = Inbox(Answer(204))
    async with line(inbox) as to_peer:
        transmission = await to_peer.send(PiecedBody(*pieces))
        assert transmission == Transmission(Outcome.ACCEPTED, True, to_peer.said(204), "")
    assert inbox.bodies == [b"".join(pieces)]


async def test_an_empty_body_arrives(line):
    """Nothing is a body too."""
    inbox = Inbox()
    async with line(inbox) as to_peer:
        assert (await to_peer.send(WholeBody(b""))).outcome is Outcome.ACCEPTED
    assert inbox.bodies == [b""]


async def test_a_package_in_the_answer_reaches_who_asked_for_it(answering_line):
    """syncReplyMode (seed 001 §1.2.2): type and bytes, once, beside the outcome."""
    replies: asyncio.Queue[tuple[int, str, bytes]] = asyncio.Queue()
    content = bytes(range(256)) * 1000
    inbox = Inbox(Answer(200, content_type=CONTENT_TYPE, body=content))
    async with answering_line(inbox) as to_peer, asyncio.timeout(PATIENCE_S):
        transmission = await to_peer.send(
            WholeBody(b"a message"), lambda *reply: replies.put_nowait(reply)
        )
        assert await replies.get() == (200, CONTENT_TYPE, content)
    assert transmission == Transmission(Outcome.ACCEPTED, True, 200, "")
    assert replies.empty()


@pytest.mark.statement("S0-68")
async def test_a_package_in_the_answer_that_nobody_asked_for_is_forgotten(answering_line):
    """S0-68: read over, whatever it is; the outcome stays what the status says."""
    inbox = Inbox(Answer(200, content_type=CONTENT_TYPE, body=b"unasked"))
    async with answering_line(inbox) as to_peer:
        for _ in range(2):
            transmission = await to_peer.send(WholeBody(b"a message"))
            assert transmission == Transmission(Outcome.ACCEPTED, True, 200, "")


async def test_the_body_of_a_refusal_is_no_package(line):
    """What comes with an answer outside 2xx is a page for people."""
    replies: list[tuple[str, bytes]] = []
    inbox = Inbox(Answer(403, content_type="text/html", body=b"<p>never</p>"))
    async with line(inbox) as to_peer:
        transmission = await to_peer.send(
            WholeBody(b"a message"), lambda *reply: replies.append(reply)
        )
    assert transmission.outcome is Outcome.REFUSED
    assert replies == []


@pytest.mark.statement("S0-73", ruling="R-05")
@pytest.mark.parametrize("status_code", [300, 307, 400, 403, 404, 408, 429, 500, 503])
async def test_an_answer_outside_2xx_is_a_refusal(line, status_code):
    """S0-73, N10: the peer's transport says no; bytes have left; redirects aren't followed."""
    inbox = Inbox(Answer(status_code, "MimeProblem"))
    async with line(inbox) as to_peer:
        transmission = await to_peer.send(WholeBody(b"a message"))
        refused = Transmission(Outcome.REFUSED, True, to_peer.said(status_code), "MimeProblem")
    assert transmission == refused
    assert len(inbox.requests) == 1


@pytest.mark.statement(ruling="R-46")
@pytest.mark.parametrize("status_code", [500, 501, 502, 503, 504, 507, 599])
async def test_a_5xx_without_a_word_of_an_msh_is_unknown(answering_line, status_code):
    """A proxy says so too, behind which the message was stored; its words are kept."""
    async with answering_line(Inbox(Answer(status_code))) as to_peer:
        transmission = await to_peer.send(WholeBody(b"a message"))
    assert changed(transmission, detail="") == Transmission(Outcome.UNKNOWN, True, status_code)
    assert transmission.detail.startswith(str(status_code))


@pytest.mark.statement(ruling="R-46")
@pytest.mark.parametrize("status_code", [502, 504])
async def test_what_proxies_say_is_unknown_under_every_name(answering_line, status_code):
    """No MSH says so about a message of its own."""
    async with answering_line(Inbox(Answer(status_code, "StoreFull"))) as to_peer:
        transmission = await to_peer.send(WholeBody(b"a message"))
    assert transmission == Transmission(Outcome.UNKNOWN, True, status_code, "StoreFull")


@pytest.mark.statement(ruling="R-46")
async def test_a_package_in_a_5xx_is_the_word_of_an_msh(answering_line):
    """Foreign products answer 500 with an Error in it."""
    said = Answer(500, content_type=CONTENT_TYPE, body=b"an error")
    async with answering_line(Inbox(said)) as to_peer:
        transmission = await to_peer.send(WholeBody(b"a message"))
    assert transmission == Transmission(Outcome.REFUSED, True, 500, "500 Internal Server Error")


async def test_an_answer_before_the_body_was_read_counts(line):
    """A receiver may refuse by the head alone, and the sender learns it."""
    pieces = [bytes(256 * 1024)] * 10
    async with line(refuse_unread) as to_peer:
        small = await to_peer.send(WholeBody(b"a message"))
        large = await to_peer.send(PiecedBody(*pieces))
        refused = Transmission(Outcome.REFUSED, True, to_peer.said(403), "SecurityFailure")
    assert small == large == refused


@pytest.mark.statement("S0-73", ruling="R-05")
async def test_nobody_listening_is_a_refusal_of_which_no_byte_left(line):
    """Only then may a failure be certain (R-08)."""
    async with line(Inbox()) as to_peer:
        await to_peer.hang_up()
        transmission = await to_peer.send(WholeBody(b"a message"))
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, False, None)
    assert transmission.detail == "connection refused"


async def test_a_body_over_the_limit_is_refused(line):
    """413 or its like, and the receiver never gets it whole."""
    inbox = Inbox()
    async with line(inbox) as to_peer:
        transmission = await to_peer.send(PiecedBody(*[bytes(200_000)] * 20))
        assert transmission.status_code == to_peer.said(413)
    assert transmission.outcome is Outcome.REFUSED
    assert inbox.bodies == []


async def test_a_body_that_cannot_be_read_never_arrives_whole(line):
    """The sender gets its own disk's error, the receiver a broken transfer."""
    inbox = Inbox()
    async with line(inbox) as to_peer:
        with pytest.raises(OSError, match="the disk failed"):
            await to_peer.send(UnreadableBody(b"first", promised=100))
        async with asyncio.timeout(PATIENCE_S):
            await inbox.ended.wait()
    assert inbox.bodies == []
    assert len(inbox.broken) == 1


@pytest.mark.parametrize("promised", [5, 500])
async def test_a_body_that_changed_its_size_never_arrives_whole(line, promised):
    """A spooled file that is shorter or longer than it was is an error on our side."""
    inbox = Inbox()
    async with line(inbox) as to_peer:
        with pytest.raises(LocalError, match="promised"):
            await to_peer.send(PiecedBody(b"first", b"second", promised=promised))
    assert inbox.bodies == []


async def test_sends_do_not_wait_for_each_other(line):
    """While one reception takes its time, others are answered."""
    gate = Gate()
    async with line(gate) as to_peer, asyncio.TaskGroup() as tasks:
        sends = [tasks.create_task(to_peer.send(WholeBody(b"m"))) for _ in range(3)]
        for _ in range(3):
            await gate.arrival()
        gate.opened.set()
    assert [send.result().outcome for send in sends] == [Outcome.ACCEPTED] * 3


async def test_a_receiver_that_fails_is_unknown_and_is_reported(line):
    """Nobody knows whether its bug came behind its commit (R-46); the loop's handler hears it."""

    async def receive(_request, _body):
        raise ZeroDivisionError

    reports: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: reports.append(context))
    async with line(receive) as to_peer:
        transmission = await to_peer.send(WholeBody(b"a message"))
    loop.set_exception_handler(None)
    unknown = Transmission(Outcome.UNKNOWN, True, to_peer.said(500))
    assert changed(transmission, detail="") == unknown
    assert [type(report["exception"]) for report in reports] == [ZeroDivisionError]


async def test_a_closed_transport_sends_nothing(line):
    """After close, nothing leaves."""
    inbox = Inbox()
    async with line(inbox) as to_peer:
        await to_peer.transport.close()
        transmission = await to_peer.send(WholeBody(b"a message"))
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, False, None)
    assert inbox.requests == []
