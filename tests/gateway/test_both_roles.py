"""A gateway that has a partner and carries messages for others to the same partner."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chain import AGREEMENT, DESTINATION, ORIGIN, Node, Plan, write_chain
from peer_2001 import Peer2001

from onceonly.gateway.config import read_configuration
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, PartyId
from onceonly.message.signals import SignalHeader
from onceonly.protocol.relaying import Transit
from onceonly.steps.transit import spoken_of
from onceonly.store.contract.entries import TransitEntry

pytestmark = pytest.mark.anyio

OURS = "cpa-ours"
THERE: dict[str, Any] = {"from_party": ORIGIN, "to_party": DESTINATION}
BACK: dict[str, Any] = {"from_party": DESTINATION, "to_party": ORIGIN}
AGREED_WITH_US = f"""
[[agreement]]
id = "{OURS}"
profile = "rm-2001"
with = ["{DESTINATION}"]
send_to = "%s"
timeout = 1000000
retries = 1
retry_interval = 1000000
response_within = "P1D"
"""


class Between(NamedTuple):
    """The gateway, somebody it relays for, and somebody who is its partner as well."""

    origin: Peer2001
    node: Node
    partner: Peer2001

    async def submit(self, **header: Any) -> str:
        """A message of our own to the partner, which has it."""
        message_id = await self.node.submit(b"<Order/>", to=self.partner, **header)
        assert (await self.partner.hear()).message_id == message_id
        await self.node.until_row(Event.TRANSMITTED)
        return message_id


@pytest.fixture
async def ends(tmp_path: Path) -> AsyncIterator[Between]:
    origin, partner = Peer2001(ORIGIN, AGREEMENT), Peer2001(DESTINATION, AGREEMENT)
    [path] = write_chain(tmp_path, Plan(profile="rm-2001"), (origin.uri, partner.uri))
    with path.open("a", encoding="utf-8") as file:
        file.write(AGREED_WITH_US % partner.uri)
    node = Node(read_configuration(path))
    origin.gateway_uri = partner.gateway_uri = node.uri
    try:
        for peer in (origin, partner):
            await peer.listen()
        await node.start()
        yield Between(origin, node, partner)
    finally:
        await node.stop(0.0)
        for peer in (origin, partner):
            await peer.close()


async def test_a_response_to_somebody_else_answers_no_message_of_ours(ends):
    """R-20: it goes on to whom it is for; our message still waits for its own."""
    ours = await ends.submit()
    reply = await ends.partner.send_2001("m-9@c.example.com", ref=ours, **BACK)
    assert (reply.status, reply.headers.get("onceonly-error")) == (204, None)
    assert (await ends.origin.hear()).message_id == "m-9@c.example.com"
    await ends.node.everything_said()
    assert ends.node.state_of(ours) == "sending"
    assert ends.node.rows(Event.RESPONSE_RECEIVED) == []
    from_us = {"from_party": DESTINATION, "to_party": str(ends.node.configuration.party[0])}
    await ends.partner.send_2001("m-8@c.example.com", ref=ours, agreement=OURS, **from_us)
    await ends.node.until_state(ours, "acknowledged")
    assert len(ends.node.rows(Event.RESPONSE_RECEIVED)) == 1


async def test_a_message_of_others_cannot_pass_under_an_id_of_ours(ends):
    """Its acknowledgement would complete ours, which the partner may not have (I13)."""
    ours = await ends.submit()
    reply = await ends.origin.send_2001(ours, **THERE)
    assert reply.headers["onceonly-error"] == "SecurityFailure"
    assert (await ends.origin.hear()).error_code == "SecurityFailure"
    assert not ends.partner.has_unheard()


def test_of_two_messages_under_one_id_the_signal_says_which_it_means():
    """What the next hop said of one must not be said to the origin of the other."""
    mine, other = in_transit("a", "cpa-a"), in_transit("b", "cpa-b")
    assert spoken_of([], about("cpa-a")) is None
    assert spoken_of([mine], about("cpa-z")) is mine
    assert spoken_of([mine, other], about("cpa-b")) is other
    assert spoken_of([mine, other], about("cpa-z")) is None
    assert spoken_of([mine, mine], about("cpa-a")) is None


def in_transit(route_id: str, agreement_id: str) -> TransitEntry:
    return TransitEntry(
        key=MessageKey(f"urn:{route_id}", DESTINATION, "m-1"),
        route_id=route_id,
        upstream_uri="http://127.0.0.1/msh",
        agreement_id=agreement_id,
        conversation_id="conversation",
        ack_requested=None,
        digest="0" * 64,
        hop=2,
        state=Transit(),
    )


def about(agreement_id: str) -> SignalHeader:
    return SignalHeader(
        message_id="s-1",
        from_ids=(PartyId("http://127.0.0.1/msh"),),
        to_ids=(PartyId("http://127.0.0.2/msh"),),
        agreement_id=agreement_id,
        conversation_id="conversation",
        timestamp_at=0,
        ref_to_message_id="m-1",
    )
