"""How a message travels between two gateways, and what can happen on the way."""

from pathlib import Path

from faulty_link import Kind
from parties import MAILBOXES, parties_with_mailboxes, two_parties
from recording import Recording
from scenarios import shown_as

TIMEOUT_S, RETRY_INTERVAL_S = 30, 60
"""The defaults of an agreement."""


@shown_as("all-well", "All goes well")
async def all_well(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {}) as p:
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.selling.read_inbox()
        await p.selling.report("order-1", "complete")
        await p.world.flow()


@shown_as("ack-lost", "The acknowledgement is lost")
async def ack_lost(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {}) as p:
        p.world.network.lose(Kind.ACKNOWLEDGMENT)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.world.pass_time(TIMEOUT_S, p.buyer)
        await p.world.flow()


@shown_as("order-lost", "The message is lost")
async def order_lost(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {}) as p:
        p.world.network.lose(Kind.MESSAGE)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.world.pass_time(TIMEOUT_S, p.buyer)
        await p.world.flow()


@shown_as("sender-stopped", "The sender is stopped while it sends")
async def sender_stopped(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {}) as p:
        await p.buying.submit("order-1")
        await p.world.settle()
        await p.world.stop(p.buyer, has_left=True, text="stopped without grace")
        await p.world.flow()
        await p.world.start(p.buyer)
        await p.world.flow()


@shown_as("receiver-stopped", "The receiver is stopped between store and acknowledgement")
async def receiver_stopped(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {}) as p:
        await p.buying.submit("order-1")
        await p.world.flow(until=lambda: p.world.is_held(Kind.ACKNOWLEDGMENT))
        await p.world.stop(p.seller, has_left=False, text="stopped without grace")
        await p.world.flow()
        await p.world.start(p.seller)
        await p.world.flow()


@shown_as("given-up", "Retries are used up; an operator resumes the pair")
async def given_up(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {"retries": 1}) as p:
        for _ in range(2):
            p.world.network.lose(Kind.MESSAGE)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.world.pass_time(TIMEOUT_S, p.buyer)
        await p.world.flow()
        await p.world.pass_time(RETRY_INTERVAL_S, p.buyer)
        await p.buying.read_notices()
        await p.buying.resume()
        await p.world.flow()


@shown_as("late-ack", "The acknowledgement comes after the failure notice")
async def late_ack(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {"retries": 0}) as p:
        await p.buying.submit("order-1")
        await p.world.flow(until=lambda: p.world.is_held(Kind.ACKNOWLEDGMENT))
        await p.world.pass_time(TIMEOUT_S, p.buyer)
        await p.buying.read_notices()
        await p.world.flow()
        await p.buying.read_notices()


@shown_as("window", "Several messages in flight", profile="rm-2001")
async def window(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {"window": 2}) as p:
        p.world.network.lose(Kind.MESSAGE)
        for name in ("order-1", "order-2", "order-3"):
            await p.buying.submit(name)
        await p.world.flow()
        await p.world.pass_time(TIMEOUT_S, p.buyer)
        await p.world.flow()


@shown_as("ack-in-the-answer", "The acknowledgement in the HTTP answer", profile="rm-2001")
async def ack_in_the_answer(recording: Recording, directory: Path) -> None:
    terms = {"sync_reply_mode": "signalsOnly", "ack_requested": "Unsigned"}
    async with two_parties(recording, directory, terms) as p:
        await p.buying.submit("order-1")
        await p.world.flow()


@shown_as("resend-by-mail", "Sent again by mail")
async def resend_by_mail(recording: Recording, directory: Path) -> None:
    terms = {"resend_to": f"smtp:{MAILBOXES[1]}"}
    async with parties_with_mailboxes(recording, directory, terms) as p:
        p.world.network.lose(Kind.ACKNOWLEDGMENT)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.world.pass_time(TIMEOUT_S, p.buyer)
        await p.world.flow()


@shown_as("response", "The response completes the request", profile="rm-2001")
async def response(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {"sync_reply_mode": None}) as p:
        p.world.network.lose(Kind.ACKNOWLEDGMENT)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.selling.submit("answer-1", answers="order-1")
        await p.world.flow()


@shown_as("withheld", "Withheld until an acknowledgement may have left")
async def withheld(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {"strict_release": True}) as p:
        p.world.take_away(p.buyer)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.world.give_back(p.buyer)
        await p.world.pass_time(TIMEOUT_S, p.buyer)
        await p.world.flow()


@shown_as("at-most-once", "AtMostOnce: told at once, never sent again", profile="rm-2001")
async def at_most_once(recording: Recording, directory: Path) -> None:
    terms = {"delivery_semantics": "AtMostOnce"}
    async with two_parties(recording, directory, terms) as p:
        p.world.network.lose(Kind.ACKNOWLEDGMENT)
        await p.buying.submit("order-1")
        await p.world.flow()
        await p.world.pass_time(TIMEOUT_S, p.buyer)
        await p.buying.read_notices()


@shown_as("best-effort", "BestEffort: nobody says anything", profile="rm-2001")
async def best_effort(recording: Recording, directory: Path) -> None:
    async with two_parties(recording, directory, {"delivery_semantics": "BestEffort"}) as p:
        p.world.network.lose(Kind.MESSAGE)
        for name in ("order-1", "order-2"):
            await p.buying.submit(name)
            await p.world.flow()
        await p.selling.read_inbox()
