"""What the readers of both profiles have in common, although their elements have other names.

Knows the values of a message, a signal and a hop; the `ProfileForm` of a profile names the elements
that contain them. Must not know the structure of either document.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.identity import checked_text
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader
from onceonly.message.profile import Profile
from onceonly.message.signals import Inquiry, Report, SignalHeader
from onceonly.wire import names
from onceonly.wire.document import About
from onceonly.wire.elements import Order, find_text, get, get_text, only, several
from onceonly.wire.extension import read_report
from onceonly.wire.fields import (
    checked_document_id,
    get_own_name,
    get_reference,
    get_uri,
    identified,
    read_party,
    salvage_identifier,
    salvage_party,
    salvage_uri,
)
from onceonly.wire.limits import Limits
from onceonly.wire.timestamp import read_timestamp
from onceonly.wire.xml import Element

Children = Mapping[str, Element]
"""The children of one element, by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ProfileForm:
    """The names of one profile for what both profiles have."""

    profile: Profile
    agreement: str
    """The element with the agreement's name."""
    service: str
    label: str
    """The element or attribute with the label of a document."""
    party: Order
    """The children of a From or To."""

    def read_message(
        self,
        header: Children,
        named: Children,
        data: Children,
        semantics: DeliverySemantics,
        limits: Limits,
    ) -> Message:
        """The business message. `named` has agreement, conversation, service and action."""
        return Message(
            message_id=get_text(data, "MessageId"),
            from_ids=read_party(get(header, "From"), self.party, limits),
            to_ids=read_party(get(header, "To"), self.party, limits),
            agreement_id=identified(get_text(named, self.agreement), self.agreement),
            conversation_id=identified(get_text(named, "ConversationId"), "ConversationId"),
            service=get_text(named, self.service),
            action=get_text(named, "Action"),
            timestamp_at=read_timestamp(get_text(data, "Timestamp")),
            semantics=semantics,
            ref_to_message_id=find_text(data, "RefToMessageId"),
        )

    def read_signal_header(
        self,
        header: Children,
        named: Children,
        data: Children,
        message_type: str,
        limits: Limits,
    ) -> SignalHeader:
        """The header of a signal of this type."""
        return SignalHeader(
            message_id=get_own_name(data, "MessageId", message_type),
            from_ids=read_party(get(header, "From"), self.party, limits),
            to_ids=read_party(get(header, "To"), self.party, limits),
            agreement_id=identified(find_text(named, self.agreement) or "", self.agreement),
            conversation_id=identified(
                get_own_name(named, "ConversationId", message_type), "ConversationId"
            ),
            timestamp_at=read_timestamp(get_text(data, "Timestamp")),
            ref_to_message_id=get_reference(data, message_type),
        )

    def read_manifest(
        self,
        manifest: Element | None,
        order: Order,
        read_reference: Callable[[Element], tuple[str, str | None]],
        limits: Limits,
    ) -> dict[str, str]:
        """Label by content id. `read_reference` gives the URI of a document, and its label."""
        labels: dict[str, str] = {}
        if manifest is None:
            return labels
        for element in several(manifest, order, limits.parts_max):
            document_id, label = read_reference(element)
            content_id = checked_document_id(document_id, labels)
            labels[content_id] = checked_text(label or "", self.label)
        return labels

    def salvage(
        self,
        header: Element | None,
        named: Element | None,
        hops: list[Element],
        message_type: str | None,
        limits: Limits,
    ) -> About:
        """What can be known about the sender of a refused document. Never raises.

        A field counts only if the document has exactly one place for it.
        """
        data = only(header, "MessageData")
        hop = hops[-1] if hops else None
        return About(
            message_type=message_type,
            agreement_id=salvage_identifier(only(named, self.agreement)),
            from_ids=salvage_party(only(header, "From"), self.party, limits),
            message_id=salvage_identifier(only(data, "MessageId")),
            conversation_id=salvage_identifier(only(named, "ConversationId")),
            sender_uri=salvage_uri(only(hop, "SenderURI")),
            receiver_uri=salvage_uri(only(hop, "ReceiverURI")),
            error_uri=salvage_uri(only(hop, "ErrorURI")),
            profile=self.profile,
            ref_to_message_id=salvage_identifier(only(data, "RefToMessageId")),
        )


def read_hop(found: Children, *, has_error_uri: bool) -> RoutingHeader:
    """One RoutingHeader, without the values that only one of the profiles has."""
    return RoutingHeader(
        sender_uri=get_uri(found, "SenderURI"),
        receiver_uri=get_uri(found, "ReceiverURI"),
        error_uri=get_uri(found, "ErrorURI") if has_error_uri else None,
        timestamp_at=read_timestamp(get_text(found, "Timestamp")),
    )


def refuse_manifest(labels: Mapping[str, str], message_type: str) -> None:
    """Refuse a Manifest in a signal, which has no payload."""
    if labels:
        raise RemoteError(
            ErrorCode.MIME_PROBLEM,
            f"a signal, {message_type}, has a Manifest; expected is one without payload",
        )


def read_inquiry_or_report(
    root: Element, header: SignalHeader, message_type: str
) -> Inquiry | Report:
    """An inquiry of another gateway, or its answer to one of ours."""
    kind = names.REQUEST_KINDS.get(message_type)
    if kind is not None:
        return Inquiry(header, kind)
    return read_report(root, header, names.REPORT_KINDS[message_type])
