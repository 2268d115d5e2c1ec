"""Messages that pass through intermediaries, in both modes (ruling R-13)."""

from pathlib import Path

from parties import chain
from recording import Recording
from scenarios import shown_as

TIMEOUT_S, RETRY_INTERVAL_S = 30, 60
"""The defaults of an agreement and of a route."""


@shown_as("relay", "A relay acknowledges only what was acknowledged to it")
async def relay(recording: Recording, directory: Path) -> None:
    async with chain(recording, directory, [{}, {}], {}) as p:
        await p.buying.submit("order-1")
        await p.world.flow()


@shown_as("relay-down", "The relay's next hop is not reachable")
async def relay_down(recording: Recording, directory: Path) -> None:
    async with chain(recording, directory, [{}], {}) as p:
        p.world.take_away(p.seller)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.world.give_back(p.seller)
        await p.world.pass_time(RETRY_INTERVAL_S, p.buyer)
        await p.world.flow()


OVER_AN_OWNER = {"ack_requested": "Unsigned", "intermediary": "accept"}
"""What the parties agreed where an intermediary acknowledges in its own name."""


@shown_as("accept-failed", "An intermediary that took over cannot deliver", profile="rm-2001")
async def accept_failed(recording: Recording, directory: Path) -> None:
    route = {"intermediary": "accept", "retries": 1}
    async with chain(recording, directory, [route], OVER_AN_OWNER) as p:
        p.world.take_away(p.seller)
        await p.buying.submit("order-1")
        await p.world.flow()
        [relay] = p.relays
        await p.world.pass_time(TIMEOUT_S, relay)
        await p.world.flow()
        await p.world.pass_time(RETRY_INTERVAL_S, relay)
        await p.world.flow()
        await p.buying.read_notices()


@shown_as("accept", "An intermediary takes over", profile="rm-2001")
async def accept(recording: Recording, directory: Path) -> None:
    route = {"intermediary": "accept"}
    async with chain(recording, directory, [route], OVER_AN_OWNER) as p:
        await p.buying.submit("order-1")
        await p.world.flow()
