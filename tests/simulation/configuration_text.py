"""The configuration of a machine of a plan as its file would say it, written key by key."""

from typing import Any

from onceonly.message.message import AckRequested, DeliverySemantics, SyncReplyMode
from onceonly.message.signing import Signed
from onceonly.message.terms import DeliveryReceiptProvided, DeliveryTerms, Intermediary
from onceonly.simulation.cast import (
    HOPS_MAX,
    SERVICE,
    intermediary_of,
    line_id,
    listen,
    party,
    path_of,
    smtp,
    tls,
    uri,
)
from onceonly.simulation.network import certificate
from onceonly.simulation.plan import Line, Machine, Plan
from onceonly.simulation.signing_keys import identity_id


def configuration_text(plan: Plan, machine: Machine) -> str:
    """TOML of the machine; what a key's default says is left to the default."""
    name = machine.name
    own = [line for line in plan.lines if name in path_of(line)]
    is_https = any(line.scheme == "https" for line in own)
    gateway = {
        "party": [str(party(name))],
        "listen": listen(name, "https" if is_https else "http"),
        "uri": uri(name),
        "api": "http://127.0.0.1:1",
        "store": f"{name}.db",
        "payload_bytes_max": 1 << 20,
        "queued_max": machine.queued_max,
        "purge_interval": machine.purge_interval_s,
        "forget_pair_after": _duration(machine.forget_pair_after_s),
    }
    text = _table("[gateway]", gateway)
    if any("smtp" in (line.scheme, line.resend_scheme) for line in own):
        text += _table("[smtp]", _smtp(name))
    if is_https:
        text += _table("[tls]", _tls(name))
    if any(line.signs is not Signed.NONE for line in own):
        files = {"certificate": f"{name}.pem", "key": f"{name}.key"}
        text += _table("[[identity]]", {"id": identity_id(name), **files})
    for line in own:
        path = path_of(line)
        if name in (path[0], path[-1]):
            text += _table(
                "[[agreement]]", _agreement(line, path if name == path[0] else path[::-1])
            )
        else:
            text += _table("[[route]]", _route(line, path, name, "there"))
            text += _table("[[route]]", _route(line, path[::-1], name, "back"))
    return text


def _smtp(name: str) -> dict[str, Any]:
    mail = smtp(name)
    return {
        "listen": mail.listen,
        "mailbox": mail.mailbox,
        "relay": mail.relay,
        "starttls": mail.starttls.value,
    }


def _tls(name: str) -> dict[str, Any]:
    files = tls(name)
    return {
        "certificate": str(files.certificate),
        "key": str(files.key),
        "trusted": str(files.trusted),
        "clients": files.clients,
    }


def _agreement(line: Line, path: list[str]) -> dict[str, Any]:
    terms = line.terms
    keys = {
        "id": line_id(line),
        "profile": line.profile.name,
        "with": [str(party(path[-1]))],
        "send_to": uri(path[1], line.scheme),
        "resend_to": uri(path[1], line.resend_scheme) if line.resend_scheme else None,
        "receiver_uri": uri(path[1]),
        "intermediary": intermediary_of(line),
        "caller_certificate": certificate(path[1]) if line.is_certified else None,
        "delivery_semantics": terms.semantics.value,
        "window": terms.window,
        "timeout": terms.timeout_s,
        "retry_interval": terms.retry_interval_s,
        "on_exhausted": terms.on_exhausted.value,
        "transient_retries": terms.transient_retries,
        "fail_fast_on_network_error": terms.fails_on_network_error,
        "strict_release": terms.strict_release,
        "drop_duplicates": terms.drop_duplicates,
        "notify_failures": terms.notifies_failures,
        "ack_status": terms.ack_status.assurance.value,
        "passed_on": terms.ack_status.is_passed_on,
        "reports_processing": terms.reports_processing,
        **_times(terms),
        **_retries(terms),
        **_recovery(terms),
    }
    if line.profile.has_cpa:
        keys["reports_refusals"] = terms.reports_refusals
    if line.profile.header_has_parameters:
        keys |= _of_headers(terms)
    keys |= _of_ebms_2_0(line, path[-1])
    for key, is_known in (
        ("timeout", line.profile.has_timeout),
        ("transient_retries", line.profile.has_transient_errors),
        ("reports_processing", line.profile.has_cancels),
        ("response_choice", line.profile.response_acknowledges),
    ):
        if not is_known:
            keys.pop(key, None)
    return keys


def _of_ebms_2_0(line: Line, partner: str) -> dict[str, Any]:
    terms, keys = line.terms, dict[str, Any]()
    if terms.is_ordered:
        keys |= {
            "message_order": "Guaranteed",
            "order_hold_max": terms.order_hold_max,
            "order_gap_after": _duration(terms.order_gap_after_s),
        }
    if line.signs is not Signed.NONE:
        keys |= {"sign": line.signs.value, "partner_certificates": [f"{partner}.pem"]}
    if line.cpa_id:
        actions = [line.action]
        binding = {"id": SERVICE, "send": actions, "receive": actions}
        keys |= {"cpa_id": line.cpa_id, "services": [binding]}
    return keys


def _times(terms: DeliveryTerms) -> dict[str, Any]:
    accuracy_s = terms.msh_time_accuracy_s
    return {
        "persist_duration": _duration(terms.persist_duration_s),
        "time_to_live": _duration(terms.time_to_live_s),
        "msh_time_accuracy": f"{accuracy_s // 60:02}:{accuracy_s % 60:02}",
        "timestamp_ahead_max": _duration(terms.timestamp_ahead_max_s),
    }


def _retries(terms: DeliveryTerms) -> dict[str, Any]:
    """Until it expires: that is what level 1 says, and no number."""
    if terms.retries is not None:
        return {"retries": terms.retries}
    return {} if terms.semantics is DeliverySemantics.EXACTLY_ONCE else {"level": 1}


def _recovery(terms: DeliveryTerms) -> dict[str, Any]:
    recovery = terms.recovery
    above = recovery.ping_above_bytes
    keys: dict[str, Any] = {
        "ping_before_send_above": 0 if above == -1 else above,
        "inquire_status": recovery.inquires,
        "response_within": _duration(recovery.response_within_s),
    }
    asks = recovery.inquires or recovery.response_within_s is not None
    if asks:
        keys["ping_before_inquiry"] = recovery.pings_before_inquiry
        keys["when_not_received"] = recovery.when_not_received.value
    if recovery.response_within_s is not None:
        keys["when_not_started"] = recovery.when_not_started.value
        keys["when_complete"] = recovery.when_complete.value
    if asks or above is not None:
        keys["inquiries"] = recovery.inquiries
    return keys


def _of_headers(terms: DeliveryTerms) -> dict[str, Any]:
    keys = {
        "ack_requested": terms.ack_requested,
        "sync_reply_mode": terms.sync_reply_mode,
        "delivery_receipt_requested": terms.delivery_receipt_requested,
        "delivery_receipt_provided": terms.delivery_receipt_provided,
        "response_choice": terms.response_choice,
    }
    usual = (AckRequested.NONE, SyncReplyMode.NONE, DeliveryReceiptProvided.NONE)
    return {key: word.value for key, word in keys.items() if word not in usual}


def _route(line: Line, path: list[str], name: str, direction: str) -> dict[str, Any]:
    at, terms = path.index(name), line.terms
    mode = dict(line.through)[name]
    keys = {
        "id": f"{line_id(line)}-{direction}",
        "profile": line.profile.name,
        "intermediary": mode.value,
        "from": [str(party(path[0]))],
        "to": [str(party(path[-1]))],
        "agreement": line_id(line),
        "back_to": uri(path[at - 1], line.scheme),
        "sender_uri": uri(path[at - 1]),
        "send_to": uri(path[at + 1], line.scheme),
        "receiver_uri": uri(path[at + 1]),
        "hops_max": HOPS_MAX,
        "caller_certificate": certificate(path[at - 1]) if line.is_certified else None,
        "next_hop_certificate": certificate(path[at + 1]) if line.is_certified else None,
        "retry_interval": terms.retry_interval_s,
        **_times(terms),
    }
    if mode is Intermediary.RELAY:
        return keys | {"time_to_live": None, "timestamp_ahead_max": None}
    return keys | {
        "window": terms.window,
        "timeout": terms.timeout_s,
        "retries": terms.retries,
        "transient_retries": terms.transient_retries,
        "fail_fast_on_network_error": terms.fails_on_network_error,
        "ack_requested": AckRequested.UNSIGNED.value,
    }


def _duration(seconds: int | None) -> str | None:
    return None if seconds is None else f"PT{seconds}S"


def _table(heading: str, keys: dict[str, Any]) -> str:
    lines = [f"{key} = {_literal(value)}" for key, value in keys.items() if value is not None]
    return "\n".join((heading, *lines, "", ""))


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_literal(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
