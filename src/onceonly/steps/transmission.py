"""What a transmission consists of: the package of the first one, and where each one goes."""

from onceonly.message.agreement import Agreement, Route
from onceonly.message.cpa import AckActor
from onceonly.message.message import AckRequested, Message, MessageOrder, RoutingHeader
from onceonly.message.package import HOPS_HEADER, Package
from onceonly.message.profile import Profile
from onceonly.message.word import changed
from onceonly.steps.cpa import called_on_wire
from onceonly.steps.ground import Ground
from onceonly.steps.signing import signing_of, signs
from onceonly.store.contract.store import Snapshot
from onceonly.wire.envelope import boundary_for, encode

Headers = tuple[tuple[str, str], ...]
"""Names and values."""


def first_package(
    ground: Ground,
    message: Message,
    sequence_number: int | None,
    order: MessageOrder | None = None,
) -> Package:
    """The package of the first transmission; every resend has the same bytes (R-04)."""
    agreement = ground.house.agreement(message.agreement_id)
    made_at = made_after(message, ground.now.at)
    message = called_on_wire(message, agreement)
    if agreement.profile.acknowledges_on_request:
        asked, actor = agreement.terms.ack_requested, agreement.cpa.ack_actor
        nobody = AckRequested.NONE
        message = changed(
            message,
            duplicate_elimination=agreement.terms.eliminates_duplicates,
            ack_requested=nobody if actor is AckActor.NEXT_MSH else asked,
            next_ack_requested=nobody if actor is AckActor.TO_PARTY_MSH else asked,
            order=order,
        )
    token = ground.token(f"package {message.message_id}")
    signing = None
    if signs(agreement.signing, message):
        signing = signing_of(ground.house.identities, agreement.signing, ground.now.at)
        assert signing is not None, "who agreed to sign has an identity"
    return encode(
        message,
        _routing(ground.house.uri, agreement, sequence_number, made_at),
        profile=agreement.profile,
        boundary=boundary_for(token),
        root_content_id=f"header-{token}",
        signing=signing,
        is_always_framed=not agreement.cpa.is_plain_when_empty,
    )


def _routing(
    our_uri: str, agreement: Agreement, sequence_number: int | None, made_at: int
) -> RoutingHeader:
    """The hop as the profile has it (seeds 000 §2.2.2, 001 §1.2.4 and §1.2.5)."""
    hop = RoutingHeader(
        sender_uri=our_uri,
        receiver_uri=agreement.receiver_uri,
        error_uri=our_uri if agreement.profile.has_error_uri else None,
        timestamp_at=made_at,
        sequence_number=sequence_number,
    )
    if not agreement.profile.header_has_parameters:
        return hop
    return changed(
        hop,
        reliable_messaging_method=agreement.terms.method,
        ack_requested=agreement.terms.ack_requested,
    )


def made_after(message: Message, at: int) -> int:
    """The Timestamp of a RoutingHeader made at `at`: never before that of its message (S0-47).

    Our clock may have been set back since the message was written, and the clock of an intermediary
    may be slow. Without this rule every receiver would refuse the header and its message (I40).
    """
    return max(at, message.timestamp_at)


def signal_headers(whose: Agreement | Route | Profile, action: str) -> Headers:
    """The headers of a signal's transmission, beside those of its transport."""
    profile = whose if isinstance(whose, Profile) else whose.profile
    agreed = whose.cpa.soap_action if isinstance(whose, Agreement) else None
    return _headers(profile, agreed, profile.signal_service, action)


def message_headers(snapshot: Snapshot, agreement: Agreement, message_id: str) -> Headers:
    """The headers of a transmission of a stored message of ours."""
    if agreement.profile.soap_action is None or "{" not in agreement.cpa.soap_action:
        return _headers(agreement.profile, agreement.cpa.soap_action, "", "")
    view = snapshot.find_outbound_view(message_id)
    assert view is not None, f"{message_id} is not stored"
    message = view.message
    return _headers(agreement.profile, agreement.cpa.soap_action, message.service, message.action)


def soap_action_of(agreement: Agreement, service: str, action: str) -> str | None:
    """What SOAPAction says with such a message, without its quotes; None where there is none."""
    return _soap_action(agreement.profile, agreement.cpa.soap_action, service, action)


def passing_headers(whose: Route, hops: int) -> Headers:
    """The headers of a package of others that passes, on its hop of that number."""
    if whose.profile.has_routing_headers:
        return ()
    return (*_headers(whose.profile, None, "", ""), (HOPS_HEADER, str(hops)))


def _headers(profile: Profile, agreed: str | None, service: str, action: str) -> Headers:
    value = _soap_action(profile, agreed, service, action)
    # In quotes by the binding (`wire.md` B12); a quote inside would end it.
    return () if value is None else (("SOAPAction", f'"{value}"'),)


def _soap_action(profile: Profile, agreed: str | None, service: str, action: str) -> str | None:
    if profile.soap_action is None:
        return None
    said = profile.soap_action if agreed is None else agreed
    return said.replace("{service}", service).replace("{action}", action)


def signal_endpoint_of(agreement: Agreement) -> str:
    """The address for acknowledgements, inquiries and the answers to them."""
    return agreement.cpa.signals_to or agreement.send_to


def error_endpoint_of(agreement: Agreement) -> str:
    """The address for errors about messages of the partner whose header names none.

    With RoutingHeaders that is the sender's own; without them the agreement alone says it.
    """
    if agreement.profile.has_routing_headers:
        return agreement.send_to
    return agreement.error_to or signal_endpoint_of(agreement)


def endpoint_of(agreement: Agreement, attempt: int) -> str:
    """The address for this transmission: a resend may have another (seed 001 §1.3.3.3, S1-46)."""
    if attempt > 1 and agreement.resend_to is not None:
        return agreement.resend_to
    return agreement.send_to
