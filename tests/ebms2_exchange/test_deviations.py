"""What a partner does in another way than was agreed is taken, and told once a day."""

import re
from hashlib import new

import pytest
from peer_ebms2 import ACK_REQUESTED, with_peer
from signed_parties import with_reference, with_signing_peer
from two_parties import SELLER

from onceonly.message.identity import Pair
from onceonly.store.contract.entries import Role
from onceonly.wire.signature import SHA1

pytestmark = pytest.mark.anyio

M, N = (f"m-000{n}@a.example.com" for n in (1, 2))
HEADER = "a header asked for something else than was agreed"


def incidents(gateway):
    """The reasons of those that are open."""
    return [one.reason for one in gateway.store.snapshot().list_incidents(is_open=True)]


async def take(gateway, peer, message_id, **fields):
    await peer.say_business(message_id, **fields)
    await gateway.until(lambda: message_id in gateway.inbox_ids())


@pytest.mark.parametrize(
    ("terms", "fields", "seen"),
    [
        ({}, {"blocks": ""}, "AckRequested is missing"),
        ({}, {"eliminated": ""}, "DuplicateElimination is missing"),
        ({"sync_reply_mode": "mshSignalsOnly"}, {}, "SyncReply is missing"),
        ({"message_order": "Guaranteed"}, {}, "MessageOrder is missing"),
        (
            {"delivery_semantics": "BestEffort", "retries": None},
            {"eliminated": "", "blocks": ACK_REQUESTED},
            "AckRequested is there",
        ),
        (
            {"delivery_semantics": "BestEffort", "retries": None},
            {"blocks": ""},
            "DuplicateElimination is there",
        ),
    ],
    ids=["ack", "elimination", "sync", "order", "more ack", "more elimination"],
)
async def test_a_header_that_is_obeyed_although_it_asks_for_something_else_is_told_once(
    tmp_path, terms, fields, seen
):
    """The incident says what was seen and what was expected; the second message adds none."""
    async with with_peer(tmp_path, check_header="lenient", **terms) as (gateway, peer):
        await take(gateway, peer, M, **fields)
        await take(gateway, peer, N, **fields)
        await gateway.everything_said()
        (reason,) = incidents(gateway)
        assert re.match(rf"\d{{4}}-\d\d-\d\d, agreement 'cpa-ab-1': {HEADER}", reason)
        assert seen in reason
        assert "expected is" in reason


async def test_what_was_agreed_is_not_told(tmp_path):
    """Nor is a strict agreement's refusal: that has its answer."""
    async with with_peer(tmp_path, check_header="lenient") as (gateway, peer):
        await take(gateway, peer, M)
        await gateway.everything_said()
        assert incidents(gateway) == []


async def test_a_restart_tells_nothing_again_and_a_new_day_ends_the_former(tmp_path):
    """The store knows what was told; only one incident of a kind is open."""
    async with with_peer(tmp_path, check_header="lenient") as (gateway, peer):
        former = f"2026-01-01, agreement 'cpa-ab-1': {HEADER}, and was obeyed (check_header): x"
        transaction = gateway.store.begin()
        pair = Pair(peer.party, SELLER)
        transaction.open_incident(Role.RECEIVER, pair, former, at=1)
        transaction.open_incident(Role.SENDER, pair, former, at=1)
        gateway.store.commit()
        await take(gateway, peer, M, eliminated="")
        await gateway.everything_said()
        of_sender, today = sorted(incidents(gateway))
        assert of_sender == former != today
        await gateway.restart()
        await take(gateway, peer, N, blocks="")
        await gateway.everything_said()
        assert len(incidents(gateway)) == 2


@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        (None, False),
        ("", False),
        ('""', False),
        ('"ebXML"', False),
        ("ebXML", False),
        ('"urn:x/NewOrder"', True),
    ],
)
async def test_another_soap_action_than_was_agreed_is_taken_and_told(tmp_path, said, is_told):
    """IR-15: missing or empty is no other one (§14)."""
    async with with_peer(tmp_path) as (gateway, peer):
        headers = () if said is None else (f"SOAPAction: {said}",)
        for message_id in (M, N):
            await peer.post(peer.parcel(message_id), *headers)
            await gateway.until(lambda name=message_id: name in gateway.inbox_ids())
        await gateway.everything_said()
        reasons = incidents(gateway)
        assert len(reasons) == is_told
        if is_told:
            assert "it is 'urn:x/NewOrder'; expected is 'ebXML', or none" in reasons[0]


async def test_a_signature_by_sha1_is_believed_where_it_is_accepted_and_told(tmp_path):
    """§9.3."""
    async with with_signing_peer(tmp_path, accept_sha1=True) as (gateway, peer):
        for message_id in (M, N):
            digest = new("sha1", b"<Order/>").digest()
            parcel = peer.signed(message_id, b"<Order/>")
            await peer.post(with_reference(parcel, SHA1, digest))
            await gateway.until(lambda name=message_id: name in gateway.inbox_ids())
        await gateway.everything_said()
        (reason,) = incidents(gateway)
        assert "rests on SHA-1" in reason
        assert "expected is SHA-256" in reason
