"""What somebody may do who is not the partner, or is it and asks for too much (S8, S10, S11)."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace

import pytest
from packages import Parcel
from peer_ebms2 import ACK_REQUESTED, BLOCK, TERMS, PeerEbms2, acknowledgment, served, with_peer
from running_gateway import RunningGateway
from two_parties import SELLER, agreement, house, submit, write

from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.transport.transport import Answer, Request
from ports import free_port

pytestmark = pytest.mark.anyio

M, N = "m-0001@a.example.com", "m-0002@a.example.com"
ORDERED = {"message_order": "Guaranteed"}
CONVERSATIONS = 40


async def body_of(parcel: Parcel) -> AsyncIterator[bytes]:
    yield parcel.body


def order(number: int, status: str) -> str:
    return (
        f'<eb:MessageOrder {BLOCK}><eb:SequenceNumber eb:status="{status}">{number}'
        f"</eb:SequenceNumber></eb:MessageOrder>{ACK_REQUESTED}"
    )


def in_conversation(peer: PeerEbms2, number: int) -> Parcel:
    parcel = peer.parcel(f"m-{number}@a.example.com")
    body = parcel.body.replace(b">conv-1<", f">conv-{number}<".encode())
    return Parcel(parcel.content_type, body)


async def bring(gateway: RunningGateway, parcel: Parcel, certificate: str) -> Answer:
    """The package at the door of https, from a caller with this certificate."""
    request = Request(parcel.content_type, len(parcel.body), "192.0.2.9:4711", "https", certificate)
    return await gateway.parts.receiver.receive(request, body_of(parcel))


async def test_s8_the_certificate_of_a_partner_is_for_its_own_agreement(tmp_path):
    """Neither a message nor a signal under the CPAId of another one is believed or answered."""
    x, y = PeerEbms2(), PeerEbms2("urn:duns:411111111", "cpa-cd-1")
    of = {x.agreement: "a" * 64, y.agreement: "b" * 64}
    tables = [agreement(peer.agreement, peer.party, peer.uri, **TERMS) for peer in (x, y)]
    plain = write(tmp_path, "seller", house(SELLER, "seller", free_port()), *tables)
    agreements = tuple(
        changed(one, caller_certificate=(of[one.id],)) for one in plain.configuration.agreements
    )
    gateway = RunningGateway(replace(plain.configuration, agreements=agreements))
    async with served(gateway, (x, y)):
        victim = await submit(gateway, x.party, service="urn:services:Ordering")
        await x.hear("NewOrder")
        signal = x.signal("Acknowledgment", ref=victim, blocks=acknowledgment(victim))
        refused = await bring(gateway, x.parcel(M), of[y.agreement])
        await bring(gateway, signal, of[y.agreement])
        await gateway.everything_said()
        assert refused.status_code == 403
        assert gateway.inbox_ids() == []
        assert gateway.state_of(victim) == "sending"
        assert not x.has_unheard()
        assert not y.has_unheard()
        await bring(gateway, x.parcel(N), of[x.agreement])
        await bring(gateway, signal, of[x.agreement])
        await gateway.until_handed_over(N)
        assert gateway.state_of(victim) == "acknowledged"


async def test_s10_a_stranger_resets_no_conversation(tmp_path):
    """The number after the last one of the partner's is still the next."""
    async with with_peer(tmp_path, **ORDERED) as (gateway, peer):
        await peer.say_business(M, blocks=order(0, "Reset"))
        await peer.hear("Acknowledgment")
        stranger = {"from_party": "urn:duns:999999999", "blocks": order(0, "Reset")}
        await peer.say_business("m-9@a.example.com", **stranger)
        error = await peer.hear("MessageError")
        assert error.attribute("Error", "errorCode") == "Inconsistent"
        await peer.say_business(N, blocks=order(1, "Continue"))
        await gateway.until_handed_over(M, N)
        assert gateway.rows(Event.HELD) == []


async def test_s11_a_conversation_without_order_keeps_nothing(tmp_path):
    """However many there are: no row beside those of their messages."""
    async with with_peer(tmp_path) as (gateway, peer):
        for number in range(CONVERSATIONS):
            await peer.post(in_conversation(peer, number))
        names = [f"m-{number}@a.example.com" for number in range(CONVERSATIONS)]
        await gateway.until_handed_over(*names)
        with closing(sqlite3.connect(gateway.configuration.store)) as store:
            for table in ("sending_order", "receiving_order"):
                assert store.execute(f"SELECT * FROM {table}").fetchall() == []
