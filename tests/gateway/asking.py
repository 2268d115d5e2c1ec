"""Inquiries and reports of the other MSH in profile `rm-2000`, made without our own wire code."""

from collections.abc import Mapping
from typing import Any

from packages import NAMESPACE, SIGNAL, Parcel, stamp, wrap
from peer import Arrival, Peer, Reply

EXTENSION = "urn:onceonly:extension"
ANSWER_TO = {
    "Ping": "Pong",
    "StatusRequest": "StatusResponse",
    "CancelRequest": "CancelResponse",
    "ResponseRequest": "ResponseNotice",
}


def report_of(arrival: Arrival) -> Mapping[str, str]:
    """The attributes of the Report of an answer."""
    element = arrival.document.find(f"{{{EXTENSION}}}Report")
    assert element is not None, f"{arrival.kind} has no Report"
    return element.attrib


async def ask(peer: Peer, kind: str, about: str = "", **fields: Any) -> tuple[str, Reply]:
    """Post an inquiry about a message; its MessageId and the answer of HTTP."""
    message_id = peer.fresh_id("q")
    return message_id, await peer.post(inquiry(peer, kind, about, message_id=message_id, **fields))


async def report(peer: Peer, asked: Arrival, **attributes: str) -> Reply:
    """Answer an inquiry that the peer heard; `attributes` of the Report replace the usual ones."""
    reference = asked.find("Header/MessageData/RefToMessageId")
    said = {"accepted": "true", **attributes}
    if reference is not None:
        said.setdefault("about", reference.text or "")
    words = " ".join(f'{name}="{value}"' for name, value in said.items())
    element = f'  <Report xmlns="{EXTENSION}" {words}/>\n'
    return await peer.post(inquiry(peer, ANSWER_TO[asked.kind], asked.message_id, errors=element))


def inquiry(peer: Peer, kind: str, ref: str, **fields: Any) -> Parcel:
    values = {
        "namespace": NAMESPACE,
        "kind": kind,
        "ref": ref,
        "message_id": peer.fresh_id("s"),
        "sender_uri": peer.uri,
        "receiver_uri": peer.gateway_uri,
        "agreement": peer.agreement,
        "conversation": "conv-1",
        "timestamp": stamp(),
        "errors": "",
        **fields,
    }
    document = SIGNAL.format(**values)
    return wrap(document.replace("      <RefToMessageId></RefToMessageId>\n", ""))
