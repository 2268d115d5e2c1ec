"""What two channels and two bindings agree about one action, as keys of an `[[agreement]]`.

The channel of the receiver decides, and the plan of the receiving party (§12 of the profile): so
both parties read the same terms out of one CPA. Addresses and certificates are not known here.
"""

from typing import Any, Final

from onceonly.gateway.config.effective import duration_of
from onceonly.gateway.config.terms import RETRIES
from onceonly.gateway.cpa.document import CpaError
from onceonly.gateway.cpa.model import Channel, Characteristics, ReliableMessaging
from onceonly.gateway.cpa.notes import Notes
from onceonly.gateway.cpa.pairing import Flow
from onceonly.message.message import AckRequested, DeliverySemantics
from onceonly.message.word import Word

_RETRY_INTERVAL_S: Final = 60
"""As the key `retry_interval` has it, where the CPA says nothing."""
_MORE: Final = (6, 5)
"""Keep ids for a fifth longer than the plan of the sender, where the CPA keeps them shorter."""

_SEMANTICS: Final = {
    (True, True): DeliverySemantics.ONCE_AND_ONLY_ONCE,
    (True, False): DeliverySemantics.AT_LEAST_ONCE,
    (False, True): DeliverySemantics.AT_MOST_ONCE,
    (False, False): DeliverySemantics.BEST_EFFORT,
}
"""By whether an acknowledgement is asked for, and suppression (§1 of the profile)."""


class Allowed(Word, kw_only=True):
    """What the operator accepts that is otherwise refused."""

    is_open: bool = False
    """Plain http, though the CPA demands a protected way (`--insecure`)."""
    is_plain: bool = False
    """No encryption, though the CPA demands it (`--ignore-encryption`)."""


def terms_of(flow: Flow, allowed: Allowed, notes: Notes) -> dict[str, Any]:
    """The terms of an action, by key. Raises `CpaError`."""
    _check_encryption(flow, allowed, notes)
    _note_business_signals(flow, notes)
    channel = flow.to_channel
    reliable = _reliable_messaging(flow, notes)
    ack_requested = _ack_requested(flow, reliable, notes)
    is_asked = ack_requested is not AckRequested.NONE
    semantics = _SEMANTICS[is_asked, channel.duplicate_elimination != "never"]
    found: dict[str, Any] = {
        "delivery_semantics": semantics.value,
        "ack_requested": ack_requested.value,
        "duplicate_elimination": channel.duplicate_elimination,
        "sync_reply_mode": channel.sync_reply_mode,
    }
    if channel.actor == "nextMSH" and is_asked:
        found["ack_actor"] = "nextMSH"
    if _is_per_message(channel):
        found["check_header"] = "lenient"
    if reliable is not None and reliable.is_ordered:
        found["message_order"] = "Guaranteed"
    found.update(_times(flow, reliable if is_asked else None, notes))
    if is_signed(flow):
        found.update(sign="messages", require_signature="messages")
    return found


def is_signed(flow: Flow) -> bool:
    """Whether its messages are signed: a document that proves itself takes a signature."""
    return any(
        one.is_non_repudiation_required
        or one.is_authenticated.is_persistent
        or one.is_tamper_proof.is_persistent
        for one in _characteristics(flow)
    )


def needs_protected_way(flow: Flow) -> bool:
    """Whether the CPA demands a transport that nobody can read or change."""
    return any(
        level.is_transient
        for one in _characteristics(flow)
        for level in (one.is_confidential, one.is_authenticated, one.is_tamper_proof)
    )


def _characteristics(flow: Flow) -> tuple[Characteristics, Characteristics]:
    return flow.ours.characteristics, flow.theirs.characteristics


def _is_per_message(channel: Channel) -> bool:
    words = [channel.ack_requested, channel.duplicate_elimination]
    if channel.ack_requested != "never":
        words.append(channel.ack_signature_requested)
    return "perMessage" in words


def _reliable_messaging(flow: Flow, notes: Notes) -> ReliableMessaging | None:
    """The plan of the receiving party, else of the sending one; the longer where both differ."""
    receiver = flow.to_channel.exchange.receiver.reliable_messaging
    sender = flow.from_channel.exchange.sender.reliable_messaging
    if receiver is None or sender is None:
        return receiver or sender
    plans = {(one.retries, one.retry_interval_s) for one in (receiver, sender)}
    if len(plans) == 1:
        return receiver
    longer = max(receiver, sender, key=lambda one: one.plan_s)
    notes.warn(
        f"{flow.what}: sender and receiver have other Retries and RetryInterval; the longer plan "
        f"is taken, {longer.retries} x {longer.retry_interval_s} s"
    )
    return longer


def _ack_requested(flow: Flow, reliable: ReliableMessaging | None, notes: Notes) -> AckRequested:
    channel = flow.to_channel
    if channel.ack_requested == "never":
        _note_no_receipt(flow, notes)
        return AckRequested.NONE
    if reliable is None:
        if channel.ack_requested == "always":
            raise CpaError(
                f"line {channel.line}: the channel {channel.id!r} always acknowledges, and its "
                "DocExchange has no ReliableMessaging; expected are Retries and RetryInterval"
            )
        notes.warn(
            f"{flow.what}: acknowledgements may be asked for and there is no ReliableMessaging; "
            "none are asked for"
        )
        return AckRequested.NONE
    wants_receipt = any(one.is_non_repudiation_receipt_required for one in _characteristics(flow))
    signature = channel.ack_signature_requested
    if signature == "always" or (wants_receipt and signature == "perMessage"):
        return AckRequested.SIGNED
    if signature == "never":
        _note_no_receipt(flow, notes)
    return AckRequested.UNSIGNED


def _note_no_receipt(flow: Flow, notes: Notes) -> None:
    if any(one.is_non_repudiation_receipt_required for one in _characteristics(flow)):
        notes.warn(
            f"{flow.what}: a receipt that proves itself is demanded, and acknowledgements are not "
            "signed; receipts by business signals are not offered"
        )


def _times(flow: Flow, reliable: ReliableMessaging | None, notes: Notes) -> dict[str, Any]:
    """The plan, and how long ids are kept: never shorter than the plan."""
    persist_s = flow.to_channel.exchange.receiver.persist_duration_s
    if persist_s is None:
        persist_s = flow.from_channel.exchange.sender.persist_duration_s
    if persist_s == 0:
        persist_s = None
    if reliable is None:
        return {} if persist_s is None else {"persist_duration": duration_of(persist_s)}
    retries = RETRIES if reliable.retries is None else reliable.retries
    interval_s = reliable.retry_interval_s or _RETRY_INTERVAL_S
    if reliable.retries is None or reliable.retry_interval_s is None:
        notes.warn(
            f"{flow.what}: Retries or RetryInterval is absent; {retries} x {interval_s} s are taken"
        )
    plan_s = (retries + 1) * interval_s
    if persist_s is not None and persist_s < plan_s:
        raised_s = -(-plan_s * _MORE[0] // _MORE[1])
        notes.warn(
            f"{flow.what}: PersistDuration is {persist_s} s, less than the {plan_s} s of "
            f"(Retries + 1) x RetryInterval; {raised_s} s are written"
        )
        persist_s = raised_s
    found: dict[str, Any] = {"retries": retries, "retry_interval": interval_s}
    live_s = (retries + 2) * interval_s
    if persist_s is not None:
        found["persist_duration"] = duration_of(persist_s)
        live_s = min(live_s, persist_s)
    return {**found, "time_to_live": duration_of(live_s)}


def _check_encryption(flow: Flow, allowed: Allowed, notes: Notes) -> None:
    is_demanded = (
        flow.from_channel.exchange.sender.has_envelope
        or flow.to_channel.exchange.receiver.has_envelope
        or any(one.is_confidential.is_persistent for one in _characteristics(flow))
    )
    if not is_demanded:
        return
    if not allowed.is_plain:
        raise CpaError(
            f"line {flow.ours.line}: {flow.what} is to be encrypted, and encryption of parts is "
            "not offered. Where the application encrypts them itself, say --ignore-encryption"
        )
    notes.warn(
        f"{flow.what}: parts are to be encrypted; no gateway does that, the application must"
    )


def _note_business_signals(flow: Flow, notes: Notes) -> None:
    """What only the level of the business process has, and no gateway."""
    for one in _characteristics(flow):
        if one.time_to_acknowledge_receipt is not None:
            notes.warn(
                f"{flow.what}: timeToAcknowledgeReceipt {one.time_to_acknowledge_receipt} asks for "
                "a business signal, which is not offered"
            )
        if one.retry_count is not None:
            notes.warn(
                f"{flow.what}: retryCount {one.retry_count} is of the business process; the "
                "application has to start it again"
            )
        if one.is_intelligible_check_required:
            notes.warn(
                f"{flow.what}: isIntelligibleCheckRequired is not offered; see ack_status and "
                "validator for what is"
            )
