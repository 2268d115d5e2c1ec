"""The other MSH in ebMS 2.0, made without our own wire code; its messages have no payload."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from packages import Parcel
from peer import Arrival, Peer, Reply
from running_gateway import RunningGateway
from two_parties import SELLER, agreement, house, write

from ports import free_port

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
EB = "http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"
MSH = "urn:oasis:names:tc:ebxml-msg:service"
TO_PARTY = "urn:oasis:names:tc:ebxml-msg:actor:toPartyMSH"
PLAIN_TYPE = 'text/xml; charset="UTF-8"'
TERMS: dict[str, Any] = {"profile": "ebms-2.0", "timeout": None}

BLOCK = 'eb:version="2.0" SOAP:mustUnderstand="1"'
ACK_REQUESTED = f'<eb:AckRequested {BLOCK} SOAP:actor="{TO_PARTY}" eb:signed="false"/>'
ELIMINATED = "<eb:DuplicateElimination/>"
NEXT_MSH = TO_PARTY.replace("toPartyMSH", "nextMSH")
NEXT_ACK_REQUESTED = ACK_REQUESTED.replace(TO_PARTY, NEXT_MSH)
SYNC_REPLY = f'<eb:SyncReply {BLOCK} SOAP:actor="http://schemas.xmlsoap.org/soap/actor/next"/>'
ORDERING = {"service": "urn:services:Ordering"}

DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<SOAP:Envelope xmlns:SOAP="{soap}" xmlns:eb="{eb}"><SOAP:Header>
<eb:MessageHeader {block}>
 <eb:From><eb:PartyId>{from_party}</eb:PartyId></eb:From>
 <eb:To><eb:PartyId>{to_party}</eb:PartyId></eb:To>
 <eb:CPAId>{agreement}</eb:CPAId><eb:ConversationId>conv-1</eb:ConversationId>
 <eb:Service>{service}</eb:Service><eb:Action>{action}</eb:Action>
 <eb:MessageData><eb:MessageId>{message_id}</eb:MessageId>
  <eb:Timestamp>{timestamp}</eb:Timestamp>{ref}</eb:MessageData>{eliminated}
</eb:MessageHeader>{blocks}</SOAP:Header><SOAP:Body>{body}</SOAP:Body></SOAP:Envelope>
"""


def acknowledgment(ref: str, actor: str = TO_PARTY) -> str:
    """The block that acknowledges a message."""
    return (
        f'<eb:Acknowledgment {BLOCK} SOAP:actor="{actor}"><eb:Timestamp>{stamp()}'
        f"</eb:Timestamp><eb:RefToMessageId>{ref}</eb:RefToMessageId></eb:Acknowledgment>"
    )


def acknowledged_by(heard: "Heard") -> str:
    """The message that an Acknowledgment in it names."""
    name = f".//{{{EB}}}Acknowledgment/{{{EB}}}RefToMessageId"
    return heard.document.findtext(name) or ""


def answer_with(
    body: bytes, status: str = "200 OK", *headers: str, kind: str = PLAIN_TYPE
) -> bytes:
    """An answer of HTTP with a body."""
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def fault_answer(code: str, text: str, detail: str = "", status: str = "500 Oh") -> bytes:
    """A SOAP Fault as an answer."""
    name = code if ":" in code else f"S:{code}"
    said = f"<faultcode>{name}</faultcode><faultstring>{text}</faultstring>"
    if detail:
        said += f"<detail>{detail}</detail>"
    envelope = (
        f'<S:Envelope xmlns:S="{SOAP}" xmlns:x="urn:x"><S:Body><S:Fault>{said}</S:Fault></S:Body>'
        "</S:Envelope>"
    )
    return answer_with(envelope.encode(), status)


def stamp() -> str:
    """The present as an xs:dateTime."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Heard(NamedTuple):
    """A request or an answer as it came in."""

    document: ET.Element
    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})

    @property
    def kind(self) -> str:
        """The Action; of a fault, its code."""
        return self.text("Action") or f"Fault {self.fault[0]}"

    @property
    def message_id(self) -> str:
        return self.text("MessageId")

    @property
    def ref(self) -> str:
        """RefToMessageId in the MessageHeader."""
        return self.text("RefToMessageId")

    @property
    def fault(self) -> tuple[str, str]:
        """faultcode and faultstring."""
        code, text = (self.document.findtext(f".//{name}") for name in ("faultcode", "faultstring"))
        assert code is not None, self.body
        return code, text or ""

    def text(self, name: str) -> str:
        """The first element of this name; empty if there is none."""
        return self.document.findtext(f".//{{{EB}}}{name}") or ""

    def parties(self, name: str) -> list[str | None]:
        """The PartyIds of From or To in the MessageHeader."""
        path = "/".join(f"{{{EB}}}{step}" for step in ("MessageHeader", name, "PartyId"))
        return [one.text for one in self.document.findall(f".//{path}")]

    def attribute(self, element: str, name: str) -> str | None:
        """An attribute of the first such element."""
        found = self.document.find(f".//{{{EB}}}{element}")
        assert found is not None, f"no {element} in {self.body!r}"
        return found.get(f"{{{EB}}}{name}")


def read(body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> Heard:
    """The envelope, alone or as the first part of a package."""
    start, end = body.index(b"<?xml"), body.rindex(b"</SOAP:Envelope>")
    return Heard(ET.fromstring(body[start : end + len(b"</SOAP:Envelope>")]), body, headers)


class PeerEbms2(Peer):
    """A partner of a gateway under a CPA."""

    def __init__(self, party: str = "urn:duns:311111111", agreement: str = "cpa-ab-1") -> None:
        super().__init__(party, agreement)

    def read(self, request_line: str, headers: dict[str, str], body: bytes) -> Arrival:
        return read(body, headers)  # type: ignore[return-value]  # because what is read of it has its names

    def parcel(self, message_id: str, **fields: Any) -> Parcel:
        """An envelope of ours to the gateway: a business message that wants both flags."""
        ref = fields.pop("ref", "")
        values = {
            "soap": SOAP,
            "eb": EB,
            "block": BLOCK,
            "from_party": self.party,
            "to_party": self.gateway_party,
            "agreement": self.agreement,
            "service": "urn:services:Ordering",
            "action": "NewOrder",
            "message_id": message_id,
            "timestamp": stamp(),
            "ref": f"<eb:RefToMessageId>{ref}</eb:RefToMessageId>" if ref else "",
            "eliminated": ELIMINATED,
            "blocks": ACK_REQUESTED,
            "body": "",
            **fields,
        }
        return Parcel(PLAIN_TYPE, DOCUMENT.format(**values).encode())

    async def say_business(self, message_id: str, **fields: Any) -> Reply:
        """Post a business message."""
        return await self.post(self.parcel(message_id, **fields))

    async def say_signal(self, action: str, **fields: Any) -> Reply:
        """Post a signal of the MSH."""
        return await self.post(self.signal(action, **fields))

    async def say_acknowledgment(self, ref: str, **fields: Any) -> Reply:
        """Acknowledge a message of the gateway as the To Party."""
        blocks = fields.pop("blocks", None) or acknowledgment(ref)
        return await self.say_signal("Acknowledgment", ref=ref, blocks=blocks, **fields)

    def signal(self, action: str, **fields: Any) -> Parcel:  # type: ignore[override]  # because its kinds are Actions
        """A signal of the MSH, not posted."""
        message_id = fields.pop("message_id", None) or self.fresh_id("s")
        usual = {"service": MSH, "action": action, "eliminated": "", "blocks": ""}
        return self.parcel(message_id, **{**usual, **fields})


@asynccontextmanager
async def with_peer(
    directory: Path, **terms: Any
) -> AsyncIterator[tuple[RunningGateway, PeerEbms2]]:
    """A gateway of the seller's, and a raw peer under an agreement with it."""
    async with _running(directory, (PeerEbms2(),), terms) as (gateway, peers):
        yield gateway, peers[0]


@asynccontextmanager
async def with_two_peers(
    directory: Path, **terms: Any
) -> AsyncIterator[tuple[RunningGateway, PeerEbms2, PeerEbms2]]:
    """A gateway of the seller's, and two partners of it, each under an agreement of its own."""
    peers = PeerEbms2(), PeerEbms2("urn:duns:411111111", "cpa-cd-1")
    async with _running(directory, peers, terms) as (gateway, _):
        yield gateway, *peers


@asynccontextmanager
async def _running(
    directory: Path, peers: Sequence[PeerEbms2], terms: dict[str, Any]
) -> AsyncIterator[tuple[RunningGateway, Sequence[PeerEbms2]]]:
    tables = [
        agreement(peer.agreement, peer.party, peer.uri, **{**TERMS, **terms}) for peer in peers
    ]
    gateway = write(directory, "seller", house(SELLER, "seller", free_port()), *tables)
    async with served(gateway, peers):
        yield gateway, peers


@asynccontextmanager
async def served(gateway: RunningGateway, peers: Sequence[PeerEbms2]) -> AsyncIterator[None]:
    """The gateway and its partners, running."""
    for peer in peers:
        peer.gateway_uri, peer.gateway_party = gateway.uri, SELLER
        await peer.listen()
    await gateway.start()
    try:
        yield
    finally:
        await gateway.stop(0.0)
        for peer in peers:
            await peer.close()
