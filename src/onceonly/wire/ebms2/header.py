"""The MessageHeader of `ebms-2.0`: who, under which agreement, what (`wire.md` B3 and B4)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from onceonly.message.errors import ErrorCode, FaultCode, RemoteError, changed_error
from onceonly.message.identity import (
    PartyId,
    checked_identifier,
    checked_name,
    checked_text,
    is_uri,
    printable,
)
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.message.word import Word
from onceonly.wire import names
from onceonly.wire.document import About
from onceonly.wire.ebms2 import names as own
from onceonly.wire.elements import (
    Order,
    find_attribute,
    find_text,
    get,
    get_text,
    known_children,
    misshapen,
    text_of,
)
from onceonly.wire.fields import (
    DESCRIPTION_LENGTH_MAX,
    check_party,
    salvage_identifier,
)
from onceonly.wire.limits import Limits
from onceonly.wire.timestamp import read_timestamp
from onceonly.wire.xml import WHITE_SPACE, Element

ORDERS: Final = {
    parent: Order(parent, children, None, own.NAMESPACE)
    for parent, children in own.CHILDREN.items()
}
_TYPE: Final = own.own("type")
_AT: Final = "//SOAP:Header/eb:MessageHeader"


class Header(Word, kw_only=True):
    """What a MessageHeader says."""

    message_type: str
    from_ids: tuple[PartyId, ...]
    from_role: str | None
    to_ids: tuple[PartyId, ...]
    to_role: str | None
    agreement_id: str
    conversation_id: str
    service: str
    service_type: str | None
    action: str
    message_id: str
    timestamp_at: int
    ref_to_message_id: str
    """Empty where there is none."""
    time_to_live_at: int | None
    duplicate_elimination: bool
    description: str


@contextmanager
def located(path: str) -> Iterator[None]:
    """Say in a refusal that leaves this block where it was, unless it says so itself."""
    try:
        yield
    except RemoteError as error:
        raise changed_error(error, location=error.location or path) from error


_DESCRIPTION: Final = frozenset({"Description"})


def children_of(
    element: Element, order: Order, repeated: frozenset[str] = _DESCRIPTION
) -> dict[str, Element]:
    """The known children. `repeated` names those that may be there more than once.

    Of those it has the first that is not empty. Raises `RemoteError` (OtherXml).
    """
    found: dict[str, Element] = {}
    for name, child in known_children(element, order):
        if name in repeated:
            if not (name in found and found[name].text):
                found[name] = child
        elif name in found:
            raise misshapen(f"{name} twice in {order.parent}; expected is one at most")
        else:
            found[name] = child
    return found


def description_of(found: Mapping[str, Element]) -> str:
    """The Description, printable and bounded; empty where there is none."""
    text = find_text(found, "Description") or ""
    return printable(text, DESCRIPTION_LENGTH_MAX).strip(WHITE_SPACE)


def read_header(element: Element, limits: Limits) -> Header:
    """The header.

    Raises `RemoteError`: with a fault code if it cannot be read; Inconsistent and NotSupported,
    with a location, for what contradicts itself or is not offered.
    """
    try:
        return _read(element, limits)
    except RemoteError as error:
        if error.code in (ErrorCode.INCONSISTENT, ErrorCode.NOT_SUPPORTED):
            raise
        raise changed_error(error, fault=FaultCode.CLIENT) from error


def _read(element: Element, limits: Limits) -> Header:
    with located(_AT):
        found = children_of(element, ORDERS["MessageHeader"])
        data = children_of(get(found, "MessageData"), ORDERS["MessageData"])
    from_ids, from_role = _read_party(found, "From", limits)
    to_ids, to_role = _read_party(found, "To", limits)
    with located(f"{_AT}/eb:CPAId"):
        agreement_id = checked_name(get_text(found, "CPAId"), "CPAId")
    with located(f"{_AT}/eb:ConversationId"):
        conversation_id = checked_name(get_text(found, "ConversationId"), "ConversationId")
    service, service_type = _read_service(found)
    with located(f"{_AT}/eb:Action"):
        action = _get_words(found, "Action")
    at = f"{_AT}/eb:MessageData"
    message_id = _get_identifier(data, "MessageId", f"{at}/eb:MessageId")
    with located(f"{at}/eb:Timestamp"):
        timestamp_at = read_timestamp(get_text(data, "Timestamp"))
    about = ""
    if "RefToMessageId" in data:
        about = _get_identifier(data, "RefToMessageId", f"{at}/eb:RefToMessageId")
    time_to_live_at = None
    if "TimeToLive" in data:
        with located(f"{at}/eb:TimeToLive"):
            time_to_live_at = read_timestamp(get_text(data, "TimeToLive"), "TimeToLive")
    return Header(
        message_type=_message_type_of(service, action),
        from_ids=from_ids,
        from_role=from_role,
        to_ids=to_ids,
        to_role=to_role,
        agreement_id=agreement_id,
        conversation_id=conversation_id,
        service=service,
        service_type=service_type,
        action=action,
        message_id=message_id,
        timestamp_at=timestamp_at,
        ref_to_message_id=about,
        time_to_live_at=time_to_live_at,
        duplicate_elimination="DuplicateElimination" in found,
        description=description_of(found),
    )


def _get_identifier(found: Mapping[str, Element], name: str, at: str) -> str:
    with located(at):
        return checked_identifier(get_text(found, name), name)


def _get_words(found: Mapping[str, Element], name: str) -> str:
    text = get_text(found, name)
    if not text:
        raise misshapen(f"{name} is empty; expected is a text")
    return checked_text(text, name)


def _read_service(found: Mapping[str, Element]) -> tuple[str, str | None]:
    with located(f"{_AT}/eb:Service"):
        service = _get_words(found, "Service")
        service_type = find_attribute(found["Service"], _TYPE)
        if service_type is not None:
            return service, checked_text(service_type, "Service/@type")
        if not is_uri(service):
            raise RemoteError(
                ErrorCode.INCONSISTENT,
                f"Service {quoted(service)} has no eb:type and is not a URI; expected is a type, or"
                " a URI such as urn:services:Orders",
            )
    return service, None


def _message_type_of(service: str, action: str) -> str:
    if service != own.SERVICE:
        return names.NORMAL
    message_type = own.ACTIONS.get(action)
    if message_type is None:
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            f"Action {quoted(action)} is none of the MSH's Service; expected is"
            f" {', '.join(own.ACTIONS)}",
            location=f"{_AT}/eb:Action",
        )
    return message_type


def _read_party(
    found: Mapping[str, Element], name: str, limits: Limits
) -> tuple[tuple[PartyId, ...], str | None]:
    """The PartyIds and the Role of a From or To."""
    at = f"{_AT}/eb:{name}"
    with located(f"{at}/eb:PartyId"):
        element = get(found, name)
        party_ids = read_party_ids(element, limits)
    with located(f"{at}/eb:Role"):
        children = known_children(element, ORDERS["From or To"])
        roles = [child for known, child in children if known == "Role"]
        if len(roles) > 1:
            raise misshapen(f"Role twice in {name}; expected is one at most")
        role = _get_words({"Role": roles[0]}, "Role") if roles else None
    return party_ids, role


def read_party_ids(element: Element, limits: Limits) -> tuple[PartyId, ...]:
    """The PartyIds of a From or To. Raises `RemoteError` (OtherXml, Inconsistent)."""
    children = known_children(element, ORDERS["From or To"])
    party_ids = tuple(
        PartyId(text_of(child, "PartyId"), find_attribute(child, _TYPE))
        for name, child in children
        if name == "PartyId"
    )
    if not 0 < len(party_ids) <= limits.party_ids_max:
        raise misshapen(
            f"a party has {len(party_ids)} PartyIds; expected are 1 to {limits.party_ids_max}"
        )
    check_party(party_ids)
    return party_ids


def salvage_header(element: Element | None, limits: Limits) -> About:
    """What can be known about the sender of a refused document. Never raises.

    A field counts only if the header has exactly one place for it.
    """
    if element is None:
        return About(profile=Profile.EBMS_2_0)
    data = _only(element, "MessageData")
    return About(
        message_type=_salvage_type(_only(element, "Service"), _only(element, "Action")),
        agreement_id=_salvage_name(_only(element, "CPAId")),
        from_ids=_salvage_party(_only(element, "From"), limits),
        message_id=salvage_identifier(_only(data, "MessageId")),
        conversation_id=_salvage_name(_only(element, "ConversationId")),
        profile=Profile.EBMS_2_0,
        ref_to_message_id=salvage_identifier(_only(data, "RefToMessageId")),
    )


def _only(element: Element | None, name: str) -> Element | None:
    found = [] if element is None else element.findall(own.own(name))
    return found[0] if len(found) == 1 else None


def _salvage_name(element: Element | None) -> str | None:
    text = "" if element is None else (element.text or "").strip(WHITE_SPACE)
    try:
        return checked_name(text, "a name")
    except RemoteError:
        return None


def _salvage_party(element: Element | None, limits: Limits) -> tuple[PartyId, ...]:
    if element is None:
        return ()
    try:
        return read_party_ids(element, limits)
    except RemoteError:
        return ()


def _salvage_type(service: Element | None, action: Element | None) -> str | None:
    """None unless both are there: a document that may be a signal must not be answered (R-20).

    An Action that the MSH's Service does not have is no known signal, and is told so (E2-30).
    """
    if service is None or action is None:
        return None
    if (service.text or "").strip(WHITE_SPACE) != own.SERVICE:
        return names.NORMAL
    return own.ACTIONS.get((action.text or "").strip(WHITE_SPACE), names.NORMAL)
