"""Attacks on SOAP and ebXML, by their ids in the specification (S1 to S9, S12 to S15).

Each is refused with a named answer or has no effect, and nothing is stored, acknowledged or handed
over because of it.
"""

from collections.abc import Callable

import pytest
from packages import Parcel
from peer_ebms2 import (
    ACK_REQUESTED,
    BLOCK,
    NEXT_MSH,
    ORDERING,
    PLAIN_TYPE,
    SYNC_REPLY,
    acknowledgment,
    read,
    with_peer,
    with_two_peers,
)
from two_parties import submit

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M, N = "m-0001@a.example.com", "m-0002@a.example.com"
NEXT = "http://schemas.xmlsoap.org/soap/actor/next"
HEADER_START, HEADER_END = "<eb:MessageHeader", "</eb:MessageHeader>"


Edit = Callable[[str], str]


def header_of(document: str) -> str:
    return document[document.index(HEADER_START) : document.index(HEADER_END) + len(HEADER_END)]


def with_(extra: str) -> Edit:
    """The usual document with something put before the end of the Header."""
    return lambda document: document.replace("</SOAP:Header>", f"{extra}</SOAP:Header>")


def second_header(actor: str) -> Edit:
    def edit(document: str) -> str:
        header = header_of(document)
        attribute = f' SOAP:actor="{actor}"' if actor else ""
        return document.replace(header, header.replace(BLOCK, f"{BLOCK}{attribute}") + header)

    return edit


MANIFEST = '<eb:Manifest eb:version="2.0"/>'
ORDER = (
    f'<eb:MessageOrder {BLOCK} SOAP:actor="{{}}"><eb:SequenceNumber eb:status="Reset">0'
    "</eb:SequenceNumber></eb:MessageOrder>"
)
ERRORS = (
    f'<eb:ErrorList {BLOCK} SOAP:actor="{NEXT}" eb:highestSeverity="Error">'
    '<eb:Error eb:errorCode="Unknown" eb:severity="Error"/></eb:ErrorList>'
)

FAULTS: dict[str, Edit] = {
    "S1 MessageHeader for next": second_header(NEXT),
    "S1 MessageHeader for nextMSH": second_header(NEXT_MSH),
    "S1 MessageOrder for next": with_(ORDER.format(NEXT)),
    "S1 ErrorList for next": with_(ERRORS),
    "S1 Manifest for next": lambda document: document.replace(
        "</SOAP:Body>", f'<eb:Manifest eb:version="2.0" SOAP:actor="{NEXT}"/></SOAP:Body>'
    ),
    "S2 two MessageHeaders": second_header(""),
    "S2 two Manifests": lambda document: document.replace(
        "</SOAP:Body>", MANIFEST * 2 + "</SOAP:Body>"
    ),
    "S2 two AckRequested": with_(ACK_REQUESTED),
    "S2 Manifest in the Header": with_(MANIFEST),
    "S2 MessageHeader in the Body": lambda document: document.replace(
        "</SOAP:Body>", header_of(document) + "</SOAP:Body>"
    ),
    "S6 depth": with_("<x:x xmlns:x='urn:x'>" + "<x:x>" * 200 + "</x:x>" * 200 + "</x:x>"),
    "S6 not understood": with_(
        "<x:x xmlns:x='urn:x' SOAP:mustUnderstand='1'>" + "a" * 1000 + "</x:x>"
    ),
    "S14 DOCTYPE": lambda document: document.replace(
        "<SOAP:Envelope", "<!DOCTYPE a><SOAP:Envelope", 1
    ),
    "S14 entity": lambda document: document.replace(
        "<SOAP:Envelope", '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><SOAP:Envelope', 1
    ),
    "S14 instruction": lambda document: document.replace("<SOAP:Header>", "<?x y?><SOAP:Header>"),
}


@pytest.mark.parametrize("attack", FAULTS)
async def test_what_makes_two_readers_see_two_messages_is_a_fault(tmp_path, attack):
    async with with_peer(tmp_path) as (gateway, peer):
        document = peer.parcel(M).body.decode()
        edited = FAULTS[attack](document)
        assert edited != document
        reply = await peer.post(Parcel(PLAIN_TYPE, edited.encode()))
        assert (reply.status, read(reply.body).fault[0][:5]) == (500, "SOAP:")
        assert gateway.inbox_ids() == []
        assert gateway.rows(Event.STORED, Event.ACK_SENT) == []
        assert not peer.has_unheard()


async def test_s3_an_acknowledgement_for_the_next_msh_ends_no_message(tmp_path):
    """Injected beside nothing else, or riding on a message of its own."""
    async with with_peer(tmp_path) as (gateway, peer):
        victim = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        block = acknowledgment(victim, NEXT_MSH)
        await peer.say_acknowledgment(victim, blocks=block)
        await gateway.until_row(Event.ORPHAN_ACK_RECEIVED)
        await peer.say_business(M, ref=victim, blocks=ACK_REQUESTED + block)
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        assert gateway.state_of(victim) == "sending"


@pytest.mark.statement("E2-80")
@pytest.mark.parametrize("is_riding", [False, True])
async def test_s3_s5_nobody_speaks_for_another_partner(tmp_path, is_riding):
    """A signal or a message of a party that is not the partner's changes nothing of ours."""
    async with with_peer(tmp_path) as (gateway, peer):
        victim = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        stranger = {"from_party": "urn:duns:999999999", "ref": victim}
        if is_riding:
            await peer.say_business(M, blocks=ACK_REQUESTED + acknowledgment(victim), **stranger)
            await peer.hear("MessageError")
        else:
            blocks = acknowledgment(victim)
            await peer.say_signal("Acknowledgment", blocks=blocks, **stranger)
            await gateway.until_row(Event.ORPHAN_ACK_RECEIVED)
            assert gateway.rows(Event.SECURITY_EVENT)
        assert gateway.state_of(victim) == "sending"
        assert gateway.inbox_ids() == []


@pytest.mark.statement("E2-80")
@pytest.mark.parametrize("ref", ["", N])
async def test_s3_a_partner_acknowledges_no_message_to_another_one(tmp_path, ref):
    """Its own message is stored; what rides on it changes nothing, and is an alarm."""
    async with with_two_peers(tmp_path) as (gateway, peer, other):
        victim = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await other.say_business(M, ref=ref, blocks=ACK_REQUESTED + acknowledgment(victim))
        await gateway.until_handed_over(M)
        assert gateway.state_of(victim) == "sending"
        (orphan,) = gateway.rows(Event.ORPHAN_ACK_RECEIVED)
        (alarm,) = gateway.rows(Event.SECURITY_EVENT)
        assert orphan.message_id == alarm.message_id == victim
        assert M in alarm.reason


async def test_s4_addresses_come_from_agreements_alone(tmp_path):
    """Whatever a message says, the acknowledgement goes to the partner's address."""
    async with with_peer(tmp_path) as (_, peer):
        await peer.say_business(
            M, blocks=ACK_REQUESTED + "<x:To xmlns:x='urn:x'>http://evil</x:To>"
        )
        assert (await peer.hear("Acknowledgment")).ref == M


async def test_s6_ten_thousand_blocks_are_refused_in_bounds(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        many = "<x:x xmlns:x='urn:x'/>" * 10_000
        reply = await peer.say_business(M, blocks=ACK_REQUESTED + many)
        assert reply.status in (413, 500)
        assert gateway.inbox_ids() == []


@pytest.mark.parametrize("action", ["Ping", "StatusRequest"])
async def test_s7_a_partner_is_answered_only_so_often(tmp_path, action):
    """The transport says that it may ask later; a message of the same partner is taken."""
    body = (
        f'<eb:StatusRequest eb:version="2.0"><eb:RefToMessageId>{N}</eb:RefToMessageId>'
        "</eb:StatusRequest>"
    )
    async with with_two_peers(tmp_path) as (gateway, peer, other):
        gateway.parts.inquiries.limit(2)
        asking = {"body": body if action == "StatusRequest" else ""}
        replies = [await peer.say_signal(action, **asking) for _ in range(4)]
        assert [reply.status for reply in replies] == [204, 204, 503, 503]
        await gateway.everything_said()
        assert len(gateway.rows(Event.INQUIRY_RECEIVED)) == 2
        assert len(gateway.rows(Event.SECURITY_EVENT)) == 2
        assert (await other.say_signal(action, **asking)).status == 204
        await peer.say_business(M)
        await gateway.until_handed_over(M)


async def test_s7_a_stranger_is_not_answered(tmp_path):
    """Neither one that names a known agreement, nor one that names none."""
    async with with_peer(tmp_path) as (gateway, peer):
        for named in ({"from_party": "urn:duns:999999999"}, {"agreement": "cpa-none"}):
            reply = await peer.say_signal("Ping", **named)
            assert (reply.status, reply.body) == (204, b"")
        assert len(gateway.rows(Event.SECURITY_EVENT)) == 2
        assert gateway.rows(Event.INQUIRY_RECEIVED) == []
        assert not peer.has_unheard()


async def test_s9_a_caller_is_held_for_a_bounded_time(tmp_path):
    """And is answered by the acknowledgement alone."""
    terms = {"sync_reply_mode": "signalsAndResponse", "retry_interval": 10}
    async with with_peer(tmp_path, **terms) as (_, peer):
        reply = await peer.say_business(M, blocks=ACK_REQUESTED + SYNC_REPLY)
        assert (reply.status, read(reply.body).kind) == (200, "Acknowledgment")


@pytest.mark.parametrize("when", ["9999-12-31T23:59:59Z", "2001-01-01T00:00:01Z"])
async def test_s12_the_bounds_of_the_agreement_win(tmp_path, when):
    """A TimeToLive far away keeps nothing longer; one in the past is refused."""
    async with with_peer(tmp_path) as (gateway, peer):
        parcel = peer.parcel(M)
        lives = f"<eb:TimeToLive>{when}</eb:TimeToLive></eb:MessageData>".encode()
        body = parcel.body.replace(b"</eb:MessageData>", lives)
        await peer.post(Parcel(PLAIN_TYPE, body))
        if when.startswith("9999"):
            await peer.hear("Acknowledgment")
            await gateway.until_handed_over(M)
        else:
            error = await peer.hear("MessageError")
            assert error.attribute("Error", "errorCode") == "TimeToLiveExpired"


@pytest.mark.parametrize(
    "split", ["m-00<!-- x -->01@a.example.com", "m-00<![CDATA[01]]>@a.example.com"]
)
async def test_s13_comments_and_cdata_change_no_value(tmp_path, split):
    """The id is the same everywhere: the other copy is a repeat."""
    async with with_peer(tmp_path) as (gateway, peer):
        parcel = peer.parcel(M)
        body = parcel.body.replace(f"<eb:MessageId>{M}".encode(), f"<eb:MessageId>{split}".encode())
        assert body != parcel.body
        await peer.post(Parcel(PLAIN_TYPE, body))
        assert (await peer.hear("Acknowledgment")).ref == M
        await gateway.until_handed_over(M)
        await peer.post(parcel)
        assert (await peer.hear("Acknowledgment")).ref == M
        assert gateway.inbox_ids() == [M]


async def test_s15_another_content_under_a_known_id_is_an_alarm(tmp_path):
    """Neither stored nor acknowledged; another id with the same content is another message."""
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.say_business(M)
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        await peer.say_business(M, action="Other")
        row = await gateway.until_row(Event.COLLISION_DETECTED)
        assert row.error_code == "SecurityFailure"
        await peer.say_business(N)
        assert (await peer.hear("Acknowledgment")).ref == N
        await gateway.until_handed_over(M, N)
