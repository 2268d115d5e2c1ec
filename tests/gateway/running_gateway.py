"""A whole gateway inside the test's event loop: real store, real sockets, a drill's clock."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx
from declared_answers import check_answer
from peer import PATIENCE_S, Peer

from onceonly.gateway.api.endpoint import ApiServer, served
from onceonly.gateway.certificates import api_tls as api_tls_of
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Configuration, read_configuration
from onceonly.gateway.life import Life
from onceonly.gateway.supervise import api_address
from onceonly.gateway.surroundings import Surroundings
from onceonly.gateway.transports import Listeners
from onceonly.gateway.wiring import Gateway, clock_of, join, open_store
from onceonly.journal.record import Record
from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.store.contract.conditions import StoreFailed, StoreFull
from onceonly.store.contract.copying import Copy
from onceonly.store.contract.entries import Role
from onceonly.store.contract.store import Snapshot, Transaction
from onceonly.store.sqlite.store import SqliteStore
from ports import free_port

T = TypeVar("T")

OUR_PARTY = "urn:duns:222222222"
CLOCK_RATE = 50
"""An agreed second lasts 20 ms."""

NEVER_S = 1_000_000
"""As a wait: longer than any test, so that what is seen was not caused by a timer."""

PATIENT: dict[str, Any] = {"timeout": NEVER_S, "retries": 1, "retry_interval": NEVER_S}
"""Terms under which nothing is sent again."""

BRIEF: dict[str, Any] = {"timeout": 1, "retries": 2, "retry_interval": 2}
"""Terms under which retries are used up in a tenth of a second."""


def write_configuration(  # noqa: PLR0917 - because each is a table of the file
    directory: Path,
    peers: Sequence[Peer],
    terms: dict[str, Any] | None = None,
    gateway: dict[str, Any] | None = None,
    drill: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
    api_tls: dict[str, Any] | None = None,
) -> Path:
    """A configuration with one agreement per peer, all under the same terms."""
    keys = {
        "party": [OUR_PARTY],
        "listen": f"http://127.0.0.1:{free_port()}/msh",
        "api": f"http://127.0.0.1:{free_port()}",
        "store": "gateway.db",
        **(gateway or {}),
    }
    tables = [("[gateway]", keys)]
    for peer in peers:
        agreement = {"id": peer.agreement, "with": [peer.party], "send_to": peer.uri}
        tables.append(("[[agreement]]", {**agreement, **PATIENT, **(terms or {})}))
    tables.append(("[drill]", {"clock_rate": CLOCK_RATE, **(drill or {})}))
    if limits is not None:
        tables.append(("[limits]", limits))
    if api_tls is not None:
        tables.append(("[api_tls]", api_tls))
    path = directory / "gateway.toml"
    path.write_text("\n".join(_table(heading, keys) for heading, keys in tables), "utf-8")
    return path


def _table(heading: str, keys: dict[str, Any]) -> str:
    return "\n".join(
        [
            heading,
            *(f"{key} = {json.dumps(value)}" for key, value in keys.items() if value is not None),
            "",
        ]
    )


class ToldStore:
    """The SQLite store, which also tells the event loop after each commit."""

    def __init__(self, store: SqliteStore) -> None:
        self.is_full = False
        """A full disk on order: commits are rolled back and refused (R-28)."""
        self.is_broken = False
        """A broken disk on order: a commit fails, and what it left is unknown (R-22)."""
        self.refusals = 0
        self.has_quick_disk = True
        """False: every commit goes to the committer's thread, whatever this disk is."""
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def epoch(self) -> int:
        return self._store.epoch

    @property
    def is_quick(self) -> bool:
        return self.has_quick_disk and self._store.is_quick

    def begin(self) -> Transaction:
        return self._store.begin()

    def begin_copy(self, path: Path) -> Copy:
        return self._store.begin_copy(path)

    def seal(self) -> None:
        self._store.seal()

    def commit(self) -> None:
        if self.is_broken:
            raise StoreFailed("the disk broke")
        if self.is_full:
            self._store.rollback()
            self.refusals += 1
            self._loop.call_soon_threadsafe(self._tell)
            raise StoreFull("no space is left")
        self._store.commit()
        self._loop.call_soon_threadsafe(self._tell)

    def rollback(self) -> None:
        self._store.rollback()

    def count_waiting(self) -> int:
        return self._store.count_waiting()

    def snapshot(self) -> Snapshot:
        return self._store.snapshot()

    def close(self) -> None:
        self._store.close()

    def next_commit(self) -> "asyncio.Future[None]":
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(future)
        return future

    def _tell(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()


class Answered(NamedTuple):
    """What the API answered."""

    status: int
    json: Any


class RunningGateway:
    """One gateway that runs: its API, its store's rows, and waits for what it will do."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.uri = configuration.uri
        self._failures: list[BaseException] = []
        self._bugs: list[BaseException] = []
        self.expects_bugs = False
        """The test makes one on purpose: what is contained is no failure of it (R-43)."""

    async def start(self) -> None:
        clock = self.make_clock()
        self.store = ToldStore(open_store(self.configuration, clock))
        self.parts: Gateway = join(
            self.configuration,
            self.store,
            self._failures.append,
            on_bug=self._note_bug,
            clock=clock,
            surroundings=self.surroundings(clock),
        )
        self._listeners = Listeners()
        self.parts.reload.attach(self._listeners)
        self.api = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.parts.api.application(self.parts.access)),
            base_url=self.configuration.api,
            event_hooks={"response": [check_answer]},
        )
        await Life(self.parts).start(self.listen)

    async def listen(self) -> None:
        """Let packages in; the start calls it once."""
        await self._listeners.open(
            self.configuration,
            self.parts.receiver.receive,
            self.parts.automatic_mail.drop,
            self.parts.refusals.note,
            self.parts.seen_certificates.note,
        )

    async def live_a_round(self, **keys: Any) -> None:
        """Look once for what is due, as a supervised gateway does every second.

        `keys` stand in the place of the configuration's own.
        """
        configuration = replace(self.configuration, **keys)
        life = Life(self.parts, sweep_s=0.001, configuration=lambda: configuration)
        stop = asyncio.Event()
        # A round that has begun is a whole one, so told to stop at once it does just one.
        asyncio.get_running_loop().call_soon(stop.set)
        await life.live(stop)
        await self.everything_said()

    def surroundings(self, clock: Clock) -> Surroundings | None:
        """Something else than the real ones, where a test has planted a bug there."""
        del clock

    def _note_bug(self, place: str, bug: BaseException) -> None:
        bug.add_note(f"while {place}")
        self._bugs.append(bug)

    def make_clock(self) -> Clock:
        """The clock of the next life."""
        return clock_of(self.configuration)

    async def stop(self, grace_s: float = 2.0) -> None:
        """Stop; with no grace, whatever was under way is cut where it stands."""
        self.parts.desk.drain()
        await self._listeners.close(grace_s)
        await self.parts.tasks.end(grace_s)
        await self.parts.group.drain()
        await self.parts.desk.close()
        await self.api.aclose()
        self.store.close()
        assert bool(self._failures) == self.store.is_broken, self._failures
        if self._bugs and not self.expects_bugs:
            raise self._bugs[0]

    async def restart(self, grace_s: float = 0.0) -> None:
        """Stop without grace, then start over the same store."""
        await self.stop(grace_s)
        await self.start()

    async def until(self, claim: Callable[[], T]) -> T:
        """The claim's first truthy value, asked again after every commit."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                committed = self.store.next_commit()
                value = claim()
                if value:
                    return value
                await committed

    async def everything_said(self) -> None:
        """Return when everything that the gateway had to post is posted and noted."""
        await self.parts.tasks.settle(PATIENCE_S)

    def rows(self, *events: Event, message_id: str | None = None) -> list[Record]:
        """Journal rows of these events (or all), about this message (or any)."""
        return [
            row
            for row in self.store.snapshot().list_journal(0, 100_000)
            if (not events or row.event in events) and message_id in (None, row.message_id)
        ]

    async def until_row(self, event: Event, count: int = 1) -> Record:
        """The `count`-th row of that event."""
        await self.until(lambda: len(self.rows(event)) >= count)
        return self.rows(event)[count - 1]

    def state_of(self, message_id: str) -> str:
        view = self.store.snapshot().find_outbound_view(message_id)
        assert view is not None, f"{message_id} is not stored"
        return view.state.status.value

    async def until_state(self, message_id: str, state: str) -> None:
        await self.until(lambda: self.state_of(message_id) == state)

    def notices(self) -> list[tuple[str, str, str]]:
        """Kind, severity and error code of every notice, in order."""
        return [
            (notice.kind.value, notice.severity.value, notice.error_code.value)
            for _, notice in self.store.snapshot().list_notices(0, 1000)
        ]

    def pair_state(self, role: Role, peer: Peer) -> str:
        """Condition of the pair with the peer, on our side of it."""
        there = Pair(OUR_PARTY, peer.party)
        pair = there if role is Role.SENDER else Pair(peer.party, OUR_PARTY)
        views = self.store.snapshot().list_pairs()
        return next(v.status.value for v in views if (v.role, v.pair) == (role, pair))

    def open_incidents(self) -> list[Role]:
        """Role of every open incident."""
        return [one.role for one in self.store.snapshot().list_incidents(is_open=True)]

    async def resume(self, peer: Peer) -> None:
        """What an operator does who has looked at it."""
        answer = await self.call("POST", f"/v1/partners/{peer.party}/resume")
        assert answer.status == 200, answer

    def inbox_ids(self) -> list[str]:
        return [item.message.message_id for item in self.store.snapshot().list_inbox(0, 1000)]

    async def until_handed_over(self, *message_ids: str) -> None:
        """Exactly these messages are in the inbox, in this order."""
        await self.until(lambda: len(self.inbox_ids()) >= len(message_ids))
        assert self.inbox_ids() == list(message_ids)

    def assert_nothing_stored(self) -> None:
        snapshot = self.store.snapshot()
        counts = snapshot.count_by_status()
        assert (counts.get("stored", 0), counts.get("handed_over", 0)) == (0, 0)
        assert snapshot.list_inbox(0, 10) == []

    async def submit(self, *payloads: bytes, to: Peer, **header: Any) -> str:
        """Submit a message over the API; its MessageId."""
        answer = await self.submitted(*payloads, to=to, **header)
        assert answer.status in (200, 201), answer
        message_id: str = answer.json["message_id"]
        return message_id

    async def submitted(self, *payloads: bytes, to: Peer, **header: Any) -> Answered:
        message = {"to": to.party, "service": "Ordering", "action": "NewOrder", **header}
        return await self.call("POST", "/v1/messages", files=form(message, *payloads))

    async def call(self, method: str, path: str, **arguments: Any) -> Answered:
        """One call of the API."""
        async with asyncio.timeout(PATIENCE_S):
            response = await self.api.request(method, path, **arguments)
        return Answered(response.status_code, response.json())

    async def get(self, path: str) -> Any:
        """JSON of a call that must succeed."""
        answer = await self.call("GET", path)
        assert answer.status == 200, answer
        return answer.json


def form(
    message: Any, *payloads: bytes, kind: str = "application/xml", name: str | None = None
) -> list[Any]:
    """The multipart fields of a submission."""
    header = message if isinstance(message, bytes) else json.dumps(message).encode()
    fields: list[Any] = [("message", (None, header, "application/json"))]
    names = (name or f"order-{n}.xml" for n, _ in enumerate(payloads, 1))
    fields += [("payload", (name, body, kind)) for name, body in zip(names, payloads, strict=True)]
    return fields


@asynccontextmanager
async def running(
    directory: Path,
    *peers: Peer,
    terms: dict[str, Any] | None = None,
    gateway: dict[str, Any] | None = None,
    drill: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
    api_tls: dict[str, Any] | None = None,
) -> AsyncIterator[RunningGateway]:
    """A gateway with one agreement per peer; the peers learn its address."""
    path = write_configuration(directory, peers, terms, gateway, drill, limits, api_tls)
    configuration = read_configuration(path)
    for peer in peers:
        peer.gateway_uri = configuration.uri
    alive = RunningGateway(configuration)
    await alive.start()
    try:
        yield alive
    finally:
        await alive.stop(0.0)


@asynccontextmanager
async def serving_api(
    alive: RunningGateway, calls_max: int | None = None, application: Any = None
) -> AsyncIterator[str]:
    """The API of the gateway on its real port, or another application over its parts."""
    host, port = api_address(alive.configuration.api)
    application = application or alive.parts.api.application(alive.parts.access)
    tls = api_tls_of(alive.configuration.api_tls)
    server = ApiServer(served(application, calls_max=calls_max, tls=tls))
    alive.parts.reload.attach_api(server)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield alive.configuration.api
        finally:
            server.should_exit = True
            await task
