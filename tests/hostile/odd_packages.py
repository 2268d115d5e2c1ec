"""Whole packages of every kind in both profiles, each field of which can be given any value.

Made without our own wire code. A field is text, or None where the document does not have it; the
text is written as it is, however odd, so that what stands in the field is what was asked for.
"""

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

import odd_values as odd
from packages import BOUNDARY, NAMESPACE, ORDER, ROOT_ID, Parcel
from packages_2001 import ACKNOWLEDGMENT, ERROR, SERVICES

EXTENSION: Final = "urn:onceonly:extension"
Fields = Mapping[str, str | None]

VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "text": odd.TEXTS,
    "uri": odd.URIS,
    "party": odd.URIS,
    "party type": odd.PARTY_TYPES,
    "number": odd.NUMBERS,
    "time": odd.TIMES,
    "word": odd.WORDS,
    "code": odd.ERROR_CODES,
    "media type": odd.MEDIA_TYPES,
    "content id": odd.CONTENT_IDS,
    "transfer encoding": odd.TRANSFER_ENCODINGS,
    "field": odd.FIELDS,
    "outer field": odd.OUTER_FIELDS,
    "status": odd.STATUSES,
    "charset": ("utf-16", "utf-16-be", "utf-8-sig", "latin-1"),
}
"""What a field of each sort is replaced by; any text may stand in any of them, too."""

SORTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("from_party", "to_party", "ack_party"), "party"),
    **dict.fromkeys(("from_type", "to_type", "ack_type"), "party type"),
    **dict.fromkeys(("sender_uri", "receiver_uri", "error_uri"), "uri"),
    **dict.fromkeys(("earlier_sender", "earlier_receiver"), "uri"),
    **dict.fromkeys(("timestamp", "hop_timestamp", "time_to_live", "received_at"), "time"),
    **dict.fromkeys(("ack_timestamp", "earlier_timestamp"), "time"),
    **dict.fromkeys(("number", "min_retry"), "number"),
    **dict.fromkeys(("version", "message_type", "semantics", "severity", "signed"), "word"),
    **dict.fromkeys(("sync_reply_mode", "receipt", "ack_requested", "method"), "word"),
    **dict.fromkeys(("assurance", "passed_on", "accepted", "status", "processing"), "word"),
    **dict.fromkeys(("highest_severity", "declared", "header_version"), "word"),
    **dict.fromkeys(("code", "other_code"), "code"),
    **dict.fromkeys(("package_type", "header_type", "payload_type"), "media type"),
    **dict.fromkeys(("header_id", "payload_id", "document_id"), "content id"),
    **dict.fromkeys(("header_encoding", "payload_encoding"), "transfer encoding"),
    **dict.fromkeys(("header_field", "payload_field"), "field"),
    "charset": "charset",
    "outer_field": "outer field",
    "answer_status": "status",
}
"""Of which sort a field is; the others are text."""


def values_for(field: str) -> tuple[str, ...]:
    """The odd values that are made for the field."""
    return VALUES[SORTS.get(field, "text")]


class Kind(NamedTuple):
    """One kind of package: its profile, how its document is written, and its usual fields."""

    profile: str
    write: Callable[[Fields], str]
    fields: Fields
    is_message: bool = False
    """A business message, which names parties; a signal names the two MSHs."""


def _leaf(name: str, text: str | None, **attributes: str | None) -> str:
    if text is None:
        return ""
    return f"<{name}{_attributes(**attributes)}>{escape(text, _MORE)}</{name}>"


def _attributes(**values: str | None) -> str:
    given = ((name.rstrip("_"), text) for name, text in values.items() if text is not None)
    return "".join(f' {name.replace("__", ":")}="{escape(text, _MORE)}"' for name, text in given)


_MORE: Final = {'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
"""So that white space of a value arrives as it is."""


def _party(name: str, value: str | None, type_: str | None) -> str:
    return "" if value is None else f"<{name}>{_leaf('PartyId', value, type=type_)}</{name}>"


def _message_data(its: Fields) -> str:
    return (
        "<MessageData>"
        f"{_leaf('MessageId', its['message_id'])}{_leaf('Timestamp', its['timestamp'])}"
        f"{_leaf('RefToMessageId', its['ref'])}{_leaf('TimeToLive', its.get('time_to_live'))}"
        "</MessageData>"
    )


def _errors(its: Fields, code: str, severity: str) -> str:
    if its.get("code") is None:
        return ""
    lines = (
        f"<Error{_attributes(**{code: its[field], severity: its['severity']})}>"
        f"{_leaf('Description', its['description'], xml__lang='en')}"
        f"{_leaf('MinRetrySecs', its['min_retry'])}</Error>"
        for field in ("code", "other_code")
        if its.get(field) is not None
    )
    highest = _attributes(highestSeverity=its.get("highest_severity"))
    return f"<ErrorList{highest}>{''.join(lines)}</ErrorList>"


def _extension(its: Fields) -> str:
    """What we add to both profiles: AckStatus and Report."""
    status = _attributes(assurance=its.get("assurance"), passedOn=its.get("passed_on"))
    report = _attributes(
        accepted=its.get("accepted"),
        about=its.get("about"),
        status=its.get("status"),
        processing=its.get("processing"),
        receivedAt=its.get("received_at"),
    )
    elements = (("AckStatus", status), ("Report", report))
    return "".join(f'<{name} xmlns="{EXTENSION}"{text}/>' for name, text in elements if text)


def write_2000(its: Fields) -> str:
    """The header document of profile rm-2000."""
    manifest = ""
    if its.get("document_id") is not None:
        manifest = (
            f"<Manifest><DocumentReference>{_leaf('DocumentLabel', its['label'])}"
            f"<DocumentId>cid:{escape(its['document_id'] or '')}</DocumentId>"
            f"{_leaf('DocumentDescription', its['document_text'])}</DocumentReference></Manifest>"
        )
    root = _attributes(xmlns=NAMESPACE, Version=its["version"], MessageType=its["message_type"])
    return (
        f"<ebXMLHeader{root}>{manifest}<Header>"
        f"{_party('From', its['from_party'], its['from_type'])}"
        f"{_party('To', its['to_party'], its['to_type'])}<TPAInfo>"
        f"{_leaf('TPAId', its['agreement'])}{_leaf('ConversationId', its['conversation'])}"
        f"{_leaf('ServiceInterface', its['service'])}{_leaf('Action', its['action'])}</TPAInfo>"
        f"{_message_data(its)}<ReliableMessagingInfo>"
        f"{_leaf('DeliverySemantics', its['semantics'])}</ReliableMessagingInfo></Header>"
        f"<RoutingHeader>{_leaf('SenderURI', its['sender_uri'])}"
        f"{_leaf('ReceiverURI', its['receiver_uri'])}{_leaf('ErrorURI', its['error_uri'])}"
        f"{_leaf('Timestamp', its['hop_timestamp'])}{_leaf('SequenceNumber', its['number'])}"
        f"</RoutingHeader>{_errors(its, 'ErrorCode', 'Severity')}{_extension(its)}</ebXMLHeader>"
    )


def write_2001(its: Fields) -> str:
    """The header document of profile rm-2001."""
    manifest = ""
    if its.get("document_id") is not None:
        href = f"cid:{its['document_id']}"
        title = its["label"]
        manifest = (
            f"<Manifest><Reference{_attributes(xlink__href=href, xlink__title=title)}/></Manifest>"
        )
    quality = _attributes(
        deliverySemantics=its["semantics"],
        syncReplyMode=its.get("sync_reply_mode"),
        deliveryReceiptRequested=its.get("receipt"),
    )
    root = _attributes(
        xmlns=NAMESPACE, xmlns__xlink="http://www.w3.org/1999/xlink", version=its["version"]
    )
    return (
        f"<ebXMLHeader{root}>{manifest}<Header>"
        f"{_party('From', its['from_party'], its['from_type'])}"
        f"{_party('To', its['to_party'], its['to_type'])}"
        f"{_leaf('CPAId', its['agreement'])}{_leaf('ConversationId', its['conversation'])}"
        f"{_leaf('Service', its['service'])}{_leaf('Action', its['action'])}{_message_data(its)}"
        f"<QualityOfServiceInfo{quality}/></Header><RoutingHeaderList>{_earlier(its)}"
        f"{_hop_2001(its)}</RoutingHeaderList>{_acknowledgment(its)}"
        f"{_errors(its, 'errorCode', 'severity')}{_extension(its)}</ebXMLHeader>"
    )


def _earlier(its: Fields) -> str:
    if its.get("earlier_sender") is None:
        return ""
    return (
        f"<RoutingHeader>{_leaf('SenderURI', its['earlier_sender'])}"
        f"{_leaf('ReceiverURI', its['earlier_receiver'])}"
        f"{_leaf('Timestamp', its['earlier_timestamp'])}</RoutingHeader>"
    )


def _hop_2001(its: Fields) -> str:
    hop = _attributes(reliableMessagingMethod=its["method"], ackRequested=its["ack_requested"])
    return (
        f"<RoutingHeader{hop}>{_leaf('SenderURI', its['sender_uri'])}"
        f"{_leaf('ReceiverURI', its['receiver_uri'])}{_leaf('ErrorURI', its['error_uri'])}"
        f"{_leaf('Timestamp', its['hop_timestamp'])}</RoutingHeader>"
    )


def _acknowledgment(its: Fields) -> str:
    if its.get("ack_timestamp") is None:
        return ""
    sender = _party("From", its["ack_party"], its["ack_type"])
    return (
        f"<Acknowledgment{_attributes(signed=its['signed'])}>"
        f"{_leaf('Timestamp', its['ack_timestamp'])}{sender}</Acknowledgment>"
    )


# --- The kinds -----------------------------------------------------------------------------------

_PACKAGE: Final[Fields] = {
    "package_type": None,
    "declared": None,
    "header_type": None,
    "header_version": None,
    "header_id": ROOT_ID,
    "header_encoding": None,
    "header_field": None,
    "charset": None,
}
"""None: as the profile has it."""

_HEADER: Final[Fields] = {
    **_PACKAGE,
    "from_party": "",
    "from_type": None,
    "to_party": "",
    "to_type": None,
    "agreement": "",
    "conversation": "conv-1",
    "service": "urn:services:QuoteToCollect",
    "action": "NewPurchaseOrder",
    "message_id": "",
    "timestamp": "",
    "ref": None,
    "semantics": "OnceAndOnlyOnce",
    "sender_uri": "",
    "receiver_uri": "",
    "error_uri": None,
    "hop_timestamp": "",
}
"""Empty: whoever sends it fills it in."""

_PAYLOAD: Final[Fields] = {
    "document_id": "po-1@a.example.com",
    "label": "order.xml",
    "payload_id": "po-1@a.example.com",
    "payload_type": "application/xml",
    "payload_encoding": None,
    "payload_field": None,
}
_OF_2000: Final[Fields] = {
    **_HEADER, "version": "0.21", "error_uri": "", "number": None, "document_text": None,
}  # fmt: skip
_OF_2001: Final[Fields] = {
    **_HEADER, "version": "0.93", "method": "ebXML", "ack_requested": "Unsigned",
    "ack_timestamp": None, "ack_party": None, "ack_type": None, "signed": None,
}  # fmt: skip
_ERROR: Final[Fields] = {
    "code": "NotSupported", "other_code": None, "severity": "Error", "description": "no",
    "min_retry": None, "highest_severity": None,
}  # fmt: skip
_MESSAGE_2001: Final[Fields] = {
    **_OF_2001, "sync_reply_mode": None, "receipt": None, "time_to_live": None,
    "earlier_sender": None, "earlier_receiver": "http://between.example/", "earlier_timestamp": "",
}  # fmt: skip
_REPORT: Final[Fields] = {
    "accepted": "true", "about": "", "status": None, "processing": None, "received_at": None,
}  # fmt: skip


def _signal_2000(message_type: str, **fields: str | None) -> Kind:
    words: Fields = {"message_type": message_type, "service": "", "action": "", "ref": ""}
    return Kind("rm-2000", write_2000, {**_OF_2000, "semantics": "BestEffort", **words, **fields})


def _signal_2001(words: tuple[str, str], **fields: str | None) -> Kind:
    named: Fields = {"service": words[0], "action": words[1], "ref": ""}
    return Kind("rm-2001", write_2001, {**_OF_2001, "semantics": "BestEffort", **named, **fields})


_INQUIRIES: Final = {
    "ping": ("MessageAvailability", "Ping", "Pong"),
    "status": ("MessageStatus", "StatusRequest", "StatusResponse"),
    "cancel": ("MessageCancellation", "CancelRequest", "CancelResponse"),
    "response": ("MessageResponse", "ResponseRequest", "ResponseNotice"),
}
_SAID: Final[Fields] = {
    "status": "Received", "processing": "in-progress", "received_at": "2026-11-25T03:38:38Z",
}  # fmt: skip


def _asked(name: str) -> dict[str, Kind]:
    """An inquiry and its report, in both profiles."""
    service, question, answer = _INQUIRIES[name]
    ref = None if name == "ping" else ""
    report = {**_REPORT, **_SAID} if name == "status" else _REPORT
    return {
        f"2000 {name} request": _signal_2000(question, ref=ref),
        f"2000 {name} report": _signal_2000(answer, **report),
        f"2001 {name} request": _signal_2001((SERVICES + service, question), ref=ref),
        f"2001 {name} report": _signal_2001((SERVICES + service, answer), **report),
    }


KINDS: Final[Mapping[str, Kind]] = {
    "2000 message": Kind(
        "rm-2000",
        write_2000,
        {**_OF_2000, **_PAYLOAD, "message_type": "Normal", "number": ""},
        is_message=True,
    ),
    "2000 bare message": Kind(
        "rm-2000",
        write_2000,
        {**_OF_2000, "message_type": None, "semantics": "BestEffort"},
        is_message=True,
    ),
    "2000 acknowledgement": _signal_2000("Acknowledgement", assurance=None, passed_on=None),
    "2000 error": _signal_2000("Error", **_ERROR),
    "2001 message": Kind("rm-2001", write_2001, {**_MESSAGE_2001, **_PAYLOAD}, is_message=True),
    "2001 bare message": Kind("rm-2001", write_2001, _MESSAGE_2001, is_message=True),
    "2001 relayed message": Kind(
        "rm-2001",
        write_2001,
        {**_MESSAGE_2001, **_PAYLOAD, "earlier_sender": "http://before.example/"},
        is_message=True,
    ),
    "2001 response": Kind(
        "rm-2001",
        write_2001,
        {**_MESSAGE_2001, **_PAYLOAD, "ref": "", "ack_timestamp": "", "signed": "false"},
        is_message=True,
    ),
    "2001 acknowledgement": _signal_2001(
        ACKNOWLEDGMENT, ack_timestamp="", signed="false", assurance=None, passed_on=None
    ),
    "2001 receipt": _signal_2001(
        (f"{SERVICES}MessageDeliveryReceipt", "DeliveryReceipt"), ack_timestamp=""
    ),
    "2001 error": _signal_2001(ERROR, **_ERROR),
    "2001 failure": _signal_2001(
        ERROR, **{**_ERROR, "code": "DeliveryFailure", "severity": "Warning"}
    ),
    **{name: kind for one in _INQUIRIES for name, kind in _asked(one).items()},
}
"""Every kind of package that there is, by name."""


def fields_of(kind: str, entrance: str) -> tuple[str, ...]:
    """The fields that a package of the kind has a place for, and those of what brings it."""
    outer = () if entrance == "amqp" else ("outer_field",)
    return (*KINDS[kind].fields, *outer, *(("answer_status",) if entrance == "answer" else ()))


def stamp() -> str:
    """Now, in the form that both profiles read."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"


_TIMES: Final = (
    "timestamp", "hop_timestamp", "ack_timestamp", "earlier_timestamp", "time_to_live",
)  # fmt: skip


def parcel(kind: str, addresses: Fields, changes: Fields) -> Parcel:
    """The package: the kind's own fields, who it is from and for, and what is odd about it."""
    made = KINDS[kind]
    its: dict[str, str | None] = {**made.fields}
    its.update({name: value for name, value in addresses.items() if its.get(name) == ""})
    its.update({name: stamp() for name in _TIMES if its.get(name) == ""})
    if "payload_id" in changes:
        its["document_id"] = changes["payload_id"]
    its.update(changes)
    return _wrapped(made, its)


def _wrapped(made: Kind, its: Fields) -> Parcel:
    """The document and its payload as one multipart/related package."""
    document = _encoded(made.write(its), its["charset"])
    said = its["declared"] or its["version"] or ""
    header_type = (
        its["header_type"]
        or f'application/vnd.eb+xml; version="{its["header_version"] or its["version"]}"'
    )
    parts = [(header_type, its["header_id"], its["header_encoding"], its["header_field"], document)]
    if "payload_type" in its:
        parts.append(
            (
                its["payload_type"] or "",
                its["payload_id"],
                its["payload_encoding"],
                its["payload_field"],
                ORDER,
            )
        )
    body = b"".join(_part(*part) for part in parts) + f"--{BOUNDARY}--\r\n".encode()
    package_type = its["package_type"] or (
        f'multipart/related; type="application/vnd.eb+xml"; version="{said}"; boundary="{BOUNDARY}"'
    )
    return Parcel(package_type, body)


def _part(
    kind: str, name: str | None, encoding: str | None, field: str | None, content: bytes
) -> bytes:
    lines = [f"--{BOUNDARY}", f"Content-Type: {kind}"]
    lines += [] if name is None else [f"Content-ID: <{name}>"]
    lines += [] if encoding is None else [f"Content-Transfer-Encoding: {encoding}"]
    lines += [] if field is None else [field]
    if encoding is not None and encoding.strip().lower() == "base64":
        content = base64.encodebytes(content).replace(b"\n", b"\r\n")
    head = "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass")
    return head + content + b"\r\n"


def _encoded(document: str, charset: str | None) -> bytes:
    if charset is None:
        return document.encode("utf-8", "surrogatepass")
    mark = b"\xfe\xff" if charset == "utf-16-be" else b""
    return mark + document.encode(charset, "replace")
