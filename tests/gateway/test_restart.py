"""A gateway stopped without grace at some stage, and started again over the same store."""

import pytest
from peer import Manners, bodies
from running_gateway import BRIEF, NEVER_S, OUR_PARTY, running, write_configuration

from onceonly.gateway.clock import Clock
from onceonly.gateway.config import read_configuration
from onceonly.gateway.wiring import join, open_store, publish_offline
from onceonly.journal.record import CHAIN_START, chain
from onceonly.message.event import Event
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.contract.entries import Role

pytestmark = pytest.mark.anyio

ORDER = b"<Order/>"
M = "m-1@a.example.com"


@pytest.mark.statement("S0-04", "S0-09", "S0-27", "S1-04", ruling="R-04")
async def test_a_message_in_flight_is_sent_again_and_the_queue_follows(gateway, peer):
    """S0-04, S0-09, R-04: the same bytes under the same attempt, then the next number."""
    ids = [await gateway.submit(ORDER, to=peer) for _ in range(2)]
    await peer.hear("Normal")
    await gateway.restart()
    again = await peer.hear("Normal")
    assert again.message_id == ids[0]
    assert len(bodies(peer.arrivals)) == 1
    assert {row.attempt for row in gateway.rows(Event.TRANSMITTING)} == {1}
    await peer.acknowledge(ids[0])
    following = await peer.hear("Normal")
    assert (following.message_id, following.number) == (ids[1], "000000002")


@pytest.mark.statement("S0-04", "S1-04")
async def test_a_transmission_that_was_cut_by_the_stop_is_made_again(gateway, peer):
    """S0-04: killed between the request and its answer."""
    peer.answer(Manners.SILENCE)
    message_id = await gateway.submit(b"x" * 300_000, to=peer)
    await peer.hear("Normal")
    await gateway.restart()
    assert (await peer.hear("Normal")).message_id == message_id
    assert len(bodies(peer.arrivals)) == 1
    await peer.acknowledge(message_id)
    assert gateway.state_of(message_id) == "acknowledged"


@pytest.mark.statement("S0-04", "S1-04")
async def test_an_acknowledged_message_is_never_sent_again(gateway, peer):
    """I8: what was settled before the stop stays settled."""
    settled = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(settled)
    await gateway.restart()
    following = await gateway.submit(ORDER, to=peer)
    assert (await peer.hear("Normal")).message_id == following
    assert gateway.state_of(settled) == "acknowledged"


@pytest.mark.statement("S0-30", "S3-11", ruling="R-07")
async def test_a_suspension_survives(tmp_path, peer):
    """S0-30, I27: not a byte after the restart until the operator resumes; notices stay."""
    async with running(tmp_path, peer, terms={**BRIEF, "retries": 0}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await gateway.until_row(Event.PAIR_SUSPENDED)
        await peer.hear("Normal")
        await gateway.restart()
        await gateway.everything_said()
        assert len(gateway.rows(Event.TRANSMITTING)) == 1
        assert gateway.open_incidents() == [Role.SENDER]
        assert len(gateway.notices()) == 1
        await gateway.resume(peer)
        assert (await peer.hear("Normal")).message_id == message_id


async def test_a_pause_for_the_peer_ends_with_a_restart(gateway, peer):
    """S0-85: the message that waited out a TransientError is sent again, the same bytes."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await peer.refuse(message_id, "TransientError", "Warning", NEVER_S)
    await gateway.restart()
    await peer.hear("Normal")
    assert len(bodies(peer.arrivals)) == 1


async def test_a_submission_is_known_after_a_restart(gateway, peer):
    """I14: the same key returns the message that was stored before."""
    first = await gateway.submit(ORDER, to=peer, key="PO-4711")
    await gateway.restart()
    again = await gateway.submitted(ORDER, to=peer, key="PO-4711")
    assert (again.status, again.json["message_id"], again.json["replayed"]) == (200, first, True)


@pytest.mark.statement("S0-04", "S0-11", "S1-04", "S3-02", ruling="R-02")
async def test_a_stored_message_is_acknowledged_and_handed_over_after_a_restart(gateway, peer):
    """R-02, I11: stopped between the commit and the hand-over; the owed response is the same."""
    peer.answer(Manners.SILENCE)
    await peer.send(M, 1)
    await peer.hear("Acknowledgement")
    assert gateway.inbox_ids() == []
    await gateway.restart()
    await peer.hear("Acknowledgement")
    assert len(bodies(peer.arrivals)) == 1
    await gateway.until_handed_over(M)
    assert len(gateway.rows(Event.HANDED_OVER)) == 1


@pytest.mark.statement("S0-01", "S1-05", "S1-26", "S1-31", "S1-32", ruling="R-03")
async def test_duplicates_are_known_after_a_restart(gateway, peer):
    """R-01, R-03: and answered with the first response, byte for byte."""
    await peer.send(M, 1)
    await peer.hear("Acknowledgement")
    await gateway.until_handed_over(M)
    await gateway.restart()
    await peer.send(M, 1)
    await peer.hear("Acknowledgement")
    assert len(bodies(peer.arrivals)) == 1
    assert gateway.inbox_ids() == [M]


async def test_the_sequence_and_a_quarantine_survive(gateway, peer):
    """R-11: the last number, the refused message and the quarantine are all durable."""
    await peer.send(M, 1)
    await peer.hear("Acknowledgement")
    await peer.send("m-5@a.example.com", 5)
    await peer.hear("Error")
    await gateway.restart()
    await peer.send("m-5@a.example.com", 5)
    assert (await peer.hear("Error")).error_code == "InvalidSequenceNumber"
    await gateway.restart()
    assert gateway.pair_state(Role.RECEIVER, peer) == "quarantined"
    await peer.send("m-2@a.example.com", 2)
    assert (await peer.hear("Error")).error_code == "TransientError"


async def test_offsets_and_processing_states_survive(gateway, peer):
    """I12, I44: the inbox replays the same after a restart."""
    await peer.send(M, 1)
    await peer.hear("Acknowledgement")
    await gateway.until_handed_over(M)
    path = f"/v1/inbox/{M}/processing"
    await gateway.call("POST", path, json={"processing": "in-progress"})
    before = await gateway.get("/v1/inbox")
    await gateway.restart()
    assert await gateway.get("/v1/inbox") == before


async def test_the_journal_goes_on_as_one_chain(gateway, peer):
    """E3: seq without gaps and hashes that follow one another, over three lives."""
    for number in (1, 2, 3):
        await peer.send(f"m-{number}@a.example.com", number)
        await peer.hear("Acknowledgement")
        await gateway.restart()
    previous = CHAIN_START
    for seq, row in enumerate(gateway.rows(), 1):
        assert row.seq == seq
        assert row.chain_hash == chain(previous, row)
        previous = row.chain_hash
    assert {row.store_epoch for row in gateway.rows()} <= {1, 2, 3, 4}


async def test_an_agreement_that_is_still_needed_cannot_be_taken_away(tmp_path, peer, other_peer):
    """A stored message without a verdict must find its agreement, or the start is refused."""
    async with running(tmp_path, peer) as gateway:
        await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
    configuration = read_configuration(write_configuration(tmp_path, [other_peer]))
    store = open_store(configuration, Clock())
    try:
        with pytest.raises(StoreRefused, match="tpa-ab-1"):
            join(configuration, store, pytest.fail)
    finally:
        store.close()


async def test_a_running_gateway_keeps_its_store_to_itself(gateway):
    """R-23: neither a second gateway nor an offline publish gets in."""
    with pytest.raises(StoreRefused):
        publish_offline(gateway.configuration)


async def test_the_journal_of_a_stopped_gateway_can_be_published(tmp_path, peer):
    """Publishing needs no running gateway, and a second time there is nothing left to do."""
    async with running(tmp_path, peer) as gateway:
        await peer.send(M, 1)
        await gateway.until_handed_over(M)
        count = len(gateway.rows())
    assert publish_offline(gateway.configuration) == count
    assert publish_offline(gateway.configuration) == 0
    assert gateway.configuration.party[0].value == OUR_PARTY
