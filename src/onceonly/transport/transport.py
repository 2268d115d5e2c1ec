"""The transports' contract: opaque bytes out with an honest outcome, opaque bytes in with limits.

`http` (the product) and `loopback` (tests, simulation) both keep it. A transport never retries a
message: that is the sender machine's decision. It may repeat what surely did not leave whole, such
as a refused connection or a body that broke off before its last byte (R-38, seed 000 §2.5.4).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from onceonly.message.word import Word
from onceonly.protocol.events import Outcome, Transmission

__all__ = [
    "Answer",
    "Body",
    "NoteRefusal",
    "Outcome",
    "Outgoing",
    "Receive",
    "Request",
    "TransferBroken",
    "Transmission",
    "Transport",
]


class Body(Protocol):
    """Bytes to send: in memory, or from files in bounded chunks. May be read more than once."""

    @property
    def size_bytes(self) -> int:
        """How many bytes; known before the first one is read."""
        ...

    def whole(self) -> bytes | None:
        """All of it, where it is small and in memory; else None."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The bytes in pieces of at most 256 KiB."""
        ...


TakeReply = Callable[[str, bytes], None]
"""Takes Content-Type and body of a package that came back in an answer."""


class Outgoing(Word):
    """One package on its way out."""

    endpoint: str
    """Absolute URI, from the agreement (R-26), never from a message."""
    content_type: str
    body: Body
    message_id: str = ""
    """MessageId of the package, for transports whose envelope names what it carries."""
    take_reply: TakeReply | None = None
    """Called with Content-Type and body of the answer, at most once and before `send` returns,
    where the agreement lets a package come back in it (syncReplyMode); without it a body in the
    answer is read over and forgotten."""
    leaves_once: bool = False
    """No other transmission follows this one, whatever becomes of it (AtMostOnce, BestEffort): it
    goes over a fresh connection, where the transport keeps some (R-38)."""


class Request(Word):
    """The head of an incoming package, before any of its body is read."""

    content_type: str
    content_length: int | None
    peer: str
    """Address of the other side, for the journal; never an identity (attack H25)."""
    transport: str = "http"
    """Scheme of the transport that it came by."""
    certificate: str | None = None
    """Hexadecimal SHA-256 of the certificate that the other side showed and that was verified."""


class Answer(Word):
    """What the transport tells the other side: a status, and mostly no body (seed 000 §2.5.1).

    `status_code` is HTTP's word for it; other transports say the same in theirs. `error` is the
    name of what was wrong, for a peer that looks: HTTP sends it in the header `Onceonly-Error`.
    A body is a package in the answer itself, where the agreement has syncReplyMode (seed 001
    §1.2.2); transports that cannot carry one are never given one.
    """

    status_code: int
    error: str | None = None
    content_type: str | None = None
    body: bytes | None = None
    reason: str | None = None
    """A sentence for people beside `error`: what was seen, and what was expected."""


Receive = Callable[[Request, AsyncIterator[bytes]], Awaitable[Answer]]
"""The gateway's side: called once per incoming package with its body in pieces.

The iterator raises `TransferBroken` when the body does not arrive whole: nothing may be stored
then. It may be left unread; the transport then answers and closes the connection.
"""


NoteRefusal = Callable[[str, str, str], None]
"""The gateway's side of what it never heard of: called with peer, transport and the name of the
reason when an endpoint refuses on its own what never reached `Receive`. Neither waits nor raises.
"""


def note_nothing(peer: str, transport: str, reason: str, /) -> None:
    """For endpoints whose refusals interest nobody."""


class TransferBroken(Exception):  # noqa: N818 - because it names what happened to the transfer
    """The other side went away, or lied about the length, in the middle of a body."""


class Transport(Protocol):
    """Sends packages to endpoints of its URI schemes."""

    schemes: frozenset[str]

    def check(self, outgoing: Outgoing) -> None:
        """Raise `LocalError` for what this transport can never carry; nothing leaves.

        For an intermediary, which refuses such a message before it stores it (R-43).
        """
        ...

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Transmit once. Never raises for anything the network or the peer does.

        What `check` refuses it refuses too, by a `LocalError` before a byte leaves.

        accepted: the peer's transport took all of it. refused: it surely did not (no connection,
        or a complete answer that says so). unknown: everything else.
        """
        ...

    async def close(self) -> None:
        """Cut what is under way and send no more."""
        ...
