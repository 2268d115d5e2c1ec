"""What a bug costs (R-43): a row, a count and an incident; the process and all others go on."""

from dataclasses import replace
from typing import Any

import pytest
from peer import Peer
from running_gateway import RunningGateway, write_configuration

from onceonly.gateway.clock import Clock
from onceonly.gateway.config import read_configuration
from onceonly.gateway.surroundings import Surroundings
from onceonly.gateway.wiring import surroundings_of
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.transport.transport import Outgoing, Transmission, Transport

pytestmark = [pytest.mark.anyio, pytest.mark.statement(ruling="R-43")]


class Slipping:
    """The real transport, with a bug for one message."""

    def __init__(self, transport: Transport, raised: Exception) -> None:
        self._transport = transport
        self._raised = raised
        self.schemes = transport.schemes
        self.message_id: str | None = None

    def check(self, outgoing: Outgoing) -> None:
        self._transport.check(outgoing)

    async def send(self, outgoing: Outgoing) -> Transmission:
        if self.message_id == outgoing.message_id:
            raise self._raised
        return await self._transport.send(outgoing)

    async def close(self) -> None:
        await self._transport.close()


class Slipped(RunningGateway):
    """A gateway over it."""

    raised: Exception = KeyError("nobody had thought of it")
    expects_bugs = True
    slip: str | None = None

    def surroundings(self, clock: Clock) -> Surroundings:
        around = surroundings_of(self.configuration, clock)
        self.transport = Slipping(around.transport, self.raised)
        self.transport.message_id = self.slip
        self.expects_bugs = True
        return replace(around, transport=self.transport)


@pytest.fixture
async def slipped(tmp_path, peer: Peer, request):
    gateway = Slipped(read_configuration(write_configuration(tmp_path, (peer,))))
    gateway.raised = getattr(request, "param", gateway.raised)
    gateway.slip = "m-1@b.example.com"
    peer.gateway_uri = gateway.uri
    await gateway.start()
    yield gateway
    await gateway.stop(0.0)


def incidents(gateway: RunningGateway) -> list[Any]:
    found = gateway.store.snapshot().list_incidents(is_open=True)
    return [one.message_id for one in found]


async def test_a_message_that_meets_a_bug_is_parked_and_its_pair_goes_on(slipped, peer):
    """In doubt, since a byte may have left; no restart takes it up, and the next one is sent."""
    await slipped.submit(b"<a/>", to=peer, message_id="m-1@b.example.com")
    await slipped.until_state("m-1@b.example.com", "in_doubt")
    await slipped.until_row(Event.INTERNAL_ERROR)
    assert incidents(slipped) == ["m-1@b.example.com"]
    await slipped.submit(b"<b/>", to=peer, message_id="m-2@b.example.com")
    assert (await peer.hear()).message_id == "m-2@b.example.com"
    slipped.slip = None
    await slipped.restart()
    assert slipped.state_of("m-1@b.example.com") == "in_doubt"


@pytest.mark.parametrize("slipped", [LocalError("NotCarried", "no way")], indirect=True)
async def test_what_surely_did_not_leave_goes_out_as_a_new_message(slipped, peer):
    """Failed for certain; an operator's word sends the content under another MessageId."""
    await slipped.submit(b"<a/>", to=peer, message_id="m-1@b.example.com")
    await slipped.until_state("m-1@b.example.com", "failed")
    assert not peer.has_unheard()
    path = "/v1/messages/m-1%40b.example.com/resume"
    assert (await slipped.call("POST", path, json={"reason": ""})).status == 400
    answer = await slipped.call("POST", path, json={"reason": "mended"})
    assert (answer.status, answer.json["taken_up"]) == (200, ["sent"])
    arrival = await peer.hear()
    assert arrival.message_id != "m-1@b.example.com"
    assert arrival.payloads == [b"<a/>"]
    assert incidents(slipped) == []
    assert [row.reason for row in slipped.rows(Event.TAKEN_UP)] == ["mended"]


async def test_a_bug_is_counted(slipped, peer):
    """Where it was met, in the metrics."""
    await slipped.submit(b"<a/>", to=peer, message_id="m-1@b.example.com")
    await slipped.until_row(Event.INTERNAL_ERROR)
    metrics, _ = slipped.parts.operations.metrics()
    assert 'onceonly_internal_errors_total{place="sending a message"} 1.0' in metrics


async def test_nothing_is_parked_where_nothing_is(slipped):
    """Said by name."""
    answer = await slipped.call("POST", "/v1/messages/none/resume", json={"reason": "x"})
    assert answer.status == 404
