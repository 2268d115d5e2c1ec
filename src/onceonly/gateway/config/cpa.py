"""From the keys that only a CPA has to `CpaTerms`, or the reason why they cannot work."""

from onceonly.gateway.config.cpa_keys import CPA_KEYS
from onceonly.gateway.config.file import Table
from onceonly.message.agreement import Agreement
from onceonly.message.cpa import AckActor, CheckHeader, CpaTerms, Demand, MessageIdForm, overlapping
from onceonly.message.instant import to_datetime
from onceonly.message.profile import Profile


def cpa_terms_of(table: Table) -> CpaTerms:
    """The terms of an `[[agreement]]` that only a CPA has. Raises `ConfigurationError`."""
    profile: Profile = table["profile"]
    for key in CPA_KEYS if not profile.has_cpa else ():
        if table.is_given(key):
            table.refuse(key, f"is a term of a CPA, which {profile.name} has not; legal: not given")
    _check_roles(table)
    begins_at, ends_at = table["valid_from"], table["valid_until"]
    if begins_at is not None and ends_at is not None and ends_at <= begins_at:
        table.refuse("valid_until", f"is not after valid_from, {to_datetime(begins_at)}")
    demand = table["duplicate_elimination"]
    return CpaTerms(
        cpa_id=table["cpa_id"] or "",
        role=table["role"],
        partner_role=table["partner_role"],
        services=table["services"] or (),
        check_header=CheckHeader(table["check_header"]),
        ack_actor=AckActor(table["ack_actor"]),
        duplicate_elimination=None if demand is None else Demand(demand),
        signals_to=table["signals_to"],
        soap_action=table["soap_action"],
        answer_status=table["answer_status"],
        is_plain_when_empty=table["plain_when_empty"],
        has_strict_parts=table["strict_parts"],
        valid_from_at=begins_at,
        valid_until_at=ends_at,
        retriable_faults=table["retriable_faults"] or (),
        has_lenient_signal_parties=table["lenient_signal_parties"],
        has_roles_on_signals=table["roles_on_signals"],
        has_extensions=table["extensions"],
        answers_inquiries=table["answers_inquiries"],
        message_id_form=MessageIdForm(table["message_id_form"]),
        has_xml_first=table["xml_part_first"],
        names_in_requests=table["status_request_ref"],
        description=table["description"] or "",
    )


def check_beside(table: Table, agreement: Agreement, other: Agreement) -> None:
    """Refuse a second agreement that would take the same messages as `other`.

    Both are between the same parties under one CPAId; Roles, service and action tell them apart.
    """
    ours, theirs = agreement.cpa, other.cpa
    if ours.role and theirs.role:
        roles = (ours.role, ours.partner_role), (theirs.role, theirs.partner_role)
        if roles[0] != roles[1]:
            return
    common = overlapping(agreement.cpa.services, other.cpa.services)
    if common is None:
        return
    service, action = common
    what = service if action is None else f"action {action!r} of service {service!r}"
    table.refuse(
        "services" if table.is_given("services") else "cpa_id",
        f"has {what} for CPAId {agreement.name_on_wire!r}, as {other.id!r} has; legal: each action"
        " in one of them",
    )


def _check_roles(table: Table) -> None:
    for key, other in (("role", "partner_role"), ("partner_role", "role")):
        if table[key] is not None and table[other] is None:
            table.refuse(key, f"is given alone: a header names both; legal: with {other}")
