"""What is asked and done when no acknowledgement came, by recovery levels (seed 004)."""

from pathlib import Path

from faulty_link import Kind
from parties import SELLERS, Parties, two_parties
from recording import Recording
from scenarios import shown_as

TIMEOUT_S, RETRY_INTERVAL_S = 30, 60
"""The defaults of an agreement."""

FENCE_S = 60
"""Twice the accuracy of clocks in an agreement."""

DAY_S = 86_400


@shown_as("expired", "Level 1: presumed not delivered, then certain", profile="rm-2001")
async def expired(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {"level": 1, "time_to_live": "PT2M"}) as p:
        for _ in range(3):
            p.world.network.lose(Kind.MESSAGE)
        await p.buying.submit("order-1")
        await p.world.flow()
        for wait_s in (TIMEOUT_S, RETRY_INTERVAL_S, RETRY_INTERVAL_S):
            await p.world.pass_time(wait_s, p.buyer)
            await p.world.flow()
        await p.buying.read_notices()
        await p.world.pass_time(FENCE_S, p.buyer)


@shown_as("ping-first", "Level 2: asked before it is sent")
async def ping_first(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {"level": 2, "time_to_live": "P1D"}) as p:
        await p.selling.set_draining(is_draining=True)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.selling.set_draining(is_draining=False)
        await p.world.pass_time(RETRY_INTERVAL_S, p.buyer)
        await p.world.flow()


async def give_up(p: Parties, lost: Kind) -> None:
    """The buyer sends a message twice, and nothing comes back."""
    for _ in range(2):
        p.world.network.lose(lost)
    await p.buying.submit("order-1")
    await p.world.flow()
    await p.world.pass_time(TIMEOUT_S, p.buyer)
    await p.world.flow()
    await p.world.pass_time(RETRY_INTERVAL_S, p.buyer)


@shown_as("status-received", "Level 3: the status inquiry finds the message", profile="rm-2001")
async def status_received(recording: Recording, directory: Path) -> None:
    terms = {"level": 3, "time_to_live": "P1D", "retries": 1}
    async with two_parties(recording, directory, terms) as p:
        await give_up(p, lost=Kind.ACKNOWLEDGMENT)
        await p.world.flow()


@shown_as("status-resend", "Level 3: not received, so it is sent again", profile="rm-2001")
async def status_resend(recording: Recording, directory: Path) -> None:
    terms = {"level": 3, "time_to_live": "P1D", "retries": 1, "when_not_received": "resend"}
    async with two_parties(recording, directory, terms) as p:
        await give_up(p, lost=Kind.MESSAGE)
        await p.world.flow()


@shown_as("cancel", "Cancelled by the receiver's word, before a late copy arrives", "rm-2001")
async def cancel(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {"retries": 0}) as p:
        p.world.network.delay(Kind.MESSAGE)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.world.pass_time(TIMEOUT_S, p.buyer)
        await p.buying.cancel("order-1")
        await p.world.flow()
        await p.world.bring_late()
        await p.world.flow()


@shown_as("response-late", "Level 5: the response is late and asked for again", profile="rm-2001")
async def response_late(recording: Recording, directory: Path) -> None:
    terms = {"level": 5, "time_to_live": "P3D", "response_within": "P1D"}
    sellers = {"level": None, "response_within": None, "retries": 0, "reports_processing": True}
    async with two_parties(recording, directory, terms, sellers) as p:
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.selling.report("order-1", "in-progress")
        p.world.network.lose(Kind.MESSAGE, SELLERS)
        await p.selling.submit("answer-1", answers="order-1")
        await p.world.flow()
        await p.selling.report("order-1", "complete")
        await p.world.pass_time(TIMEOUT_S, p.seller)
        await p.world.pass_time(DAY_S, p.buyer)
        await p.world.flow()
