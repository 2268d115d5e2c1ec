"""What two parties agreed, and what passes through us between two others.

An `Agreement` is what seed 000 calls a TPA and seed 001 a CPA, as far as delivery is concerned; a
`Route` is an intermediary's side of one. Whoever makes them (a configuration file today) has
checked what must fit together; nobody here knows where they were written down.
"""

from onceonly.message.identity import Pair, PartyId
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.message.word import Word


class Agreement(Word, kw_only=True):
    """What we and one partner agreed: who, where, and the delivery terms."""

    id: str
    profile: Profile
    our_ids: tuple[PartyId, ...]
    their_ids: tuple[PartyId, ...]
    send_to: str
    """Where we post to, and the only place that acknowledgements and errors go (R-26)."""
    error_to: str | None
    receiver_uri: str
    """The URI that the partner's MSH announces; `send_to` unless something stands between."""
    terms: DeliveryTerms
    resend_to: str | None = None
    """Where resends go, where that is elsewhere: perhaps by another transport (S1-46)."""
    caller_certificate: tuple[str, ...] = ()
    """Hexadecimal SHA-256 of the certificates under which this partner may call us; none: any."""
    entrances: tuple[str, ...] = ()
    """By which ways this partner may call us; none: R-44 says which."""
    validator: str | None = None
    """Application's address that says whether the content is valid (seed 004 level 0 b)."""
    methods_supported: tuple[str, ...] = ()
    """Methods of reliable messaging that the partner's MSH supports, as URIs (seed 001
    §2.1.1.3); empty where the agreement does not say."""
    is_route: bool = False
    """It is a route in accept mode as the sending side sees it: what is sent under it is somebody
    else's, under the package that was made when it was accepted (R-13)."""

    @property
    def our_party(self) -> str:
        """The string that names us in keys of this agreement."""
        return str(self.our_ids[0])

    @property
    def their_party(self) -> str:
        """The string that names the partner in keys of this agreement."""
        return str(self.their_ids[0])


class Route(Word, kw_only=True):
    """One direction of traffic that passes through us as an intermediary (ruling R-13)."""

    id: str
    profile: Profile
    intermediary: Intermediary
    from_ids: tuple[PartyId, ...]
    to_ids: tuple[PartyId, ...]
    agreement_id: str | None
    """TPAId or CPAId of what may pass; None: any between these parties."""
    back_to: str
    """Where acknowledgements and errors for the previous hop go."""
    sender_uri: str
    """The URI that the previous hop announces; `back_to` unless something stands between."""
    send_to: str
    """Where the next hop takes messages."""
    receiver_uri: str
    """The URI that the next hop announces; `send_to` unless something stands between."""
    terms: DeliveryTerms
    """Of the next hop, where we own the delivery (`accept`); `retry_interval_s` is the
    MinRetrySecs of our Transient Errors."""
    hops_max: int
    """Most RoutingHeaders of a message that goes on from here."""
    caller_certificate: tuple[str, ...] = ()
    """Certificates under which whoever stands beside us on the route may call us; none: any."""
    next_hop_certificate: tuple[str, ...] = ()
    """Those of the next hop alone; then the others are the previous hop's."""
    entrances: tuple[str, ...] = ()

    @property
    def pair(self) -> Pair:
        """The end-to-end pair, by the parties' first PartyIds."""
        return Pair(str(self.from_ids[0]), str(self.to_ids[0]))
