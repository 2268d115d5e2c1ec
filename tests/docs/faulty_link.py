"""The network of a recorded run: one faulty link before every gateway, and who may pass when.

A link is the public address of its gateway: a server of ours that takes a request, and a client of
ours that repeats it at the gateway behind it. Nothing passes by itself: requests and answers are
held until somebody lets them go, so that a run has one order.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import NamedTuple

from peer import PATIENCE_S

from onceonly.message.message import Message
from onceonly.message.signals import Acknowledgment, ErrorSignal, Inquiry, Report
from onceonly.transport.http.client import HttpTransport
from onceonly.transport.http.server import HttpServer, serve_http
from onceonly.transport.mail.client import SmtpTransport
from onceonly.transport.mail.report import AutomaticReport
from onceonly.transport.mail.server import Door, SmtpServer, serve_smtp
from onceonly.transport.transport import (
    Answer,
    Outcome,
    Outgoing,
    Request,
    TransferBroken,
    Transport,
)
from onceonly.wire.envelope import Decoder, Envelope, PartHead


class Kind(Enum):
    """What a package is, in the words of the figures."""

    MESSAGE = "message"
    ACKNOWLEDGMENT = "Acknowledgment"
    RECEIPT = "delivery receipt"
    ERROR = "Error"
    INQUIRY = "inquiry"
    REPORT = "report"
    NOTHING = "nothing"
    """An answer that says only that HTTP worked."""


class Parcel(NamedTuple):
    """A package as the link sees it."""

    content_type: str
    body: bytes
    envelope: Envelope

    @property
    def kind(self) -> Kind:
        match self.envelope.content:
            case Message():
                return Kind.MESSAGE
            case Acknowledgment(is_receipt=is_receipt):
                return Kind.RECEIPT if is_receipt else Kind.ACKNOWLEDGMENT
            case ErrorSignal():
                return Kind.ERROR
            case Inquiry():
                return Kind.INQUIRY
            case Report():
                return Kind.REPORT

    @property
    def content(self) -> object:
        """What does not change with the way of transport: header document and payloads."""
        message = self.envelope.content
        payloads = message.payloads if isinstance(message, Message) else ()
        return self.envelope.header, payloads

    @property
    def sender_uri(self) -> str:
        """Who sent it over this hop."""
        return self.envelope.routing[-1].sender_uri


class Fate(Enum):
    """What becomes of something that is held."""

    PASSES = "passes"
    LOST = "lost"
    LATE = "late"
    """Its sender sees the connection break; it arrives when everybody has given it up."""


@dataclass(eq=False)
class Passage:
    """A request or an answer that waits to be let through."""

    source: str
    target: str
    parcel: Parcel | None
    is_answer: bool
    round: int
    is_orphan: bool = False
    """Its sender was stopped meanwhile; what it sent had left it."""
    is_late: bool = False
    """It comes out of a delay."""
    is_mail: bool = False
    fate: "asyncio.Future[Fate]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def kind(self) -> Kind:
        return Kind.NOTHING if self.parcel is None else self.parcel.kind

    @property
    def waits(self) -> str:
        """The gateway that waits for the end of this exchange."""
        return self.target if self.is_answer else self.source

    @property
    def behind(self) -> str:
        """The gateway whose link it goes over."""
        return self.source if self.is_answer else self.target


Witness = Callable[[Passage, Fate], None]


class Network:
    """All links, and everything that is under way."""

    def __init__(self, witness: Witness) -> None:
        self.held: list[Passage] = []
        self.forwarding = 0
        """Requests that a gateway is working on."""
        self.round = 0
        self.mishaps: list[str] = []
        """What a gateway answered that no run has in its plan."""
        self.names: dict[str, str] = {}
        """Gateways by their public addresses."""
        self._witness = witness
        self._plans: list[tuple[Kind, str | None, Fate]] = []
        self._late: list[Passage] = []

    def lose(self, kind: Kind, source: str | None = None) -> None:
        """Lose the next package of that kind."""
        self._plans.append((kind, source, Fate.LOST))

    def delay(self, kind: Kind) -> None:
        """Keep the next package of that kind until `bring_late`."""
        self._plans.append((kind, None, Fate.LATE))

    def bring_late(self) -> list[Passage]:
        """What was delayed; it arrives now."""
        late, self._late = self._late, []
        return late

    def find(self, kind: Kind, source: str | None = None) -> Passage | None:
        """The first package of that kind that is held."""
        return next(
            (one for one in self.held if one.kind is kind and source in (None, one.source)), None
        )

    @property
    def has_answers(self) -> bool:
        """Whether an answer is held."""
        return any(one.is_answer for one in self.held)

    def waiting(self, name: str) -> int:
        """How many exchanges of the gateway are held."""
        return sum(one.waits == name and not one.is_orphan for one in self.held)

    def abandon(self, name: str, *, has_left: bool) -> None:
        """The gateway was stopped: what it sent has left it, or is taken back here."""
        for passage in tuple(self.held):
            if passage.waits == name:
                passage.is_orphan = True
                if passage.is_answer or not has_left:
                    self.held.remove(passage)
                    passage.fate.set_result(Fate.LOST)

    def next(self) -> tuple[Passage, Fate]:
        """What goes next, an answer first, else what has waited longest; and what becomes of it."""
        passage = min(self.held, key=_turn)
        self.held.remove(passage)
        fate = self._planned(passage)
        self.round += 1
        if not passage.is_orphan or not passage.is_answer:
            self._witness(passage, fate)
        if fate is Fate.PASSES and not passage.is_answer:
            self.forwarding += 1
        return passage, fate

    def _planned(self, passage: Passage) -> Fate:
        for plan in self._plans:
            kind, source, fate = plan
            if passage.kind is kind and source in (None, passage.source):
                self._plans.remove(plan)
                if fate is Fate.LATE:
                    self._late.append(passage)
                return fate
        return Fate.PASSES

    async def hold(self, passage: Passage) -> None:
        """Return when the passage may go on. Raises `TransferBroken` when it does not."""
        self.held.append(passage)
        if await passage.fate is not Fate.PASSES:
            raise TransferBroken("lost on the way")


def _turn(passage: Passage) -> tuple[bool, int, str, str]:
    return not passage.is_answer, passage.round, passage.source, passage.kind.value


class Link:
    """The public address of one gateway, which may be taken away and given back."""

    is_mail = False

    def __init__(self, network: Network, name: str, public: str, private: str) -> None:
        self._network = network
        self._name = name
        self._public = public
        self._endpoint = private
        self._server: HttpServer | SmtpServer | None = None
        self._closing: list[asyncio.Task[None]] = []
        self._transport: Transport = HttpTransport()
        network.names[public] = name

    async def open(self) -> None:
        """Take connections."""
        if self._server is None:
            self._server = await self._listen()

    async def _listen(self) -> HttpServer | SmtpServer:
        return await serve_http(self._public, self._receive)

    @property
    def is_open(self) -> bool:
        """Whether connections are taken."""
        return self._server is not None

    def take_no_more(self) -> None:
        """Refuse connections from now on; what was taken stays under way."""
        if self._server is not None:
            self._closing.append(asyncio.create_task(self._server.close(PATIENCE_S)))
            self._server = None

    async def end(self) -> None:
        """The run is over."""
        self.take_no_more()
        await self._transport.close()
        await asyncio.gather(*self._closing)

    async def _receive(self, request: Request, chunks: AsyncIterator[bytes]) -> Answer:
        body = b"".join([chunk async for chunk in chunks])
        parcel = read_parcel(request.content_type, body)
        source = self._network.names[parcel.sender_uri]
        asked = Passage(
            source,
            self._name,
            parcel,
            is_answer=False,
            round=self._network.round,
            is_mail=self.is_mail,
        )
        return await self._carry(asked, parcel)

    async def bring(self, late: Passage) -> None:
        """Let something arrive that was delayed; nobody waits for the answer."""
        assert late.parcel is not None, "a request is delayed, not an answer"
        again = Passage(
            late.source,
            late.target,
            late.parcel,
            is_answer=False,
            round=self._network.round,
            is_orphan=True,
            is_late=True,
        )
        with suppress(TransferBroken):
            await self._carry(again, late.parcel)

    async def _carry(self, asked: Passage, parcel: Parcel) -> Answer:
        await self._network.hold(asked)
        answer = await self._forward(parcel)
        back = None if answer.body is None else read_parcel(str(answer.content_type), answer.body)
        answered = Passage(
            self._name,
            asked.source,
            back,
            is_answer=True,
            round=0,
            is_orphan=asked.is_orphan,
            is_mail=self.is_mail,
        )
        await self._network.hold(answered)
        return answer

    async def _forward(self, parcel: Parcel) -> Answer:
        answer = Answer(204)

        def take_reply(status_code: int, content_type: str, body: bytes) -> None:
            nonlocal answer
            answer = Answer(status_code, None, content_type, body)

        try:
            outgoing = Outgoing(
                self._endpoint, parcel.content_type, Bytes(parcel.body), take_reply=take_reply
            )
            transmission = await self._transport.send(outgoing)
        finally:
            self._network.forwarding -= 1
        if transmission.outcome is not Outcome.ACCEPTED:
            self._network.mishaps.append(f"{self._name} answered {transmission}")
        return answer


class MailLink(Link):
    """The mail system before one gateway: takes mail for its mailbox, and brings it there."""

    is_mail = True

    def __init__(self, network: Network, name: str, mailbox: str, addresses: Sequence[str]) -> None:
        public, private = addresses
        super().__init__(network, name, public, f"smtp:{mailbox}")
        self._door = Door(mailbox)
        self._transport = SmtpTransport(private, "postmaster@between.example", waits_s=())

    async def _listen(self) -> SmtpServer:
        return await serve_smtp(
            self._public, self._receive, door=self._door, drop_automatic=_refuse_automatic
        )


async def _refuse_automatic(peer: str, report: AutomaticReport) -> Answer:
    raise AssertionError(f"{report.kind} from {peer}: no run sends such a thing")


class Bytes:
    """A body in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size_bytes = len(content)

    def whole(self) -> bytes:
        return self._content

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._content


class _Counted:
    """A payload that is looked at and not kept."""

    def __init__(self) -> None:
        self._size_bytes = 0
        self._sha256 = sha256()

    def write(self, data: bytes, /) -> None:
        self._size_bytes += len(data)
        self._sha256.update(data)

    def close(self) -> tuple[int, str]:
        return self._size_bytes, self._sha256.hexdigest()


def read_parcel(content_type: str, body: bytes) -> Parcel:
    """What is in a request or an answer."""

    def open_sink(_: PartHead) -> _Counted:
        return _Counted()

    decoder = Decoder(content_type, open_sink)
    decoder.feed(body)
    return Parcel(content_type, body, decoder.finish())
