"""kill -9 of every node of a four-hop chain: each message is at the destination once (R-13).

A - R1 - R2 - R3 - C, five processes. Every node dies in turn, at random instants under load and at
each of its failpoints; what the origin's application handed over is acknowledged in the end, and
in the destination's inbox exactly once.
"""

import json
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag

import pytest
from nemesis_evidence import check_inbox, fetch_journal
from nemesis_faults import Form
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
    is_acknowledged,
    submit,
)

from onceonly.client import Client
from onceonly.demo.gateways import free_ports
from onceonly.message.event import Event

NODES = ("origin", "relay-1", "relay-2", "relay-3", "destination")
AHEAD_MAX = 4
"""Messages submitted and not yet acknowledged: kills meet queues, not mountains."""

ROUNDS = 3
"""Times that every node is killed under load, in the short form."""

KILL_WITHIN_S = 0.4
DEATH_S = 30.0

RELAYING = ("relay", "relay", "relay")
MIXED = ("accept", "relay", "accept")

POINTS = (
    "before-commit",
    "after-commit",
    "before-transmit",
    "after-transmit",
    "before-acknowledge",
    "after-acknowledge",
)
"""The failpoints that a message passes at an intermediary."""


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
    """Every message that the origin said yes to."""

    @property
    def relays(self) -> list[Node]:
        return self.nodes[1:-1]

    def start(self) -> None:
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.await_ready()

    def submit(self, client: Client, message_id: str, size_bytes: int = 2_000) -> None:
        """Hand a message over, again and again while the origin is down."""
        payload = Payload.numbered(message_id, size_bytes)
        insist(lambda: submit(client, self.nodes[-1].site, message_id, payload))
        self.payloads[message_id] = payload

    def check(self, *, in_order: bool) -> None:
        """All acknowledged at the origin; exactly they are in the destination's inbox."""
        with (
            Client(self.nodes[0].site.api) as origin,
            Client(self.nodes[-1].site.api) as destination,
        ):
            for message_id in self.payloads:
                await_acknowledged(origin, message_id)
            await_inbox(destination, len(self.payloads))
            check_inbox(destination, self.payloads, in_order=in_order)
            stored = [r.message_id for r in fetch_journal(destination) if r.event is Event.STORED]
            assert sorted(filter(None, stored)) == sorted(self.payloads)

    def destroy(self) -> None:
        for node in self.nodes:
            node.destroy()


def build_chain(directory: Path, profile: str, modes: Sequence[str]) -> Chain:
    """Five configured gateways below `directory`, not started."""
    ports = free_ports(2 * len(NODES))
    sites = []
    for index, name in enumerate(NODES):
        home = directory / name
        home.mkdir()
        party = f"urn:duns:10000000{index}"
        msh_port, api_port = ports[2 * index : 2 * index + 2]
        store = home / "gateway.db"
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
            text += _agreement(profile, sites[last - index], sites[1 if index == 0 else last - 1])
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


def _agreement(profile: str, partner: Site, neighbour: Site) -> str:
    return f"""\
[[agreement]]
id      = "agreed-end-to-end"
profile = "{profile}"
with    = ["{partner.party}"]
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


@pytest.fixture(params=[("rm-2000", RELAYING), ("rm-2001", MIXED)], ids=["relay", "mixed"])
def chain(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Chain]:
    """Five configured gateways, not started; whatever still runs at the end is killed."""
    found = build_chain(tmp_path, *request.param)
    yield found
    found.destroy()


@contextmanager
def under_load(chain: Chain, chance: random.Random) -> Iterator[None]:
    """The origin's application at work; it has ended, and ended well, afterwards."""
    stop = Flag()

    def work() -> None:
        with Client(chain.nodes[0].site.api) as client:
            while not stop.is_set():
                number = len(chain.payloads)
                chain.submit(client, f"m-{number}@nemesis.example", chance.choice((300, 100_000)))
                while not stop.wait(0.02) and number >= AHEAD_MAX:
                    wanted = f"m-{number - AHEAD_MAX}@nemesis.example"
                    if insist(lambda wanted=wanted: is_acknowledged(client, wanted)):
                        break

    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(work)
        try:
            yield
        finally:
            stop.set()
    running.result()


@pytest.mark.statement("S3-20", "S3-21")
def test_kills_of_every_node_under_load_lose_nothing_and_double_nothing(
    chain: Chain, form: Form, say: Callable[[str], None]
) -> None:
    """Every node in turn, at a random instant: all acknowledged, each delivered once."""
    chance = form.chance("chain", chain.nodes[1].text)
    chain.start()
    with under_load(chain, form.chance("sizes")):
        for _ in range(ROUNDS * (10 if form.is_full else 1)):
            for node in chain.nodes:
                # The random instant itself, not a synchronisation.
                Flag().wait(chance.uniform(0, KILL_WITHIN_S))
                node.kill()
                node.start()
    chain.check(in_order='"rm-2000"' in chain.nodes[0].text)
    kills = sum(node.kills for node in chain.nodes)
    say(f"chain: seed {form.seed}, {kills} kills, {len(chain.payloads)} messages, each once")


@pytest.mark.statement("S3-20", "S3-22")
@pytest.mark.parametrize("place", [0, 1], ids=["first", "second"])
def test_a_death_at_any_failpoint_of_an_intermediary_is_survived(chain: Chain, place: int) -> None:
    """Killed exactly there; after the restart the message goes its way, once."""
    chain.start()
    victim = chain.relays[place]
    with Client(chain.nodes[0].site.api) as client:
        for point in POINTS:
            victim.kill()
            victim.configure(f"{point}:1")
            victim.launch()  # What an earlier death left may lead it to the point at once.
            chain.submit(client, f"{point}@nemesis.example")
            assert victim.wait_for_end(DEATH_S) == -signal.SIGKILL, victim.log_end()
            victim.configure()
            victim.start()
            await_acknowledged(client, f"{point}@nemesis.example")
    chain.check(in_order='"rm-2000"' in chain.nodes[0].text)
