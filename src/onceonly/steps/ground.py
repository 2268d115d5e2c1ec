"""What a step knows besides its transaction: who this gateway is, the instant, random digits."""

from collections.abc import Collection, Mapping
from hashlib import sha256

from onceonly.message.agreement import Agreement, Route
from onceonly.message.cpa import MessageIdForm
from onceonly.message.identity import PartyId
from onceonly.message.instant import Now
from onceonly.message.word import Word
from onceonly.steps.agreements import Agreements
from onceonly.steps.routes import Routes
from onceonly.steps.rows import Rows
from onceonly.steps.signing import SigningIdentity


class House(Word):
    """Who we are and what was agreed, from the configuration."""

    party: tuple[PartyId, ...]
    """Our PartyIds; the first one owns the journal."""
    uri: str
    """What we call ourselves in headers."""
    uris: Collection[str]
    """Every URI that a partner may rightly call us by (S0-45)."""
    domain: str
    """The domain of the MessageIds that we make."""
    agreements: Agreements
    routes: Routes
    rows: Rows
    queued_max: int
    identities: tuple[SigningIdentity, ...] = ()
    """Our keys that sign; their values are known only to what signs."""
    """Most messages that may wait for a verdict (R-27)."""
    former: Mapping[str, Agreement] = {}
    """Agreements that a reload took away since the start, by id. Nothing new comes under them; but
    a message that had its verdict may still have a transmission, whose end is written down."""
    former_routes: Mapping[str, Route] = {}
    """Routes that a reload took away since the start."""

    def agreement(self, agreement_id: str) -> Agreement:
        """The agreement of a stored message, though a reload may have taken it away.

        The start and every reload check that a message without a verdict has one.
        """
        agreement = self.agreements.find(agreement_id)
        if agreement is None:
            agreement = self.former.get(agreement_id)
        assert agreement is not None, f"a stored message names agreement {agreement_id!r}"
        return agreement

    def route(self, route_id: str) -> Route:
        """The route of a copy on its way, though a reload may have taken it away."""
        route = self.routes.find(route_id)
        if route is None:
            route = self.former_routes.get(route_id)
        assert route is not None, f"a message in transit was looked up by route {route_id!r}"
        return route


class Ground(Word):
    """What one run of a step knows."""

    house: House
    now: Now
    chance: str
    """Random digits that no other run has: new identifiers are made of them (I31)."""

    def message_id(self, what: str, under: Agreement | None = None) -> str:
        """A globally unique MessageId; another one for each `what`, as `under` wants it to look."""
        form = MessageIdForm.DOMAIN if under is None else under.cpa.message_id_form
        return self.message_id_as(form, what)

    def message_id_as(self, form: MessageIdForm, what: str) -> str:
        """One that looks like this."""
        digits = self.token(what)
        if form is MessageIdForm.UPPER_CASE_UUID:
            return new_uuid(self.now.at, digits)
        return new_message_id(self.now.at, digits, self.house.domain)

    def token(self, what: str) -> str:
        """32 hexadecimal digits, for boundaries and Content-IDs; others for each `what`."""
        return sha256(f"{self.chance} {what}".encode()).hexdigest()[:32]


def new_message_id(at: int, digits: str, domain: str) -> str:
    """A MessageId in the form local@domain, of 32 hexadecimal digits that no other id has.

    It begins with the time, in 12 hexadecimal digits of milliseconds, so that ids of the same time
    are neighbours in every index of both parties' stores. If ids began with random digits, each new
    one would touch another page of an index of millions, to be read, logged and written. The 128
    bits after the time make the id unique, whatever the clock says.
    """
    return f"{at // 1000:012x}{digits}@{domain}"


def new_uuid(at: int, digits: str) -> str:
    """A UUID of version 7 in upper case: it begins with the time, too (RFC 9562 §5.7)."""
    time, variant = f"{at // 1000:012x}", "89ab"[int(digits[3], 16) % 4]
    parts = (time[:8], time[8:], f"7{digits[:3]}", f"{variant}{digits[4:7]}", digits[7:19])
    return "-".join(parts).upper()
