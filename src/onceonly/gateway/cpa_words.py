"""What only a CPA says, in sentences that a person of the business understands (`ebms-2.0`)."""

from collections.abc import Iterator

from onceonly.gateway.agreement_times import times_of
from onceonly.message.agreement import Agreement
from onceonly.message.cpa import CheckHeader, ServiceBinding
from onceonly.message.instant import to_datetime
from onceonly.message.measures import span
from onceonly.message.message import AckRequested
from onceonly.message.signing import Signed, SigningTerms
from onceonly.message.terms import DeliveryTerms


def words_of_cpa(agreement: Agreement) -> Iterator[str]:
    """Who sends what in which Role, under which name, and where signals go."""
    cpa = agreement.cpa
    yield f"In messages the agreement is called {agreement.name_on_wire}{_validity(agreement)}."
    if cpa.role is not None:
        yield f"Our Role is {cpa.role}, and the partner's is {cpa.partner_role}."
    for binding in cpa.services:
        yield from _words_of_service(binding)
    if not cpa.services:
        yield "Any service and action may be exchanged."
    if cpa.signals_to not in (None, agreement.send_to):
        yield f"Acknowledgements, pings and questions for a status go to {cpa.signals_to}."
    if cpa.check_header is CheckHeader.LENIENT:
        yield "A header that asks for something else than was agreed is obeyed, and noted."


def _validity(agreement: Agreement) -> str:
    cpa = agreement.cpa
    begins, ends = (
        None if at is None else f"{to_datetime(at):%Y-%m-%d %H:%M} UTC"
        for at in (cpa.valid_from_at, cpa.valid_until_at)
    )
    if begins and ends:
        return f", and holds from {begins} until {ends}"
    if ends:
        return f", and holds until {ends}"
    return f", and holds from {begins}" if begins else ""


def _words_of_service(binding: ServiceBinding) -> Iterator[str]:
    kind = f" (type {binding.type})" if binding.type else ""
    ways = (("we send", binding.send), ("we receive", binding.receive))
    said = " and ".join(f"{way} {', '.join(actions)}" for way, actions in ways if actions)
    yield f"Of {binding.id}{kind} {said}."


def words_of_times(terms: DeliveryTerms) -> Iterator[str]:
    """When the last copy leaves, and what comes after it: what both operators have to know."""
    found = times_of(terms)
    if found is None:
        return
    last = "A message is not sent again"
    if found.last_resend_s is not None:
        last = f"The last copy leaves {span(found.last_resend_s)} after the first"
    yield f"{last}, and {span(found.verdict_s)} after the first one the tries are over."
    expires = "The message does not expire"
    if found.expires_s is not None:
        expires = f"The message expires {span(found.expires_s)} after it was made"
    forgotten = "never forgotten"
    if found.forgotten_s is not None:
        forgotten = f"kept for {span(found.forgotten_s)} before it may be forgotten"
    yield f"{expires}. Its id is {forgotten}."


_SIGNED = {
    Signed.MESSAGES: "business messages",
    Signed.ALL: "messages, acknowledgements and everything else",
}


def words_of_signing(signing: SigningTerms) -> Iterator[str]:
    """What we sign, what the partner has to sign, and with which certificates."""
    if signing.signs is not Signed.NONE:
        yield f"We sign {_SIGNED[signing.signs]}."
    if signing.requires is not Signed.NONE:
        yield f"The partner has to sign {_SIGNED[signing.requires]}; the rest is refused."
    for one in signing.partner_certificates:
        until = f"{to_datetime(one.until_at):%Y-%m-%d}"
        yield f"The partner may sign with the certificate {one.fingerprint[:16]}, until {until}."
    if signing.accepts_sha1:
        yield "Signatures by SHA-1, which is broken, are taken."
    if signing.accepts_part_transforms:
        yield "Payloads in XML may be signed in canonical form; comments in them are not covered."


def words_of_acknowledgements(terms: DeliveryTerms) -> Iterator[str]:
    """Whether an acknowledgement has to prove itself."""
    if terms.ack_requested is AckRequested.SIGNED:
        yield "Only a signed acknowledgement that has the digests of the message counts."
