"""What the parties of a generated world agreed: terms drawn small, and legal for the real reader.

Knows which values go together, as `gateway.config.terms` has it; a test reads what is drawn here
with the real reader. Durations are a few seconds, so that a world soon sees the end of each.
"""

from random import Random

from onceonly.message.message import AckRequested, DeliverySemantics, SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.signals import PLAIN_ACK, AckStatus, Assurance
from onceonly.message.terms import (
    DeliveryReceiptProvided,
    DeliveryTerms,
    Intermediary,
    OnExhausted,
    RecoveryTerms,
    Remedy,
    ResponseChoice,
)
from onceonly.message.word import changed
from onceonly.simulation.cast import ROUTE_RETRIES

_SENT_ONCE = (DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.BEST_EFFORT)
_EVERY_MESSAGE = -1


def terms_of(
    chance: Random,
    profile: Profile,
    *,
    through: Intermediary | None,
    scheme: str,
    semantics: DeliverySemantics | None = None,
) -> DeliveryTerms:
    """Terms of one line; `through`: the mode of its intermediaries, if it has any.

    `semantics`: None leaves them to chance.
    """
    is_drawn = semantics is None
    semantics = semantics or _semantics(chance, through)
    terms = _times(chance, semantics, has_timeout=profile.has_timeout)
    terms = changed(
        terms,
        is_numbered=profile.is_numbered,
        on_exhausted=_on_exhausted(chance, profile, semantics),
        transient_retries=chance.choice((0, 1, 3, 100, 100)),
        strict_release=chance.random() < 0.15,
        drop_duplicates=chance.random() < 0.5,
        reports_processing=chance.random() < 0.3,
    )
    if profile is Profile.RM_2001:
        terms = _of_2001(chance, terms, through, scheme)
    if profile.acknowledges_on_request:
        terms = _of_ebms_2_0(chance, terms, scheme, is_drawn=is_drawn)
    terms = changed(
        terms,
        fails_on_network_error=not _never_fails(terms) and chance.random() < 0.12,
        ack_status=_ack_status(chance, terms),
    )
    if profile.has_cpa:
        # An acknowledgement says more only with `extensions`, which no world has.
        terms = changed(terms, ack_status=PLAIN_ACK)
    recovery = _recovery(chance, terms)
    if not profile.has_cancels:
        recovery = _without_cancels(recovery)
    return expiring(changed(terms, recovery=recovery))


def expiring(terms: DeliveryTerms) -> DeliveryTerms:
    """The same as the reader of a configuration has it: what asks for its acknowledgement expires.

    One interval after its verdict, where no time was agreed, in a profile whose headers ask.
    """
    is_silent = not terms.acknowledges_on_request or not terms.is_acknowledged
    if is_silent or terms.time_to_live_s is not None or terms.retries is None:
        return terms
    lives_s = min((terms.retries + 2) * terms.retry_interval_s, terms.persist_duration_s)
    return changed(terms, time_to_live_s=lives_s)


def patient(terms: DeliveryTerms) -> DeliveryTerms:
    """The same, but remembered and in doubt for most of a day."""
    lives_s = None if terms.time_to_live_s is None else PATIENT_S
    return changed(terms, persist_duration_s=PATIENT_S, time_to_live_s=lives_s)


PATIENT_S = 6 * 3_600


DEGREES = tuple(one for one in DeliverySemantics if one is not DeliverySemantics.AT_LEAST_ONCE)
"""The degrees of the profiles that a world has."""

_MODES = tuple(mode for mode in SyncReplyMode if mode is not SyncReplyMode.MSH_SIGNALS_ONLY)


def _semantics(chance: Random, through: Intermediary | None) -> DeliverySemantics:
    """A route has no degrees: who accepts refuses for its age what ExactlyOnce sends for ever."""
    exactly_once = 0 if through is Intermediary.ACCEPT else 7
    return chance.choices(DEGREES, (80, 7, 6, exactly_once))[0]


def _never_fails(terms: DeliveryTerms) -> bool:
    return terms.semantics is DeliverySemantics.EXACTLY_ONCE


def _times(chance: Random, semantics: DeliverySemantics, *, has_timeout: bool) -> DeliveryTerms:
    timeout_s, interval_s = chance.choice((1, 2, 3, 5, 10)), chance.choice((1, 2, 3, 5, 10))
    timeout_s = timeout_s if has_timeout else interval_s
    retries: int | None = chance.choice((0, 1, 1, 2, 2, 3, 3, 4, 5))
    if semantics in _SENT_ONCE:
        retries = 0
    verdict_s = timeout_s + max(retries or 0, ROUTE_RETRIES) * interval_s
    live_s = verdict_s + chance.choice((0, 1, 5, 20, 60)) if chance.random() < 0.4 else None
    persist_s = max(live_s or 0, verdict_s) + chance.choice((0, 2, 10, 30, 90))
    if semantics is DeliverySemantics.EXACTLY_ONCE:
        retries = live_s = None
    elif live_s is not None and semantics not in _SENT_ONCE and chance.random() < 0.3:
        retries = None  # Until it expires, as from level 1 of seed 004 on.
    return DeliveryTerms(
        semantics=semantics,
        timeout_s=timeout_s,
        retries=retries,
        retry_interval_s=interval_s,
        persist_duration_s=persist_s,
        time_to_live_s=live_s,
        msh_time_accuracy_s=chance.choice((0, 1, 2, 5, 10)),
    )


def _on_exhausted(chance: Random, profile: Profile, semantics: DeliverySemantics) -> OnExhausted:
    if semantics in _SENT_ONCE:
        return OnExhausted.FAIL
    usual = OnExhausted.SUSPEND if profile.is_numbered else OnExhausted.FAIL
    return usual if chance.random() < 0.7 else chance.choice(tuple(OnExhausted))


def _of_2001(
    chance: Random, terms: DeliveryTerms, through: Intermediary | None, scheme: str
) -> DeliveryTerms:
    is_best_effort = terms.semantics is DeliverySemantics.BEST_EFFORT
    asks = through is Intermediary.ACCEPT or chance.random() < 0.5
    can_answer = scheme == "http" and through is None
    has_receipts = chance.random() < 0.3
    is_silent = _never_fails(terms) or terms.strict_release
    receipt = AckRequested.UNSIGNED if has_receipts else AckRequested.NONE
    # Seldom, what is asked for is not provided: NotSupported (seed 001 §2.1.1.2).
    is_provided = has_receipts and (_never_fails(terms) or chance.random() < 0.9)
    return changed(
        terms,
        window=chance.choice((1, 2, 3, 16)),
        ack_requested=AckRequested.UNSIGNED if asks and not is_best_effort else AckRequested.NONE,
        sync_reply_mode=_sync_reply_mode(chance) if can_answer else SyncReplyMode.NONE,
        delivery_receipt_requested=receipt,
        delivery_receipt_provided=DeliveryReceiptProvided.UNSIGNED
        if is_provided
        else DeliveryReceiptProvided.NONE,
        response_choice=chance.choice(tuple(ResponseChoice)),
        notifies_failures=not is_silent and chance.random() < 0.7,
    )


def _of_ebms_2_0(
    chance: Random, terms: DeliveryTerms, scheme: str, *, is_drawn: bool
) -> DeliveryTerms:
    """Each wish has an element of its own, and the degree is what they come to (R-29)."""
    semantics = terms.semantics
    if is_drawn and semantics is DeliverySemantics.ONCE_AND_ONLY_ONCE and chance.random() < 0.15:
        semantics = DeliverySemantics.AT_LEAST_ONCE
    asks = semantics not in _SENT_ONCE
    if semantics is DeliverySemantics.AT_MOST_ONCE:
        asks = chance.random() < 0.5
    is_silent = _never_fails(terms) or terms.strict_release
    window = chance.choice((1, 2, 3, 16))
    mode = _wished_mode(chance) if scheme == "http" else SyncReplyMode.NONE
    notifies = not is_silent and chance.random() < 0.7
    return changed(
        terms,
        semantics=semantics,
        window=window,
        acknowledges_on_request=True,
        ack_requested=AckRequested.UNSIGNED if asks else AckRequested.NONE,
        sync_reply_mode=mode,
        notifies_failures=notifies,
        reports_refusals=notifies,
        transient_retries=100,
        reports_processing=False,
    )


def _wished_mode(chance: Random) -> SyncReplyMode:
    return SyncReplyMode.NONE if chance.random() < 0.6 else chance.choice(tuple(SyncReplyMode))


def _without_cancels(recovery: RecoveryTerms) -> RecoveryTerms:
    """What of it is left where a partner can only be asked for a status, and whether it is there.

    A message that it does not have can be sent again, as it is.
    """
    if recovery.when_not_received not in (Remedy.RESEND, Remedy.WAIT):
        recovery = changed(recovery, when_not_received=Remedy.WAIT)
    if recovery.response_within_s is None:
        return recovery
    if not recovery.inquires:
        return RecoveryTerms(ping_above_bytes=recovery.ping_above_bytes)
    return changed(
        recovery,
        response_within_s=None,
        when_not_started=Remedy.WAIT,
        when_complete=Remedy.ASK_AGAIN,
    )


def _sync_reply_mode(chance: Random) -> SyncReplyMode:
    return SyncReplyMode.NONE if chance.random() < 0.6 else chance.choice(_MODES)


def _ack_status(chance: Random, terms: DeliveryTerms) -> AckStatus:
    is_passed_on = not terms.strict_release and chance.random() < 0.1
    return AckStatus(chance.choice((Assurance.RECEIVED, Assurance.STRUCTURE)), is_passed_on)


def _recovery(chance: Random, terms: DeliveryTerms) -> RecoveryTerms:
    """Levels 2 to 5 of seed 004, by their keys."""
    can_inquire = terms.semantics not in (
        DeliverySemantics.BEST_EFFORT,
        DeliverySemantics.EXACTLY_ONCE,
    )
    inquires = can_inquire and chance.random() < 0.3
    within_s = chance.choice((5, 15, 40)) if chance.random() < 0.12 else None
    above = chance.choice((_EVERY_MESSAGE, 50, 200)) if chance.random() < 0.12 else None
    recovery = RecoveryTerms(ping_above_bytes=above, inquires=inquires, response_within_s=within_s)
    if inquires or within_s is not None:
        recovery = changed(
            recovery,
            pings_before_inquiry=chance.random() < 0.3,
            when_not_received=chance.choice(_remedies(terms)),
        )
    if within_s is not None:
        recovery = changed(
            recovery,
            when_not_started=chance.choice((Remedy.CANCEL, Remedy.WAIT)),
            when_complete=chance.choice((Remedy.ASK_AGAIN, Remedy.WAIT)),
        )
    if recovery == RecoveryTerms():
        return recovery
    return changed(recovery, inquiries=chance.choice((1, 2, 3)))


def _remedies(terms: DeliveryTerms) -> tuple[Remedy, ...]:
    """A numbered message is sent again in its turn, which it keeps while its pair is suspended."""
    others = (Remedy.NEW_VERSION, Remedy.CANCEL, Remedy.WAIT)
    keeps_turn = not terms.is_numbered or terms.on_exhausted is OnExhausted.SUSPEND
    is_once = terms.semantics is not DeliverySemantics.AT_MOST_ONCE
    return (Remedy.RESEND, Remedy.RESEND, *others) if keeps_turn and is_once else others
