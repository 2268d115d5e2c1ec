"""A program of functions over a real gateway's inbox: at least once, and with a database once."""

import logging
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

# The gateway and its peer are those of the gateway's own tests.
sys.path.insert(0, str(Path(__file__).parent / "gateway"))

from asking import ask
from packages import PayloadPart
from peer import Peer
from running_gateway import RunningGateway, running, serving_api

from onceonly import receiver as receiving
from onceonly.client import Client
from onceonly.message.event import Event
from onceonly.receiver import NoFunction, OffsetNotKept, PayloadAltered, Receiver, Refusal

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[1] / "examples" / "book_orders.py"


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": True}


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    partner = Peer("urn:duns:111111111")
    await partner.listen()
    yield partner
    await partner.close()


@pytest.fixture
async def gateway(tmp_path: Path, peer: Peer) -> AsyncIterator[RunningGateway]:
    async with (
        running(tmp_path, peer, terms={"reports_processing": True}) as alive,
        serving_api(alive),
    ):
        yield alive


@pytest.fixture
def client(gateway: RunningGateway) -> Any:
    with Client(gateway.configuration.api) as opened:
        yield opened


async def beside(call, *arguments, **options):
    """A call in a thread, while the gateway runs on the loop."""
    return await anyio.to_thread.run_sync(partial(call, *arguments, **options))


def as_order(document: str) -> str:
    named = document.replace("QuoteToCollect", "Ordering")
    return named.replace("NewPurchaseOrder", "NewOrder")


async def receive(gateway: RunningGateway, peer: Peer, *contents: bytes) -> list[str]:
    """Messages of the partner, in its order; returns their MessageIds."""
    ids = []
    for number, content in enumerate(contents, 1):
        ids.append(peer.fresh_id())
        part = PayloadPart(f"p-{number}@a", "application/xml", content)
        reply = await peer.send(ids[-1], number, payloads=[part], edit=as_order)
        assert reply.status in (200, 202, 204), reply
    await gateway.until_handed_over(*ids)
    return ids


ORDERS = tuple(b"<Order n='%d'/>" % number for number in range(6))


def states(gateway: RunningGateway) -> list[str]:
    return [item.processing.value for item in gateway.store.snapshot().list_inbox(0, 100)]


async def test_each_message_is_given_to_the_first_function_that_takes_it(client, gateway, peer):
    """In the order of the inbox; and the gateway knows that the work is done."""
    ids = await receive(gateway, peer, *ORDERS)
    receiver, given = Receiver(client, tries=4), []

    @receiver.on(service="Other")
    def other(_):
        raise AssertionError

    @receiver.on(action="NewOrder")
    def book(order):
        given.append((order.message_id, order.read()))

    @receiver.on()
    def rest(_):
        raise AssertionError

    assert await beside(receiver.run, until_empty=True) == len(ORDERS)
    assert given == list(zip(ids, ORDERS, strict=True))
    assert states(gateway) == ["complete"] * len(ORDERS)
    assert await beside(receiver.run, until_empty=True) == 0


async def test_work_has_begun_before_the_function_is_called(client, gateway, peer):
    """From then on the sender cannot take the message back."""
    await receive(gateway, peer, *ORDERS[:1])
    receiver, seen = Receiver(client, tries=1), []
    receiver.on()(lambda _: seen.extend(states(gateway)))
    await beside(receiver.run, until_empty=True)
    assert seen == ["in-progress"]


async def test_a_message_that_no_function_takes_is_left_as_it_is(client, gateway, peer):
    """A new kind of message must not be lost because nobody has written its function yet."""
    await receive(gateway, peer, *ORDERS[:1])
    with pytest.raises(NoFunction, match="offset 1: service"):
        await beside(Receiver(client).run, until_empty=True)
    assert states(gateway) == ["not-started"]


async def test_an_error_is_tried_again_and_holds_back_what_comes_after(
    client, gateway, peer, monkeypatch, caplog
):
    """Order is kept; the log names the message at each failure."""
    monkeypatch.setattr(receiving, "PAUSE_S", 0.01)
    await receive(gateway, peer, *ORDERS[:2])
    receiver, given = Receiver(client, tries=4), []

    @receiver.on()
    def book(order):
        given.append(order.offset)
        if len(given) < 4:
            raise sqlite3.OperationalError("database is locked")

    with caplog.at_level(logging.ERROR, "onceonly.receiver"):
        assert await beside(receiver.run, until_empty=True) == 2
    assert given == [1, 1, 1, 1, 2]
    assert [record.args[2] for record in caplog.records] == [1, 1, 1]


async def test_after_the_last_try_the_error_ends_the_program(client, gateway, peer, monkeypatch):
    """And the message is the first one of the next run."""
    monkeypatch.setattr(receiving, "PAUSE_S", 0.01)
    await receive(gateway, peer, *ORDERS[:2])
    receiver, given = Receiver(client, tries=3), []

    @receiver.on()
    def book(order):
        given.append(order.offset)
        raise KeyError("amount")

    with pytest.raises(KeyError, match="amount"):
        await beside(receiver.run, until_empty=True)
    assert given == [1, 1, 1]
    assert states(gateway) == ["in-progress", "not-started"]


async def test_a_refusal_reaches_the_gateway(client, gateway, peer):
    """The sender is told by it; the message is never given again."""
    await receive(gateway, peer, *ORDERS[:1])
    receiver, given = Receiver(client, tries=4), []

    @receiver.on()
    def book(order):
        given.append(order.offset)
        return Refusal("no such article")

    assert await beside(receiver.run, until_empty=True) == 1
    assert gateway.store.snapshot().find_inbox_standing(1).is_refused
    assert await beside(receiver.run, until_empty=True) == 0
    assert given == [1]


async def test_what_its_sender_took_back_is_not_given(client, gateway, peer):
    """It was cancelled between the list and the beginning of the work."""
    await receive(gateway, peer, *ORDERS[:2])
    receiver, given = Receiver(client, tries=4), []
    receiver.on()(lambda order: given.append(order.offset))
    [first, _] = await beside(client.inbox)
    await ask(peer, "CancelRequest", first.message_id)
    await gateway.until_row(Event.CANCEL_CONFIRMED)
    with pytest.MonkeyPatch.context() as patched:
        pages = iter([[first], []])
        patched.setattr(client, "inbox", lambda *_: next(pages))
        assert await beside(receiver.run, until_empty=True) == 0
    assert given == []


async def test_a_forgotten_offset_is_noticed_at_the_first_message(client, gateway, peer):
    """And not after a crash, months later."""
    await receive(gateway, peer, *ORDERS[:1])
    receiver = Receiver(client, last_offset=lambda: 0)
    receiver.on()(lambda _: None)
    with pytest.raises(OffsetNotKept, match="offset 1, and last_offset says 0"):
        await beside(receiver.run, until_empty=True)


async def test_the_own_database_counts_and_not_what_the_gateway_was_told(client, gateway, peer):
    """It was put back from a backup of yesterday: the work of today is done once more."""
    await receive(gateway, peer, *ORDERS[:3])
    kept = [0]
    receiver = Receiver(client, last_offset=lambda: kept[-1])
    receiver.on()(lambda order: kept.append(order.offset))
    assert await beside(receiver.run, until_empty=True) == 3
    del kept[2:]
    assert await beside(receiver.run, until_empty=True) == 2
    assert kept == [0, 1, 2, 3]


async def test_altered_bytes_are_never_taken_for_the_document(client, gateway, peer, monkeypatch):
    """By a proxy between, or a disk."""
    monkeypatch.setattr(receiving, "PAUSE_S", 0.01)
    await receive(gateway, peer, *ORDERS[:1])
    monkeypatch.setattr(client, "payload", lambda *_: iter([b"<Order n='9'/>"]))
    receiver = Receiver(client, tries=1)
    receiver.on()(lambda order: order.read())
    with pytest.raises(PayloadAltered, match="payload 0 of"):
        await beside(receiver.run, until_empty=True)


async def test_a_gateway_that_is_away_is_waited_for(tmp_path, peer, monkeypatch, caplog):
    """No message is skipped, and the program does not end."""
    monkeypatch.setattr(receiving, "PAUSE_S", 0.01)
    monkeypatch.setattr(receiving, "WAIT_S", 0.05)
    async with running(tmp_path, peer) as gateway:
        with Client(gateway.configuration.api) as client:
            receiver, given = Receiver(client), []

            @receiver.on()
            def book(order):
                given.append(order.offset)
                receiver.stop()

            with caplog.at_level(logging.WARNING, "onceonly.receiver"):
                program = threading.Thread(target=receiver.run)
                program.start()
                await receive(gateway, peer, *ORDERS[:2])
                while not caplog.records:
                    await anyio.lowlevel.checkpoint()
            async with serving_api(gateway):
                await beside(program.join)
            assert given == [1]
            assert states(gateway) == ["complete", "not-started"]


KILLED = """
import os, signal, sqlite3, sys
sys.argv = ["book_orders.py", *sys.argv[1:]]
at, point = int(os.environ["AT"]), os.environ["POINT"]
class Killing(sqlite3.Connection):
    def __exit__(self, *given):
        [last] = self.execute("SELECT coalesce(max(inbox_offset), 0) FROM booked").fetchone()
        if point == "before" and last == at: os.kill(os.getpid(), signal.SIGKILL)
        super().__exit__(*given)
        if point == "after" and last == at: os.kill(os.getpid(), signal.SIGKILL)
opened = sqlite3.connect
sqlite3.connect = lambda path: opened(path, factory=Killing)
exec(compile(open({example!r}).read(), {example!r}, "exec"))
"""


@pytest.mark.process
async def test_a_program_that_is_killed_books_every_order_once(gateway, peer, tmp_path):
    """SIGKILL before and after its commit, for each order; then it runs to the end."""
    await receive(gateway, peer, *ORDERS)
    database = tmp_path / "orders.db"
    program = KILLED.format(example=str(EXAMPLE))

    def run_killed(at: int, point: str) -> int:
        words = [sys.executable, "-c", program, gateway.configuration.api, str(database)]
        environment = {"AT": str(at), "POINT": point, "PYTHONPATH": ":".join(sys.path)}
        return subprocess.run(words, env=environment, capture_output=True, check=False).returncode

    for at in range(1, len(ORDERS) + 1):
        for point in ("before", "after"):
            assert await beside(run_killed, at, point) == -signal.SIGKILL
    with sqlite3.connect(database) as orders:
        booked = orders.execute("SELECT inbox_offset, document FROM booked").fetchall()
    assert booked == list(enumerate(ORDERS, 1))
    assert states(gateway) == [*["complete"] * (len(ORDERS) - 1), "in-progress"]
    with Client(gateway.configuration.api) as client:
        receiver = Receiver(client, last_offset=lambda: len(ORDERS))
        assert await beside(receiver.run, until_empty=True) == 0
    assert states(gateway) == ["complete"] * len(ORDERS)


async def test_a_message_that_is_handed_over_again_is_given_again(client, gateway, peer):
    """Its function sees which repetition it is; also a refusal of what was complete is taken."""
    await receive(gateway, peer, *ORDERS[:2])
    done, seen = 0, []
    receiver = Receiver(client, last_offset=lambda: done)

    @receiver.on()
    def book(order):
        nonlocal done
        seen.append((order.offset, order.handed_over_again, order.item.first_offset))
        done = order.offset
        return Refusal(reason="known already") if order.offset == 4 else None

    assert await beside(receiver.run, until_empty=True) == 2
    for offset in (1, 2):
        await beside(client.redeliver, "restored from last night", offset=offset)
    assert await beside(receiver.run, until_empty=True) == 2
    assert seen == [(1, 0, None), (2, 0, None), (3, 1, 1), (4, 1, 2)]
    assert states(gateway) == ["complete", "complete", "complete", "in-progress"]
