"""What two parties agreed, and the routes on which messages of others pass through us.

An `Agreement` is what seed 000 calls a TPA and seed 001 a CPA, as far as delivery is concerned; a
`Route` is an intermediary's side of one. Whoever makes them (today the reader of a configuration
file) has checked that the values fit together; nothing here knows where they come from.
"""

from onceonly.message.cpa import CpaTerms
from onceonly.message.identity import Pair, PartyId
from onceonly.message.message import SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.signing import SigningTerms
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.message.word import Word


class Agreement(Word, kw_only=True):
    """What we and one partner agreed: who, where, and the delivery terms."""

    id: str
    profile: Profile
    our_ids: tuple[PartyId, ...]
    their_ids: tuple[PartyId, ...]
    send_to: str
    """The address that we post to; acknowledgements and errors go nowhere else (R-26)."""
    error_to: str | None
    receiver_uri: str
    """The URI that the partner's MSH announces; `send_to` unless something stands between."""
    terms: DeliveryTerms
    signing: SigningTerms = SigningTerms()
    resend_to: str | None = None
    """The address of resends if it is another one, perhaps of another transport (S1-46)."""
    caller_certificate: tuple[str, ...] = ()
    """Hexadecimal SHA-256 of each certificate with which this partner may call us; empty: any."""
    entrances: tuple[str, ...] = ()
    """The entrances that this partner may use; empty: R-44 says which."""
    validator: str | None = None
    """Address of the application that is asked whether content is valid (seed 004 level 0 b)."""
    methods_supported: tuple[str, ...] = ()
    """Methods of reliable messaging that the partner's MSH supports, as URIs (seed 001
    §2.1.1.3); empty where the agreement does not say."""
    name: str | None = None
    """What people call the partner; it is shown, and never sent or compared."""
    cpa: CpaTerms = CpaTerms()
    """What only a CPA says (`ebms-2.0`)."""
    is_route: bool = False
    """It is a route in accept mode, seen from the sending side: the messages are those of others,
    and their packages were made when we accepted them (R-13)."""

    @property
    def name_on_wire(self) -> str:
        """TPAId or CPAId in headers and in journals, where both parties use one name (R-35)."""
        return self.cpa.cpa_id or self.id

    @property
    def reads_answers(self) -> bool:
        """Whether a package in the answer of a transport is read (`Profile.reads_every_answer`)."""
        is_agreed = self.terms.sync_reply_mode is not SyncReplyMode.NONE
        return is_agreed or self.profile.reads_every_answer

    @property
    def has_cancels(self) -> bool:
        """Whether a partner can be asked to cancel a message, and to send a response again."""
        return self.profile.has_cancels or self.cpa.has_extensions

    @property
    def our_party(self) -> str:
        """The PartyId that names us in keys of this agreement."""
        return str(self.our_ids[0])

    @property
    def their_party(self) -> str:
        """The PartyId that names the partner in keys of this agreement."""
        return str(self.their_ids[0])


class Route(Word, kw_only=True):
    """One direction of traffic that passes through us as an intermediary (ruling R-13)."""

    id: str
    profile: Profile
    intermediary: Intermediary
    from_ids: tuple[PartyId, ...]
    to_ids: tuple[PartyId, ...]
    agreement_id: str | None
    """TPAId or CPAId that a message must have to pass; None: any between these parties."""
    back_to: str
    """The address for acknowledgements and errors to the previous hop."""
    sender_uri: str
    """The URI that the previous hop announces; `back_to` unless something stands between."""
    send_to: str
    """The address of the next hop."""
    receiver_uri: str
    """The URI that the next hop announces; `send_to` unless something stands between."""
    terms: DeliveryTerms
    """The terms with the next hop, if we own the delivery (`accept`); `retry_interval_s` is the
    MinRetrySecs of our Transient Errors."""
    hops_max: int
    """Most RoutingHeaders that a message may have when it leaves us."""
    caller_certificate: tuple[str, ...] = ()
    """Certificates with which the neighbours on the route may call us; empty: any."""
    next_hop_certificate: tuple[str, ...] = ()
    """Certificates of the next hop only; `caller_certificate` is then for the previous hop."""
    entrances: tuple[str, ...] = ()

    @property
    def pair(self) -> Pair:
        """The pair of the two end parties, by their first PartyIds."""
        return Pair(str(self.from_ids[0]), str(self.to_ids[0]))
