"""Which agreement a message falls under, and whether it keeps to it.

Everything that is sent anywhere goes to an address of an agreement, never to one that stands only
in a message (ruling R-26).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from onceonly.gateway.config import Agreement
from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader


class Agreements:
    """The configured agreements, by id and by partner."""

    def __init__(self, agreements: Iterable[Agreement]) -> None:
        self._by_id = {agreement.id: agreement for agreement in agreements}
        self._by_party: dict[str, list[Agreement]] = {}
        for agreement in self._by_id.values():
            for party in agreement.their_ids:
                self._by_party.setdefault(str(party), []).append(agreement)

    def __iter__(self) -> Iterator[Agreement]:
        return iter(self._by_id.values())

    def find(self, agreement_id: str) -> Agreement | None:
        """The agreement with this TPAId."""
        return self._by_id.get(agreement_id)

    def find_with(self, party: str) -> Agreement | None:
        """Some agreement with this partner, by any of its PartyIds."""
        return next(iter(self._by_party.get(party, ())), None)

    def choose(self, to: str, agreement_id: str | None) -> Agreement:
        """The agreement for a submission.

        Raises `LocalError`: UnknownPartner, UnknownAgreement, or AmbiguousAgreement where the
        caller has to say which.
        """
        candidates = self._by_party.get(to, [])
        if not candidates:
            raise LocalError("UnknownPartner", f"no agreement is with {to!r}")
        if agreement_id is not None:
            for agreement in candidates:
                if agreement.id == agreement_id:
                    return agreement
            raise LocalError("UnknownAgreement", f"no agreement {agreement_id!r} is with {to!r}")
        if len(candidates) > 1:
            names = ", ".join(sorted(agreement.id for agreement in candidates))
            raise LocalError("AmbiguousAgreement", f"several agreements are with {to!r}: {names}")
        return candidates[0]

    def admit(
        self, message: Message, routing: Sequence[RoutingHeader], our_uri: str
    ) -> tuple[Agreement, Message]:
        """The agreement that a received message keeps to, and the message under its names.

        A partner may name itself by any of its PartyIds; keys use the agreement's first one, so
        that an alias never makes a repeat look new. Raises `RemoteError`.
        """
        agreement = self._by_id.get(message.agreement_id)
        if agreement is None:
            raise RemoteError(
                ErrorCode.VALUE_NOT_RECOGNIZED, f"TPAId {message.agreement_id!r} is not known"
            )
        _check_ids(message.from_ids, agreement.their_ids, "From")
        _check_ids(message.to_ids, agreement.our_ids, "To")
        hop = routing[-1]
        if hop.receiver_uri != our_uri:
            raise RemoteError(
                ErrorCode.VALUE_NOT_RECOGNIZED, f"ReceiverURI {hop.receiver_uri!r} is not ours"
            )
        if (
            message.semantics is DeliverySemantics.ONCE_AND_ONLY_ONCE
            and hop.sequence_number is None
        ):
            raise RemoteError(ErrorCode.INCONSISTENT, "OnceAndOnlyOnce without a SequenceNumber")
        ours, theirs = agreement.our_ids, agreement.their_ids
        if message.from_ids[0] != theirs[0] or message.to_ids[0] != ours[0]:
            message = replace(message, from_ids=theirs, to_ids=ours)
        return agreement, message


def _check_ids(named: Sequence[PartyId], agreed: Sequence[PartyId], element: str) -> None:
    for party in named:
        if party not in agreed:
            raise RemoteError(
                ErrorCode.VALUE_NOT_RECOGNIZED,
                f"{element} PartyId {str(party)!r} is not in the agreement",
            )
