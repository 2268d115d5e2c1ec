"""Reading the `ebXMLHeader` document of profile `rm-2001`.

Implements seed 001 §1.2, §1.3, §1.6 and §3 on the envelope of `wire.md` Part A4. Service and Action
say what kind a message is; RoutingHeaderList has a RoutingHeader for every hop. A value that the
header leaves to the CPA is None.
"""

from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    Message,
    ReliableMessagingMethod,
    RoutingHeader,
    SyncReplyMode,
)
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
from onceonly.wire.document import About, Document
from onceonly.wire.elements import (
    find_attribute,
    get,
    get_text,
    misshapen,
    once,
    only,
    orders_of,
    several,
)
from onceonly.wire.extension import read_ack_status
from onceonly.wire.fields import (
    SEMANTICS,
    find_boolean,
    find_word,
    noting_highest,
    read_error,
    read_party,
)
from onceonly.wire.limits import Limits
from onceonly.wire.reading import ProfileForm, read_hop, read_inquiry_or_report, refuse_manifest
from onceonly.wire.rm2001 import names as own
from onceonly.wire.timestamp import read_timestamp
from onceonly.wire.xml import WHITE_SPACE, Element

_ORDERS = orders_of(own.CHILDREN)
_ROOT = _ORDERS[names.ROOT]
_MANIFEST = _ORDERS["Manifest"]
_REFERENCE = _ORDERS["Reference"]
_HEADER = _ORDERS["Header"]
_MESSAGE_DATA = _ORDERS["MessageData"]
_QUALITY_OF_SERVICE_INFO = _ORDERS["QualityOfServiceInfo"]
_ROUTING_HEADER_LIST = _ORDERS["RoutingHeaderList"]
_ROUTING_HEADER = _ORDERS["RoutingHeader"]
_ACKNOWLEDGMENT = _ORDERS["Acknowledgment"]
_ERROR_LIST = _ORDERS["ErrorList"]
_ERROR = _ORDERS["Error"]

_FORM: Final = ProfileForm(
    profile=Profile.RM_2001,
    agreement="CPAId",
    service="Service",
    label="xlink:title",
    party=_ORDERS["From or To"],
)

_NO_QUALITY: Final = Element("QualityOfServiceInfo")
"""Used if the element is absent, so that everything is left to the CPA."""

_METHODS: Final = {method.value: method for method in ReliableMessagingMethod}
_ACK_REQUESTS: Final = {requested.value: requested for requested in AckRequested}
_SYNC_REPLY_MODES: Final = {
    **{
        mode.value: mode
        for mode in SyncReplyMode
        if mode is not SyncReplyMode.MSH_SIGNALS_ONLY  # a word of CPA 2.0
    },
    # Earlier drafts had only True and False (`wire.md` A1), and seed 001 §1.3.3 9b) still mentions
    # True; a sender that asks for a reply without saying which gets all that there is.
    "True": SyncReplyMode.SIGNALS_AND_RESPONSE,
    "true": SyncReplyMode.SIGNALS_AND_RESPONSE,
    "False": SyncReplyMode.NONE,
    "false": SyncReplyMode.NONE,
}


def read(root: Element, limits: Limits) -> Document:
    """The document under `root`, which says that it is of this profile.

    Raises `RemoteError`: OtherXml for elements out of place, ValueNotRecognized, Inconsistent
    and NotSupported for values, MessageTooLarge past a limit.
    """
    sections = once(root, _ROOT)
    header = once(get(sections, "Header"), _HEADER)
    message_type = _read_message_type(header)
    routing = _read_routing(get(sections, "RoutingHeaderList"), limits)
    quality = header.get("QualityOfServiceInfo", _NO_QUALITY)
    once(quality, _QUALITY_OF_SERVICE_INFO)
    manifest = sections.get("Manifest")
    labels = _FORM.read_manifest(manifest, _MANIFEST, _read_reference, limits)
    content: Message | Signal
    if message_type == names.NORMAL:
        _refuse_section(sections, "ErrorList")
        content = _read_message(header, quality, sections, limits)
    else:
        refuse_manifest(labels, message_type)
        signal_header = _read_signal_header(header, message_type, limits)
        if message_type == names.ERROR:
            _refuse_section(sections, "Acknowledgment")
            content = _read_errors(signal_header, sections, quality, limits)
        else:
            # The delivery semantics of any other signal have no effect.
            _refuse_section(sections, "ErrorList")
            content = _read_signal(root, signal_header, message_type, sections, limits)
    return Document(content, routing, labels, Profile.RM_2001)


def _refuse_section(sections: dict[str, Element], name: str) -> None:
    if name in sections:
        raise misshapen(
            f"{name} is in a message whose Service and Action do not allow it; expected is a"
            " message without it"
        )


def _read_message_type(header: dict[str, Element]) -> str:
    service, action = get_text(header, "Service"), get_text(header, "Action")
    message_type = _message_type_of(service, action)
    if message_type is None:
        said = service.removeprefix(names.SERVICE_STEM)
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            f"Service {quoted(said)} with Action {quoted(action)} is no signal that is known under"
            f" {names.SERVICE_STEM}; expected is one of its pairs, such as"
            " MessageAcknowledgment with Acknowledgment",
        )
    return message_type


def _message_type_of(service: str, action: str) -> str | None:
    """The word for a Service and Action, or None for an unknown signal."""
    if not service.startswith(names.SERVICE_STEM):
        return names.NORMAL
    return own.ACTIONS.get((service, action))


def _read_routing(routing: Element, limits: Limits) -> tuple[RoutingHeader, ...]:
    hops = several(routing, _ROUTING_HEADER_LIST, limits.routing_headers_max)
    return tuple(map(_read_routing_header, hops))


def _read_routing_header(element: Element) -> RoutingHeader:
    found = once(element, _ROUTING_HEADER)
    return changed(
        read_hop(found, has_error_uri="ErrorURI" in found),
        reliable_messaging_method=find_word(element, own.RELIABLE_MESSAGING_METHOD, _METHODS),
        ack_requested=find_word(element, own.ACK_REQUESTED, _ACK_REQUESTS),
    )


def _read_reference(element: Element) -> tuple[str, str | None]:
    once(element, _REFERENCE)
    return find_attribute(element, own.HREF) or "", find_attribute(element, own.TITLE)


def _read_message(
    header: dict[str, Element],
    quality: Element,
    sections: dict[str, Element],
    limits: Limits,
) -> Message:
    message_data = once(get(header, "MessageData"), _MESSAGE_DATA)
    semantics = find_word(quality, own.DELIVERY_SEMANTICS, SEMANTICS)
    acknowledgment = _find_acknowledgment(sections, limits)
    if acknowledgment is not None and "RefToMessageId" not in message_data:
        raise misshapen(
            "a message with an Acknowledgment has no RefToMessageId; expected is the MessageId of"
            " what it acknowledges"
        )
    said = semantics or DeliverySemantics.ONCE_AND_ONLY_ONCE
    return changed(
        _FORM.read_message(header, header, message_data, said, limits),
        time_to_live_at=_find_time_to_live(message_data),
        sync_reply_mode=find_word(quality, own.SYNC_REPLY_MODE, _SYNC_REPLY_MODES),
        delivery_receipt_requested=find_word(
            quality, own.DELIVERY_RECEIPT_REQUESTED, _ACK_REQUESTS
        ),
        acknowledgment=acknowledgment,
        leaves_semantics=semantics is None,
    )


def _find_time_to_live(message_data: dict[str, Element]) -> int | None:
    if "TimeToLive" not in message_data:
        return None
    return read_timestamp(get_text(message_data, "TimeToLive"), "TimeToLive")


def _read_signal_header(
    header: dict[str, Element], message_type: str, limits: Limits
) -> SignalHeader:
    message_data = once(get(header, "MessageData"), _MESSAGE_DATA)
    return _FORM.read_signal_header(header, header, message_data, message_type, limits)


def _read_signal(
    root: Element,
    header: SignalHeader,
    message_type: str,
    sections: dict[str, Element],
    limits: Limits,
) -> Signal:
    if message_type in (names.ACKNOWLEDGEMENT, names.RECEIPT):
        return Acknowledgment(
            header,
            _find_acknowledgment(sections, limits),
            read_ack_status(root),
            is_receipt=message_type == names.RECEIPT,
        )
    _refuse_section(sections, "Acknowledgment")
    return read_inquiry_or_report(root, header, message_type)


def _find_acknowledgment(
    sections: dict[str, Element], limits: Limits
) -> AcknowledgmentElement | None:
    element = sections.get("Acknowledgment")
    if element is None:
        return None
    if element.get("type") is not None:
        raise misshapen(
            "Acknowledgment has a type; expected is one without (seed 001 section 3.1.3), and a"
            " delivery receipt under its own Service"
        )
    found = once(element, _ACKNOWLEDGMENT)
    party = found.get("From")
    return AcknowledgmentElement(
        timestamp_at=read_timestamp(get_text(found, "Timestamp")),
        from_ids=() if party is None else read_party(party, _FORM.party, limits),
        is_signed=find_boolean(element, "signed") or False,
    )


def _read_errors(
    header: SignalHeader,
    sections: dict[str, Element],
    quality: Element,
    limits: Limits,
) -> ErrorSignal:
    error_list = get(sections, "ErrorList")
    elements = several(error_list, _ERROR_LIST, limits.errors_max)
    errors = tuple(read_error(element, _ERROR, "errorCode", "severity") for element in elements)
    errors = noting_highest(errors, find_attribute(error_list, "highestSeverity"))
    semantics = find_word(quality, own.DELIVERY_SEMANTICS, SEMANTICS)
    return ErrorSignal(header, errors, semantics or DeliverySemantics.BEST_EFFORT)


def salvage(root: Element, limits: Limits) -> About:
    """What can be known about the sender of a refused document. Never raises."""
    header = only(root, "Header")
    hops = root.findall(
        f"{{{names.NAMESPACE}}}RoutingHeaderList/{{{names.NAMESPACE}}}RoutingHeader"
    )
    message_type = _salvage_message_type(only(header, "Service"), only(header, "Action"))
    return _FORM.salvage(header, header, hops, message_type, limits)


def _salvage_message_type(service: Element | None, action: Element | None) -> str | None:
    """None unless both are there: a document that may be a signal must not be answered (R-20)."""
    if service is None or action is None:
        return None
    as_read = ((element.text or "").strip(WHITE_SPACE) for element in (service, action))
    return _message_type_of(*as_read)
