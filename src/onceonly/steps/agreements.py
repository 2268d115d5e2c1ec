"""Which agreement a message belongs to, whether it keeps to it, and which terms apply to it.

Everything that is sent anywhere goes to an address of an agreement, never to one that stands only
in a message (ruling R-26). Seed 001 §1.2 lets a header or the CPA name a parameter: what the header
names must not contradict what was agreed, and what it leaves open is as agreed.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from onceonly.message.agreement import Agreement
from onceonly.message.cpa import AckActor, CheckHeader, Demand
from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.instant import US_PER_S
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    Message,
    ReliableMessagingMethod,
    RoutingHeader,
    SyncReplyMode,
)
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word, changed
from onceonly.steps.checks import Check, Passed, unnoted
from onceonly.steps.cpa import HEADER, check_cpa, has_roles, may_receive, may_send
from onceonly.steps.signing import Found, refuse_unsigned

_UNSIGNED = (
    "a signed acknowledgment is claimed or asked for, and signatures are not offered here; expected"
    " is ackRequested Unsigned, and signed false"
)
_NO_KEY = (
    "a signed acknowledgement is asked for, and the receiver has no key for this agreement;"
    " expected is AckRequested with eb:signed false, or an identity in the receiver's agreement"
)
_NO_SIGNED_HOP = (
    "the next MSH is asked for a signed acknowledgement, which is not offered here; expected is"
    " AckRequested with eb:signed false there"
)
_NO_NUMBER = (
    "the message is OnceAndOnlyOnce and has no SequenceNumber; expected is one in its last"
    " RoutingHeader"
)


ORDER_LOCATION = f"{HEADER}MessageOrder/eb:SequenceNumber"
"""Where a header has the number of the message in its conversation."""


class AdmittedMessage(Word):
    """A message that keeps to its agreement, under the agreement's names."""

    agreement: Agreement
    message: Message
    terms: DeliveryTerms
    """The agreed terms, with the values that the header of this message sets."""
    hop: RoutingHeader | None
    """The last RoutingHeader, which says what this hop has to do (S1-40); None in a profile without
    them, where the header says it."""
    deviation: str | None = None
    """Where its header asks for something else than was agreed, and is obeyed."""
    is_signed: bool = False
    """Whether its envelope has a signature, whoever made it."""

    @property
    def sequence_number(self) -> int | None:
        """Its number, where messages are numbered."""
        return None if self.hop is None else self.hop.sequence_number

    @property
    def ack_requested(self) -> AckRequested | None:
        """Which Acknowledgment element it asks for; None: which was agreed."""
        return _ack_requested_of(self.message, self.hop)

    @property
    def error_uri(self) -> str | None:
        """Where errors about it are to go, if it says so."""
        return None if self.hop is None else self.hop.error_uri


class Agreements:
    """The configured agreements, by id and by partner.

    `routes` are the terms of the sending side when it sends for others (R-13). They are found by
    their names only, and never used as the agreement of a received or submitted message.
    """

    def __init__(self, agreements: Iterable[Agreement], routes: Iterable[Agreement] = ()) -> None:
        self._by_id = {agreement.id: agreement for agreement in agreements}
        self._routes = {route.id: route for route in routes}
        self._by_party: dict[str, list[Agreement]] = {}
        self._on_wire: dict[str, list[Agreement]] = {}
        for agreement in self._by_id.values():
            self._on_wire.setdefault(agreement.name_on_wire, []).append(agreement)
            for party in agreement.their_ids:
                self._by_party.setdefault(str(party), []).append(agreement)
        ordered = (agreement for agreement in self._by_id.values() if agreement.terms.is_ordered)
        self._in_order = frozenset(str(party) for one in ordered for party in one.their_ids)

    def __iter__(self) -> Iterator[Agreement]:
        return iter(self._by_id.values())

    def find(self, agreement_id: str) -> Agreement | None:
        """The agreement with this id, or the route of this name."""
        return self._by_id.get(agreement_id) or self._routes.get(agreement_id)

    def find_ours(self, agreement_id: str) -> Agreement | None:
        """The agreement with this id, never a route: the one under which a partner calls us."""
        return self._by_id.get(agreement_id)

    def named(self, name: str) -> Sequence[Agreement]:
        """The agreements that have this TPAId or CPAId on the wire and in journals (R-35)."""
        return self._on_wire.get(name, ())

    def names_owned(self, own: Collection[str]) -> frozenset[str]:
        """The names on the wire that only agreements of these ids have."""
        return frozenset(
            name for name, found in self._on_wire.items() if all(one.id in own for one in found)
        )

    def find_for(self, message: Message) -> Agreement | None:
        """The agreement under which a received message comes; None: its name is not known.

        Where several share the name, the one whose partner sent it and that has its service and
        action, in its Roles; else the one that fits best, so that a refusal says what does not fit.
        """
        named = self.named(message.agreement_id)
        if len(named) < 2:
            return named[0] if named else None
        return max(
            named,
            key=lambda one: (
                _is_between(one, message),
                may_receive(one, message),
                has_roles(one, message),
            ),
        )

    def find_with(self, party: str) -> Agreement | None:
        """Some agreement with this partner, by any of its PartyIds."""
        return next(iter(self._by_party.get(party, ())), None)

    def has_order_with(self, party: str) -> bool:
        """Whether some agreement with this partner, by any of its PartyIds, has an order."""
        return party in self._in_order

    def name_of(self, party: str) -> str | None:
        """What people call the partner with this PartyId, if its agreements say so."""
        agreement = self.find_with(party)
        return None if agreement is None else agreement.name

    def parties_named(self, name: str, own: frozenset[str] | None = None) -> Sequence[str]:
        """The first PartyId of each partner that people call so, whatever the case of its letters.

        Of `own` agreements alone, if they are given.
        """
        wanted = name.casefold()
        return sorted(
            {
                one.their_party
                for one in self._by_id.values()
                if one.name is not None
                and one.name.casefold() == wanted
                and (own is None or one.id in own)
            }
        )

    def choose(
        self,
        to: str,
        agreement_id: str | None,
        own: frozenset[str] | None = None,
        *,
        service: str,
        action: str,
    ) -> Agreement:
        """The agreement for a submission, one of the caller's `own` if it does not see all.

        Raises `LocalError`: UnknownPartner, UnknownAgreement, or AmbiguousAgreement where the
        caller has to say which.
        """
        with_party = self._by_party.get(to, [])
        candidates = [one for one in with_party if own is None or one.id in own]
        if not candidates:
            raise LocalError("UnknownPartner", f"no agreement is with {to!r}")
        if agreement_id is not None:
            for agreement in candidates:
                if agreement.id == agreement_id:
                    return agreement
            raise LocalError("UnknownAgreement", f"no agreement {agreement_id!r} is with {to!r}")
        if len(candidates) > 1:
            # Where a CPA has one for each service, what is sent says which.
            fitting = [one for one in candidates if may_send(one, service, action)]
            candidates = fitting or candidates
        if len(candidates) > 1:
            names = ", ".join(sorted(agreement.id for agreement in candidates))
            raise LocalError("AmbiguousAgreement", f"several agreements are with {to!r}: {names}")
        return candidates[0]

    def admit(
        self,
        message: Message,
        routing: Sequence[RoutingHeader],
        *,
        profile: Profile,
        our_uris: Collection[str],
        signature: Found = None,
        passed: Passed = unnoted,
    ) -> AdmittedMessage:
        """Check a received message, which came in a package of `profile`, and find its terms.

        A partner may name itself by any of its PartyIds; keys use the agreement's first one, so
        that an alias never makes a repeat look new. `passed` is told of each check of
        `checks.AGREED`, in that order. Raises `RemoteError`.
        """
        agreement = self.find_for(message)
        if agreement is None:
            raise RemoteError(
                ErrorCode.VALUE_NOT_RECOGNIZED,
                f"agreement {quoted(message.agreement_id)} is not known here; expected is the id"
                " that both parties agreed on, and have in their configurations",
                location=f"{HEADER}MessageHeader/eb:CPAId" if profile.has_cpa else "",
            )
        passed(Check.AGREEMENT)
        _check_ids(message.from_ids, agreement.their_ids, "From", agreement.profile)
        passed(Check.FROM)
        _check_ids(message.to_ids, agreement.our_ids, "To", agreement.profile)
        passed(Check.TO)
        if profile is not agreement.profile:
            raise RemoteError(
                ErrorCode.INCONSISTENT,
                f"a message of profile {profile.name} under agreement {quoted(agreement.id)};"
                f" expected is profile {agreement.profile.name}, which was agreed",
            )
        passed(Check.PROFILE)
        check_cpa(message, agreement)
        passed(Check.SERVICE)
        assert bool(routing) is profile.has_routing_headers, "so its codec reads a document"
        hop = routing[-1] if routing else None
        if hop is not None and hop.receiver_uri not in our_uris:
            raise RemoteError(
                ErrorCode.VALUE_NOT_RECOGNIZED,
                f"ReceiverURI {quoted(hop.receiver_uri)} is not ours; expected is"
                f" {' or '.join(map(quoted, sorted(our_uris)))}",
            )
        passed(Check.RECEIVER_URI)
        _check_times(message, routing, agreement.terms)
        passed(Check.TIMES)
        refuse_signed(message.acknowledgment, profile)
        refuse_unsigned(signature, message, agreement.signing)
        passed(Check.SIGNATURE)
        terms = _terms_of(message, hop, agreement)
        passed(Check.TERMS)
        admitted = AdmittedMessage(
            agreement,
            _renamed(message, agreement, terms),
            terms,
            hop,
            _find_deviation(message, agreement, terms),
            signature is not None,
        )
        _check_number(admitted)
        passed(Check.NUMBER)
        return admitted


def refuse_dropped(agreement: Agreement, dropped_parts: int) -> None:
    """Raise `RemoteError` for parts that no Manifest names, where the agreement is strict (P7)."""
    if dropped_parts and agreement.cpa.has_strict_parts:
        raise RemoteError(
            ErrorCode.MIME_PROBLEM,
            f"{dropped_parts} parts are there that the Manifest does not name; expected are those"
            " alone that it names, by strict_parts of the agreement",
            location="//SOAP:Body/eb:Manifest",
        )


def refuse_signed(element: AcknowledgmentElement | None, profile: Profile) -> None:
    """Raise `RemoteError` if the element claims a signature, which nobody here can check.

    To accept it as unsigned would mean to believe the claim (seed 001 §3.1). Where a profile has
    signatures, the envelope has one or has none, and no element claims it.
    """
    if element is not None and element.is_signed and not profile.has_signatures:
        raise RemoteError(ErrorCode.NOT_SUPPORTED, _UNSIGNED)


def _renamed(message: Message, agreement: Agreement, terms: DeliveryTerms) -> Message:
    ours, theirs = agreement.our_ids, agreement.their_ids
    is_renamed = (
        message.from_ids[0] != theirs[0]
        or message.to_ids[0] != ours[0]
        or message.agreement_id != agreement.id
    )
    if not is_renamed and not message.leaves_semantics:
        return message
    return changed(
        message,
        agreement_id=agreement.id,
        from_ids=theirs,
        to_ids=ours,
        semantics=terms.header_semantics,
        leaves_semantics=False,
    )


def _is_between(agreement: Agreement, message: Message) -> bool:
    return any(one in agreement.their_ids for one in message.from_ids) and any(
        one in agreement.our_ids for one in message.to_ids
    )


def _check_ids(
    named: Sequence[PartyId], agreed: Sequence[PartyId], element: str, profile: Profile
) -> None:
    """A party may name itself by some of its agreed ids, and by no other one."""
    for party in named:
        if party not in agreed:
            is_of_cpa = profile.has_cpa
            raise RemoteError(
                ErrorCode.INCONSISTENT if is_of_cpa else ErrorCode.VALUE_NOT_RECOGNIZED,
                f"{element} PartyId {quoted(str(party))} is not in the agreement; expected is"
                f" {' or '.join(quoted(str(one)) for one in agreed)}{_of_types(party, agreed)}",
                location=f"{HEADER}MessageHeader/eb:{element}/eb:PartyId" if is_of_cpa else "",
            )


def _of_types(named: PartyId, agreed: Sequence[PartyId]) -> str:
    """What tells two names apart that look the same, since a type is written before its value."""
    if str(named) not in map(str, agreed):
        return ""
    return f"; seen is type {quoted(named.type or 'none')}, and another one was agreed"


def _check_times(message: Message, routing: Sequence[RoutingHeader], terms: DeliveryTerms) -> None:
    """A RoutingHeader is made after its message (S0-47); hops have clocks of their own."""
    accuracy_us = terms.msh_time_accuracy_s * US_PER_S
    if any(hop.timestamp_at + accuracy_us < message.timestamp_at for hop in routing):
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            "the Timestamp of a RoutingHeader is before that of the message; expected is one at the"
            f" same time or later, with {terms.msh_time_accuracy_s} s for clocks that differ",
        )


def _terms_of(message: Message, hop: RoutingHeader | None, agreement: Agreement) -> DeliveryTerms:
    agreed = agreement.terms
    # First, since a header that asks the next MSH alone does not lack an AckRequested (IR-07).
    _check_next(message, agreement)
    semantics = _semantics_of(message, agreement)
    if not agreement.profile.header_has_parameters:
        return agreed if semantics is agreed.semantics else changed(agreed, semantics=semantics)
    _check_order(message, agreement)
    ack_requested = _ack_requested_of(message, hop) or AckRequested.NONE
    if ack_requested is AckRequested.SIGNED:
        _refuse_unsignable(agreement)
    if agreement.profile.has_signatures and agreement.cpa.check_header is CheckHeader.STRICT:
        _check_signed_wish(ack_requested, agreed)
    return changed(
        agreed,
        semantics=semantics,
        method=_method_of(hop, agreed),
        sync_reply_mode=(
            _sync_reply_mode_of(message, agreed)
            if agreement.profile.header_names_semantics
            else _wished_mode_of(message, agreement)
        ),
        ack_requested=ack_requested,
    )


def _refuse_unsignable(agreement: Agreement) -> None:
    """Raise `RemoteError` if a signed acknowledgement is asked for and nobody here can sign it."""
    if agreement.profile.has_signatures and agreement.signing.identities:
        return
    text = _NO_KEY if agreement.profile.has_signatures else _UNSIGNED
    raise RemoteError(ErrorCode.NOT_SUPPORTED, text, location=f"{HEADER}AckRequested")


def _check_signed_wish(asked: AckRequested, agreed: DeliveryTerms) -> None:
    """Raise `RemoteError` if the acknowledgement is to be signed, and agreed is another, or so."""
    is_asked, is_agreed = (one is AckRequested.SIGNED for one in (asked, agreed.ack_requested))
    if asked is not AckRequested.NONE and is_asked is not is_agreed:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            f"AckRequested has signed {str(is_asked).lower()}; expected is what was agreed,"
            f" {str(is_agreed).lower()}",
            location=f"{HEADER}AckRequested/@eb:signed",
        )


def _semantics_of(message: Message, agreement: Agreement) -> DeliverySemantics:
    """Seed 000 §5.1 (6): the header alone decides. Seed 001: header or CPA."""
    agreed, word = agreement.terms.semantics, agreement.terms.header_semantics
    if not agreement.profile.header_names_semantics:
        if agreement.cpa.check_header is CheckHeader.STRICT:
            _check_wishes(message, agreement)
        return agreed
    if message.leaves_semantics or message.semantics is word:
        return agreed
    if agreement.profile.header_decides_semantics:
        return message.semantics
    raise RemoteError(
        ErrorCode.INCONSISTENT,
        f"deliverySemantics is {message.semantics.value}; expected is what was agreed,"
        f" {word.value}, or none in the header",
    )


def _check_order(message: Message, agreement: Agreement) -> None:
    """Raise `RemoteError` if there is an order where none was agreed, or none where one was.

    An order needs both other wishes: whoever numbers messages has to know which were stored, and
    two copies would have one number. Where headers are taken at their word, one without an order
    is handed over when it comes.
    """
    terms = agreement.terms
    if message.order is None:
        if agreement.cpa.check_header is CheckHeader.STRICT:
            _check_has_order(message, agreement)
        return
    if not terms.is_ordered:
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            "MessageOrder is there; expected is a message without it, since no order was agreed",
            location=ORDER_LOCATION.rpartition("/")[0],
        )
    if not (message.wants_ack and message.duplicate_elimination):
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            "MessageOrder is there without AckRequested or without DuplicateElimination; expected"
            " are both beside it",
            location=ORDER_LOCATION.rpartition("/")[0],
        )


def _check_has_order(message: Message, agreement: Agreement) -> None:
    if message.order is None and agreement.terms.is_ordered:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            "MessageOrder is missing; expected is one in every message, as was agreed",
            location=ORDER_LOCATION.rpartition("/")[0],
        )


def _find_deviation(message: Message, agreement: Agreement, terms: DeliveryTerms) -> str | None:
    """What a strict agreement would have refused in the header; None if there is nothing (§6).

    `terms` are those that the header came to.
    """
    if not agreement.profile.has_cpa or agreement.cpa.check_header is CheckHeader.STRICT:
        return None
    try:
        _check_wishes(message, agreement)
        _check_has_order(message, agreement)
        _check_signed_wish(terms.ack_requested, agreement.terms)
        _check_sync_reply(message, agreement, is_lenient=False)
    except RemoteError as error:
        return error.description
    return None


def _ack_requested_of(message: Message, hop: RoutingHeader | None) -> AckRequested | None:
    return message.ack_requested if hop is None else hop.ack_requested


def _check_wishes(message: Message, agreement: Agreement) -> None:
    """Raise `RemoteError` if the header asks for more or less than was agreed (R-29)."""
    terms, demand = agreement.terms, agreement.cpa.duplicate_elimination
    word = terms.header_semantics
    eliminates = terms.eliminates_duplicates if demand is None else demand is Demand.ALWAYS
    is_eliminated = None if demand is Demand.PER_MESSAGE else message.duplicate_elimination
    is_acknowledged = word is DeliverySemantics.ONCE_AND_ONLY_ONCE
    is_by_next = agreement.cpa.ack_actor is AckActor.NEXT_MSH
    wants_ack = message.wants_next_ack if is_by_next else message.wants_ack
    wishes = (
        ("AckRequested", wants_ack, is_acknowledged),
        ("DuplicateElimination", is_eliminated, eliminates),
    )
    for name, is_there, is_agreed in wishes:
        if is_there is not None and is_there is not is_agreed:
            raise RemoteError(
                ErrorCode.INCONSISTENT,
                f"{name} is {'there' if is_there else 'missing'}; expected is what was agreed, a"
                f" header {'with' if is_agreed else 'without'} it",
                location=f"{HEADER}{'MessageHeader/eb:' if name != 'AckRequested' else ''}{name}",
            )


def _check_next(message: Message, agreement: Agreement) -> None:
    """Raise `RemoteError` if the header asks the next MSH where that was not agreed."""
    location = f"{HEADER}AckRequested"
    if message.next_ack_requested is AckRequested.SIGNED:
        raise RemoteError(ErrorCode.NOT_SUPPORTED, _NO_SIGNED_HOP, location=location)
    if message.wants_next_ack and agreement.cpa.ack_actor is AckActor.TO_PARTY_MSH:
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            "AckRequested is there for the next MSH, which was not agreed; expected is one for the"
            ' To Party alone, or ack_actor "both" or "nextMSH" in the agreement',
            location=location,
        )


def _wished_mode_of(message: Message, agreement: Agreement) -> SyncReplyMode:
    """What comes in the answer, where a header can only ask for it, and not say what.

    A lenient agreement lets a header ask for less, never for more.
    """
    is_lenient = agreement.cpa.check_header is CheckHeader.LENIENT
    is_wished = _check_sync_reply(message, agreement, is_lenient=is_lenient)
    return agreement.terms.sync_reply_mode if is_wished else SyncReplyMode.NONE


def _check_sync_reply(message: Message, agreement: Agreement, *, is_lenient: bool) -> bool:
    """Whether the header has SyncReply. Raises `RemoteError` if it may not be so."""
    is_wished = message.sync_reply_mode not in (None, SyncReplyMode.NONE)
    is_response = message.ref_to_message_id is not None
    is_agreed = agreement.terms.sync_reply_mode is not SyncReplyMode.NONE
    is_less = is_agreed and is_lenient
    if is_wished is not is_agreed and not (is_agreed and is_response) and not is_less:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            f"SyncReply is {'there' if is_wished else 'missing'}; expected is what was agreed, a"
            f" header {'with' if is_agreed else 'without'} it",
            location=f"{HEADER}SyncReply",
        )
    return is_wished


def _method_of(hop: RoutingHeader | None, agreed: DeliveryTerms) -> ReliableMessagingMethod:
    named = None if hop is None else hop.reliable_messaging_method
    if named is None or named is agreed.method:
        return agreed.method
    raise RemoteError(
        ErrorCode.INCONSISTENT,
        f"reliableMessagingMethod is {named.value}; expected is what was agreed,"
        f" {agreed.method.value}, or none in the header",
    )


def _sync_reply_mode_of(message: Message, agreed: DeliveryTerms) -> SyncReplyMode:
    """Header or CPA (S1-09). A header may always ask for nothing in the answer.

    A business response gets no response of its own unless its header asks for one.
    """
    named = message.sync_reply_mode
    if named is None:
        is_response = message.ref_to_message_id is not None
        return SyncReplyMode.NONE if is_response else agreed.sync_reply_mode
    if agreed.sync_reply_mode in (SyncReplyMode.NONE, named) or named is SyncReplyMode.NONE:
        return named
    raise RemoteError(
        ErrorCode.INCONSISTENT,
        f"syncReplyMode is {named.value}; expected is what was agreed,"
        f" {agreed.sync_reply_mode.value}, or none in the header",
    )


def _check_number(admitted: AdmittedMessage) -> None:
    terms = admitted.terms
    is_reliable = terms.semantics is not DeliverySemantics.BEST_EFFORT
    if terms.is_numbered and is_reliable and admitted.sequence_number is None:
        raise RemoteError(ErrorCode.INCONSISTENT, _NO_NUMBER)
