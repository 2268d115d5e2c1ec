"""Reading the `ebXMLHeader` document of profile `rm-2000`.

Implements seed 000 §2.2-2.4 and `wire.md` Part A2 and A3; `elements` says what is read strictly and
what is skipped.
"""

from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    Acknowledgment,
    ErrorSignal,
    Signal,
    SignalHeader,
)
from onceonly.message.word import changed
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
from onceonly.wire.extension import read_ack_status
from onceonly.wire.fields import (
    MATCHED_BY_REFERENCE,
    SEMANTICS,
    checked_sequence_number,
    checked_word,
    read_error,
)
from onceonly.wire.limits import Limits
from onceonly.wire.reading import ProfileForm, read_hop, read_inquiry_or_report, refuse_manifest
from onceonly.wire.rm2000 import names as own
from onceonly.wire.xml import Element

_ORDERS = orders_of(own.CHILDREN)
_ROOT = _ORDERS[names.ROOT]
_MANIFEST = _ORDERS["Manifest"]
_DOCUMENT_REFERENCE = _ORDERS["DocumentReference"]
_HEADER = _ORDERS["Header"]
_TPA_INFO = _ORDERS["TPAInfo"]
_MESSAGE_DATA = _ORDERS["MessageData"]
_RELIABLE_MESSAGING_INFO = _ORDERS["ReliableMessagingInfo"]
_ROUTING_HEADER = _ORDERS["RoutingHeader"]
_ERROR_LIST = _ORDERS["ErrorList"]
_ERROR = _ORDERS["Error"]

_FORM: Final = ProfileForm(
    profile=Profile.RM_2000,
    agreement="TPAId",
    service="ServiceInterface",
    label="DocumentLabel",
    party=_ORDERS["From or To"],
)


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
    manifest = sections.get("Manifest")
    labels = _FORM.read_manifest(manifest, _MANIFEST, _read_reference, limits)
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
    refuse_manifest(labels, message_type)
    signal_header = _read_signal_header(header, message_type, limits)
    if message_type == names.ERROR:
        # The delivery semantics of any other signal have no effect.
        content = _read_errors(signal_header, sections, semantics, limits)
    else:
        content = _read_signal(root, signal_header, message_type)
    return Document(content, routing, labels, Profile.RM_2000)


def _find_message_type(root: Element) -> str | None:
    # [A3] Normal is the default of the reconstructed DTD.
    said = find_attribute(root, "MessageType")
    return own.MESSAGE_TYPES.get(names.NORMAL if said is None else said)


def _read_root(root: Element, limits: Limits) -> tuple[dict[str, Element], list[Element]]:
    """The sections, and the RoutingHeaders, one of which directly follows Header (S0-42)."""
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
        raise misshapen("RoutingHeader is missing; expected is one directly after Header")
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
            f"after Header comes {quoted(name)}; expected is RoutingHeader, directly after it"
        )
    return sections, hops


def _read_semantics(sections: dict[str, Element], header: dict[str, Element]) -> DeliverySemantics:
    """DeliverySemantics as attribute, as element or as both (A3 rows 1 and 2)."""
    if "ReliableMessagingInfo" in sections and "ReliableMessagingInfo" in header:
        raise misshapen(
            "ReliableMessagingInfo is in two places, in Header and after it; expected is one"
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


def _read_reference(element: Element) -> tuple[str, str | None]:
    found = once(element, _DOCUMENT_REFERENCE)
    return get_text(found, "DocumentId"), find_text(found, "DocumentLabel")


def _read_message(
    header: dict[str, Element], semantics: DeliverySemantics, limits: Limits
) -> Message:
    tpa_info = once(get(header, "TPAInfo"), _TPA_INFO)
    message_data = once(get(header, "MessageData"), _MESSAGE_DATA)
    return _FORM.read_message(header, tpa_info, message_data, semantics, limits)


def _read_signal_header(
    header: dict[str, Element], message_type: str, limits: Limits
) -> SignalHeader:
    has_info = "TPAInfo" in header or message_type not in MATCHED_BY_REFERENCE
    tpa_info = once(get(header, "TPAInfo"), _TPA_INFO) if has_info else {}
    message_data = once(get(header, "MessageData"), _MESSAGE_DATA)
    return _FORM.read_signal_header(header, tpa_info, message_data, message_type, limits)


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
    return read_inquiry_or_report(root, header, message_type)


def _read_routing_header(element: Element) -> RoutingHeader:
    found = once(element, _ROUTING_HEADER)
    hop = read_hop(found, has_error_uri=True)
    return changed(hop, sequence_number=_find_sequence_number(found))


def _find_sequence_number(found: dict[str, Element]) -> int | None:
    if "SequenceNumber" not in found:
        return None
    return checked_sequence_number(get_text(found, "SequenceNumber"))


def salvage(root: Element, limits: Limits) -> About:
    """What can be known about the sender of a refused document. Never raises."""
    header = only(root, "Header")
    hops = root.findall(f"{{{names.NAMESPACE}}}RoutingHeader")
    return _FORM.salvage(header, only(header, "TPAInfo"), hops, _find_message_type(root), limits)
