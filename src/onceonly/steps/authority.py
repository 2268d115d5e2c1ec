"""Who may say what: a caller, and the agreement of the thing that it speaks of (ruling R-44).

A name in a package proves nothing. What proves is how the package came: the certificate that its
caller showed, or that it came in the answer to a POST of ours. An agreement says what it asks of
its callers; whoever does not show that is a stranger to it, whatever his package names. Where an
agreement asks for nothing, identity is what the network gives.

Pure: a caller is a value, and the step that decides is handed it.
"""

from onceonly.message.agreement import Agreement, Route
from onceonly.message.message import Message
from onceonly.message.signals import Acknowledgment, ErrorSignal, Verdict, readings_of
from onceonly.message.word import Word
from onceonly.wire.envelope import Content

ANSWERING = frozenset({"http", "https"})
"""Transports whose answer can carry a package back."""


class NotEntitled(Exception):  # noqa: N818 - because it names what its caller is, not what failed
    """The caller does not show what the agreement asks for, or speaks of what is not its matter."""


class Answered(Word):
    """The POST of ours whose answer brought the package."""

    message_id: str
    agreement_id: str
    """Ours, or the id of the route, under which it went out."""


class Caller(Word):
    """Whoever brought a package: the neighbour hop, as the transport knows it."""

    transport: str
    """Scheme by which it came."""
    address: str
    certificate: str | None = None
    """Hexadecimal SHA-256 of the certificate that it showed and that was verified."""
    answered: Answered | None = None
    """Then it is whoever has the address that we called, by TLS where that is https."""

    @property
    def awaits_an_answer(self) -> bool:
        """Whether a package can go back on the same connection (seed 001 §1.2.2)."""
        return self.answered is None and self.transport in ANSWERING


def entrance_of(uri: str) -> str:
    """The entrance that an address of that scheme leads to."""
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
    """What a verdict may be about, as far as its caller may speak about it."""
    return [one for one in readings_of(signal) if speaks_of_its_exchange(caller, one)]


def speaks_of_its_exchange(caller: Caller, content: Content) -> bool:
    """Whether what came in an answer is about the message that the POST carried, and no other."""
    answered = caller.answered
    if answered is None:
        return True
    if isinstance(content, Acknowledgment | ErrorSignal):
        return content.header.ref_to_message_id == answered.message_id
    if isinstance(content, Message):
        return content.ref_to_message_id == answered.message_id
    return False
