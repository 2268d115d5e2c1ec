"""A chain of gateways as processes: an origin, intermediaries of either mode, a destination (R-13).

Knows their configuration files and what their applications do; must not know the faults.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nemesis_evidence import check_inbox, fetch_journal
from nemesis_gateways import (
    CLOCK_RATE,
    RETRIES,
    RETRY_INTERVAL_S,
    Gateway,
    Payload,
    Site,
    await_acknowledged,
    await_inbox,
    insist,
    submit,
    until,
)

from onceonly.client import Client, GatewayUnreachable
from onceonly.demo.gateways import free_ports
from onceonly.message.event import Event

RELAYING = ("relay", "relay", "relay")
MIXED = ("accept", "relay", "accept")

NOWHERE: Mapping[str, Path] = {}
"""No store is elsewhere."""


@dataclass
class Node(Gateway):
    """One gateway of the chain; what is written before the drill stays the same."""

    text: str = ""

    def configure(self, *failpoints: str) -> None:
        """Write the configuration that the next start reads."""
        points = json.dumps(list(failpoints))
        drill = f"[drill]\nclock_rate = {CLOCK_RATE}\nfailpoints = {points}\n"
        self.file.write_text(self.text + drill, encoding="utf-8")


@dataclass
class Chain:
    """The nodes in their order, and what was sent along them."""

    nodes: list[Node]
    payloads: dict[str, Payload] = field(default_factory=dict)
    """Every message that the origin was given, in order."""
    is_sound: bool = True
    """Nothing has failed on it yet."""

    @property
    def relays(self) -> list[Node]:
        return self.nodes[1:-1]

    @property
    def gateways(self) -> list[Node]:
        return self.nodes

    def gateway(self, role: str) -> Node:
        """The node of this name."""
        return next(node for node in self.nodes if node.site.name == role)

    def start(self) -> None:
        """Start whichever does not run."""
        for node in self.nodes:
            if not node.is_running:
                node.launch()
        for node in self.nodes:
            node.await_ready()

    def submit(self, client: Client, message_id: str, size_bytes: int = 2_000) -> None:
        """Hand a message over, again and again while the origin is down."""
        payload = Payload.numbered(message_id, size_bytes)
        insist(lambda: submit(client, self.nodes[-1].site, message_id, payload))
        self.payloads[message_id] = payload

    def submit_if_up(self, client: Client, message_id: str, size_bytes: int = 2_000) -> bool:
        """Whether the origin said yes; it may be dying."""
        payload = self.payloads.setdefault(message_id, Payload.numbered(message_id, size_bytes))
        try:
            submit(client, self.nodes[-1].site, message_id, payload)
        except GatewayUnreachable:
            return False
        return True

    @contextmanager
    def clients(self) -> Iterator[tuple[Client, Client]]:
        """Applications of both ends."""
        ends = self.nodes[0].site.api, self.nodes[-1].site.api
        with Client(ends[0]) as ours, Client(ends[1]) as theirs:
            yield ours, theirs

    def complete(self, message_id: str, size_bytes: int = 2_000) -> None:
        """Submit (again, where it was) and wait until acknowledged and handed over."""
        with self.clients() as (ours, theirs):
            self.submit(ours, message_id, size_bytes)
            await_acknowledged(ours, message_id)
            until(lambda: theirs.find_inbox_item(message_id), f"{message_id} is handed over")

    @property
    def is_ordered(self) -> bool:
        """Whether the profile keeps the order of the submissions."""
        return '"rm-2000"' in self.nodes[0].text

    def check(self) -> None:
        """All acknowledged at the origin; exactly they are in the destination's inbox."""
        with (
            Client(self.nodes[0].site.api) as origin,
            Client(self.nodes[-1].site.api) as destination,
        ):
            for message_id in self.payloads:
                await_acknowledged(origin, message_id)
            await_inbox(destination, len(self.payloads))
            check_inbox(destination, self.payloads, in_order=self.is_ordered)
            stored = [r.message_id for r in fetch_journal(destination) if r.event is Event.STORED]
            assert sorted(filter(None, stored)) == sorted(self.payloads)

    def destroy(self) -> None:
        for node in self.nodes:
            node.destroy()


def build_chain(
    directory: Path, profile: str, modes: Sequence[str], *, store_of: Mapping[str, Path] = NOWHERE
) -> Chain:
    """Configured gateways below `directory`, an intermediary for each mode, not started.

    `store_of` has the directories of stores that are to be elsewhere, by the node's name.
    """
    names = ("origin", *(f"relay-{hop}" for hop in range(1, len(modes) + 1)), "destination")
    ports = free_ports(2 * len(names))
    sites = []
    for index, name in enumerate(names):
        home = directory / name
        home.mkdir()
        party = f"urn:duns:10000000{index}"
        msh_port, api_port = ports[2 * index : 2 * index + 2]
        store = store_of.get(name, home) / "gateway.db"
        sites.append(
            Site(
                name=name,
                party=party,
                directory=home,
                msh_port=msh_port,
                api_port=api_port,
                store=store,
            )
        )
    last = len(sites) - 1
    nodes = []
    for index, site in enumerate(sites):
        text = _gateway(site)
        if index in (0, last):
            neighbour = sites[1 if index == 0 else last - 1]
            text += _agreement(profile, sites[last - index], neighbour, modes)
        else:
            text += _routes(profile, modes[index - 1], sites, index)
        nodes.append(Node(site, sites[last], text=text))
        nodes[-1].configure()
    return Chain(nodes)


def _gateway(site: Site) -> str:
    return f"""\
[gateway]
party  = ["{site.party}"]
listen = "{_uri(site)}"
api    = "{site.api}"
store  = {json.dumps(str(site.store))}
lake   = {json.dumps(str(site.lake))}
publish_interval = 3600

"""


def _uri(site: Site) -> str:
    return f"http://127.0.0.1:{site.msh_port}/msh"


TERMS = f"timeout = {RETRY_INTERVAL_S}\nretries = {RETRIES}\nretry_interval = {RETRY_INTERVAL_S}\n"


def _asks(profile: str) -> str:
    return 'ack_requested = "Unsigned"\n' if profile == "rm-2001" else ""


def _agreement(profile: str, partner: Site, neighbour: Site, modes: Sequence[str]) -> str:
    between = "accept" if "accept" in modes else "relay"
    return f"""\
[[agreement]]
id      = "agreed-end-to-end"
profile = "{profile}"
with    = ["{partner.party}"]
intermediary = "{between}"
send_to = "{_uri(neighbour)}"
{TERMS}{_asks(profile)}
"""


def _routes(profile: str, mode: str, sites: Sequence[Site], index: int) -> str:
    ends = sites[0].party, sites[-1].party
    hops = _uri(sites[index - 1]), _uri(sites[index + 1])
    terms = TERMS + _asks(profile) if mode == "accept" else f"retry_interval = {RETRY_INTERVAL_S}\n"
    return "".join(
        f"""\
[[route]]
id      = "{name}"
profile = "{profile}"
intermediary = "{mode}"
from    = ["{ends[a]}"]
to      = ["{ends[b]}"]
back_to = "{hops[a]}"
send_to = "{hops[b]}"
{terms}
"""
        for name, a, b in (("there", 0, 1), ("back", 1, 0))
    )
