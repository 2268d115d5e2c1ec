"""Reading the `ebXMLHeader` document of profile `rm-2000`.

Implements seed 000 §2.2-2.4 and `wire.md` Part A2 and A3. Reading is strict about what it uses
(place, order, count, grammar) and skips what it does not know (A12), but an element that bears
one of our names in the wrong place or namespace is refused rather than skipped: another reader of
the same bytes might take it for the real one (attack X12).
"""

import re
from typing import Final, NamedTuple

from onceonly.message.errors import ErrorCode, RemoteError, Severity
from onceonly.message.identity import PartyId, checked_identifier, checked_text, is_uri
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal, SignalHeader
from onceonly.wire import names
from onceonly.wire.limits import Limits
from onceonly.wire.mime import is_content_id
from onceonly.wire.timestamp import read_timestamp
from onceonly.wire.xml import WHITE_SPACE, Element

Content = Message | Acknowledgment | ErrorSignal
"""What a package is: a business message or one of the two signals."""

DESCRIPTION_LENGTH_MAX: Final = 4096
"""Longest Description of an Error that is kept. The rest is cut off: refusing an error report
for its prose would hide the error."""

_SEMANTICS = {
    semantics.value: semantics
    for semantics in (DeliverySemantics.ONCE_AND_ONLY_ONCE, DeliverySemantics.BEST_EFFORT)
}
_SEVERITIES = {severity.value: severity for severity in Severity}
_ERROR_CODES = {code.value: code for code in ErrorCode}
_VERSION = re.compile(r"([0-9]{1,4})\.[0-9]{1,4}")
_NUMBER = re.compile(r"[0-9]{1,9}")


class Document(NamedTuple):
    """An `ebXMLHeader` that was read; its payloads are only named yet."""

    content: Content
    routing: tuple[RoutingHeader, ...]
    labels: dict[str, str]
    """DocumentLabel by content id, one entry for every DocumentReference of the Manifest."""


class About(NamedTuple):
    """What is known of the sender of a message that is refused, so that it can be told.

    Each field holds what stood there if it was readable and valid, else None (or nothing).
    `message_type` is one of Normal, Acknowledgement and Error.
    """

    message_type: str | None = None
    agreement_id: str | None = None
    from_ids: tuple[PartyId, ...] = ()
    message_id: str | None = None
    conversation_id: str | None = None
    sender_uri: str | None = None
    receiver_uri: str | None = None
    error_uri: str | None = None


class _Order:
    """The children of one element: which names, in which order."""

    def __init__(self, parent: str, children: tuple[tuple[str, ...], ...]) -> None:
        self.parent = parent
        self.places = {
            f"{{{names.NAMESPACE}}}{name}": (place, alternatives[0])
            for place, alternatives in enumerate(children)
            for name in alternatives
        }


_ROOT = _Order(names.ROOT, names.ROOT_CHILDREN)
_MANIFEST = _Order("Manifest", names.MANIFEST_CHILDREN)
_DOCUMENT_REFERENCE = _Order("DocumentReference", names.DOCUMENT_REFERENCE_CHILDREN)
_HEADER = _Order("Header", names.HEADER_CHILDREN)
_PARTY = _Order("From or To", names.PARTY_CHILDREN)
_TPA_INFO = _Order("TPAInfo", names.TPA_INFO_CHILDREN)
_MESSAGE_DATA = _Order("MessageData", names.MESSAGE_DATA_CHILDREN)
_RELIABLE_MESSAGING_INFO = _Order("ReliableMessagingInfo", names.RELIABLE_MESSAGING_INFO_CHILDREN)
_ROUTING_HEADER = _Order("RoutingHeader", names.ROUTING_HEADER_CHILDREN)
_ERROR_LIST = _Order("ErrorList", names.ERROR_LIST_CHILDREN)
_ERROR = _Order("Error", names.ERROR_CHILDREN)
_ORDERS = (
    _ROOT,
    _MANIFEST,
    _DOCUMENT_REFERENCE,
    _HEADER,
    _PARTY,
    _TPA_INFO,
    _MESSAGE_DATA,
    _RELIABLE_MESSAGING_INFO,
    _ROUTING_HEADER,
    _ERROR_LIST,
    _ERROR,
)
_OUR_NAMES = frozenset(tag.rpartition("}")[2] for order in _ORDERS for tag in order.places) | {
    names.ROOT
}

_ROOT_TAG = f"{{{names.NAMESPACE}}}{names.ROOT}"


def read(root: Element, limits: Limits) -> Document:
    """The document under `root`.

    Raises `RemoteError`: OtherXml for elements out of place, ValueNotRecognized, Inconsistent
    and NotSupported for values, MessageTooLarge past a limit.
    """
    message_type = _read_message_type(root)
    sections, hops = _read_root(root, limits)
    header = _once(sections["Header"], _HEADER)
    routing = tuple(map(_read_routing_header, hops))
    semantics = _read_semantics(sections, header)
    labels = _read_manifest(sections.get("Manifest"), limits)
    content: Content
    if message_type == names.NORMAL:
        content = _read_message(header, semantics, limits)
        if semantics is not DeliverySemantics.BEST_EFFORT and routing[-1].sequence_number is None:
            raise _misshapen("a OnceAndOnlyOnce message has no SequenceNumber")
    else:
        # What else a signal says of itself (service, action, semantics) has no effect.
        content = _read_signal(header, message_type, sections.get("ErrorList"), limits)
        if labels:
            raise RemoteError(ErrorCode.MIME_PROBLEM, "a signal has a Manifest")
    if message_type != names.ERROR and "ErrorList" in sections:
        raise _misshapen("only an Error has an ErrorList")
    return Document(content, routing, labels)


def about(document: Document) -> About:
    """What is known of the sender of a document that could be read."""
    content, hop = document.content, document.routing[-1]
    header = content if isinstance(content, Message) else content.header
    return About(
        names.NORMAL
        if isinstance(content, Message)
        else names.ACKNOWLEDGEMENT
        if isinstance(content, Acknowledgment)
        else names.ERROR,
        header.agreement_id,
        header.from_ids,
        header.message_id,
        header.conversation_id,
        hop.sender_uri,
        hop.receiver_uri,
        hop.error_uri,
    )


# --- Structure ---------------------------------------------------------------------------------


def _misshapen(description: str) -> RemoteError:
    return RemoteError(ErrorCode.OTHER_XML, description)


def _unrecognized(description: str) -> RemoteError:
    return RemoteError(ErrorCode.VALUE_NOT_RECOGNIZED, description)


def _known_children(element: Element, order: _Order) -> list[tuple[str, Element]]:
    """The children that we know, by name. Refuses text beside them, and a wrong order."""
    text = element.text
    if text is not None and text.strip(WHITE_SPACE):
        raise _misshapen(f"{order.parent} holds text")
    places, last = order.places, 0
    found = []
    for child in element:
        known = places.get(child.tag)
        if known is not None:
            place, name = known
            if place < last:
                raise _misshapen(f"the elements of {order.parent} are out of order")
            last = place
            found.append((name, child))
        elif child.tag.rpartition("}")[2] in _OUR_NAMES:
            raise _misshapen(f"{order.parent} holds an element that belongs elsewhere")
        tail = child.tail
        if tail is not None and tail.strip(WHITE_SPACE):
            raise _misshapen(f"{order.parent} holds text")
    return found


def _once(element: Element, order: _Order) -> dict[str, Element]:
    """The known children of `element`, each at most once: never first wins (attack X12)."""
    found: dict[str, Element] = {}
    for name, child in _known_children(element, order):
        if name in found:
            raise _misshapen(f"{name} twice in {order.parent}")
        found[name] = child
    return found


def _several(element: Element, order: _Order, most: int) -> list[Element]:
    """The known children of an `element` that holds one or more of one kind."""
    found = [child for _, child in _known_children(element, order)]
    if not found:
        raise _misshapen(f"{order.parent} is empty")
    if len(found) > most:
        raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, f"{order.parent} holds too much")
    return found


def _get(found: dict[str, Element], name: str) -> Element:
    element = found.get(name)
    if element is None:
        raise _misshapen(f"{name} is missing")
    return element


def _text(element: Element, name: str) -> str:
    if len(element):
        raise _misshapen(f"{name} holds elements")
    return element.text or ""


def _get_text(found: dict[str, Element], name: str) -> str:
    return _text(_get(found, name), name)


def _find_text(found: dict[str, Element], name: str) -> str | None:
    element = found.get(name)
    return None if element is None else _text(element, name)


def _get_trimmed(found: dict[str, Element], name: str) -> str:
    """Text of a URI, time or number: white space around it is ignored (S0-59)."""
    return _get_text(found, name).strip(WHITE_SPACE)


# --- The document ------------------------------------------------------------------------------


def _read_message_type(root: Element) -> str:
    if root.tag != _ROOT_TAG:
        raise _misshapen(f"the root element is not {names.ROOT} in {names.NAMESPACE}")
    version = _VERSION.fullmatch(root.get("Version", ""))
    if version is None:
        raise _misshapen("the Version is missing or is not a version")
    if version[1] != names.VERSION_MAJOR:
        raise RemoteError(ErrorCode.NOT_SUPPORTED, f"only Version {names.VERSION_MAJOR}.x is known")
    message_type = _find_message_type(root)
    if message_type is None:
        raise _unrecognized("unknown MessageType")
    return message_type


def _find_message_type(root: Element) -> str | None:
    # [A3] Normal is the default of the reconstructed DTD.
    return names.MESSAGE_TYPES.get(root.get("MessageType", names.NORMAL))


def _read_root(root: Element, limits: Limits) -> tuple[dict[str, Element], list[Element]]:
    """The sections, and the RoutingHeaders, of which one follows directly on Header (S0-42)."""
    sections: dict[str, Element] = {}
    hops = []
    for name, child in _known_children(root, _ROOT):
        if name == "RoutingHeader":
            hops.append(child)
        elif name in sections:
            raise _misshapen(f"{name} twice in {names.ROOT}")
        else:
            sections[name] = child
    header = _get(sections, "Header")
    if not hops:
        raise _misshapen("RoutingHeader is missing")
    if len(hops) > limits.routing_headers_max:
        raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "too many RoutingHeaders")
    children = list(root)
    if children[children.index(header) + 1] is not hops[0]:
        raise _misshapen("RoutingHeader does not follow directly on Header")
    return sections, hops


def _read_semantics(sections: dict[str, Element], header: dict[str, Element]) -> DeliverySemantics:
    """DeliverySemantics as attribute, as element or as both (A3 rows 1 and 2)."""
    if "ReliableMessagingInfo" in sections and "ReliableMessagingInfo" in header:
        raise _misshapen("ReliableMessagingInfo stands in two places")
    element = _get(sections | header, "ReliableMessagingInfo")
    as_attribute = element.get("DeliverySemantics")
    as_element = _find_text(_once(element, _RELIABLE_MESSAGING_INFO), "DeliverySemantics")
    if as_attribute is not None and as_element is not None and as_attribute != as_element:
        raise RemoteError(ErrorCode.INCONSISTENT, "two different DeliverySemantics")
    value = as_attribute if as_element is None else as_element
    if value is None:
        raise _misshapen("DeliverySemantics is missing")
    semantics = _SEMANTICS.get(value)
    if semantics is None:
        raise _unrecognized("DeliverySemantics is neither OnceAndOnlyOnce nor BestEffort")
    return semantics


def _read_manifest(manifest: Element | None, limits: Limits) -> dict[str, str]:
    labels: dict[str, str] = {}
    if manifest is None:
        return labels
    for reference in _several(manifest, _MANIFEST, limits.parts_max):
        fields = _once(reference, _DOCUMENT_REFERENCE)
        document_id = _get_text(fields, "DocumentId")
        content_id = document_id.removeprefix(names.CONTENT_ID_SCHEME)
        # Nothing is ever fetched: a document is a part of this package or refused (attack P8).
        if content_id == document_id or not is_content_id(content_id):
            raise RemoteError(ErrorCode.MIME_PROBLEM, "a DocumentId is not a cid: URI")
        if content_id in labels:
            raise RemoteError(ErrorCode.MIME_PROBLEM, "two DocumentReferences to one part")
        labels[content_id] = checked_text(
            _find_text(fields, "DocumentLabel") or "", "DocumentLabel"
        )
    return labels


def _read_message(
    header: dict[str, Element], semantics: DeliverySemantics, limits: Limits
) -> Message:
    tpa_info = _once(_get(header, "TPAInfo"), _TPA_INFO)
    message_data = _once(_get(header, "MessageData"), _MESSAGE_DATA)
    return Message(
        message_id=_get_text(message_data, "MessageId"),
        from_ids=_read_party(_get(header, "From"), limits),
        to_ids=_read_party(_get(header, "To"), limits),
        agreement_id=_get_text(tpa_info, "TPAId"),
        conversation_id=_get_text(tpa_info, "ConversationId"),
        service=_get_text(tpa_info, "ServiceInterface"),
        action=_get_text(tpa_info, "Action"),
        timestamp_at=read_timestamp(_get_trimmed(message_data, "Timestamp")),
        semantics=semantics,
        ref_to_message_id=_find_text(message_data, "RefToMessageId"),
    )


def _read_signal(
    header: dict[str, Element], message_type: str, error_list: Element | None, limits: Limits
) -> Acknowledgment | ErrorSignal:
    tpa_info = _once(_get(header, "TPAInfo"), _TPA_INFO)
    message_data = _once(_get(header, "MessageData"), _MESSAGE_DATA)
    signal = SignalHeader(
        message_id=_get_text(message_data, "MessageId"),
        from_ids=_read_party(_get(header, "From"), limits),
        to_ids=_read_party(_get(header, "To"), limits),
        agreement_id=_get_text(tpa_info, "TPAId"),
        conversation_id=_get_text(tpa_info, "ConversationId"),
        timestamp_at=read_timestamp(_get_trimmed(message_data, "Timestamp")),
        ref_to_message_id=_get_text(message_data, "RefToMessageId"),
    )
    if message_type == names.ACKNOWLEDGEMENT:
        return Acknowledgment(signal)
    if error_list is None:
        raise _misshapen("ErrorList is missing")
    errors = _several(error_list, _ERROR_LIST, limits.errors_max)
    return ErrorSignal(signal, tuple(map(_read_error, errors)))


def _read_party(element: Element, limits: Limits) -> tuple[PartyId, ...]:
    party_ids = tuple(
        PartyId(_text(child, "PartyId"), child.get("type"))
        for child in _several(element, _PARTY, limits.party_ids_max)
    )
    if len(party_ids) > 1:
        types = [party_id.type for party_id in party_ids if party_id.type is not None]
        if len(set(types)) < len(types) or len(set(party_ids)) < len(party_ids):
            raise RemoteError(ErrorCode.INCONSISTENT, "a party has two PartyIds of one type")
    return party_ids


def _read_routing_header(element: Element) -> RoutingHeader:
    fields = _once(element, _ROUTING_HEADER)
    return RoutingHeader(
        sender_uri=_get_uri(fields, "SenderURI"),
        receiver_uri=_get_uri(fields, "ReceiverURI"),
        error_uri=_get_uri(fields, "ErrorURI"),
        timestamp_at=read_timestamp(_get_trimmed(fields, "Timestamp")),
        sequence_number=_find_sequence_number(fields),
    )


def _get_uri(fields: dict[str, Element], name: str) -> str:
    uri = _get_trimmed(fields, name)
    if not is_uri(uri):
        raise _unrecognized(f"{name} is not a URI")
    return uri


def _find_sequence_number(fields: dict[str, Element]) -> int | None:
    if "SequenceNumber" not in fields:
        return None
    number = _get_number(fields, "SequenceNumber")
    if number == 0:
        raise _unrecognized("SequenceNumber is not in 1..999999999")
    return number


def _get_number(fields: dict[str, Element], name: str) -> int:
    digits = _get_trimmed(fields, name)
    # The digits are counted before `int` sees them: it is quadratic in their number (X14).
    if _NUMBER.fullmatch(digits) is None:
        raise _unrecognized(f"{name} is not 1-9 ASCII digits")
    return int(digits)


def _read_error(element: Element) -> ErrorEntry:
    code_text = checked_text(element.get("ErrorCode", ""), "ErrorCode")
    severity = _SEVERITIES.get(element.get("Severity", ""))
    if not code_text or severity is None:
        raise _unrecognized("an Error without ErrorCode, or with an unknown Severity")
    fields = _once(element, _ERROR)
    code = _ERROR_CODES.get(code_text)
    return ErrorEntry(
        code=code or ErrorCode.UNKNOWN,
        severity=severity,
        description=(_find_text(fields, "Description") or "")[:DESCRIPTION_LENGTH_MAX],
        min_retry_s=_get_number(fields, "MinRetrySecs") if "MinRetrySecs" in fields else None,
        code_text="" if code else code_text,
    )


# --- What is left of a document that was refused -----------------------------------------------


def salvage(root: Element, limits: Limits) -> About:
    """What can be known of the sender of a document that `read` refuses. Never raises.

    A field counts only where the document has exactly one place for it.
    """
    if root.tag != _ROOT_TAG:
        return About()
    header = _only(root, "Header")
    tpa_info = _only(header, "TPAInfo")
    hop = _last_hop(root)
    return About(
        message_type=_find_message_type(root),
        agreement_id=_salvage_identifier(_only(tpa_info, "TPAId")),
        from_ids=_salvage_party(_only(header, "From"), limits),
        message_id=_salvage_identifier(_only(_only(header, "MessageData"), "MessageId")),
        conversation_id=_salvage_identifier(_only(tpa_info, "ConversationId")),
        sender_uri=_salvage_uri(_only(hop, "SenderURI")),
        receiver_uri=_salvage_uri(_only(hop, "ReceiverURI")),
        error_uri=_salvage_uri(_only(hop, "ErrorURI")),
    )


def _only(element: Element | None, name: str) -> Element | None:
    if element is None:
        return None
    found = element.findall(f"{{{names.NAMESPACE}}}{name}")
    return found[0] if len(found) == 1 else None


def _last_hop(root: Element) -> Element | None:
    hops = root.findall(f"{{{names.NAMESPACE}}}RoutingHeader")
    return hops[-1] if hops else None


def _salvage_identifier(element: Element | None) -> str | None:
    if element is None or len(element):
        return None
    try:
        return checked_identifier(element.text or "", element.tag)
    except RemoteError:
        return None


def _salvage_uri(element: Element | None) -> str | None:
    if element is None or len(element):
        return None
    uri = (element.text or "").strip(WHITE_SPACE)
    return uri if is_uri(uri) else None


def _salvage_party(element: Element | None, limits: Limits) -> tuple[PartyId, ...]:
    if element is None:
        return ()
    try:
        return _read_party(element, limits)
    except RemoteError:
        return ()
