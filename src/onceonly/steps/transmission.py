"""What a transmission consists of: the package of the first one, and where each one goes."""

from onceonly.message.agreement import Agreement
from onceonly.message.message import Message, MessageOrder, RoutingHeader
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.steps.cpa import called_on_wire
from onceonly.steps.ground import Ground
from onceonly.wire.envelope import boundary_for, encode


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
        message = changed(
            message,
            duplicate_elimination=agreement.terms.eliminates_duplicates,
            ack_requested=agreement.terms.ack_requested,
            order=order,
        )
    token = ground.token(f"package {message.message_id}")
    return encode(
        message,
        _routing(ground.house.uri, agreement, sequence_number, made_at),
        profile=agreement.profile,
        boundary=boundary_for(token),
        root_content_id=f"header-{token}",
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


def endpoint_of(agreement: Agreement, attempt: int) -> str:
    """The address for this transmission: a resend may have another (seed 001 §1.3.3.3, S1-46)."""
    if attempt > 1 and agreement.resend_to is not None:
        return agreement.resend_to
    return agreement.send_to
