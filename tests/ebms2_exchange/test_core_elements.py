"""What the header of ebMS 2.0 says beside what it asks for, both ways."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from packages import Parcel
from peer_ebms2 import ACK_REQUESTED, DOCUMENT, PeerEbms2, read, with_peer
from two_parties import SELLER, submit

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"
ORDERING = "urn:services:Ordering"
OTHER_ID = '<eb:PartyId eb:type="GLN">4000001000000</eb:PartyId>'


def twice_named(peer: PeerEbms2, other: str = OTHER_ID, **fields: Any) -> Parcel:
    """A message whose sender has a second PartyId."""
    parcel = peer.parcel(M, **fields)
    first = f"<eb:From><eb:PartyId>{peer.party}</eb:PartyId>".encode()
    assert first in parcel.body
    return Parcel(parcel.content_type, parcel.body.replace(first, first + other.encode()))


TWO_IDS = [{"id": "4000001000000", "type": "GLN"}]


@pytest.mark.statement("E2-22")
async def test_all_party_ids_of_a_message_are_on_its_acknowledgement(tmp_path):
    async with with_peer(tmp_path, **both_ids()) as (gateway, peer):
        await peer.post(twice_named(peer))
        ack = await peer.hear("Acknowledgment")
        assert ack.parties("To") == [peer.party, "4000001000000"]
        await gateway.until_handed_over(M)


@pytest.mark.statement("E2-22")
async def test_all_party_ids_of_a_message_are_on_the_error_about_it(tmp_path):
    async with with_peer(tmp_path, **both_ids()) as (gateway, peer):
        await peer.post(twice_named(peer, blocks=""))
        error = await peer.hear("MessageError")
        assert error.parties("To") == [peer.party, "4000001000000"]
        assert gateway.inbox_ids() == []


def both_ids() -> dict[str, Any]:
    """Terms with both PartyIds of the peer."""
    return {"with": ["urn:duns:311111111", *TWO_IDS]}


@pytest.mark.statement("E2-24")
async def test_some_of_the_agreed_party_ids_are_enough(tmp_path):
    async with with_peer(tmp_path, **both_ids()) as (gateway, peer):
        await peer.say_business(M)
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)


@pytest.mark.statement("E2-24")
async def test_a_party_id_that_was_not_agreed_is_inconsistent(tmp_path):
    """Told to the agreement's partner, though it is only the second of the names."""
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.post(twice_named(peer))
        error = await peer.hear("MessageError")
        assert error.attribute("Error", "errorCode") == "Inconsistent"
        assert (error.attribute("Error", "location") or "").endswith("eb:From/eb:PartyId")
        assert gateway.inbox_ids() == []


@pytest.mark.statement("E2-28")
@pytest.mark.statement("E2-33")
async def test_the_conversation_and_the_reference_are_on_every_answer(tmp_path):
    """A first message has no reference; an acknowledgement, an error and a response have."""
    async with with_peer(tmp_path) as (gateway, peer):
        for message_id, blocks, kind in (
            (M, ACK_REQUESTED, "Acknowledgment"),
            ("m-2@a.example.com", "", "MessageError"),
        ):
            await peer.say_business(message_id, blocks=blocks)
            heard = await peer.hear(kind)
            assert (heard.text("ConversationId"), heard.ref) == ("conv-1", message_id)
        await gateway.until_handed_over(M)
        await submit(gateway, peer.party, service=ORDERING, ref=M, action="Confirm")
        response = await peer.hear("Confirm")
        assert (response.text("ConversationId"), response.ref) == ("conv-1", M)
        await submit(gateway, peer.party, service=ORDERING)
        assert (await peer.hear("NewOrder")).ref == ""


@pytest.mark.statement("E2-31")
async def test_message_ids_are_new_and_have_a_domain(tmp_path):
    """No two messages or signals have one; a bare UUID of a partner is as good."""
    uuid = "6F9619FF-8B86-D011-B42D-00C04FC964FF"
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.say_business(uuid)
        ack = await peer.hear("Acknowledgment")
        await gateway.until_handed_over(uuid)
        await submit(gateway, peer.party, service=ORDERING)
        await submit(gateway, peer.party, service=ORDERING)
        ours = [ack, *await peer.hear_several("NewOrder", 2)]
        ids = [one.message_id for one in ours]
        assert len(set(ids)) == 3
        for message_id in ids:
            local, _, domain = message_id.partition("@")
            assert local
            assert domain
            assert not set("<>") & set(message_id)


def living_until(peer: PeerEbms2, moment: datetime) -> Parcel:
    parcel = peer.parcel(M)
    said = f"<eb:TimeToLive>{moment.isoformat()}</eb:TimeToLive></eb:MessageData>"
    return Parcel(parcel.content_type, parcel.body.replace(b"</eb:MessageData>", said.encode()))


@pytest.mark.statement("E2-34")
async def test_what_is_too_old_is_told_so_unless_it_is_known(tmp_path):
    """R-18: a repeat is acknowledged again, whatever its age."""
    past = datetime.now(UTC) - timedelta(hours=1)
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.post(living_until(peer, past))
        error = await peer.hear("MessageError")
        assert error.attribute("Error", "errorCode") == "TimeToLiveExpired"
        assert gateway.inbox_ids() == []
        await peer.say_business("m-2@a.example.com")
        first = await peer.hear("Acknowledgment")
        await gateway.until_handed_over("m-2@a.example.com")
        known = peer.parcel("m-2@a.example.com")
        said = f"<eb:TimeToLive>{past.isoformat()}</eb:TimeToLive></eb:MessageData>".encode()
        await peer.post(Parcel(known.content_type, known.body.replace(b"</eb:MessageData>", said)))
        assert (await peer.hear("Acknowledgment")).body == first.body


@pytest.mark.statement("E2-35")
async def test_a_reliable_message_lives_longer_than_its_budget(tmp_path):
    """TimeToLive is after Timestamp + (Retries + 1) x RetryInterval."""
    async with with_peer(tmp_path, retries=3, retry_interval=60) as (gateway, peer):
        await submit(gateway, peer.party, service=ORDERING)
        heard = await peer.hear("NewOrder")
        sent, lives = (
            datetime.fromisoformat(heard.text(name)) for name in ("Timestamp", "TimeToLive")
        )
        assert lives - sent > timedelta(seconds=4 * 60)


MANIFEST = """<eb:Manifest xmlns:xlink="http://www.w3.org/1999/xlink" eb:version="2.0">
<eb:Reference eb:id="ref-b" xlink:type="simple" xlink:href="cid:b@a.example.com"
 xlink:role="urn:roles:annex"><eb:Schema eb:location="http://x.example/b.xsd" eb:version="1.3"/>
<eb:Description xml:lang="en">The annex</eb:Description></eb:Reference>
<eb:Reference xlink:type="simple" xlink:href="cid:a@a.example.com"/></eb:Manifest>"""


@pytest.mark.statement("E2-36")
@pytest.mark.statement("E2-39")
async def test_what_a_header_says_of_a_message_and_its_payloads_is_shown(tmp_path):
    """In the order of the Manifest, after a restart too."""
    terms = {"role": "Seller", "partner_role": "Buyer"}
    async with with_peer(tmp_path, **terms) as (gateway, peer):
        document = peer.parcel(M, body=MANIFEST).body.decode()
        for party, role in ((peer.party, "Buyer"), (SELLER, "Seller")):
            named = f"<eb:PartyId>{party}</eb:PartyId>"
            document = document.replace(named, f"{named}<eb:Role>{role}</eb:Role>")
        document = document.replace(
            "</eb:MessageData><eb:DuplicateElimination/>",
            "</eb:MessageData><eb:DuplicateElimination/>"
            '<eb:Description xml:lang="en">An order</eb:Description>',
        )
        parts = [
            ("root@a.example.com", "text/xml", document),
            ("a@a.example.com", "text/plain", "first"),
            ("b@a.example.com", "application/xml", "<Annex/>"),
        ]
        body = "".join(
            f"--b\r\nContent-Type: {kind}\r\nContent-ID: <{name}>\r\n\r\n{text}\r\n"
            for name, kind, text in parts
        )
        head = 'multipart/related; type="text/xml"; boundary="b"; start="<root@a.example.com>"'
        await peer.post(Parcel(head, (body + "--b--\r\n").encode()))
        await gateway.until_handed_over(M)
        [item] = (await gateway.get("/v1/inbox"))["items"]
        assert (item["from_role"], item["to_role"]) == ("Buyer", "Seller")
        assert item["description"] == "An order"
        annex, first = item["payloads"]
        assert (annex["reference_id"], annex["role"]) == ("ref-b", "urn:roles:annex")
        assert annex["description"] == "The annex"
        assert annex["schemas"] == [{"location": "http://x.example/b.xsd", "version": "1.3"}]
        assert first["content_type"] == "text/plain"
        assert "role" not in first


@pytest.mark.statement("E2-25")
async def test_our_roles_are_on_what_we_send(tmp_path):
    terms = {
        "role": "Seller",
        "partner_role": "Buyer",
        "cpa_id": "cpa-of-both",
        "services": [{"id": "Ordering", "type": "string", "send": ["NewOrder"]}],
        "description": "An order",
    }
    async with with_peer(tmp_path, **terms) as (gateway, peer):
        await submit(gateway, peer.party)
        heard = await peer.hear("NewOrder")
        assert heard.text("CPAId") == "cpa-of-both"
        assert heard.attribute("Service", "type") == "string"
        assert heard.text("Description") == "An order"
        roles = [one.text for one in heard.document.iter() if one.tag.endswith("}Role")]
        assert roles == ["Seller", "Buyer"]
        await peer.say_acknowledgment(heard.message_id, agreement="cpa-of-both")
        await gateway.until_state(heard.message_id, "acknowledged")
        assert {row.agreement_id for row in gateway.rows(Event.ACK_RECEIVED)} == {"cpa-of-both"}


@pytest.mark.statement("E2-69")
async def test_no_acknowledgement_leaves_before_its_message_is_stored(tmp_path):
    """R-02: whoever has heard it finds the message in the store."""
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.say_business(M)
        await peer.hear("Acknowledgment")
        await gateway.until_row(Event.ACK_SENT)
        events = [row.event for row in gateway.rows(Event.STORED, Event.ACK_SENT)]
        assert events == [Event.STORED, Event.ACK_SENT]


@pytest.mark.statement("E2-07")
async def test_a_wrong_frame_is_answered_by_a_fault(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        head = 'multipart/related; type="text/xml"; boundary="b"; start="<a@b>"'
        body = b"--b\r\nContent-Type: text/xml\r\n\r\n" + DOCUMENT.encode()
        reply = await peer.post(Parcel(head, body))
        assert (reply.status, read(reply.body).fault[0]) == (500, "SOAP:Client")
        assert gateway.inbox_ids() == []
