"""HTTPS: the same outcomes inside TLS, and nothing leaves before the peer is known."""

import shutil
import ssl

import pytest
from http_peers import CONTENT_TYPE, Inbox, PiecedBody, WholeBody

from onceonly.message.word import changed
from onceonly.transport.http.client import HttpTransport
from onceonly.transport.http.limits import HttpLimits
from onceonly.transport.http.server import serve_http
from onceonly.transport.transport import Answer, Outcome, Outgoing, Transmission

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not shutil.which("openssl"), reason="makes its certificate with openssl"),
]


async def send(port: int, body, trusted=None):
    tls = ssl.create_default_context(cafile=trusted)
    transport = HttpTransport(tls=tls)
    transmission = await transport.send(
        Outgoing(f"https://127.0.0.1:{port}/msh", CONTENT_TYPE, body)
    )
    await transport.close()
    return transmission


@pytest.mark.parametrize("body", [WholeBody(b"x" * 9), PiecedBody(*[bytes(256 * 1024)] * 8)])
async def test_a_message_arrives_through_tls(certificate, server_tls, body):
    """Small and large, byte for byte."""
    inbox = Inbox()
    server = await serve_http("https://127.0.0.1:0/msh", inbox, tls=server_tls)
    transmission = await send(server.port, body, certificate / "cert.pem")
    await server.close()
    assert transmission == Transmission(Outcome.ACCEPTED, True, 200, "")
    assert [len(content) for content in inbox.bodies] == [body.size_bytes]


async def test_an_early_refusal_comes_through_tls(certificate, server_tls):
    """TLS has no half-close, so a large body may meet a cut instead; never an acceptance."""
    limits = HttpLimits(body_bytes_max=10)
    server = await serve_http("https://127.0.0.1:0/msh", Inbox(), tls=server_tls, limits=limits)
    transmission = await send(server.port, WholeBody(b"x" * 11), certificate / "cert.pem")
    await server.close()
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, True, 413)
    assert transmission.detail.startswith("MessageTooLarge: the body is larger")


async def test_an_unknown_certificate_is_a_refusal_of_which_no_byte_left(server_tls):
    """The message is not shown to a stranger."""
    inbox = Inbox(Answer(200))
    server = await serve_http("https://127.0.0.1:0/msh", inbox, tls=server_tls)
    transmission = await send(server.port, WholeBody(b"secret"))
    await server.close()
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, False, None)
    assert transmission.detail == "TLS handshake failed: self-signed certificate"
    assert inbox.requests == []
