"""Packages that no gateway made, written with the real `wire.encode`.

So they are refused for what they say, and not for how they are written. Knows how a message or a
signal becomes a package for one machine; must not know who brings it, or why.
"""

from hashlib import sha256

from onceonly.message.message import Message, Payload, RoutingHeader
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import Signal
from onceonly.message.word import Word, changed
from onceonly.simulation.cast import uri
from onceonly.wire.envelope import boundary_for, encode

FORGER = "forger"
"""Whose packages they are, on the network and in the histories, who is nobody of the world."""


class Forged(Word):
    """A package as it is brought, and who brings it."""

    content_type: str
    body: bytes
    source: str = FORGER
    """The true neighbour, where it is its own package that comes again."""


class Framing(Word):
    """What a package says of the way that it takes."""

    profile: Profile
    sender_uri: str
    target: str
    """The machine that it is for."""
    at: int
    number: int
    """No two are the same."""
    receiver_uri: str = ""
    """Where it says that it goes, if that is elsewhere than to the target."""

    @property
    def routing(self) -> RoutingHeader:
        """The one hop of the package."""
        return RoutingHeader(
            sender_uri=self.sender_uri,
            receiver_uri=self.receiver_uri or uri(self.target),
            error_uri=self.sender_uri if self.profile.has_error_uri else None,
            timestamp_at=self.at,
        )


def pack_signal(signal: Signal, framing: Framing) -> Forged:
    """A signal, as the machine at `sender_uri` would send it."""
    package = _encoded(signal, framing, framing.routing)
    return Forged(package.content_type, b"".join(package.segments))


def pack_message(
    message: Message, framing: Framing, body: bytes, *, sequence_number: int
) -> Forged:
    """A message with one payload; the number goes where the profile has one."""
    payload = Payload(
        f"forged-{framing.number}", "application/xml", len(body), sha256(body).hexdigest(), "f.xml"
    )
    routing = framing.routing
    if framing.profile.is_numbered:
        routing = changed(routing, sequence_number=sequence_number)
    package = _encoded(changed(message, payloads=(payload,)), framing, routing)
    before, after = package.segments
    return Forged(package.content_type, before + body + after)


def _encoded(content: Message | Signal, framing: Framing, routing: RoutingHeader) -> Package:
    return encode(
        content,
        routing,
        profile=framing.profile,
        boundary=boundary_for(f"forged{framing.number:016d}"),
        root_content_id=f"forged-header-{framing.number}",
    )
