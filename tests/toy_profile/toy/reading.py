"""A header document of the toy, read."""

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal, SignalHeader
from onceonly.wire.document import About, Content, Document
from onceonly.wire.elements import misshapen
from onceonly.wire.limits import Limits
from onceonly.wire.names import ACKNOWLEDGEMENT, ERROR, NAMESPACE, NORMAL
from onceonly.wire.timestamp import read_timestamp
from onceonly.wire.xml import Element
from toy.profile import TOY


def read(root: Element, _limits: Limits) -> Document:
    letters = _children(root, "Letter")
    stages = tuple(map(_stage, _children(root, "Stage")))
    if len(letters) != 1 or not stages:
        raise misshapen("the toy has other elements; expected is one Letter, and a Stage")
    labels = {part.attrib["cid"]: part.attrib["label"] for part in _children(root, "Enclosure")}
    return Document(_content(root, letters[0]), stages, labels, TOY)


def salvage(root: Element, _limits: Limits) -> About:
    return About(profile=TOY)


def _content(root: Element, letter: Element) -> Content:
    kind, said = letter.attrib["kind"], letter.attrib
    shared = {
        "message_id": said["id"],
        "from_ids": (PartyId(said["sender"]),),
        "to_ids": (PartyId(said["receiver"]),),
        "agreement_id": said["agreement"],
        "conversation_id": said["conversation"],
        "timestamp_at": read_timestamp(said["at"]),
    }
    about = said.get("about")
    if kind == NORMAL:
        return Message(
            **shared,
            service=said["service"],
            action=said["action"],
            semantics=DeliverySemantics(said["degree"]),
            ref_to_message_id=about,
        )
    header = SignalHeader(**shared, ref_to_message_id=about or "")
    if kind == ACKNOWLEDGEMENT:
        return Acknowledgment(header)
    if kind == ERROR:
        faults = tuple(map(_fault, _children(root, "Fault")))
        return ErrorSignal(header, faults, DeliverySemantics.BEST_EFFORT)
    raise misshapen("the toy asks no questions; expected is a message, or a verdict on one")


def _fault(fault: Element) -> ErrorEntry:
    return ErrorEntry(
        code=ErrorCode(fault.attrib["code"]),
        severity=Severity(fault.attrib["severity"]),
        description=fault.attrib["text"],
    )


def _stage(stage: Element) -> RoutingHeader:
    (hop,) = _children(stage, "Hop")
    return RoutingHeader(
        sender_uri=hop.attrib["sender"],
        receiver_uri=hop.attrib["receiver"],
        error_uri=hop.attrib["error"],
        timestamp_at=read_timestamp(hop.attrib["at"]),
    )


def _children(root: Element, name: str) -> list[Element]:
    return root.findall(f"{{{NAMESPACE}}}{name}")
