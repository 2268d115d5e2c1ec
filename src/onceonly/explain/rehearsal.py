"""What a gateway of this configuration answers: rehearsed, with nothing stored, sent or written.

The gateway is the real one, joined over a store in memory, files that keep nothing and a transport
that only notes what would have been sent. What its store would hold already is set before, so that
each of the answers that depend on it can be heard.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from onceonly.explain.capture import Capture, Kind
from onceonly.explain.framing import BodyBroken
from onceonly.explain.keyless import keyless_identities
from onceonly.gateway.chance import Chance
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Configuration
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.incoming.excess import HEADERS_BYTES
from onceonly.gateway.surroundings import Surroundings
from onceonly.gateway.wiring import Gateway, join
from onceonly.journal.record import Record
from onceonly.message.instant import Now
from onceonly.message.word import Word
from onceonly.steps.authority import Caller
from onceonly.store.contract.conditions import StoreFailed
from onceonly.store.contract.store import Transaction
from onceonly.store.files import FileStatus, OperatingSystem
from onceonly.store.memory.store import MemoryStore
from onceonly.store.spool import Spool
from onceonly.transport.mail.limits import MAIL_SHARE
from onceonly.transport.mail.reception import MailReception, Taker
from onceonly.transport.transport import (
    Answer,
    Outcome,
    Outgoing,
    Request,
    TransferBroken,
    Transmission,
)

PEER: Final = "the capture's sender"
"""In the place of an address, which a capture does not have."""

SETTLED_S: Final = 10.0
"""For what the gateway does beside its answer. It is done in milliseconds."""

POST_BYTES_MAX: Final = 4 << 20
"""Of a package that would be sent, kept to be told about. Signals are much shorter."""

Before = Callable[[Transaction], None]
"""Makes the store what it would be."""


class Post(Word):
    """A package that would have been sent."""

    to: str
    content_type: str
    body: bytes | None
    """None where it is too long to be kept."""
    size_bytes: int


class Rehearsed(Word):
    """What the gateway answered and did."""

    answer: Answer
    posts: tuple[Post, ...]
    rows: tuple[Record, ...]
    """Of the journal."""


NEVER_S: Final = 1e9
"""When what waits for a partner is due: nobody answers in a rehearsal, and it is over before."""


class _Clock(Clock):
    """Stands at one instant; a wait for the application is over at once, no other ever is."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at

    def now(self) -> Now:
        return Now(self._at, 0)

    def at(self) -> int:
        return self._at

    def real_wait_s(self, due_ns: int) -> float:
        del due_ns
        return 0.0

    def call_at(self, due_ns: int, call: Callable[[], None]) -> asyncio.Handle:
        del due_ns
        return asyncio.get_running_loop().call_later(NEVER_S, call)

    async def pause(self, wait_s: float) -> None:
        del wait_s


class _Notebook:
    """A `Transport` that notes what it is given, and says that nobody knows what became of it."""

    schemes = frozenset({"http", "https", "smtp", "smtps", "amqp", "amqps"})

    def __init__(self) -> None:
        self.posts: list[Post] = []

    def check(self, outgoing: Outgoing) -> None:
        """Nothing is sent, so everything can be carried."""

    async def send(self, outgoing: Outgoing) -> Transmission:
        size_bytes = outgoing.body.size_bytes
        whole = None
        if size_bytes <= POST_BYTES_MAX:
            whole = outgoing.body.whole()
        self.posts.append(Post(outgoing.endpoint, outgoing.content_type, whole, size_bytes))
        return Transmission(Outcome.UNKNOWN, bytes_left=True, detail="rehearsed")

    async def close(self) -> None:
        """Nothing to close."""


class _Nowhere(OperatingSystem):
    """Files that keep nothing: what is written is gone."""

    def sync_entry(self, path: Path) -> None:
        del path

    def make_directory(self, path: Path) -> bool:
        del path
        return True

    def create_temporary(self, directory: Path, prefix: str) -> tuple[int, Path]:
        return 0, directory / prefix

    def write(self, file: int, chunk: bytes | memoryview) -> int:
        del file
        return len(chunk)

    def sync(self, file: int) -> None:
        del file

    def close(self, file: int) -> None:
        del file

    def rename(self, old: Path, new: Path) -> None:
        del old, new

    def remove(self, path: Path, *, missing_ok: bool = False) -> None:
        del path, missing_ok

    def list_names(self, directory: Path) -> Iterator[str]:
        del directory
        return iter(())

    def find_status(self, path: Path) -> FileStatus | None:
        del path
        return None


class RehearsalStage:
    """Where one configuration is rehearsed, as of one instant."""

    def __init__(self, configuration: Configuration, at: int) -> None:
        self._configuration = configuration
        self.at = at

    def hear(
        self, capture: Capture, caller: Caller, *, times: int = 1, before: Before | None = None
    ) -> Rehearsed:
        """What a gateway answers to the last of so many copies, over a store that is as `before`.

        An HTTP head and a mail's must have been taken by their endpoints (`doors`). Raises
        `OSError` from the file of the capture.
        """
        return asyncio.run(self._hear(capture, caller, times, before))

    async def _hear(
        self, capture: Capture, caller: Caller, times: int, before: Before | None
    ) -> Rehearsed:
        store = MemoryStore(party=str(self._configuration.party[0]), clock_at=lambda: self.at)
        notebook = _Notebook()
        around = Surroundings(
            clock=_Clock(self.at),
            chance=Chance(),
            failpoints=Failpoints(),
            transport=notebook,
            spool=Spool(Path("nowhere"), files=_Nowhere()),
            read_identities=keyless_identities,
        )
        failures: list[StoreFailed] = []
        gateway = join(self._configuration, store, failures.append, surroundings=around)
        if before is not None:
            before(store.begin())
            store.commit()
        answer, rows_before = Answer(500), 0
        for _ in range(times):
            notebook.posts.clear()
            rows_before = store.snapshot().last_seq()
            answer = await self._bring(gateway, capture, caller)
            await gateway.tasks.settle(SETTLED_S)
        await gateway.tasks.end(0)
        rows = store.snapshot().list_journal(rows_before, 1000)
        await gateway.group.drain()
        return Rehearsed(answer, tuple(notebook.posts), tuple(rows))

    async def _bring(self, gateway: Gateway, capture: Capture, caller: Caller) -> Answer:
        if capture.kind is Kind.MAIL:
            most = mail_bytes_max(self._configuration)
            taker = Taker(gateway.receiver.receive, gateway.automatic_mail.drop, most)
            return await bring_mail(capture, taker)
        request = Request(
            capture.content_type,
            capture.content_length,
            caller.address,
            caller.transport,
            caller.certificate,
            capture.transfer_encoding,
        )
        chunks = _chunks(capture.body())
        if caller.answered is not None:
            return await gateway.receiver.receive_reply(request, chunks, caller.answered)
        return await gateway.receiver.receive(request, chunks)


def mail_bytes_max(configuration: Configuration) -> int:
    """Of a mail that the endpoint reads."""
    return int((configuration.payload_bytes_max + HEADERS_BYTES) * MAIL_SHARE)


async def bring_mail(capture: Capture, taker: Taker) -> Answer:
    """What the mail endpoint answers after the final dot of the captured mail."""
    reception = MailReception(taker, peer=PEER, has_sender=True)
    for line in lines_of(mail_pieces(capture)):
        reception.feed(b"." + line if line.startswith(b".") else line)
        if reception.is_full:
            await reception.room()
    return await reception.finish()


def mail_pieces(capture: Capture) -> Iterator[bytes]:
    """The whole mail with the line ends that a mail system gives it."""
    head = capture.head
    yield head.replace(b"\n", b"\r\n") if capture.has_bare_line_feeds else head
    yield from capture.body()


LINE_BYTES_MAX: Final = 64 * 1024
"""Longest line that is held: far past what a mail may have."""


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines with their CRLF, each as soon as it is whole; the last one gets its own."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\r\n")
        for line in whole:
            yield line + b"\r\n"
        if len(rest) > LINE_BYTES_MAX:
            yield rest + b"\r\n"
            rest = b""
    if rest:
        yield rest + b"\r\n"


async def _chunks(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    try:
        for piece in pieces:
            yield piece
            await asyncio.sleep(0)
    except BodyBroken as broken:
        raise TransferBroken(str(broken)) from broken
