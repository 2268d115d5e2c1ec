"""An agreement in sentences that a person of the business understands.

Each sentence says what the terms mean together, and not which key says so.
"""

from collections.abc import Collection, Iterator

from onceonly.gateway.config.values import ENTRANCES
from onceonly.gateway.cpa_words import (
    words_of_acknowledgements,
    words_of_cpa,
    words_of_signing,
    words_of_times,
)
from onceonly.gateway.worst_case import WorstCase, worst_case_of
from onceonly.message.agreement import Agreement
from onceonly.message.measures import size, span
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.signals import Assurance
from onceonly.message.signing import Signed
from onceonly.message.terms import DeliveryTerms, Intermediary, OnExhausted, RecoveryTerms, Remedy
from onceonly.steps.authority import entrance_of

_PROMISES = {
    DeliverySemantics.ONCE_AND_ONLY_ONCE: "Each message arrives once and only once, or we are told "
    "that it did not, or that nobody knows: repeats are recognised and handed over only once.",
    DeliverySemantics.EXACTLY_ONCE: "Each message arrives once and only once. It is never given "
    "up: it is sent again until the partner has it.",
    DeliverySemantics.AT_LEAST_ONCE: "Each message arrives, or we are told that it did not, or "
    "that nobody knows. The partner need not recognise repeats, so it may arrive twice.",
    DeliverySemantics.AT_MOST_ONCE: "Each message is sent only once. It may be lost, and it never "
    "arrives twice.",
    DeliverySemantics.BEST_EFFORT: "Each message is sent only once, and nobody confirms it. It may "
    "be lost, and it may arrive twice.",
}

_REMEDIES = {
    Remedy.RESEND: "the same message is sent again",
    Remedy.NEW_VERSION: "it is taken back, and its content is sent as a new message",
    Remedy.CANCEL: "it is taken back",
    Remedy.WAIT: "nothing is done until a person decides",
    Remedy.ASK_AGAIN: "the partner is asked for its response again",
}

_ASSURANCES = {
    Assurance.RECEIVED: "received it and stored it",
    Assurance.STRUCTURE: "stored it and found its form right",
    Assurance.CONTENT: "stored it and the application called its content valid",
}


def words_of(agreement: Agreement) -> tuple[str, ...]:
    """The sentences, in the order in which a message meets them."""
    terms = agreement.terms
    return (
        _parties(agreement),
        *(words_of_cpa(agreement) if agreement.profile.has_cpa else ()),
        _PROMISES[terms.semantics],
        *words_of_acknowledgements(terms),
        *words_of_signing(agreement.signing),
        *_before_sending(terms.recovery),
        *_tries(agreement),
        *(words_of_times(terms) if agreement.profile.has_cpa else ()),
        *_order(terms),
        *_after_the_last_try(terms),
        *_response(terms.recovery),
        *_received(terms),
        _callers(agreement),
        *_intermediary(terms),
    )


def _parties(agreement: Agreement) -> str:
    name = f"{agreement.name} ({agreement.their_party})" if agreement.name else None
    return (
        f"We are {agreement.our_party}, and the partner is {name or agreement.their_party}. What "
        f"we send goes to {agreement.send_to}."
    )


def _before_sending(recovery: RecoveryTerms) -> Iterator[str]:
    above = recovery.ping_above_bytes
    if above is not None:
        which = "every message" if above < 0 else f"each message above {size(above)}"
        yield f"Before {which} the partner is asked whether it takes messages."


def _tries(agreement: Agreement) -> Iterator[str]:
    terms, found = agreement.terms, worst_case_of(agreement)
    if terms.method is ReliableMessagingMethod.TRANSPORT:
        yield (
            "A message is given to a broker, which is responsible for it from then on; it is "
            "offered to the broker until it takes it or the message expires."
        )
    elif not terms.is_acknowledged:
        yield "There is no acknowledgement, so nothing is sent again."
    elif terms.retries == 0:
        yield f"A message is sent once. The partner has {span(terms.timeout_s)} to acknowledge it."
    else:
        often = "" if terms.retries is None else f" {_at_most(terms.retries)}"
        when = f"the first time after {span(terms.timeout_s)}, then every "
        when += span(terms.retry_interval_s)
        if terms.retries == 1:
            when = f"after {span(terms.timeout_s)}; then {span(terms.retry_interval_s)} are waited"
        until = " until it is acknowledged or expires" if terms.retries is None else ""
        if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
            until = " until it is acknowledged"
        yield (f"A message that is not acknowledged is sent again{often}{until}: {when}.")
    yield from _end(terms, found)


def longest_of(found: WorstCase) -> str:
    """How long it takes at most until the end of a message is known, and what that is made of."""
    if found.agreed_s is None:
        return "as long as it takes"
    if found.within_s == 0 or found.within_s is None:
        return "nothing is waited for"
    if found.is_ended_by_time:
        return f"at most {span(found.within_s)}, when the time of the message has passed"
    waits = ", ".join(
        f"{wait.times} x {span(wait.each_s)} {f'to send by {wait.by}' if wait.by else wait.key}"
        for wait in found.waits
    )
    return f"at most {span(found.within_s)}: {waits}"


def _at_most(count: int) -> str:
    return "once" if count == 1 else f"up to {count} times"


def _end(terms: DeliveryTerms, found: WorstCase) -> Iterator[str]:
    if found.within_s:
        yield (
            f"At most {span(found.within_s)} after the first transmission the application knows "
            "the end of the message: acknowledged, not delivered, or in doubt, if the partner was "
            "silent and may have it."
        )
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return
    if terms.time_to_live_s is not None:
        yield (
            f"A message expires {span(terms.time_to_live_s)} after it was made. The partner "
            "refuses it from then on, so that no old message arrives late."
        )
    elif terms.is_acknowledged:
        yield "A message does not expire: a doubt stays a doubt until a person settles it."


def _order(terms: DeliveryTerms) -> Iterator[str]:
    if terms.is_ordered:
        yield (
            "Messages of one conversation arrive in the order in which they were sent, one after "
            "the other; conversations do not wait for each other. If one is not acknowledged, a "
            "person has to send it again or to reset its conversation, and until then the later "
            "ones wait."
        )
        yield (
            f"Of what comes too early, up to {terms.order_hold_max} messages of a conversation are"
            f" kept until the earlier ones came; after {span(terms.order_gap_after_s)} an operator"
            " is told."
        )
    elif terms.numbers_messages:
        yield "Messages arrive in the order in which they were sent, one after the other."
    elif terms.window > 1:
        yield (
            f"Up to {terms.window} messages are under way at the same time, so one may overtake "
            "another."
        )


def _after_the_last_try(terms: DeliveryTerms) -> Iterator[str]:
    if not terms.is_acknowledged or terms.retries is None:
        is_given_up = terms.is_acknowledged and terms.semantics is not (
            DeliverySemantics.EXACTLY_ONCE
        )
        if not is_given_up:
            return
    if terms.on_exhausted is OnExhausted.SUSPEND:
        yield (
            "If the tries are used up, later messages wait, so that the order is kept: a person "
            "has to resume the partner."
        )
    else:
        yield "If the tries are used up, later messages go on."
    if terms.fails_on_network_error:
        yield "If the partner cannot be reached at all, the message is given up at once."
    recovery = terms.recovery
    if recovery.inquires:
        yield (
            f"Then the partner is asked {_at_most(recovery.inquiries)} whether it has the "
            f"message. If it has not, {_REMEDIES[recovery.when_not_received]}."
        )


def _response(recovery: RecoveryTerms) -> Iterator[str]:
    if recovery.response_within_s is not None:
        yield (
            f"The business response is due {span(recovery.response_within_s)} after the message. "
            f"If it is late and the work has not begun, {_REMEDIES[recovery.when_not_started]}; "
            f"if the work is done, {_REMEDIES[recovery.when_complete]}."
        )


def _received(terms: DeliveryTerms) -> Iterator[str]:
    if terms.is_acknowledged:
        passed = (
            ", and has passed it on to the application" if terms.ack_status.is_passed_on else ""
        )
        yield (
            "What the partner sends is acknowledged when this gateway has "
            f"{_ASSURANCES[terms.ack_status.assurance]}{passed}."
        )
    if terms.strict_release:
        yield "It is handed to the application only once the acknowledgement may have left."
    yield (
        f"A message that comes again within {span(terms.persist_duration_s)} is recognised as a "
        "repeat; an older one is refused."
    )


def _callers(agreement: Agreement) -> str:
    entrances = agreement.entrances
    count = len(agreement.caller_certificate)
    by = f" by {' or '.join(entrances)}" if entrances else ""
    if not count and agreement.signing.requires is not Signed.NONE:
        what = "everything" if agreement.signing.requires is Signed.ALL else "each message"
        return (
            f"Whoever reaches this gateway{by} may call, but speaks in the partner's name only by "
            f"the partner's signature, which {what} must have."
        )
    if not count:
        return (
            f"Whoever reaches this gateway{by} may speak in the partner's name, unless the network "
            "or the trusted certificates keep him out."
        )
    one = "the certificate" if count == 1 else f"one of the {count} certificates"
    return (
        f"Only a caller that shows {one} of the agreement may speak in the partner's name; it may "
        f"come by {' or '.join(entrances)}."
        if entrances
        else f"Only a caller that shows {one} of the agreement may speak in the partner's name."
    )


def _intermediary(terms: DeliveryTerms) -> Iterator[str]:
    if terms.intermediary is Intermediary.ACCEPT:
        yield (
            "An intermediary acknowledges for the partner, and may say later that it could not "
            "deliver. Its own tries come on top of these times."
        )
    elif terms.intermediary is Intermediary.RELAY:
        yield (
            "An intermediary passes messages on, and acknowledges when the partner has; the time "
            "on its way counts as the partner's."
        )


def directions_of(
    agreement: Agreement, our_uris: Collection[str]
) -> Iterator[tuple[str, str, str]]:
    """Every address: `out` or `in`, what it is for, and the address."""
    yield "out", "messages, acknowledgements and errors", agreement.send_to
    if agreement.resend_to and agreement.resend_to != agreement.send_to:
        yield "out", "messages that are sent again", agreement.resend_to
    if agreement.error_to:
        yield "out", "errors, where a message asks for it", agreement.error_to
    if agreement.validator:
        yield "out", "our application, asked whether content is valid", agreement.validator
    entrances = agreement.entrances or (("https",) if agreement.caller_certificate else ENTRANCES)
    for uri in sorted(our_uris):
        if entrance_of(uri) in entrances:
            yield "in", "what the partner sends", uri
