"""What is refused, by which code and with which location: the table of errors, row by row."""

from typing import Any

import pytest
from packages import Parcel
from peer_ebms2 import (
    ACK_REQUESTED,
    BLOCK,
    MSH,
    SYNC_REPLY,
    PeerEbms2,
    read,
    with_peer,
)

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"
SERVICES = {"services": [{"id": "urn:services:Ordering", "receive": ["NewOrder"]}]}
ROLES = {"role": "Seller", "partner_role": "Buyer"}


def manifest(href: str) -> str:
    return (
        '<eb:Manifest eb:version="2.0"><eb:Reference xmlns:xlink="http://www.w3.org/1999/xlink"'
        f' xlink:type="simple" xlink:href="{href}"/></eb:Manifest>'
    )


def edited(old: str, new: str) -> Any:
    """The document of the peer with one thing changed."""

    def parcel(peer: PeerEbms2) -> Parcel:
        usual = peer.parcel(M)
        assert old.encode() in usual.body
        return Parcel(usual.content_type, usual.body.replace(old.encode(), new.encode(), 1))

    return parcel


def with_(**fields: Any) -> Any:
    return lambda peer: peer.parcel(M, **fields)


def in_a_frame(peer: PeerEbms2) -> Parcel:
    """A package with a payload that no Manifest names, since there is none."""
    document = peer.parcel(M).body
    parts = (
        b'--b\r\nContent-Type: text/xml; charset="UTF-8"\r\nContent-ID: <r@a>\r\n\r\n'
        + document
        + b"\r\n--b\r\nContent-Type: text/plain\r\nContent-ID: <p@a>\r\n\r\npayload\r\n--b--\r\n"
    )
    return Parcel('multipart/related; type="text/xml"; boundary="b"; start="<r@a>"', parts)


ROWS: dict[str, tuple[dict[str, Any], Any, str, str]] = {
    "structure elsewhere": (
        {},
        with_(blocks=f"<eb:AckRequested {BLOCK}/>"),
        "OtherXml",
        "AckRequested",
    ),
    "ir_20 version": (
        {},
        edited('eb:version="2.0"', 'eb:version="2.1"'),
        "Inconsistent",
        "@eb:version",
    ),
    "another From party": ({}, with_(from_party="urn:duns:9"), "Inconsistent", "PartyId"),
    "another To party": ({}, with_(to_party="urn:duns:9"), "Inconsistent", "PartyId"),
    "unknown Action": (SERVICES, with_(action="Other"), "ValueNotRecognized", "Action"),
    "unknown Service": (SERVICES, with_(service="urn:x"), "ValueNotRecognized", "Service"),
    "unknown Action of the MSH": (
        {},
        with_(service=MSH, action="Negotiate", eliminated="", blocks=""),
        "NotSupported",
        "Action",
    ),
    "service without type is no URI": ({}, with_(service="Orders"), "Inconsistent", "Service"),
    "expired": (
        {},
        edited(
            "</eb:MessageData>",
            "<eb:TimeToLive>2020-01-01T00:00:00Z</eb:TimeToLive></eb:MessageData>",
        ),
        "TimeToLiveExpired",
        "TimeToLive",
    ),
    "too old": ({}, with_(timestamp="2020-01-01T00:00:00Z"), "TimeToLiveExpired", "Timestamp"),
    "no AckRequested": ({}, with_(blocks=""), "Inconsistent", "AckRequested"),
    "no DuplicateElimination": (
        {},
        with_(eliminated=""),
        "Inconsistent",
        "DuplicateElimination",
    ),
    "the next MSH": (
        {},
        with_(blocks=ACK_REQUESTED.replace("toPartyMSH", "nextMSH") + ACK_REQUESTED),
        "NotSupported",
        "AckRequested",
    ),
    "ir_07 the next MSH alone": (
        {},
        with_(blocks=ACK_REQUESTED.replace("toPartyMSH", "nextMSH")),
        "NotSupported",
        "AckRequested",
    ),
    "From without type is no URI": ({}, with_(from_party="bob"), "Inconsistent", "From/eb:PartyId"),
    "To without type is no URI": ({}, with_(to_party="bob"), "Inconsistent", "To/eb:PartyId"),
    "no SyncReply": ({"sync_reply_mode": "signalsOnly"}, with_(), "Inconsistent", "SyncReply"),
    "no Role": (ROLES, with_(), "Inconsistent", "Role"),
    "cid without part": (
        {},
        with_(body=manifest("cid:none@a.example.com")),
        "MimeProblem",
        "cid:none@a.example.com",
    ),
    "http href": (
        {},
        with_(body=manifest("http://a.example.com/x")),
        "MimeProblem",
        "http://a.example.com/x",
    ),
    "parts without Manifest": ({}, in_a_frame, "MimeProblem", "Manifest"),
}


@pytest.mark.statement("E2-23")
@pytest.mark.statement("E2-55")
@pytest.mark.statement("E2-56")
@pytest.mark.parametrize("row", ROWS)
async def test_a_refusal_says_its_code_and_where(tmp_path, row):
    """Told by a message of its own to the agreement's partner; nothing is stored (IR-09, IR-11)."""
    terms, parcel, code, location = ROWS[row]
    async with with_peer(tmp_path, **terms) as (gateway, peer):
        reply = await peer.post(parcel(peer))
        assert (reply.status, reply.body) == (204, b"")
        error = await peer.hear("MessageError")
        assert error.attribute("Error", "errorCode") == code
        assert error.attribute("Error", "severity") == "Error"
        assert error.attribute("ErrorList", "highestSeverity") == "Error"
        assert location in (error.attribute("Error", "location") or "")
        assert (error.ref, error.parties("To")) == (M, [peer.party])
        assert "expected" in error.text("Description")
        assert len(gateway.rows(Event.REJECTED)) == 1
        assert gateway.inbox_ids() == []
        assert not peer.has_unheard()


@pytest.mark.statement("E2-23")
async def test_a_sender_that_waits_is_told_of_its_party_id_in_the_answer(tmp_path):
    """Although no PartyId of its can be read: the CPAId says which agreement it is."""
    async with with_peer(tmp_path, sync_reply_mode="mshSignalsOnly") as (gateway, peer):
        blocks = ACK_REQUESTED + SYNC_REPLY
        reply = await peer.say_business(M, from_party="bob", blocks=blocks)
        error = read(reply.body)
        assert (reply.status, error.kind, error.ref) == (200, "MessageError", M)
        assert error.attribute("Error", "errorCode") == "Inconsistent"
        assert gateway.inbox_ids() == []
