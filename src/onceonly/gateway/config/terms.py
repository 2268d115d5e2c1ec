"""From the keys of one agreement to its `DeliveryTerms`, or the reason why they cannot work.

Knows what a profile, a degree of reliability and a level (seed 004) require and exclude. A key in
the file has priority over the default of a level, but is refused if it contradicts the level. Keeps
ruling R-06: a verdict comes before the message expires, and before its id may be forgotten.
"""

from urllib.parse import urlsplit

from onceonly.gateway.config.agreement_keys import EBXML_METHOD_URI, WINDOW_2001
from onceonly.gateway.config.file import Table
from onceonly.gateway.config.order import with_order
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    ReliableMessagingMethod,
    SyncReplyMode,
)
from onceonly.message.profile import Profile
from onceonly.message.signals import AckStatus, Assurance
from onceonly.message.terms import (
    DeliveryReceiptProvided,
    DeliveryTerms,
    Intermediary,
    OnExhausted,
    RecoveryTerms,
    Remedy,
    ResponseChoice,
)
from onceonly.steps.authority import entrance_of

ONLY_2001 = (
    "reliable_messaging_method",
    "reliable_messaging_methods_supported",
    "ack_requested",
    "sync_reply_mode",
    "delivery_receipt_requested",
    "delivery_receipt_provided",
    "response_choice",
)
"""Parameters of seed 001 (§1.2), for headers that have them."""

_NEEDS: tuple[tuple[str, str, str], ...] = (
    ("timeout", "has_timeout", "has no Timeout: the first wait is a retry_interval, too"),
    ("transient_retries", "has_transient_errors", "has no TransientError"),
    ("delivery_receipt_requested", "has_receipts", "has no delivery receipts"),
    ("delivery_receipt_provided", "has_receipts", "has no delivery receipts"),
    ("response_choice", "response_acknowledges", "has responses that acknowledge nothing"),
    ("response_within", "has_cancels", "has no question for a response"),
    ("reports_processing", "has_cancels", "has no word for the state of the processing"),
    ("reliable_messaging_method", "has_routing_headers", "has no such parameter"),
    ("reliable_messaging_methods_supported", "has_routing_headers", "has no such parameter"),
)
"""For each key the trait of a profile without which it has no meaning, and why."""

_OF_ACKNOWLEDGEMENTS = (
    "ack_requested",
    "sync_reply_mode",
    "delivery_receipt_requested",
    "delivery_receipt_provided",
    "level",
    "timeout",
    "retries",
    "round_trip",
    "resend_to",
    "transient_retries",
    "on_exhausted",
    "fail_fast_on_network_error",
    "strict_release",
    "notify_failures",
    "response_choice",
    "ack_status",
    "passed_on",
    "validator",
    "ping_before_send_above",
    "inquire_status",
)
"""Keys without a meaning if a product underneath makes the delivery reliable (S1-12)."""

_NO_RESENDS = "which never sends again"
_NO_FAILURE = "which never gives up (R-17)"
_NO_ACKNOWLEDGEMENT = "which has no acknowledgement to wait for (S0-39)"

_NOT_FOR: dict[DeliverySemantics, tuple[tuple[str, tuple[object, ...], str], ...]] = {
    DeliverySemantics.AT_MOST_ONCE: (
        ("retries", (None, 0), f"{_NO_RESENDS}; legal: 0"),
        ("level", (None, 0), f"{_NO_RESENDS}; legal: 0"),
        ("resend_to", (None,), _NO_RESENDS),
        ("on_exhausted", (None, OnExhausted.FAIL), "whose pair goes on; legal: fail"),
    ),
    DeliverySemantics.EXACTLY_ONCE: (
        ("retries", (None,), _NO_FAILURE),
        ("time_to_live", (None,), _NO_FAILURE),
        ("level", (None,), _NO_FAILURE),
        ("fail_fast_on_network_error", (False,), f"{_NO_FAILURE}; legal: false"),
        ("notify_failures", (None, False), f"{_NO_FAILURE}; legal: false"),
        ("inquire_status", (None, False), f"{_NO_FAILURE}; legal: false"),
    ),
    DeliverySemantics.BEST_EFFORT: (
        ("retries", (None, 0), f"{_NO_RESENDS}; legal: 0"),
        ("level", (None, 0), f"{_NO_ACKNOWLEDGEMENT}; legal: 0"),
        ("ack_requested", (None, AckRequested.NONE), f"{_NO_ACKNOWLEDGEMENT}; legal: None"),
        ("inquire_status", (None, False), f"{_NO_ACKNOWLEDGEMENT}; legal: false"),
        ("on_exhausted", (None, OnExhausted.FAIL), "whose pair goes on; legal: fail"),
    ),
}
"""For each degree of reliability: a key, its legal values, and why no others are legal."""

_SENT_ONCE = (DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.BEST_EFFORT)

_OF_ACCEPTING = (
    "window",
    "ack_requested",
    "timeout",
    "retries",
    "time_to_live",
    "timestamp_ahead_max",
    "transient_retries",
    "fail_fast_on_network_error",
    "notify_failures",
)
"""Keys that only an intermediary needs that takes over the delivery."""

PINGING, RESENDING, INQUIRING = (2, 4, 5), (1, 3, 4, 5), (3, 4, 5)
"""The levels that ask before sending, those that send again, and those that ask after giving up."""

RETRIES = 3
"""Resends unless agreed otherwise: three, as in figure 2-7 of seed 000."""

EVERY_MESSAGE = -1
"""As a limit of payload bytes: every message is above it, even one without payloads."""


def terms_of(table: Table) -> DeliveryTerms:
    """The terms of an `[[agreement]]`. Raises `ConfigurationError`."""
    profile: Profile = table["profile"]
    semantics = DeliverySemantics(table["delivery_semantics"])
    method = ReliableMessagingMethod(table["reliable_messaging_method"] or "ebXML")
    intermediary = Intermediary(table["intermediary"]) if table["intermediary"] else None
    _check_profile(table, profile)
    _check_method(table, method)
    _check_semantics(table, semantics)
    _check_level(table)
    _check_recovery(table)
    _check_acknowledgements(table)
    ack_requested = _ack_requested(table, profile, semantics)
    retries = _retries(table, semantics, method)
    terms = DeliveryTerms(
        semantics=semantics,
        is_numbered=profile.is_numbered,
        acknowledges_on_request=profile.acknowledges_on_request,
        window=window_of(table, profile),
        method=method,
        timeout_s=table["timeout"] if profile.has_timeout else table["retry_interval"],
        retries=retries,
        retry_interval_s=table["retry_interval"],
        persist_duration_s=table["persist_duration"],
        time_to_live_s=_time_to_live(table, profile, ack_requested, retries),
        msh_time_accuracy_s=table["msh_time_accuracy"],
        timestamp_ahead_max_s=table["timestamp_ahead_max"],
        on_exhausted=_on_exhausted(table, profile, semantics),
        transient_retries=table["transient_retries"],
        fails_on_network_error=table["fail_fast_on_network_error"],
        strict_release=table["strict_release"],
        drop_duplicates=table["drop_duplicates"],
        response_choice=ResponseChoice(table["response_choice"] or "first"),
        intermediary=intermediary,
        may_be_copied=may_be_copied(intermediary, table["send_to"], table["resend_to"]),
        notifies_failures=_notifies_failures(table, profile, semantics, method),
        reports_refusals=table["reports_refusals"],
        ack_requested=ack_requested,
        ack_status=AckStatus(Assurance(table["ack_status"]), table["passed_on"]),
        sync_reply_mode=SyncReplyMode(table["sync_reply_mode"] or "none"),
        delivery_receipt_requested=AckRequested(table["delivery_receipt_requested"] or "None"),
        delivery_receipt_provided=DeliveryReceiptProvided(
            table["delivery_receipt_provided"] or "None"
        ),
        reports_processing=table["reports_processing"],
        recovery=_recovery(table),
    )
    _check_remedy(table, terms)
    check_budget(table, terms)
    return with_order(table, profile, terms)


def window_of(table: Table, profile: Profile) -> int:
    """Most messages in flight; one where they are numbered (seed 000 §2.1.3)."""
    window: int | None = table["window"]
    if not profile.is_numbered:
        return WINDOW_2001 if window is None else window
    if window not in (None, 1):
        table.refuse(
            "window", f"is above 1: {profile.name} has one reliable message in flight; legal: 1"
        )
    return 1


def may_be_copied(intermediary: Intermediary | None, *endpoints: str | None) -> bool:
    """Whether a copy that we never made may arrive (R-46).

    Only HTTP directly to the partner makes no copies. Mail servers, brokers and intermediaries may
    deliver a message again if they are not sure that it was delivered.
    """
    return intermediary is not None or any(
        entrance_of(endpoint) != "https" for endpoint in endpoints if endpoint is not None
    )


def check_budget(table: Table, terms: DeliveryTerms) -> None:
    """Ruling R-06: a verdict must come before the message expires or may be forgotten."""
    persist_s, live_s = terms.persist_duration_s, terms.time_to_live_s
    if live_s is not None and live_s > persist_s:
        table.refuse("time_to_live", "is longer than persist_duration")
    verdict_s = terms.verdict_after_s
    if verdict_s is None:
        return
    waits = "timeout + retries" if table["profile"].has_timeout else "(retries + 1)"
    verdict = f"{waits} x retry_interval = {verdict_s} s"
    if terms.retries is not None and verdict_s > persist_s:
        table.refuse("persist_duration", f"is shorter than {verdict}")
    if terms.retries is not None and live_s is not None and verdict_s > live_s:
        table.refuse("time_to_live", f"is shorter than {verdict}")


def _check_profile(table: Table, profile: Profile) -> None:
    for key in ONLY_2001 if not profile.header_has_parameters else ():
        if table.is_given(key):
            table.refuse(key, "is a parameter of seed 001; legal: with profile = rm-2001")
    _check_words(table, profile)
    _check_signed(table, profile)
    if table["intermediary"] == Intermediary.ACCEPT:
        _check_accepting(table, profile)
    if table["notify_failures"] and not profile.has_failure_notices:
        table.refuse(
            "notify_failures",
            f"is off in {profile.name}, whose text has no such notice (R-14); legal: false",
        )


def _check_signed(table: Table, profile: Profile) -> None:
    if table["ack_requested"] == AckRequested.SIGNED and not profile.has_signatures:
        table.refuse(
            "ack_requested",
            f"is Signed, and {profile.name} has no signatures; legal: None, Unsigned",
        )


def _check_words(table: Table, profile: Profile) -> None:
    """Refuse what has no meaning in the profile, with the reason."""
    has_cancels = profile.has_cancels or _has_extensions(table)
    for key, trait, reason in _NEEDS if profile.header_has_parameters else ():
        is_there = has_cancels if trait == "has_cancels" else getattr(profile, trait)
        if table.is_given(key) and not is_there:
            legal = "with extensions = true" if trait == "has_cancels" else "not given"
            table.refuse(key, f"is not for {profile.name}, which {reason}; legal: {legal}")
    for key in ("ack_status", "passed_on") if profile.has_cpa and not has_cancels else ():
        if table[key] not in (Assurance.RECEIVED, False):
            text = f"is not for {profile.name}, which has no word for it; legal: with extensions"
            table.refuse(key, f"{text} = true")
    if table["delivery_semantics"] == DeliverySemantics.AT_LEAST_ONCE:
        _check_at_least_once(table, profile)
    names_mode = profile.header_names_semantics
    if table["sync_reply_mode"] == SyncReplyMode.MSH_SIGNALS_ONLY and names_mode:
        table.refuse(
            "sync_reply_mode",
            f"is mshSignalsOnly, for which {profile.name} has no word; legal: signalsOnly",
        )
    is_cancel = table["when_not_received"] in (Remedy.CANCEL, Remedy.NEW_VERSION)
    if is_cancel and not has_cancels:
        table.refuse(
            "when_not_received",
            f"needs a cancel, which {profile.name} has not; legal: resend, wait"
            + (", or with extensions = true" if profile.has_cpa else ""),
        )


def _has_extensions(table: Table) -> bool:
    """Whether our own elements may be written; only an agreement has the key, and no route."""
    return table.has("extensions") and bool(table["extensions"])


def _check_at_least_once(table: Table, profile: Profile) -> None:
    if not profile.acknowledges_on_request:
        table.refuse(
            "delivery_semantics",
            f"is AtLeastOnce: in {profile.name} what is acknowledged is eliminated, too; legal:"
            " OnceAndOnlyOnce",
        )


def _check_accepting(table: Table, profile: Profile) -> None:
    if not profile.has_accepting_intermediaries:
        table.refuse("intermediary", "is accept, which only seed 001 has; legal: relay (R-13)")


def _check_method(table: Table, method: ReliableMessagingMethod) -> None:
    is_broker = urlsplit(table["send_to"]).scheme in ("amqp", "amqps")
    is_transport = method is ReliableMessagingMethod.TRANSPORT
    if is_transport and not is_broker:
        table.refuse(
            "reliable_messaging_method",
            "is Transport, which takes a binding to a reliable product; legal: send_to = amqp:…",
        )
    if is_broker and not is_transport:
        table.refuse(
            "send_to", "is a broker; legal: with reliable_messaging_method = Transport (S1-11)"
        )
    supported = table["reliable_messaging_methods_supported"]
    if supported is not None and not is_transport and EBXML_METHOD_URI not in supported:
        table.refuse(
            "reliable_messaging_methods_supported",
            f"lacks the method of this agreement; legal: with {EBXML_METHOD_URI}",
        )
    if not is_transport:
        return
    for key in _OF_ACKNOWLEDGEMENTS:
        if table.is_given(key):
            table.refuse(
                key, "belongs to the acknowledgement protocol, which Transport does not run"
            )


def _check_semantics(table: Table, semantics: DeliverySemantics) -> None:
    for key, legal, reason in _NOT_FOR.get(semantics, ()):
        if table[key] not in legal:
            table.refuse(key, f"is not for {semantics.value}, {reason}")


def _check_level(table: Table) -> None:
    level = table["level"]
    if level is None:
        return
    retries, time_to_live = table["retries"], table["time_to_live"]
    if level == 0 and retries:
        table.refuse("retries", "is above 0: level 0 is the acknowledgement alone; legal: 0")
    if level >= 1 and time_to_live is None:
        table.refuse("level", f"is {level}: every message expires; legal: with time_to_live")
    if level in RESENDING and retries == 0:
        table.refuse("retries", f"is 0: level {level} sends again; legal: above 0, or not given")
    if level in INQUIRING and table["inquire_status"] is False:
        table.refuse("inquire_status", f"is what level {level} is about; legal: true")
    if level == 5 and table["response_within"] is None:
        table.refuse("level", "is 5: the response is due at a time; legal: with response_within")


def _check_recovery(table: Table) -> None:
    inquires = _inquires(table)
    expects = table["response_within"] is not None
    for key in ("when_not_received", "ping_before_inquiry"):
        if table.is_given(key) and not (inquires or expects):
            table.refuse(key, "needs inquire_status = true, or level 3, 4 or 5")
    for key in ("when_not_started", "when_complete"):
        if table.is_given(key) and not expects:
            table.refuse(key, "needs response_within")
    asks = inquires or expects or _ping_above_bytes(table) is not None
    if table.is_given("inquiries") and not asks:
        table.refuse("inquiries", "needs something to ask: a ping, inquire_status, response_within")


def _check_acknowledgements(table: Table) -> None:
    is_valid_content = table["ack_status"] == Assurance.CONTENT
    if is_valid_content and table["validator"] is None:
        table.refuse("ack_status", "is content: only an application knows; legal: with validator")
    if table["validator"] is not None and not is_valid_content:
        table.refuse("validator", "would never be asked; legal: with ack_status = content")
    if table["strict_release"] and table["passed_on"]:
        table.refuse("passed_on", "waits for the hand-over, which strict_release makes wait for it")
    if table["strict_release"] and table["notify_failures"]:
        table.refuse("notify_failures", "is off under strict_release (R-14); legal: false")
    if table["strict_release"] and table["reports_refusals"]:
        table.refuse("reports_refusals", "is off under strict_release (R-14); legal: false")
    if table["sync_reply_mode"] in (None, SyncReplyMode.NONE):
        return
    is_http = urlsplit(table["send_to"]).scheme.startswith("http")
    if not is_http and _sends(table):
        table.refuse("sync_reply_mode", "needs an http or https send_to: mail has no answer")
    resends_by_http = urlsplit(table["resend_to"] or "http:").scheme.startswith("http")
    if table["profile"].answers_at_once and not resends_by_http:
        table.refuse(
            "resend_to",
            "has no answer, which the header of a message under sync_reply_mode asks for, and a"
            " resend is the stored bytes; legal: http, https, or sync_reply_mode = none",
        )


def _sends(table: Table) -> bool:
    """Whether messages go out under this table; else the exchange is the partner's connection."""
    return table["services"] is None or any(one.send for one in table["services"])


def _check_remedy(table: Table, terms: DeliveryTerms) -> None:
    is_resend = terms.recovery.when_not_received is Remedy.RESEND
    if is_resend and terms.is_numbered and terms.on_exhausted is not OnExhausted.SUSPEND:
        table.refuse(
            "when_not_received",
            f"is resend: in {table['profile'].name} the message must keep its turn; legal: with "
            "on_exhausted = suspend",
        )
    round_trip_s, verdict_s = table["round_trip"], terms.verdict_after_s
    if round_trip_s is not None and verdict_s is not None and verdict_s < round_trip_s:
        table.refuse(
            "round_trip", f"is longer than {verdict_s} s, after which the sender gives up (R-06)"
        )


def _ack_requested(table: Table, profile: Profile, semantics: DeliverySemantics) -> AckRequested:
    """As given; else none, or what the degree of reliability needs where the header asks for it."""
    needs_one = profile.acknowledges_on_request and semantics not in _SENT_ONCE
    given: str | None = table["ack_requested"]
    if given is None:
        return AckRequested.UNSIGNED if needs_one else AckRequested.NONE
    if given == AckRequested.NONE and needs_one:
        table.refuse(
            "ack_requested",
            f"is None: {semantics.value} is acknowledged, and {profile.name} acknowledges only what"
            " asks for it; legal: Unsigned",
        )
    return AckRequested(given)


def _time_to_live(
    table: Table, profile: Profile, ack_requested: AckRequested, retries: int | None
) -> int | None:
    """As given; else, where a header asks for its acknowledgement, one interval after the verdict.

    So no copy that is late is taken for a new message.
    """
    given: int | None = table["time_to_live"]
    is_acknowledged = profile.acknowledges_on_request and ack_requested is not AckRequested.NONE
    if given is not None or not is_acknowledged or retries is None:
        return given
    interval_s: int = table["retry_interval"]
    persist_s: int = table["persist_duration"]
    return min((retries + 2) * interval_s, persist_s)


def _retries(
    table: Table, semantics: DeliverySemantics, method: ReliableMessagingMethod
) -> int | None:
    given: int | None = table["retries"]
    if given is not None:
        return given
    if semantics is DeliverySemantics.EXACTLY_ONCE:
        return None
    if method is ReliableMessagingMethod.TRANSPORT or semantics in _SENT_ONCE:
        return 0
    level = table["level"]
    if level is None:
        return RETRIES
    return 0 if level == 0 else None


def _on_exhausted(table: Table, profile: Profile, semantics: DeliverySemantics) -> OnExhausted:
    """Ruling R-07; a message that is not sent again never stops the next message."""
    if table["on_exhausted"] is not None:
        return OnExhausted(table["on_exhausted"])
    is_once = semantics in _SENT_ONCE
    return OnExhausted.SUSPEND if profile.is_numbered and not is_once else OnExhausted.FAIL


def _notifies_failures(
    table: Table,
    profile: Profile,
    semantics: DeliverySemantics,
    method: ReliableMessagingMethod,
) -> bool:
    """Ruling R-14: True if the profile has the notice and no other key forbids it."""
    if table["notify_failures"] is not None:
        return bool(table["notify_failures"])
    is_silent = semantics is DeliverySemantics.EXACTLY_ONCE or table["strict_release"]
    is_silent = is_silent or method is ReliableMessagingMethod.TRANSPORT
    return not is_silent and profile.has_failure_notices


def _inquires(table: Table) -> bool:
    if table["inquire_status"] is not None:
        return bool(table["inquire_status"])
    return table["level"] in INQUIRING


def _ping_above_bytes(table: Table) -> int | None:
    above: int | None = table["ping_before_send_above"]
    if above is None:
        return EVERY_MESSAGE if table["level"] in PINGING else None
    return EVERY_MESSAGE if above == 0 else above


def _recovery(table: Table) -> RecoveryTerms:
    return RecoveryTerms(
        ping_above_bytes=_ping_above_bytes(table),
        inquires=_inquires(table),
        pings_before_inquiry=table["ping_before_inquiry"],
        inquiries=table["inquiries"],
        when_not_received=Remedy(table["when_not_received"]),
        response_within_s=table["response_within"],
        when_not_started=Remedy(table["when_not_started"]),
        when_complete=Remedy(table["when_complete"]),
    )


def _check_route_words(table: Table, profile: Profile) -> None:
    """Refuse what has no meaning on a route of the profile, with the reason."""
    for key, trait, reason in _NEEDS if profile.header_has_parameters else ():
        if table.is_given(key) and not getattr(profile, trait):
            table.refuse(key, f"is not for {profile.name}, which {reason}; legal: not given")
    _check_signed(table, profile)
    if table["ack_requested"] == AckRequested.SIGNED:
        table.refuse("ack_requested", "is Signed, and a route has no keys; legal: None, Unsigned")


def _asked_of_next_hop(profile: Profile, *, accepts: bool) -> str:
    """What an accepting intermediary asks for where its route does not say it.

    Where an acknowledgement comes on request only, one of the next MSH is asked for.
    """
    is_asked = accepts and profile.acknowledges_on_request
    return (AckRequested.UNSIGNED if is_asked else AckRequested.NONE).value


def route_terms_of(table: Table) -> DeliveryTerms:
    """The terms of the next hop of a `[[route]]`. Raises `ConfigurationError`."""
    profile: Profile = table["profile"]
    _check_route_words(table, profile)
    accepts = table["intermediary"] == Intermediary.ACCEPT
    if accepts:
        _check_accepting(table, profile)
    for key in _OF_ACCEPTING if not accepts else ():
        if table.is_given(key):
            table.refuse(key, "is not for a relay, which never sends again; legal: with accept")
    terms = DeliveryTerms(
        is_numbered=profile.is_numbered,
        acknowledges_on_request=profile.acknowledges_on_request,
        window=window_of(table, profile),
        timeout_s=table["timeout"] if profile.has_timeout else table["retry_interval"],
        retries=RETRIES if table["retries"] is None else table["retries"],
        retry_interval_s=table["retry_interval"],
        persist_duration_s=table["persist_duration"],
        time_to_live_s=table["time_to_live"],
        msh_time_accuracy_s=table["msh_time_accuracy"],
        timestamp_ahead_max_s=table["timestamp_ahead_max"],
        on_exhausted=OnExhausted.FAIL,
        transient_retries=table["transient_retries"],
        fails_on_network_error=table["fail_fast_on_network_error"],
        # A route does not know whether the next hop is another intermediary.
        intermediary=Intermediary.ACCEPT if accepts else None,
        may_be_copied=accepts,
        notifies_failures=accepts and table["notify_failures"] is not False,
        ack_requested=AckRequested(
            table["ack_requested"] or _asked_of_next_hop(profile, accepts=accepts)
        ),
    )
    if accepts:
        check_budget(table, terms)
    return terms
