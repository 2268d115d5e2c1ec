"""What an agreement amounts to: every key with the value that holds, as the file would say it.

Where the file leaves a key out, the profile, the semantics or the level decide about it; here it is
with what they decided. No key of an agreement is a secret.
"""

from collections.abc import Iterable
from typing import Any, Final

from onceonly.gateway.config.agreement_keys import AGREEMENT_KEYS
from onceonly.gateway.config.cpa_keys import CPA_KEYS
from onceonly.gateway.config.file import Table
from onceonly.gateway.config.order_keys import GUARANTEED, NOT_GUARANTEED
from onceonly.gateway.config.terms import EVERY_MESSAGE
from onceonly.gateway.config.values import ENTRANCES
from onceonly.message.agreement import Agreement
from onceonly.message.cpa import ServiceBinding
from onceonly.message.instant import to_datetime
from onceonly.message.signing import SigningTerms
from onceonly.message.terms import DeliveryTerms

_UNITS: Final = (("D", 86_400), ("H", 3_600), ("M", 60), ("S", 1))


def effective(agreement: Agreement, table: Table | None = None) -> dict[str, str]:
    """Every key and its value; an empty text where there is none.

    `table` is what the file says, which alone knows `level` and `round_trip`.
    """
    values = {**_of_parties(agreement), **_of_terms(agreement.terms), **_of_recovery(agreement)}
    values |= _of_cpa(agreement) if agreement.profile.has_cpa else dict.fromkeys(CPA_KEYS)
    values |= _of_signing(agreement.signing)
    if not agreement.profile.has_timeout:
        values["timeout"] = None
    if table is not None:
        values = {**{name: table[name] for name in AGREEMENT_KEYS}, **values}
    return {name: _text(values.get(name)) for name in AGREEMENT_KEYS}


def _of_parties(agreement: Agreement) -> dict[str, Any]:
    usual = ("https",) if agreement.caller_certificate else ENTRANCES
    return {
        "id": agreement.id,
        "profile": agreement.profile.name,
        "with": agreement.their_ids,
        "name": agreement.name,
        "party": agreement.our_ids,
        "send_to": agreement.send_to,
        "error_to": agreement.error_to,
        "resend_to": agreement.resend_to or agreement.send_to,
        "caller_certificate": agreement.caller_certificate,
        "entrances": agreement.entrances or usual,
        "receiver_uri": agreement.receiver_uri,
        "validator": agreement.validator,
        "reliable_messaging_methods_supported": agreement.methods_supported,
    }


def _of_terms(terms: DeliveryTerms) -> dict[str, Any]:
    return {
        "intermediary": terms.intermediary,
        "delivery_semantics": terms.semantics,
        "window": terms.window,
        "reliable_messaging_method": terms.method,
        "ack_requested": terms.ack_requested,
        "sync_reply_mode": terms.sync_reply_mode,
        "delivery_receipt_requested": terms.delivery_receipt_requested,
        "delivery_receipt_provided": terms.delivery_receipt_provided,
        "timeout": terms.timeout_s,
        "retries": "until the message expires" if terms.retries is None else terms.retries,
        "retry_interval": terms.retry_interval_s,
        "persist_duration": duration_of(terms.persist_duration_s),
        "time_to_live": duration_of(terms.time_to_live_s),
        "msh_time_accuracy": "{:02}:{:02}".format(*divmod(terms.msh_time_accuracy_s, 60)),
        "timestamp_ahead_max": duration_of(terms.timestamp_ahead_max_s),
        "on_exhausted": terms.on_exhausted,
        "transient_retries": terms.transient_retries,
        "fail_fast_on_network_error": terms.fails_on_network_error,
        "strict_release": terms.strict_release,
        "drop_duplicates": terms.drop_duplicates,
        "message_order": GUARANTEED if terms.is_ordered else NOT_GUARANTEED,
        "order_hold_max": terms.order_hold_max if terms.is_ordered else None,
        "order_gap_after": terms.order_gap_after_s if terms.is_ordered else None,
        "response_choice": terms.response_choice,
        "notify_failures": terms.notifies_failures,
        "ack_status": terms.ack_status.assurance,
        "passed_on": terms.ack_status.is_passed_on,
        "reports_processing": terms.reports_processing,
    }


def _of_recovery(agreement: Agreement) -> dict[str, Any]:
    recovery = agreement.terms.recovery
    above = recovery.ping_above_bytes
    return {
        "ping_before_send_above": 0 if above == EVERY_MESSAGE else above,
        "inquire_status": recovery.inquires,
        "ping_before_inquiry": recovery.pings_before_inquiry,
        "inquiries": recovery.inquiries,
        "when_not_received": recovery.when_not_received,
        "response_within": duration_of(recovery.response_within_s),
        "when_not_started": recovery.when_not_started,
        "when_complete": recovery.when_complete,
    }


def _of_signing(signing: SigningTerms) -> dict[str, Any]:
    """Certificates by their fingerprints: another file may stand under the old name."""
    return {
        "sign": signing.signs,
        "require_signature": signing.requires,
        "identities": signing.identities,
        "partner_certificates": [one.fingerprint for one in signing.partner_certificates],
        "signature_algorithm": signing.algorithm,
        "canonicalization": signing.canonicalization,
        "accept_sha1": signing.accepts_sha1,
        "xml_part_transforms": signing.accepts_part_transforms,
    }


def _of_cpa(agreement: Agreement) -> dict[str, Any]:
    cpa = agreement.cpa
    return {
        "cpa_id": agreement.name_on_wire,
        "role": cpa.role,
        "partner_role": cpa.partner_role,
        "services": tuple(map(_binding, cpa.services)) or None,
        "check_header": cpa.check_header,
        "duplicate_elimination": cpa.duplicate_elimination,
        "ack_actor": cpa.ack_actor,
        "signals_to": cpa.signals_to or agreement.send_to,
        "soap_action": cpa.soap_action,
        "answer_status": cpa.answer_status,
        "plain_when_empty": cpa.is_plain_when_empty,
        "strict_parts": cpa.has_strict_parts,
        "valid_from": _instant(cpa.valid_from_at),
        "valid_until": _instant(cpa.valid_until_at),
        "retriable_faults": cpa.retriable_faults or None,
        "reports_refusals": agreement.terms.reports_refusals,
        "lenient_signal_parties": cpa.has_lenient_signal_parties,
        "roles_on_signals": cpa.has_roles_on_signals,
        "extensions": cpa.has_extensions,
        "answers_inquiries": cpa.answers_inquiries,
        "message_id_form": cpa.message_id_form,
        "xml_part_first": cpa.has_xml_first,
        "status_request_ref": cpa.names_in_requests,
        "description": cpa.description or None,
    }


def _binding(binding: ServiceBinding) -> str:
    kind = f" ({binding.type})" if binding.type else ""
    ways = (("send", binding.send), ("receive", binding.receive))
    said = "; ".join(f"{way} {', '.join(actions)}" for way, actions in ways if actions)
    return f"{binding.id}{kind}: {said}"


def _instant(at: int | None) -> str | None:
    return None if at is None else to_datetime(at).isoformat()


def duration_of(seconds: int | None) -> str | None:
    """The time as an ISO 8601 duration: `P30D`, `PT1H30M`."""
    if seconds is None:
        return None
    counts = {}
    for unit, size in _UNITS:
        counts[unit], seconds = divmod(seconds, size)
    time = "".join(f"{counts[unit]}{unit}" for unit in "HMS" if counts[unit])
    days = f"{counts['D']}D" if counts["D"] or not time else ""
    return f"P{days}" + (f"T{time}" if time else "")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)
