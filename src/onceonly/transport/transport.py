"""The transports' contract: opaque bytes out with an honest outcome, opaque bytes in with limits.

`http` (the product) and `loopback` (tests, simulation) both keep it. A transport never retries a
message: that is the sender machine's decision. It may try again if it is certain that the package
did not leave whole, as after a refused connection or a body that broke off before its last byte
(R-38, seed 000 §2.5.4).
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
        """The number of bytes; known before the first one is read."""
        ...

    def whole(self) -> bytes | None:
        """The whole body if it is small and in memory; otherwise None."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The bytes in pieces of at most 256 KiB."""
        ...


TakeReply = Callable[[int, str, bytes], None]
"""Takes status, Content-Type and body of an answer that has a body."""

Headers = tuple[tuple[str, str], ...]
"""Names and values of headers that a profile adds to those of the transport, such as SOAPAction."""


def read_hops(value: str) -> int:
    """What that header says; 0 for what is no such count."""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 4 else 0


class Outgoing(Word):
    """One package on its way out."""

    endpoint: str
    """Absolute URI, from the agreement (R-26), never from a message."""
    content_type: str
    body: Body
    message_id: str = ""
    """MessageId of the package, for transports whose envelope names what it carries."""
    take_reply: TakeReply | None = None
    """Called with status, Content-Type and body of the answer, at most once and before `send`
    returns, if a package may come back in it: of a status 2xx, or of 4xx and 5xx in text/xml, which
    may be a SOAP Fault. If it is None, a body in the answer is read and thrown away."""
    leaves_once: bool = False
    """No other transmission follows this one, whatever its outcome (AtMostOnce, BestEffort): a
    transport that keeps connections uses a new one (R-38)."""
    headers: Headers = ()
    """For transports whose messages have headers (HTTP, mail); a broker's go without them."""
    attempt: int = 0
    """Which transmission of its message it is; 0 where nobody counts them."""
    mail_name: str = ""
    """What stands before the @ of the mail's own Message-ID; empty: the transport invents it."""


class Request(Word):
    """The head of an incoming package, before any of its body is read."""

    content_type: str
    content_length: int | None
    peer: str
    """Address of the other side, for the journal; never an identity (attack H25)."""
    transport: str = "http"
    """Scheme of the transport by which it came."""
    certificate: str | None = None
    """Hexadecimal SHA-256 of the certificate that the other side showed and that was verified."""
    mail_id: str | None = None
    """The mail's own Message-ID, for mail that has exactly one; whoever sent it made it up."""
    transfer_encoding: str = "binary"
    """Of the whole body, where it is one document without parts (a mail)."""
    soap_action: str | None = None
    """The value of SOAPAction without its quotes; None where there is none, or an empty one."""
    hops: int = 0
    """How many intermediaries passed it on, as the header `HOPS_HEADER` says."""


class Answer(Word):
    """What the transport tells the other side: a status, and mostly no body (seed 000 §2.5.1).

    `status_code` is a status of HTTP; other transports translate it. `error` is the name of what
    was wrong; HTTP sends it in the header `Onceonly-Error`. The body is a package in the answer, if
    the agreement has syncReplyMode (seed 001 §1.2.2); transports that cannot carry one never get
    one.
    """

    status_code: int
    error: str | None = None
    content_type: str | None = None
    body: bytes | None = None
    reason: str | None = None
    """A sentence for people in addition to `error`: what was seen, and what was expected."""
    headers: Headers = ()
    """For HTTP only."""


Receive = Callable[[Request, AsyncIterator[bytes]], Awaitable[Answer]]
"""The gateway's side: called once per incoming package with its body in pieces.

The iterator raises `TransferBroken` if the body does not arrive whole: then nothing may be stored.
The gateway need not read it to its end; the transport then answers and closes the connection.
"""


NoteRefusal = Callable[[str, str, str], None]
"""The gateway's note of a refusal by the endpoint itself, before `Receive` was called: called with
peer, transport and the name of the reason. It neither waits nor raises. """


def note_nothing(peer: str, transport: str, reason: str, /) -> None:
    """A `NoteRefusal` that does nothing."""


class TransferBroken(Exception):  # noqa: N818 - because it names what happened to the transfer
    """The other side went away in the middle of a body, or announced a wrong length."""


class Transport(Protocol):
    """Sends packages to endpoints of its URI schemes."""

    schemes: frozenset[str]

    def check(self, outgoing: Outgoing) -> None:
        """Raise `LocalError` if this transport can never carry the package; nothing leaves.

        An intermediary calls it, to refuse such a message before it stores it (R-43).
        """
        ...

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Transmit once. Never raises because of the network or the peer.

        Raises `LocalError` for what `check` refuses, before a byte leaves.

        accepted: the peer's transport took all of it. refused: it certainly did not (no connection,
        or a complete answer that says so). unknown: everything else.
        """
        ...

    async def close(self) -> None:
        """Break off what is under way, and send no more."""
        ...
