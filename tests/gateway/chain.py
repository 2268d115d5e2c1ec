"""A chain of gateways in the test's loop: an origin, intermediaries, and a destination.

`A - R1 - … - Rn - C`: every node is a whole gateway with a real store and real sockets. The origin
and the destination have one agreement with each other, under the addresses of their neighbours;
every intermediary has a route there and a route back.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peer import PATIENCE_S
from running_gateway import CLOCK_RATE, PATIENT, RunningGateway, form

from onceonly.gateway.config import read_configuration
from onceonly.journal.record import Record
from onceonly.message.event import Event
from ports import free_port

ORIGIN, DESTINATION = "urn:duns:100000001", "urn:duns:100000009"
AGREEMENT = "tpa-ac-1"
THERE, BACK = "there", "back"
"""Names of the routes at every intermediary."""

EAGER: dict[str, Any] = {"timeout": 15, "retries": 1000, "retry_interval": 15}
"""Terms under which a lost copy is made good in 0.3 s, and nobody ever gives up."""


FOR_RELAYS = (
    "hops_max",
    "retry_interval",
    "caller_certificate",
    "next_hop_certificate",
    "entrances",
)
"""Keys of a route that mean something in relay mode too; it refuses the others."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a chain is to be: the profile, a mode per intermediary, and terms."""

    profile: str = "rm-2000"
    modes: Sequence[str] = ("relay",)
    terms: dict[str, Any] = field(default_factory=lambda: PATIENT)
    """Of the agreement at both ends."""
    route_terms: dict[str, Any] = field(default_factory=dict)
    """Of every intermediary, as far as its mode knows them."""
    gateway: dict[str, Any] = field(default_factory=dict)
    """More keys of every `[gateway]`."""
    own: dict[str, Any] = field(default_factory=dict)
    """An agreement that every intermediary has for messages of its own, where it has one."""
    origin: dict[str, Any] = field(default_factory=dict)
    destination: dict[str, Any] = field(default_factory=dict)
    """More terms of the agreement at one end."""
    identities: Callable[[Path, str], tuple[str, dict[str, Any]]] | None = None
    """Makes the `[[identity]]` of an end: of `origin`, and of `destination`."""
    header: dict[str, Any] = field(default_factory=dict)
    """What each message says, unless the test says it."""


class Chain:
    """The nodes in their order, the origin first."""

    def __init__(
        self, nodes: Sequence[RunningGateway], header: dict[str, Any] | None = None
    ) -> None:
        self.nodes = list(nodes)
        self._header = header or {}

    @property
    def origin(self) -> RunningGateway:
        return self.nodes[0]

    @property
    def destination(self) -> RunningGateway:
        return self.nodes[-1]

    @property
    def relays(self) -> list[RunningGateway]:
        return [node for node in self.nodes if node.configuration.routes]

    async def submit(self, *payloads: bytes, **header: Any) -> str:
        """Submit a message for the destination at the origin; its MessageId."""
        message = {"to": DESTINATION, "service": "Ordering", "action": "NewOrder"}
        message |= {**self._header, **header}
        answer = await self.origin.call(
            "POST", "/v1/messages", files=form(message, *(payloads or (b"<Order/>",)))
        )
        assert answer.status in (200, 201), answer
        message_id: str = answer.json["message_id"]
        return message_id

    async def until(self, claim: Callable[[], object]) -> None:
        """Return when the claim is true, asked again after every commit of any node."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                commits = [node.store.next_commit() for node in self.nodes if node.is_alive]
                if claim():
                    return
                await asyncio.wait(commits, return_when=asyncio.FIRST_COMPLETED)

    async def until_acknowledged(self, *message_ids: str) -> None:
        """All of them are acknowledged at the origin."""
        await self.until(lambda: all(map(self.is_acknowledged, message_ids)))

    def is_acknowledged(self, message_id: str) -> bool:
        return self.origin.state_of(message_id) == "acknowledged"

    async def until_delivered(self, *message_ids: str) -> None:
        """Exactly these messages are in the destination's inbox, each of them once."""
        await self.until_delivered_at_least(len(message_ids))
        assert sorted(self.delivered()) == sorted(message_ids)

    async def until_delivered_at_least(self, count: int) -> None:
        """So many messages are in the destination's inbox, or more."""
        await self.until(lambda: len(self.delivered()) >= count)

    async def everything_said(self) -> None:
        """Return when no node has anything left to post."""
        for node in self.nodes:
            await node.everything_said()

    async def survive(self, victim: int, rounds: int = 4) -> None:
        """Cut a node down while messages are under way; all arrive, once, and are acknowledged."""
        sent: list[str] = []
        for round_ in range(rounds):
            sent += [await self.submit(f"<Order n='{round_}'/>".encode()) for _ in range(2)]
            if round_ % 2:
                await self.until_delivered_at_least(2 * round_)
            await self.nodes[victim].restart()
        await self.until_acknowledged(*sent)
        await self.until_delivered(*sent)

    def delivered(self) -> list[str]:
        """MessageIds of the destination's inbox."""
        return self.destination.inbox_ids()


class Node(RunningGateway):
    """A gateway that can be away for a while."""

    is_alive = False

    async def start(self) -> None:
        await super().start()
        self.is_alive = True

    async def stop(self, grace_s: float = 2.0) -> None:
        """Without grace, whatever was under way is cut where it stands."""
        if self.is_alive:
            self.is_alive = False
            await super().stop(grace_s)

    def of(self, message_id: str, *events: Event) -> list[Record]:
        """The journal's rows about the message."""
        return self.rows(*events, message_id=message_id)


def write_chain(directory: Path, plan: Plan, ends: tuple[str | None, str | None]) -> list[Path]:
    """Configuration files of all nodes that are gateways, in the order of the chain.

    `ends` are the URIs of an origin and a destination that the test plays itself, or None.
    """
    uris = [f"http://127.0.0.1:{free_port()}/msh" for _ in range(len(plan.modes) + 2)]
    uris[0], uris[-1] = ends[0] or uris[0], ends[1] or uris[-1]
    last = len(uris) - 1
    paths = []
    for index, uri in enumerate(uris):
        if (index == 0 and ends[0]) or (index == last and ends[1]):
            continue
        party = {0: ORIGIN, last: DESTINATION}.get(index, f"urn:duns:10000000{index + 1}")
        home = directory / f"node-{index}"
        home.mkdir(exist_ok=True)
        tables = [("[gateway]", {**_gateway(party, uri), **plan.gateway})]
        if index in (0, last):
            name = "destination" if index else "origin"
            tables += [] if plan.identities is None else [plan.identities(home, name)]
            tables.append(("[[agreement]]", _agreement(plan, index, uris)))
        else:
            tables += _routes(plan, index, uris)
            tables += [("[[agreement]]", plan.own)] if plan.own else []
        tables.append(("[drill]", {"clock_rate": CLOCK_RATE}))
        path = home / "gateway.toml"
        path.write_text("\n".join(_text(*table) for table in tables), "utf-8")
        paths.append(path)
    return paths


def _gateway(party: str, uri: str) -> dict[str, Any]:
    api = f"http://127.0.0.1:{free_port()}"
    return {"party": [party], "listen": uri, "api": api, "store": "gateway.db"}


def _agreement(plan: Plan, index: int, uris: Sequence[str]) -> dict[str, Any]:
    partner, neighbour = (DESTINATION, uris[1]) if index == 0 else (ORIGIN, uris[-2])
    return {
        "id": AGREEMENT,
        "profile": plan.profile,
        "with": [partner],
        "send_to": neighbour,
        **_between(plan),
        **plan.terms,
        **(plan.destination if index else plan.origin),
    }


def _between(plan: Plan) -> dict[str, Any]:
    """What both ends are told of the way (R-39)."""
    modes = set(plan.modes)
    return {"intermediary": "accept" if "accept" in modes else "relay"} if modes else {}


def _routes(plan: Plan, index: int, uris: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    mode, previous, following = plan.modes[index - 1], uris[index - 1], uris[index + 1]
    terms = {
        key: value
        for key, value in plan.route_terms.items()
        if mode == "accept" or key in FOR_RELAYS
    }
    shared = {"profile": plan.profile, "intermediary": mode, **terms}
    there = {"id": THERE, "from": [ORIGIN], "to": [DESTINATION], **shared}
    back = {"id": BACK, "from": [DESTINATION], "to": [ORIGIN], **shared}
    return [
        ("[[route]]", {**there, "back_to": previous, "send_to": following}),
        ("[[route]]", {**back, "back_to": following, "send_to": previous}),
    ]


def _text(heading: str, keys: dict[str, Any]) -> str:
    return "\n".join(
        [heading, *(f"{key} = {json.dumps(value)}" for key, value in keys.items()), ""]
    )


@asynccontextmanager
async def running_chain(
    directory: Path, plan: Plan, *, origin: str | None = None, destination: str | None = None
) -> AsyncIterator[Chain]:
    """All nodes of the plan that are gateways, running; stopped without grace at the end."""
    paths = write_chain(directory, plan, (origin, destination))
    nodes = [Node(read_configuration(path)) for path in paths]
    try:
        for node in nodes:
            await node.start()
        yield Chain(nodes, plan.header)
    finally:
        for node in nodes:
            await node.stop(0.0)
