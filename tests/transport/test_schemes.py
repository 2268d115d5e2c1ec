"""The choice of transport by the scheme of the endpoint."""

import pytest
from http_peers import Inbox, WholeBody

from onceonly.message.word import changed
from onceonly.transport.loopback import LoopbackNetwork, LoopbackTransport
from onceonly.transport.schemes import SchemeTransport
from onceonly.transport.transport import Outcome, Outgoing, Transmission

pytestmark = pytest.mark.anyio


class PostOnly(LoopbackTransport):
    schemes = frozenset({"http", "https"})


class MailOnly(LoopbackTransport):
    schemes = frozenset({"smtp"})


def package(endpoint: str) -> Outgoing:
    return Outgoing(endpoint, "text/plain", WholeBody(b"m"))


@pytest.mark.statement("S1-46")
async def test_each_package_goes_by_the_transport_of_its_endpoint():
    """So a resend may go by another one than the first transmission."""
    posts, mails = LoopbackNetwork(), LoopbackNetwork()
    posted, mailed = Inbox(), Inbox()
    posts.listen("http://peer.example/msh", posted)
    mails.listen("SMTP:msh@peer.example", mailed)
    schemes = SchemeTransport([PostOnly(posts), MailOnly(mails)])
    assert schemes.schemes == {"http", "https", "smtp"}
    for endpoint in ("http://peer.example/msh", "SMTP:msh@peer.example"):
        assert (await schemes.send(package(endpoint))).outcome is Outcome.ACCEPTED
    assert (len(posted.bodies), len(mailed.bodies)) == (1, 1)


@pytest.mark.parametrize("endpoint", ["ftp://peer.example/msh", "nothing", ""])
async def test_an_unknown_scheme_is_refused_by_name(endpoint):
    """Nothing left; the machine's retries go on until an operator sees the reason."""
    schemes = SchemeTransport([PostOnly(LoopbackNetwork())])
    transmission = await schemes.send(package(endpoint))
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, False, None)
    assert transmission.detail.startswith("UnknownScheme: ")


async def test_closing_closes_every_transport():
    """Nothing leaves by any of them."""
    network = LoopbackNetwork()
    network.listen("http://peer.example/msh", Inbox())
    schemes = SchemeTransport([PostOnly(network)])
    await schemes.close()
    refused = await schemes.send(package("http://peer.example/msh"))
    assert refused.outcome is Outcome.REFUSED


def test_two_transports_of_one_scheme_are_a_bug():
    """Nobody could say which one sends."""
    with pytest.raises(AssertionError, match="two transports"):
        SchemeTransport([PostOnly(LoopbackNetwork()), PostOnly(LoopbackNetwork())])
