"""The world of a recorded run: gateways with their applications, the network between, one clock.

Everything is real but time and the network's will: whole gateways with their stores over loopback
HTTP. One thing at a time is let through (`flow`), and only when every gateway has come to rest, so
that a run has the same steps however fast the machine is.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from faulty_link import Fate, Kind, Link, MailLink, Network
from peer import PATIENCE_S
from recording import Recording
from running_gateway import RunningGateway, form

from onceonly.gateway.clock import Clock
from onceonly.gateway.config import read_configuration
from onceonly.journal.record import Record
from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S, Now
from ports import free_port

ROUNDS = 200
"""Rounds of the event loop without any news after which nothing goes on: both ends of every
connection are in this loop, and a few rounds carry a package from one to the other."""

LAST_STEPS_S = 0.002
"""How long a commit that was told may still be busy with waking whoever waited for it."""

Table = tuple[str, dict[str, Any]]


class HandClock(Clock):
    """Stands still until it is set forward; all gateways of a run have the same one."""

    def __init__(self) -> None:
        super().__init__()
        self._at = time.time_ns() // 1000
        self._passed_s = 0
        self._timers: list[HandTimer] = []

    def now(self) -> Now:
        return Now(self.at(), (self._passed_s + 1) * NS_PER_S)

    def at(self) -> int:
        return self._at + self._passed_s * US_PER_S

    def real_wait_s(self, due_ns: int) -> float:
        return max(0.0, (due_ns - self.now().monotonic_ns) / NS_PER_S)

    def call_at(self, due_ns: int, call: Callable[[], None]) -> asyncio.Handle:
        timer = HandTimer(due_ns, call)
        self._timers.append(timer)
        return timer

    def set_forward(self, seconds: int) -> None:
        """Ring every timer that is due by then, the earliest first."""
        self._passed_s += seconds
        due = [one for one in self._timers if self.real_wait_s(one.due_ns) == 0]
        self._timers = [one for one in self._timers if one not in due]
        for timer in sorted(due, key=lambda one: one.due_ns):
            timer.ring()


class HandTimer(asyncio.Handle):
    """A timer that the clock rings."""

    def __init__(self, due_ns: int, call: Callable[[], None]) -> None:
        super().__init__(call, (), asyncio.get_running_loop())
        self.due_ns = due_ns
        self._call = call

    def ring(self) -> None:
        if not self.cancelled():
            self._call()


class RecordedGateway(RunningGateway):
    """A gateway whose every commit is told."""

    def __init__(self, name: str, path: Path, clock: Clock, private: str) -> None:
        super().__init__(read_configuration(path))
        self.name = name
        self.private = private
        self.is_alive = False
        self._clock = clock
        self._heard_seq = 0
        self.hear: Callable[[str, Sequence[Record]], None] = lambda name, rows: None

    def make_clock(self) -> Clock:
        return self._clock

    async def start(self) -> None:
        await super().start()
        self.store.has_quick_disk = False  # How quick it is must not decide what is shown when.
        self.is_alive = True
        self._committed()

    async def stop(self, grace_s: float = 0.0) -> None:
        if self.is_alive:
            await super().stop(grace_s)
            self.is_alive = False

    def _await_commit(self) -> None:
        self.store.next_commit().add_done_callback(lambda _: self._committed())

    def _committed(self) -> None:
        if not self.is_alive:
            return
        self._await_commit()
        rows = self.store.snapshot().list_journal(self._heard_seq, 1000)
        if rows:
            self._heard_seq = rows[-1].seq
            self.hear(self.name, rows)

    def count(self, event: Event) -> int:
        return len(self.rows(event))


class World:
    """One run: what is done in it, and what is seen."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.clock = HandClock()
        self.network = Network(recording.passage)
        self.gateways: dict[str, RecordedGateway] = {}
        self._links: dict[str, Link] = {}
        self._mail: list[MailLink] = []
        self._late: list[asyncio.Task[None]] = []

    async def add(self, name: str, path: Path, *, private: str) -> RecordedGateway:
        """Start a gateway behind its link; its `uri` is the link's address."""
        gateway = RecordedGateway(name, path, self.clock, private)
        gateway.hear = self.recording.commit
        self.gateways[name] = gateway
        link = Link(self.network, name, gateway.uri, private)
        self._links[name] = link
        await gateway.start()
        await link.open()
        return gateway

    async def add_mail(self, name: str, mailbox: str, addresses: Sequence[str]) -> None:
        """Let mail to the mailbox come to the gateway; `addresses` of the way in and of it."""
        link = MailLink(self.network, name, mailbox, addresses)
        self._mail.append(link)
        await link.open()

    async def flow(self, *, until: Callable[[], object] | None = None) -> None:
        """Let everything happen that needs no time to pass, one thing after the other.

        With `until`, stop as soon as it is true and every answer is given; it must become true.
        """
        await self.settle()
        while self.network.held and not self._is_over(until):
            await self._release_next()
        assert until is None or until(), "it came to rest before that"

    async def _release_next(self) -> None:
        """Let one thing go; while something is lost, nobody can repeat it by a new connection."""
        passage, fate = self.network.next()
        link = self._links[passage.behind]
        if fate is not Fate.PASSES:
            link.take_no_more()
        passage.fate.set_result(fate)
        await self.settle()
        if fate is not Fate.PASSES:
            await link.open()

    def _is_over(self, until: Callable[[], object] | None) -> bool:
        return until is not None and not self.network.has_answers and bool(until())

    async def settle(self) -> None:
        """Return when all that goes on waits for the network."""
        rounds = 0
        async with asyncio.timeout(PATIENCE_S):
            while not self._waits_for_network() and rounds < ROUNDS:
                before = self._under_way()
                await self._commits()
                await asyncio.sleep(0)
                is_quiet = before == self._under_way() and self._may_wait_for_network()
                rounds = rounds + 1 if is_quiet else 0

    async def _commits(self) -> None:
        """Return when no gateway waits for its disk."""
        while writing := [one for one in self._alive() if not one.parts.group.is_at_rest]:
            # The store tells of a commit a little before the group is at rest again.
            commits = [one.store.next_commit() for one in writing]
            await asyncio.wait(commits, timeout=LAST_STEPS_S, return_when=asyncio.FIRST_COMPLETED)

    def _waits_for_network(self) -> bool:
        """Everything that runs in a gateway has an exchange that is held."""
        return not self.network.forwarding and all(
            len(one.parts.tasks.running) == self.network.waiting(one.name) for one in self._alive()
        )

    def _may_wait_for_network(self) -> bool:
        """Where a task waits for another one, there are fewer exchanges than tasks, but one.

        While somebody cannot be reached it may be waiting to try again instead.
        """
        are_open = all(link.is_open for link in self._links.values())
        return (
            are_open
            and not self.network.forwarding
            and all(
                not one.parts.tasks.running or self.network.waiting(one.name)
                for one in self._alive()
            )
        )

    def _under_way(self) -> tuple[object, ...]:
        tasks = [one.parts.tasks.running for one in self._alive()]
        return len(self.recording.steps), len(self.network.held), *tasks

    def _alive(self) -> list[RecordedGateway]:
        return [one for one in self.gateways.values() if one.is_alive]

    async def pass_time(self, seconds: int, gateway: RecordedGateway) -> None:
        """Set the clock forward by what the gateway waits for, and let it act."""
        self.recording.pause(seconds, gateway.name)
        self.clock.set_forward(seconds)
        await gateway.parts.desk.sweep()
        await self.settle()

    async def stop(self, gateway: RecordedGateway, *, has_left: bool, text: str) -> None:
        """Stop without grace: whatever was under way is cut where it stands."""
        self.recording.note(gateway.name, text)
        self._links[gateway.name].take_no_more()
        await gateway.stop(0.0)
        self.network.abandon(gateway.name, has_left=has_left)
        await self.settle()

    async def start(self, gateway: RecordedGateway) -> None:
        """Start again over the same store."""
        self.recording.note(gateway.name, "starts again")
        await gateway.start()
        await self._links[gateway.name].open()
        await self.settle()

    async def bring_late(self) -> None:
        """Let arrive what the network has delayed."""
        for late in self.network.bring_late():
            self._late.append(asyncio.create_task(self._links[late.target].bring(late)))
        await asyncio.sleep(0)

    def take_away(self, gateway: RecordedGateway) -> None:
        """Nobody reaches the gateway any more."""
        self.recording.note(gateway.name, "not reachable")
        self._links[gateway.name].take_no_more()

    async def give_back(self, gateway: RecordedGateway) -> None:
        """It can be reached again."""
        self.recording.note(gateway.name, "reachable again")
        await self._links[gateway.name].open()

    def is_held(self, kind: Kind, source: str | None = None) -> bool:
        """Whether such a package waits to be let through."""
        return self.network.find(kind, source) is not None

    async def end(self) -> None:
        """Stop everything; what was late has arrived by now."""
        for task in self._late:
            await task
        for one in self.gateways.values():
            await one.stop(0.0)
        for link in [*self._links.values(), *self._mail]:
            await link.end()
        assert not self.network.mishaps, self.network.mishaps


class Application:
    """Who stands at one gateway's API: a program, or an operator."""

    def __init__(self, world: World, name: str, gateway: RecordedGateway, partner: str) -> None:
        self._world = world
        self._recording = world.recording
        self._partner = partner
        self.name = name
        self.gateway = gateway

    async def submit(self, name: str, *, answers: str | None = None, size_bytes: int = 12) -> None:
        """Hand a message over, under a MessageId that is its name."""
        message_id = f"{name}@{self.name.partition(chr(39))[0].lower()}.example"
        self._recording.name(message_id, name)
        header = {"to": self._partner, "service": "Ordering", "action": "Order"}
        if answers is not None:
            header["ref"] = self._id_of(answers)
        body = b"<Order/>".ljust(size_bytes)
        await self._call("PUT", f"/v1/messages/{message_id}", files=form(header, body))

    async def report(self, name: str, processing: str) -> None:
        """Say how far the work on a received message is."""
        await self._post(f"/v1/inbox/{self._id_of(name)}/processing", {"processing": processing})

    async def resume(self) -> None:
        """What an operator does who has looked at it."""
        await self._call("POST", f"/v1/partners/{self._partner}/resume")

    async def cancel(self, name: str) -> None:
        """Take a message back."""
        await self._call("POST", f"/v1/messages/{self._id_of(name)}/cancel")

    async def set_draining(self, *, is_draining: bool) -> None:
        """Whether partners that ask first are told to send nothing."""
        await self._post("/v1/drain", {"draining": is_draining})

    async def read_inbox(self) -> None:
        """Read what was handed over."""
        await self._call("GET", "/v1/inbox")

    async def read_notices(self) -> None:
        """Read what it is told of its own messages."""
        await self._call("GET", "/v1/notices")

    def _id_of(self, name: str) -> str:
        return self._recording.id_of(name)

    async def _post(self, path: str, body: dict[str, Any]) -> None:
        await self._call("POST", path, json=body)

    async def _call(self, method: str, path: str, **arguments: Any) -> None:
        there = self.gateway.name
        self._recording.call(self.name, there, f"{method} {self._recording.plain(path)}")
        answer = await self.gateway.call(method, path, **arguments)
        told = _told(answer.json)
        assert answer.status < 400, answer
        text = f"{answer.status}: {told}" if told else str(answer.status)
        self._recording.call(there, self.name, self._recording.plain(text))
        await self._world.settle()


def _told(answer: dict[str, Any]) -> str:
    """What the caller learns from an answer, in a few words."""
    if "items" in answer:
        return ", ".join(item["message_id"] for item in answer["items"]) or "nothing"
    if "notices" in answer:
        told = [f"{one['kind']}, {one['severity']}" for one in answer["notices"]]
        return "; ".join(told) or "nothing"
    if "error" in answer:
        return str(answer["error"]["name"])
    return str(answer.get("state") or answer.get("processing") or "")


def write_configuration(path: Path, *tables: Table) -> Path:
    """A configuration file of these tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join(
            "\n".join(
                [
                    heading,
                    *(
                        f"{key} = {json.dumps(value)}"
                        for key, value in keys.items()
                        if value is not None
                    ),
                    "",
                ]
            )
            for heading, keys in tables
        ),
        "utf-8",
    )
    return path


@asynccontextmanager
async def world_of(recording: Recording) -> AsyncIterator[World]:
    """A world without gateways yet; all are stopped at its end."""
    world = World(recording)
    try:
        yield world
    finally:
        await world.end()


def addresses(count: int) -> list[str]:
    """So many fresh hosts with ports, no two alike."""
    return [f"127.0.0.1:{free_port()}" for _ in range(count)]
