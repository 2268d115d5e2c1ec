"""Whether a message keeps to what only a CPA says: roles, services and actions, and validity."""

from onceonly.message.agreement import Agreement
from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.identity import is_uri
from onceonly.message.instant import to_datetime
from onceonly.message.message import Message
from onceonly.message.printable import quoted
from onceonly.message.word import changed

HEADER = "//SOAP:Header/eb:"
"""Where the location of an error about a header block begins."""

_MESSAGE_HEADER = f"{HEADER}MessageHeader/eb:"


def may_receive(agreement: Agreement, message: Message) -> bool:
    """Whether the partner may send this service and action under the agreement."""
    if not agreement.cpa.services:
        return True
    binding = agreement.cpa.binding_of(message.service, message.service_type)
    return binding is not None and message.action in binding.receive


def has_roles(agreement: Agreement, message: Message) -> bool:
    """Whether a received message has the Roles of the agreement: a CPA may have several of each."""
    cpa = agreement.cpa
    return cpa.role is None or (message.from_role, message.to_role) == (cpa.partner_role, cpa.role)


def may_send(agreement: Agreement, service: str, action: str) -> bool:
    """Whether we may send this service and action under the agreement."""
    services = agreement.cpa.services
    return not services or any(one.id == service and action in one.send for one in services)


def check_cpa(message: Message, agreement: Agreement) -> None:
    """Check roles, service and action of a received message.

    Raises `RemoteError` with the location that does not fit.
    """
    cpa = agreement.cpa
    if cpa.role is not None:
        _check_role("From", message.from_role, cpa.partner_role or "")
        _check_role("To", message.to_role, cpa.role)
    if not cpa.services or may_receive(agreement, message):
        return
    binding = cpa.binding_of(message.service, message.service_type)
    if binding is None:
        expected = " or ".join(_with_type(one.id, one.type) for one in cpa.services)
        raise RemoteError(
            ErrorCode.VALUE_NOT_RECOGNIZED,
            f"Service {_with_type(message.service, message.service_type)} is not in the agreement;"
            f" expected is {expected}",
            location=f"{_MESSAGE_HEADER}Service",
        )
    expected = " or ".join(map(quoted, binding.receive)) or "none: only we send under it"
    raise RemoteError(
        ErrorCode.VALUE_NOT_RECOGNIZED,
        f"Action {quoted(message.action)} of service {quoted(message.service)} is not one that the"
        f" agreement lets you send; expected is {expected}",
        location=f"{_MESSAGE_HEADER}Action",
    )


def check_valid(agreement: Agreement, at: int) -> None:
    """Raise `RemoteError` if no new message may come under the agreement at this instant.

    It is the same as for an unknown CPAId (E2-27); signals about what is under way are taken.
    """
    if not agreement.cpa.is_valid(at):
        raise RemoteError(
            ErrorCode.VALUE_NOT_RECOGNIZED,
            f"agreement {quoted(agreement.name_on_wire)} {_when(agreement, at)}; expected is a"
            " message under one that is",
            location=f"{_MESSAGE_HEADER}CPAId",
        )


def check_sendable(agreement: Agreement, message: Message, at: int) -> None:
    """Raise `LocalError` if we may not send this message now.

    AgreementExpired outside of its validity; NotInAgreement for another service or action.
    """
    if not agreement.cpa.is_valid(at):
        text = f"agreement {agreement.id!r} {_when(agreement, at)}"
        raise LocalError("AgreementExpired", text)
    if may_send(agreement, message.service, message.action):
        _check_service(agreement, message.service)
        return
    legal = "; ".join(
        f"{one.id}: {', '.join(one.send)}" for one in agreement.cpa.services if one.send
    )
    raise LocalError(
        "NotInAgreement",
        f"agreement {agreement.id!r} has no action {message.action!r} of service"
        f" {message.service!r} that we send; it has {legal or 'none'}",
    )


def _check_service(agreement: Agreement, service: str) -> None:
    """A Service without a type has to be a URI (ebMS 2.0 §3.1.4.1): every partner refuses it."""
    if not agreement.profile.has_cpa or is_uri(service):
        return
    if all(one.type is None for one in agreement.cpa.services if one.id == service):
        raise LocalError(
            "NotInAgreement",
            f"service {service!r} is no URI, and agreement {agreement.id!r} has no type for it;"
            " say it in `services`, or submit a URI such as urn:services:Orders",
        )


def called_on_wire(message: Message, agreement: Agreement) -> Message:
    """The message with the name of its agreement that both parties know (R-35)."""
    if message.agreement_id == agreement.name_on_wire:
        return message
    return changed(message, agreement_id=agreement.name_on_wire)


def with_cpa(message: Message, agreement: Agreement) -> Message:
    """The message with the roles, the type of its service, and the description agreed on."""
    cpa = agreement.cpa
    kind = next((one.type for one in cpa.services if one.id == message.service), None)
    if message.description or (cpa.role, kind, cpa.description) == (None, None, ""):
        return message
    return changed(
        message,
        from_role=cpa.role,
        to_role=cpa.partner_role,
        service_type=kind,
        description=cpa.description,
    )


def _check_role(side: str, role: str | None, agreed: str) -> None:
    if role == agreed:
        return
    seen = "has no Role" if role is None else f"has Role {quoted(role)}"
    raise RemoteError(
        ErrorCode.INCONSISTENT,
        f"{side} {seen}; expected is what was agreed, {quoted(agreed)}",
        location=f"{_MESSAGE_HEADER}{side}/eb:Role",
    )


def _when(agreement: Agreement, at: int) -> str:
    begins_at, ends_at = agreement.cpa.valid_from_at, agreement.cpa.valid_until_at
    if begins_at is not None and at < begins_at:
        return f"is not in force before {to_datetime(begins_at).isoformat()}"
    assert ends_at is not None, "it begins before and does not end, so it is in force"
    return f"is not in force since {to_datetime(ends_at).isoformat()}"


def _with_type(service: str, kind: str | None) -> str:
    return quoted(service) if kind is None else f"{quoted(service)} of type {quoted(kind)}"
