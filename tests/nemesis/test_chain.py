"""kill -9 of every node of a four-hop chain: each message is at the destination once (R-13).

A - R1 - R2 - R3 - C, five processes. Every node dies in turn, at random instants under load and at
each of its failpoints; what the origin's application handed over is acknowledged in the end, and
in the destination's inbox exactly once.
"""

import random
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag

import pytest
from nemesis_chain import MIXED, RELAYING, Chain, build_chain
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import DEATH_S, await_acknowledged, insist, is_acknowledged

from onceonly.client import Client

AHEAD_MAX = 4
"""Messages submitted and not yet acknowledged: kills meet queues, not mountains."""

ROUNDS = 3
"""Times that every node is killed under load, in the short form."""

KILL_WITHIN_S = 0.4

POINTS = (
    "before-commit",
    "after-commit",
    "before-transmit",
    "after-transmit",
    "before-acknowledge",
    "after-acknowledge",
)
"""The failpoints that a message passes at an intermediary."""


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
    chain: Chain, form: Form, say: Say
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
    chain.check()
    kills = sum(node.kills for node in chain.nodes)
    messages = len(chain.payloads)
    text = f"chain: seed {form.seed}, {kills} kills, {messages} messages, each once"
    say(text, kills=kills, messages=messages)


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
    chain.check()
