"""The loopback's faults: each does what it says, and one seed repeats them all."""

import asyncio

import pytest
from http_peers import CONTENT_TYPE, Inbox, PiecedBody, WholeBody

from onceonly.message.word import changed
from onceonly.transport.loopback import LoopbackFaults, LoopbackNetwork, LoopbackTransport
from onceonly.transport.transport import Outcome, Outgoing, Transmission

pytestmark = pytest.mark.anyio

URI = "http://peer.example/msh"
UNKNOWN = Transmission(Outcome.UNKNOWN, True, None)


async def send_through(faults: LoopbackFaults, *, seed: int = 0, count: int = 1):
    """Send numbered messages through faults; the outcomes, what arrived, and the network."""
    network = LoopbackNetwork(seed=seed)
    network.faults = faults
    inbox = Inbox()
    network.listen(URI, inbox)
    transport = LoopbackTransport(network)
    outcomes = [
        await transport.send(Outgoing(URI, CONTENT_TYPE, WholeBody(b"message %d" % number)))
        for number in range(count)
    ]
    return outcomes, inbox, network


async def test_lost_before_is_unknown_and_never_arrives():
    """The peer saw nothing, and the sender can't know that."""
    outcomes, inbox, network = await send_through(LoopbackFaults(lost_before=1))
    assert changed(outcomes[0], detail="") == UNKNOWN
    assert inbox.requests == []
    assert network.counts.lost_before == 1


async def test_lost_after_is_unknown_and_arrived():
    """N9: received, answered, and the answer is gone."""
    outcomes, inbox, _ = await send_through(LoopbackFaults(lost_after=1))
    assert changed(outcomes[0], detail="") == UNKNOWN
    assert inbox.bodies == [b"message 0"]


async def test_duplicated_arrives_twice():
    """The network may do that to any message."""
    outcomes, inbox, _ = await send_through(LoopbackFaults(duplicated=1))
    assert outcomes[0].outcome is Outcome.ACCEPTED
    assert inbox.bodies == [b"message 0"] * 2


async def test_cut_never_arrives_whole():
    """N8: the receiver sees a broken transfer at any byte."""
    outcomes, inbox, _ = await send_through(LoopbackFaults(cut=1), count=50)
    assert {changed(outcome, detail="") for outcome in outcomes} == {UNKNOWN}
    assert inbox.bodies == []
    assert len(inbox.broken) == 50


async def test_a_cut_in_a_large_body_never_arrives_whole():
    """Behind any number of pieces."""
    network = LoopbackNetwork(seed=1)
    network.faults = LoopbackFaults(cut=1)
    inbox = Inbox()
    network.listen(URI, inbox)
    body = PiecedBody(*[bytes(1000)] * 20)
    for _ in range(20):
        await LoopbackTransport(network).send(Outgoing(URI, CONTENT_TYPE, body))
    assert inbox.bodies == []
    assert len(inbox.broken) == 20


async def test_delayed_messages_overtake_each_other():
    """Order is not the network's promise."""
    network = LoopbackNetwork(seed=3)
    network.faults = LoopbackFaults(delayed=1)
    inbox = Inbox()
    network.listen(URI, inbox)
    transport = LoopbackTransport(network)
    bodies = [b"message %02d" % number for number in range(20)]
    async with asyncio.TaskGroup() as tasks:
        for body in bodies:
            tasks.create_task(transport.send(Outgoing(URI, CONTENT_TYPE, WholeBody(body))))
    assert sorted(inbox.bodies) == bodies
    assert inbox.bodies != bodies


async def test_a_seed_repeats_its_faults():
    """The same seed, the same history; another seed, another one."""
    faults = LoopbackFaults(lost_before=0.2, cut=0.2, duplicated=0.2, lost_after=0.2, delayed=0.2)
    one = await send_through(faults, seed=7, count=100)
    same = await send_through(faults, seed=7, count=100)
    other = await send_through(faults, seed=8, count=100)
    assert (one[0], one[1].bodies, one[2].counts) == (same[0], same[1].bodies, same[2].counts)
    assert one[0] != other[0]
