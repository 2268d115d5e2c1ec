"""Reading the `ebXMLHeader` document of profile `rm-2000`.

Implements seed 000 §2.2-2.4 and `wire.md` Part A2 and A3; what is strict about it and what is
skipped says `elements`.
"""

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.identity import checked_text
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    Acknowledgment,
    ErrorSignal,
    Inquiry,
    Signal,
    SignalHeader,
)
from onceonly.wire import names
from onceonly.wire.document import About, Content, Document
from onceonly.wire.elements import (
    find_attribute,
    find_text,
    get,
    get_text,
    known_children,
    misshapen,
    once,
    only,
    orders_of,
    several,
    unrecognized,
)
from onceonly.wire.extension import read_ack_status, read_report
from onceonly.wire.fields import (
    MATCHED_BY_REFERENCE,
    SEMANTICS,
    checked_document_id,
    checked_word,
    get_number,
    get_own_name,
    get_reference,
    get_uri,
    read_error,
    read_party,
    salvage_identifier,
    salvage_party,
    salvage_uri,
)
from onceonly.wire.limits import Limits
from onceonly.wire.rm2000 import names as own
from onceonly.wire.timestamp import read_timestamp
from onceonly.wire.xml import Element

_ORDERS = orders_of(own.CHILDREN)
_ROOT = _ORDERS[names.ROOT]
_MANIFEST = _ORDERS["Manifest"]
_DOCUMENT_REFERENCE = _ORDERS["DocumentReference"]
_HEADER = _ORDERS["Header"]
_PARTY = _ORDERS["From or To"]
_TPA_INFO = _ORDERS["TPAInfo"]
_MESSAGE_DATA = _ORDERS["MessageData"]
_RELIABLE_MESSAGING_INFO = _ORDERS["ReliableMessagingInfo"]
_ROUTING_HEADER = _ORDERS["RoutingHeader"]
_ERROR_LIST = _ORDERS["ErrorList"]
_ERROR = _ORDERS["Error"]


def read(root: Element, limits: Limits) -> Document:
    """The document under `root`, which says that it is of this profile.

    Raises `RemoteError`: OtherXml for elements out of place, ValueNotRecognized, Inconsistent
    and NotSupported for values, MessageTooLarge past a limit.
    """
    message_type = _find_message_type(root)
    if message_type is None:
        said = quoted(find_attribute(root, "MessageType") or "")
        types = " or ".join(own.MESSAGE_TYPES)
        raise unrecognized(f"the value of MessageType is {said}; expected is {types}")
    sections, hops = _read_root(root, limits)
    header = once(sections["Header"], _HEADER)
    routing = tuple(map(_read_routing_header, hops))
    is_verdict = message_type in MATCHED_BY_REFERENCE
    if is_verdict and "ReliableMessagingInfo" not in sections.keys() | header.keys():
        semantics = DeliverySemantics.BEST_EFFORT
    else:
        semantics = _read_semantics(sections, header)
    labels = _read_manifest(sections.get("Manifest"), limits)
    if "ErrorList" in sections and message_type != names.ERROR:
        raise misshapen(f"a message of type {message_type} has an ErrorList; only an Error has one")
    content: Content
    if message_type == names.NORMAL:
        content = _read_message(header, semantics, limits)
        if semantics is not DeliverySemantics.BEST_EFFORT and routing[-1].sequence_number is None:
            raise misshapen(
                "a OnceAndOnlyOnce message has no SequenceNumber; expected is one in its last"
                " RoutingHeader"
            )
        return Document(content, routing, labels, Profile.RM_2000)
    if labels:
        raise RemoteError(
            ErrorCode.MIME_PROBLEM,
            f"a message of type {message_type} has a Manifest; expected is a message without"
            " payload",
        )
    signal_header = _read_signal_header(header, message_type, limits)
    if message_type == names.ERROR:
        # What any other signal says of its own delivery has no effect.
        content = _read_errors(signal_header, sections, semantics, limits)
    else:
        content = _read_signal(root, signal_header, message_type)
    return Document(content, routing, labels, Profile.RM_2000)


def _find_message_type(root: Element) -> str | None:
    # [A3] Normal is the default of the reconstructed DTD.
    said = find_attribute(root, "MessageType")
    return own.MESSAGE_TYPES.get(names.NORMAL if said is None else said)


def _read_root(root: Element, limits: Limits) -> tuple[dict[str, Element], list[Element]]:
    """The sections, and the RoutingHeaders, of which one follows directly on Header (S0-42)."""
    sections: dict[str, Element] = {}
    hops = []
    for name, child in known_children(root, _ROOT):
        if name == "RoutingHeader":
            hops.append(child)
        elif name in sections:
            raise misshapen(f"{name} twice in {names.ROOT}; expected is one at most")
        else:
            sections[name] = child
    header = get(sections, "Header")
    if not hops:
        raise misshapen("RoutingHeader is missing; expected is one directly behind Header")
    if len(hops) > limits.routing_headers_max:
        raise RemoteError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"too many RoutingHeaders: {len(hops)}, at most {limits.routing_headers_max} are read;"
            " a longer way is a loop",
        )
    children = list(root)
    following = children[children.index(header) + 1]
    if following is not hops[0]:
        name = following.tag.rpartition("}")[2]
        raise misshapen(
            f"behind Header stands {quoted(name)}; expected is RoutingHeader, directly behind it"
        )
    return sections, hops


def _read_semantics(sections: dict[str, Element], header: dict[str, Element]) -> DeliverySemantics:
    """DeliverySemantics as attribute, as element or as both (A3 rows 1 and 2)."""
    if "ReliableMessagingInfo" in sections and "ReliableMessagingInfo" in header:
        raise misshapen(
            "ReliableMessagingInfo stands in two places, in Header and behind it; expected is one"
        )
    element = get(sections | header, "ReliableMessagingInfo")
    as_attribute = find_attribute(element, "DeliverySemantics")
    as_element = find_text(once(element, _RELIABLE_MESSAGING_INFO), "DeliverySemantics")
    if as_attribute is not None and as_element is not None and as_attribute != as_element:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            f"DeliverySemantics is {quoted(as_attribute)} as attribute and {quoted(as_element)} as"
            " element; expected is one of them, or twice the same",
        )
    value = as_attribute if as_element is None else as_element
    if value is None:
        raise misshapen(
            "DeliverySemantics is missing; expected is that element in ReliableMessagingInfo"
        )
    return checked_word(value, "DeliverySemantics", SEMANTICS)


def _read_manifest(manifest: Element | None, limits: Limits) -> dict[str, str]:
    labels: dict[str, str] = {}
    if manifest is None:
        return labels
    for reference in several(manifest, _MANIFEST, limits.parts_max):
        found = once(reference, _DOCUMENT_REFERENCE)
        content_id = checked_document_id(get_text(found, "DocumentId"), labels)
        labels[content_id] = checked_text(find_text(found, "DocumentLabel") or "", "DocumentLabel")
    return labels


def _read_message(
    header: dict[str, Element], semantics: DeliverySemantics, limits: Limits
) -> Message:
    tpa_info = once(get(header, "TPAInfo"), _TPA_INFO)
    message_data = once(get(header, "MessageData"), _MESSAGE_DATA)
    return Message(
        message_id=get_text(message_data, "MessageId"),
        from_ids=read_party(get(header, "From"), _PARTY, limits),
        to_ids=read_party(get(header, "To"), _PARTY, limits),
        agreement_id=get_text(tpa_info, "TPAId"),
        conversation_id=get_text(tpa_info, "ConversationId"),
        service=get_text(tpa_info, "ServiceInterface"),
        action=get_text(tpa_info, "Action"),
        timestamp_at=read_timestamp(get_text(message_data, "Timestamp")),
        semantics=semantics,
        ref_to_message_id=find_text(message_data, "RefToMessageId"),
    )


def _read_signal_header(
    header: dict[str, Element], message_type: str, limits: Limits
) -> SignalHeader:
    has_info = "TPAInfo" in header or message_type not in MATCHED_BY_REFERENCE
    tpa_info = once(get(header, "TPAInfo"), _TPA_INFO) if has_info else {}
    message_data = once(get(header, "MessageData"), _MESSAGE_DATA)
    return SignalHeader(
        message_id=get_own_name(message_data, "MessageId", message_type),
        from_ids=read_party(get(header, "From"), _PARTY, limits),
        to_ids=read_party(get(header, "To"), _PARTY, limits),
        agreement_id=find_text(tpa_info, "TPAId") or "",
        conversation_id=get_own_name(tpa_info, "ConversationId", message_type),
        timestamp_at=read_timestamp(get_text(message_data, "Timestamp")),
        ref_to_message_id=get_reference(message_data, message_type),
    )


def _read_errors(
    header: SignalHeader,
    sections: dict[str, Element],
    semantics: DeliverySemantics,
    limits: Limits,
) -> ErrorSignal:
    errors = several(get(sections, "ErrorList"), _ERROR_LIST, limits.errors_max)
    return ErrorSignal(
        header,
        tuple(read_error(error, _ERROR, "ErrorCode", "Severity") for error in errors),
        semantics,
    )


def _read_signal(root: Element, header: SignalHeader, message_type: str) -> Signal:
    if message_type == names.ACKNOWLEDGEMENT:
        return Acknowledgment(header, status=read_ack_status(root))
    kind = names.REQUEST_KINDS.get(message_type)
    if kind is not None:
        return Inquiry(header, kind)
    return read_report(root, header, names.REPORT_KINDS[message_type])


def _read_routing_header(element: Element) -> RoutingHeader:
    found = once(element, _ROUTING_HEADER)
    return RoutingHeader(
        sender_uri=get_uri(found, "SenderURI"),
        receiver_uri=get_uri(found, "ReceiverURI"),
        error_uri=get_uri(found, "ErrorURI"),
        timestamp_at=read_timestamp(get_text(found, "Timestamp")),
        sequence_number=_find_sequence_number(found),
    )


def _find_sequence_number(found: dict[str, Element]) -> int | None:
    if "SequenceNumber" not in found:
        return None
    number = get_number(found, "SequenceNumber")
    if number == 0:
        raise unrecognized("SequenceNumber is 0; expected is a number from 1 to 999999999")
    return number


def salvage(root: Element, limits: Limits) -> About:
    """What can be known of the sender of a document that was refused. Never raises.

    A field counts only where the document has exactly one place for it.
    """
    header = only(root, "Header")
    data = only(header, "MessageData")
    tpa_info = only(header, "TPAInfo")
    hops = root.findall(f"{{{names.NAMESPACE}}}RoutingHeader")
    hop = hops[-1] if hops else None
    return About(
        message_type=_find_message_type(root),
        agreement_id=salvage_identifier(only(tpa_info, "TPAId")),
        from_ids=salvage_party(only(header, "From"), _PARTY, limits),
        message_id=salvage_identifier(only(data, "MessageId")),
        conversation_id=salvage_identifier(only(tpa_info, "ConversationId")),
        sender_uri=salvage_uri(only(hop, "SenderURI")),
        receiver_uri=salvage_uri(only(hop, "ReceiverURI")),
        error_uri=salvage_uri(only(hop, "ErrorURI")),
        profile=Profile.RM_2000,
        ref_to_message_id=salvage_identifier(only(data, "RefToMessageId")),
    )
