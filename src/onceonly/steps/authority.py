"""Which caller may speak about what: a caller, and the agreement of a message (ruling R-44).

A name in a package proves nothing. Only the way in which the package came proves something: the
certificate that its caller showed, or that it came in the answer to a POST of ours. An agreement
says what it requires of its callers; a caller that does not show it is a stranger to the agreement,
whatever names the package has. If an agreement requires nothing, only the network says who calls.

Pure: a caller is a value, and the step that decides gets it as an argument.
"""

from onceonly.message.agreement import Agreement, Route
from onceonly.message.identity import Pair
from onceonly.message.message import Message
from onceonly.message.signals import Acknowledgment, ErrorSignal, Report, Verdict, readings_of
from onceonly.message.word import Word
from onceonly.wire.envelope import Content

ANSWERING = frozenset({"http", "https"})
"""Transports whose answer can carry a package back."""


class NotEntitled(Exception):  # noqa: N818 - because it names what its caller is, not what failed
    """The caller does not show what the agreement requires, or may not speak about the message."""


class Answered(Word):
    """The POST of ours whose answer brought the package."""

    message_id: str
    agreement_id: str
    """The id of our agreement, or of the route, under which it was sent."""


class Caller(Word):
    """The one that brought a package: the neighbour hop, as the transport knows it."""

    transport: str
    """Scheme by which it came."""
    address: str
    certificate: str | None = None
    """Hexadecimal SHA-256 of the certificate that it showed and that was verified."""
    answered: Answered | None = None
    """If set, the caller is the owner of the address that we called, by TLS if it is https."""
    soap_action: str | None = None
    """What it said in SOAPAction, without the quotes; nothing rests on it."""
    mail_id: str | None = None
    """The own Message-ID of the mail that brought it; whoever sent the mail made it up."""
    hops: int = 0
    """How many intermediaries of ours it says to be the last of (`transport.Request`)."""

    @property
    def awaits_an_answer(self) -> bool:
        """Whether a package can go back on the same connection (seed 001 §1.2.2)."""
        return self.answered is None and self.transport in ANSWERING


def entrance_of(uri: str) -> str:
    """The entrance (`https`, `mail` or `amqp`) that an address of this scheme leads to."""
    scheme = uri.partition(":")[0]
    if scheme in ("smtp", "smtps"):
        return "mail"
    return "amqp" if scheme in ("amqp", "amqps") else "https"


def is_entitled(caller: Caller, agreement: Agreement) -> bool:
    """Whether the caller may speak about what is under the agreement."""
    if caller.answered is not None:
        return caller.answered.agreement_id == agreement.id
    return _shows(caller, agreement.caller_certificate, agreement.entrances)


def is_previous_hop(caller: Caller, route: Route) -> bool:
    """Whether the caller may bring messages along the route, and ask about them."""
    return caller.answered is None and _shows(caller, route.caller_certificate, route.entrances)


def may_bring(caller: Caller, route: Route, answered: Route | None) -> bool:
    """Whether the caller may bring what travels along the route.

    `answered` is the route of the message of others that it answers on our own connection, if it
    does: the next hop of that one is the previous hop of the way back.
    """
    if answered is not None:
        pair = answered.pair
        return route.pair == Pair(pair.to_party, pair.from_party) and is_next_hop(caller, answered)
    return is_previous_hop(caller, route)


def is_next_hop(caller: Caller, route: Route) -> bool:
    """Whether the caller may speak about what we sent on along the route."""
    if caller.answered is not None:
        return caller.answered.agreement_id == route.id
    certificates = route.next_hop_certificate or route.caller_certificate
    return _shows(caller, certificates, route.entrances)


def _shows(caller: Caller, certificates: tuple[str, ...], entrances: tuple[str, ...]) -> bool:
    entrance = entrance_of(f"{caller.transport}:")
    if not certificates:
        return not entrances or entrance in entrances
    if entrance == "https":
        return caller.certificate in certificates
    return entrance in entrances


def readings_by(caller: Caller, signal: Verdict) -> list[Verdict]:
    """The readings of a verdict about which its caller may speak."""
    return [one for one in readings_of(signal) if speaks_of_its_exchange(caller, one)]


def speaks_of_its_exchange(caller: Caller, content: Content) -> bool:
    """Whether a package in an answer is about the message that the POST carried, and no other."""
    answered = caller.answered
    if answered is None:
        return True
    if isinstance(content, Acknowledgment | ErrorSignal):
        return content.header.ref_to_message_id == answered.message_id
    if isinstance(content, Message):
        return content.answered_id == answered.message_id
    if isinstance(content, Report):
        return content.header.ref_to_message_id == answered.message_id
    return False
