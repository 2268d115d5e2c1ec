"""The routes that messages take through this gateway, and which messages a route accepts.

Knows the next hop of a message, what must be true of its RoutingHeaders, and which next hop a
signal came from. Every address comes from the route, never from the message (R-26). Seeds 000
§4.1.2 and 001 §1.3.4; invariant I38.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from onceonly.message.agreement import Agreement, Route
from onceonly.message.cpa import AckActor, CpaTerms
from onceonly.message.digest import Digests
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.identity import Pair, PartyId
from onceonly.message.message import (
    AckRequested,
    Message,
    ReliableMessagingMethod,
    RoutingHeader,
    SyncReplyMode,
)
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import SignalHeader
from onceonly.message.terms import Intermediary
from onceonly.message.word import Word
from onceonly.steps.authority import Caller, is_next_hop, is_previous_hop
from onceonly.steps.cpa import HEADER
from onceonly.store.contract.entries import StoredPayload


class Passage(Word):
    """One copy of a message that arrived, with its payloads at hand and kept."""

    route: Route
    message: Message
    """With the names of the route: the first PartyIds of its parties."""
    previous: RoutingHeader
    """The hop that brought it."""
    hop: int
    """Number of the RoutingHeader that we add."""
    package: Package
    """What is sent to the next hop."""
    payloads: Sequence[StoredPayload]
    digests: Digests

    @property
    def is_answered(self) -> bool:
        """Whether an acknowledgement is expected for it."""
        method = self.previous.reliable_messaging_method or self.route.terms.method
        return self.message.wants_ack and method is ReliableMessagingMethod.EBXML


class Routes:
    """The configured routes. `our_uris` are all URIs that this gateway announces."""

    def __init__(self, routes: Iterable[Route], *, our_uris: Collection[str]) -> None:
        self._by_id = {route.id: route for route in routes}
        self._our_uris = frozenset(our_uris)
        self.pass_as_it_came = any(
            not route.profile.has_routing_headers for route in self._by_id.values()
        )
        """Whether there is a route on which packages pass byte for byte."""

    def __iter__(self) -> Iterator[Route]:
        return iter(self._by_id.values())

    def find(self, route_id: str) -> Route | None:
        """The route of this name."""
        return self._by_id.get(route_id)

    def find_for(self, message: Message | SignalHeader) -> Route | None:
        """The route between the message's parties, for its agreement or for any.

        Signals travel so in a profile without RoutingHeaders only; in the others they go from one
        MSH to the next.
        """
        for route in self:
            if (
                _may_name(route, message.agreement_id)
                and set(message.from_ids) <= set(route.from_ids)
                and set(message.to_ids) <= set(route.to_ids)
            ):
                return route
        return None

    def find_beside(self, caller: Caller, agreement_id: str) -> Route | None:
        """The first route for this agreement that has the caller as its neighbour."""
        for route in self:
            is_neighbour = is_previous_hop(caller, route) or is_next_hop(caller, route)
            if is_neighbour and _may_name(route, agreement_id):
                return route
        return None

    def leading_to(self, header: SignalHeader, profile: Profile, caller: Caller) -> list[Route]:
        """Routes whose next hop may have sent the signal: by its names and its caller (R-44)."""
        names = set(map(str, header.from_ids))
        return [
            route
            for route in self
            if route.profile is profile
            and names <= {route.receiver_uri, route.send_to, *map(str, route.to_ids)}
            and _may_name(route, header.agreement_id)
            and is_next_hop(caller, route)
        ]

    def find_back(self, route: Route) -> list[Route]:
        """The routes of the other direction between the parties of this one."""
        back = Pair(route.pair.to_party, route.pair.from_party)
        return [one for one in self if one.pair == back]

    def find_from(self, header: SignalHeader, profile: Profile, caller: Caller) -> Route | None:
        """The route whose previous hop the caller is, by its names and by what it shows."""
        names = set(map(str, header.from_ids))
        for route in self:
            previous_hop = {route.sender_uri, route.back_to, *map(str, route.from_ids)}
            if (
                route.profile is profile
                and names <= previous_hop
                and _may_name(route, header.agreement_id)
                and is_previous_hop(caller, route)
            ):
                return route
        return None

    def hop_of(self, route: Route, message: Message) -> RoutingHeader:
        """The hop that brought a message whose header says nothing of it: as the route has it.

        `ack_requested` is what the next MSH, which we are, is asked for.
        """
        return RoutingHeader(
            sender_uri=route.sender_uri,
            receiver_uri=route.receiver_uri,
            error_uri=None,
            timestamp_at=message.timestamp_at,
            ack_requested=message.next_ack_requested,
        )

    def check_passing(self, route: Route, profile: Profile, hops: int) -> None:
        """Raise `RemoteError` if a package that names no hops must not go on along `route`.

        `hops` counts those that it has made, as far as intermediaries of ours say it.
        """
        _check_profile(route, profile)
        if hops >= route.hops_max:
            raise RemoteError(
                ErrorCode.INCONSISTENT,
                f"the message has made {hops} hops, of {route.hops_max} at most: a loop, or"
                " hops_max is too low",
            )

    def check_asked(self, route: Route, message: Message) -> None:
        """Raise `RemoteError` for what an intermediary is asked and cannot do (`ebms-2.0`)."""
        if message.next_ack_requested is AckRequested.SIGNED:
            raise RemoteError(
                ErrorCode.NOT_SUPPORTED,
                f"a signed acknowledgement of the next MSH is asked for, and route {route.id!r} has"
                " no key; expected is AckRequested of the next MSH with signed false",
                location=f"{HEADER}AckRequested/@eb:signed",
            )

    def check(
        self,
        route: Route,
        message: Message,
        routing: Sequence[RoutingHeader],
        profile: Profile,
    ) -> None:
        """Raise `RemoteError` if the message must not go on along `route`; ignores its payloads."""
        previous = routing[-1]
        _check_profile(route, profile)
        if previous.receiver_uri not in self._our_uris:
            raise RemoteError(
                ErrorCode.VALUE_NOT_RECOGNIZED,
                f"ReceiverURI {previous.receiver_uri!r} is not ours",
            )
        if previous.sender_uri in self._our_uris or any(
            self._our_uris & {hop.sender_uri, hop.receiver_uri} for hop in routing[:-1]
        ):
            raise RemoteError(ErrorCode.INCONSISTENT, "a loop: the message has been here before")
        if previous.sender_uri != route.sender_uri:
            raise RemoteError(
                ErrorCode.VALUE_NOT_RECOGNIZED,
                f"SenderURI {previous.sender_uri!r} is not the previous hop of route {route.id!r}",
            )
        if len(routing) >= route.hops_max:
            raise RemoteError(
                ErrorCode.INCONSISTENT,
                f"the message has made {len(routing)} hops, of {route.hops_max} at most",
            )
        if message.sync_reply_mode not in (None, SyncReplyMode.NONE):
            raise RemoteError(
                ErrorCode.NOT_SUPPORTED, "syncReplyMode does not pass through an intermediary"
            )


def _check_profile(route: Route, profile: Profile) -> None:
    if profile is not route.profile:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            f"a message of profile {profile.name} on route {route.id!r}, "
            f"which is of profile {route.profile.name}",
        )


def _may_name(route: Route, agreement_id: str) -> bool:
    """Whether the route is open for messages of the agreement; a signal may name none."""
    return not agreement_id or route.agreement_id in (None, agreement_id)


def is_accepted(route: Route, message: Message, previous: RoutingHeader) -> bool:
    """Whether we take over the delivery: it is agreed, and ackRequested asks for it (S1-48).

    Not of a message whose sender holds the connection for the To Party's answer (SyncReply).
    Raises `RemoteError` (NotSupported) if a signed acknowledgement of ours is asked for.
    """
    method = previous.reliable_messaging_method or route.terms.method
    is_held = message.sync_reply_mode not in (None, SyncReplyMode.NONE)
    if (
        route.intermediary is not Intermediary.ACCEPT
        or not (message.wants_ack or message.wants_next_ack)
        or is_held
        or method is not ReliableMessagingMethod.EBXML
    ):
        return False
    if previous.ack_requested is AckRequested.SIGNED:
        raise RemoteError(ErrorCode.NOT_SUPPORTED, "signed acknowledgments are not offered")
    return previous.ack_requested is AckRequested.UNSIGNED


def as_agreement(route: Route) -> Agreement:
    """The route as the sending machine sees it: we send what the From Party wrote.

    Where a header says whose acknowledgement it asks for, that of the next MSH ends the delivery.
    """
    cpa = CpaTerms()
    if route.profile.acknowledges_on_request:
        cpa = CpaTerms(ack_actor=AckActor.NEXT_MSH)
    return Agreement(
        id=route.id,
        profile=route.profile,
        our_ids=route.from_ids,
        their_ids=route.to_ids,
        send_to=route.send_to,
        error_to=None,
        receiver_uri=route.receiver_uri,
        terms=route.terms,
        caller_certificate=route.next_hop_certificate or route.caller_certificate,
        entrances=route.entrances,
        cpa=cpa,
        is_route=True,
    )


def as_previous_hop(route: Route, agreement_id: str, our_uri: str) -> Agreement:
    """The way back along the route, for a notice from us to the From Party (seed 001 §1.6).

    We, who found the problem, are named by our URI, since the previous hop knows us by that.
    """
    return Agreement(
        id=agreement_id,
        profile=route.profile,
        our_ids=(PartyId(our_uri),),
        their_ids=route.from_ids,
        send_to=route.back_to,
        error_to=None,
        receiver_uri=route.sender_uri,
        terms=route.terms,
    )
