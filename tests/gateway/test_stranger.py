"""What a stranger can cost (R-45): rows, posts and bytes stay within their bounds."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from packages import Parcel
from peer import Peer
from running_gateway import RunningGateway, running, write_configuration

from onceonly.gateway.config import Limits, read_configuration
from onceonly.gateway.incoming.doorstep import HEADER_BYTES_MAX
from onceonly.message.word import changed
from onceonly.transport.transport import Request

pytestmark = [pytest.mark.anyio, pytest.mark.statement(ruling="R-45")]

PACKAGES = 5_000


async def body_of(parcel: Parcel) -> AsyncIterator[bytes]:
    yield parcel.body


async def bring(gateway: RunningGateway, parcel: Parcel) -> int:
    request = Request(parcel.content_type, len(parcel.body), "192.0.2.9:4711", "https")
    return (await gateway.parts.receiver.receive(request, body_of(parcel))).status_code


async def test_thousands_of_packages_of_a_stranger_stay_within_the_limits(tmp_path, peer):
    """No known agreement, or not the certificate that it demands: rows, and nothing else."""
    configuration = read_configuration(write_configuration(tmp_path, (peer,)))
    (agreement,) = configuration.agreements
    agreement = changed(agreement, caller_certificate=("a" * 64,))
    gateway = RunningGateway(replace(configuration, agreements=(agreement,)))
    peer.gateway_uri = gateway.uri
    await gateway.start()
    before = len(gateway.rows())
    unknown = peer.normal("m-1@a.example.com", 1, agreement="nobodys", from_party="urn:duns:9")
    unproven = peer.normal("m-2@a.example.com", 1)
    for number in range(PACKAGES):
        assert await bring(gateway, unproven if number % 2 else unknown) >= 400
    await gateway.everything_said()
    assert len(gateway.rows()) - before == Limits().refusal_rows_per_hour
    assert not list((tmp_path / "gateway.db-spool").iterdir())
    assert not peer.has_unheard()
    gateway.assert_nothing_stored()
    await gateway.stop(0.0)


async def test_errors_about_what_cannot_be_read_are_posted_so_often_in_an_hour(tmp_path, peer):
    """Where no certificate is agreed anybody can name the partner; the others get their answer."""
    async with running(tmp_path, peer, limits={"error_posts_per_hour": 3}) as gateway:
        answers = [(await peer.send("m-1@a.example.com", "0")).status for _ in range(5)]
        await gateway.everything_said()
    assert answers == [204, 204, 204, 400, 400]
    assert len(peer.heard("Error")) == 3


async def test_a_package_without_a_header_is_not_read_for_ever(gateway, peer: Peer):
    """It is refused behind what a header can need, and the next one is read."""
    parcel = peer.normal("m-1@a.example.com", 1)
    long = parcel._replace(body=bytes(HEADER_BYTES_MAX + 1) + parcel.body)
    assert await bring(gateway, long) == 413
    assert await bring(gateway, parcel) == 204
