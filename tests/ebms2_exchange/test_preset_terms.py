"""Terms that only a network or a product asks for: ids, the order of parts, questions."""

import re

import pytest
from peer_ebms2 import ACK_REQUESTED, EB, with_peer
from running_gateway import form

pytestmark = pytest.mark.anyio

UUID = re.compile(r"[0-9A-F]{8}-[0-9A-F]{4}-7[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}")
M = "m-0001@a.example.com"
ORDERING = {"service": "urn:services:Ordering", "action": "NewOrder"}


async def test_every_id_that_we_make_may_be_a_uuid_in_upper_case(tmp_path):
    """Of messages, of what answers them, and of questions; each another one."""
    async with with_peer(tmp_path, message_id_form="upper-case-uuid") as (gateway, peer):
        first = await gateway.submit(b"<Order/>", to=peer, **ORDERING)
        heard = [await peer.hear("NewOrder")]
        assert heard[0].message_id == first
        await peer.say_acknowledgment(first)
        await peer.say_business(M, blocks=ACK_REQUESTED)
        heard.append(await peer.hear("Acknowledgment"))
        await gateway.until_handed_over(M)
        await gateway.submit(b"<Order/>", to=peer, **ORDERING)
        heard.append(await peer.hear("NewOrder"))
        ids = [one.message_id for one in heard]
        assert all(map(UUID.fullmatch, ids)), ids
        assert len(set(ids)) == len(ids)
        assert ids[0] < ids[2]


async def submit_parts(gateway, peer, parts):
    message = {"to": peer.party, **ORDERING}
    fields = form(message)
    fields += [("payload", ("part", body, kind)) for kind, body in parts]
    assert (await gateway.call("POST", "/v1/messages", files=fields)).status == 201


async def test_payloads_in_xml_come_first_where_that_was_agreed(tmp_path, tmp_path_factory):
    """In the order in which they were given; the Manifest names them so, too."""
    parts = [
        ("image/png", b"PNG"),
        ("text/xml; charset=utf-8", b"<a/>"),
        ("application/pdf", b"PDF"),
        ("application/fhir+xml", b"<b/>"),
    ]
    async with with_peer(tmp_path, xml_part_first=True) as (gateway, peer):
        await submit_parts(gateway, peer, parts)
        body = (await peer.hear("NewOrder")).body
        places = [body.index(content) for content in (b"<a/>", b"<b/>", b"PNG", b"PDF")]
        assert places == sorted(places)
    async with with_peer(tmp_path_factory.mktemp("plain")) as (gateway, peer):
        await submit_parts(gateway, peer, parts)
        body = (await peer.hear("NewOrder")).body
        assert body.index(b"PNG") < body.index(b"<a/>")


@pytest.mark.parametrize("is_named", [True, False])
async def test_a_status_request_names_its_message_in_message_data_where_that_was_agreed(
    tmp_path, is_named
):
    """In the Body always."""
    asking = {"inquire_status": True, "retries": 0, "retry_interval": 1}
    async with with_peer(tmp_path, **asking, status_request_ref=is_named) as (gateway, peer):
        message_id = await gateway.submit(b"<Order/>", to=peer, **ORDERING)
        await peer.hear("NewOrder")
        request = await peer.hear("StatusRequest")
        path = f".//{{{EB}}}MessageData/{{{EB}}}RefToMessageId"
        assert request.document.findtext(path) == (message_id if is_named else None)
        body = f".//{{{EB}}}StatusRequest/{{{EB}}}RefToMessageId"
        assert request.document.findtext(body) == message_id
