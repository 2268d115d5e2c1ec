"""Peers that cannot be reached, refuse, cut or never answer: retries, suspension, resume."""

from typing import Any

import pytest
from peer import NO_CONTENT, UNAVAILABLE, Manners, bodies
from running_gateway import BRIEF, running

from onceonly.message.event import Event
from onceonly.store.contract.entries import Role

pytestmark = pytest.mark.anyio

ORDER = b"<Order/>"
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
TOO_LARGE = b"HTTP/1.1 413 Request Entity Too Large\r\nContent-Length: 0\r\n\r\n"
GATEWAY_TIMEOUT = b"HTTP/1.1 504 Gateway Time-out\r\nContent-Length: 0\r\n\r\n"
OF_AN_MSH = (
    b"HTTP/1.1 507 Insufficient Storage\r\nOnceonly-Error: StoreFull\r\nContent-Length: 0\r\n\r\n"
)
REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/msh\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.statement(
    "S0-03",
    "S0-22",
    "S0-23",
    "S0-30",
    "S0-31",
    "S0-38",
    "S0-73",
    "S0-75",
    "S1-16",
    "S1-43",
    "S1-44",
    "S3-09",
    ruling="R-07",
)
@pytest.mark.parametrize(
    ("answer", "outcome", "status_code"),
    [
        (UNAVAILABLE, "unknown", 503),
        (OF_AN_MSH, "refused", 507),
        (GATEWAY_TIMEOUT, "unknown", 504),
        (NOT_FOUND, "refused", 404),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
            "refused",
            302,
        ),
        (Manners.HANG_UP, "unknown", None),
        (Manners.HALF, "unknown", None),
        (NO_CONTENT, "accepted", 204),
    ],
    ids=[
        "503",
        "507 of an MSH",
        "504",
        "404",
        "redirect",
        "cut before the answer",
        "cut in the answer",
        "no signal",
    ],
)
async def test_a_peer_that_never_acknowledges_is_tried_as_agreed_then_suspended(
    tmp_path, peer, answer, outcome, status_code
):
    """S0-22, S0-23, S0-30, S0-31, R-07: 1 + Retries attempts, then notice, incident, silence."""
    peer.answer_always = answer
    async with running(tmp_path, peer, terms=BRIEF) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        waiting = await gateway.submit(ORDER, to=peer)
        await gateway.until_row(Event.EXHAUSTED)
        ends = [(row.outcome, row.status_code) for row in gateway.rows(Event.TRANSMITTED)]
        assert ends == [(outcome, status_code)] * 3
        assert len(bodies(peer.arrivals)) == 1
        assert gateway.state_of(message_id) == "in_doubt"
        assert gateway.notices() == [("DeliveryFailure", "Warning", "DeliveryFailure")]
        assert gateway.pair_state(Role.SENDER, peer) == "suspended"
        assert gateway.open_incidents() == [Role.SENDER]
        assert gateway.state_of(waiting) == "queued"
        (suspended,) = gateway.rows(Event.PAIR_SUSPENDED)
        assert (suspended.message_id, suspended.to_party) == (message_id, peer.party)


@pytest.mark.statement("S0-73", ruling="R-05")
@pytest.mark.statement("S1-56", ruling="R-08")
async def test_a_peer_that_cannot_be_reached_fails_for_certain(tmp_path, peer):
    """R-08, S0-73: no byte ever left, so the notice says Error and the message is not in doubt."""
    peer.refuse_connections()
    async with running(tmp_path, peer, terms=BRIEF) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await gateway.until_row(Event.EXHAUSTED)
        assert [row.outcome for row in gateway.rows(Event.TRANSMITTED)] == ["refused"] * 3
        assert gateway.notices() == [("DeliveryFailure", "Error", "DeliveryFailure")]
        assert gateway.state_of(message_id) == "sending"
        assert gateway.open_incidents() == [Role.SENDER]


@pytest.mark.statement("S0-32", "S0-33", ruling="R-07")
async def test_resume_starts_with_the_uncompleted_message_and_a_full_budget(tmp_path, peer):
    """S0-32, S0-33: the stuck message first, counted from 1 again, then the queue in order."""
    peer.answer_always = UNAVAILABLE
    async with running(tmp_path, peer, terms=BRIEF) as gateway:
        ids = [await gateway.submit(ORDER, to=peer) for _ in range(3)]
        await gateway.until_row(Event.EXHAUSTED)
        await gateway.resume(peer)
        await gateway.until_row(Event.EXHAUSTED, 2)
        attempts = [row.attempt for row in gateway.rows(Event.TRANSMITTING)]
        assert attempts == [1, 2, 3, 1, 2, 3]
        assert len(bodies(peer.arrivals)) == 1
        assert len(gateway.notices()) == 2

        peer.answer_always = NO_CONTENT
        await peer.hear_several("Normal", 6)
        await gateway.resume(peer)
        for message_id in ids:
            while (await peer.hear("Normal")).message_id != message_id:
                pass
            await peer.acknowledge(message_id)
        await gateway.until_state(ids[-1], "acknowledged")
        assert gateway.open_incidents() == []
        assert gateway.pair_state(Role.SENDER, peer) == "open"


async def test_a_peer_that_comes_back_gets_the_message_once_it_is_resumed(tmp_path, peer):
    """S0-33: refused connections, then a listener again: delivered, and the incident resolved."""
    peer.refuse_connections()
    async with running(tmp_path, peer, terms={**BRIEF, "retries": 0}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await gateway.until_row(Event.PAIR_SUSPENDED)
        await peer.listen()
        await gateway.resume(peer)
        assert (await peer.hear("Normal")).message_id == message_id
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")
        assert gateway.open_incidents() == []


@pytest.mark.statement("S0-72", ruling="R-05")
async def test_a_listener_that_is_away_for_a_moment_costs_no_retry(tmp_path, peer):
    """S0-72: what surely did not leave is tried again by the transport itself."""
    async with running(tmp_path, peer) as gateway:
        first = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        await peer.acknowledge(first)
        peer.refuse_connections()  # the connection that was kept alive is gone too
        await peer.listen()
        second = await gateway.submit(ORDER, to=peer)
        assert (await peer.hear("Normal")).message_id == second
        assert [row.attempt for row in gateway.rows(Event.TRANSMITTING)] == [1, 1]


async def test_on_exhausted_fail_lets_the_pair_go_on(tmp_path, peer):
    """R-07, R-10: with `on_exhausted = "fail"` the message is settled and the numbers restart."""
    terms = {**BRIEF, "on_exhausted": "fail"}
    peer.answer(*[UNAVAILABLE] * 3)
    async with running(tmp_path, peer, terms=terms) as gateway:
        doubtful = await gateway.submit(ORDER, to=peer)
        waiting = await gateway.submit(ORDER, to=peer)
        await gateway.until_state(doubtful, "in_doubt")
        while (following := await peer.hear("Normal")).message_id != waiting:
            pass
        assert following.number == "000000001"
        assert gateway.pair_state(Role.SENDER, peer) == "open"
        assert gateway.open_incidents() == [Role.SENDER]


async def test_on_exhausted_fail_without_a_byte_sent_is_failed(tmp_path, peer):
    """R-08: a failure that is certain is final at once."""
    peer.refuse_connections()
    terms = {**BRIEF, "retries": 0, "on_exhausted": "fail"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await gateway.until_state(message_id, "failed")
        assert gateway.notices() == [("DeliveryFailure", "Error", "DeliveryFailure")]


async def test_an_operator_silences_a_pair_and_lets_it_go_on(tmp_path, peer):
    """I27: after a suspend not a byte of the pair is sent until the resume."""
    async with running(tmp_path, peer, terms={**BRIEF, "retries": 1000}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        path = f"/v1/partners/{peer.party}/suspend"
        answer = await gateway.call("POST", path, json={"reason": "stocktaking"})
        assert {p["state"] for p in answer.json["partners"] if p["role"] == "sender"} == {
            "suspended"
        }
        (suspended,) = gateway.rows(Event.PAIR_SUSPENDED)
        assert suspended.reason == "stocktaking"
        await gateway.everything_said()
        begun = gateway.rows(Event.TRANSMITTING)
        assert begun[-1].seq < suspended.seq
        await gateway.resume(peer)
        await gateway.until(lambda: len(gateway.rows(Event.TRANSMITTING)) > len(begun))
        await peer.acknowledge(message_id)
        assert gateway.state_of(message_id) == "acknowledged"


async def test_time_to_live_ends_every_wait_behind_a_fence(tmp_path, peer):
    """R-08, I26: queued ones expire; the sent one is in doubt until twice the accuracy passed."""
    offset = tmp_path / "offset"
    terms = {"timeout": 60, "retries": 0, "time_to_live": "PT1M", "msh_time_accuracy": "01:00"}
    peer.answer_always = Manners.HANG_UP
    drill = {"clock_rate": 0.01, "clock_offset_file": "offset"}
    async with running(tmp_path, peer, terms=terms, drill=drill) as gateway:
        doubtful = await gateway.submit(ORDER, to=peer)
        queued = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        await gateway.until_row(Event.TRANSMITTED)

        offset.write_text("90")
        await gateway.parts.desk.sweep()
        assert gateway.state_of(doubtful) == "in_doubt"
        assert gateway.state_of(queued) == "expired"
        assert gateway.notices() == [
            ("DeliveryFailure", "Warning", "TimeToLiveExpired"),
            ("DeliveryFailure", "Error", "TimeToLiveExpired"),
        ]

        offset.write_text("200")
        await gateway.parts.desk.sweep()
        assert gateway.state_of(doubtful) == "failed"
        assert len(gateway.notices()) == 2


async def test_a_jump_of_the_wall_clock_moves_no_wait(tmp_path, peer):
    """R-06, I40: waits are on the monotonic clock; an hour forward or back sends nothing."""
    offset = tmp_path / "offset"
    drill = {"clock_offset_file": "offset"}
    async with running(tmp_path, peer, drill=drill) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        for jump in ("3600", "-3600"):
            offset.write_text(jump)
            await gateway.parts.desk.sweep()
        await peer.acknowledge(message_id)
        assert gateway.state_of(message_id) == "acknowledged"
        assert len(peer.arrivals) == 1


@pytest.mark.statement("S0-04", ruling="R-28")
async def test_a_full_disk_loses_no_acknowledgement(tmp_path, peer):
    """R-28: an acknowledgement that could not be noted is asked for again by a resend."""
    terms = {"timeout": 5, "retries": 1000, "retry_interval": 5}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        await gateway.until_row(Event.TRANSMITTED)
        gateway.store.is_full = True
        assert (await peer.acknowledge(message_id)).status == 507
        gateway.store.is_full = False
        assert gateway.state_of(message_id) == "sending"
        assert (await peer.hear("Normal")).message_id == message_id
        assert (await peer.acknowledge(message_id)).status == 204
        assert gateway.state_of(message_id) == "acknowledged"


async def test_a_full_disk_refuses_submissions_before_anything_is_accepted(gateway, peer):
    """R-27, R-28: 507, nothing stored, nothing sent; accepted again once there is space."""
    gateway.store.is_full = True
    answer = await gateway.submitted(ORDER, to=peer, message_id="po-1")
    assert (answer.status, answer.json["error"]["name"]) == (507, "StoreFull")
    gateway.store.is_full = False
    assert (await gateway.call("GET", "/v1/messages/po-1")).status == 404
    assert not peer.has_unheard()
    assert await gateway.submit(ORDER, to=peer, message_id="po-1") == "po-1"
    assert (await peer.hear("Normal")).message_id == "po-1"


async def test_no_copy_leaves_that_the_store_does_not_know_of(gateway, peer):
    """I24: on a full disk a copy beside the machine of the message stays at home."""
    peer.refuse_connections()
    message_id = await gateway.submit(ORDER, to=peer)
    await gateway.until_row(Event.TRANSMITTED)
    await peer.listen()
    gateway.store.is_full = True
    assert await gateway.parts.desk.send_copy(message_id) is None
    assert not peer.arrivals
    gateway.store.is_full = False
    assert await gateway.parts.desk.send_copy(message_id) is not None
    assert (await peer.hear("Normal")).message_id == message_id


async def test_what_must_be_noted_waits_for_space(gateway, peer):
    """R-28: how a transmission ended is noted once there is space; nothing stops meanwhile."""
    peer.answer(Manners.SILENCE)
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    gateway.store.is_full = True
    peer.refuse_connections()
    await gateway.until(lambda: gateway.store.refusals)
    gateway.store.is_full = False
    assert (await gateway.until_row(Event.TRANSMITTED)).outcome == "unknown"
    assert gateway.state_of(message_id) == "sending"


@pytest.mark.statement("S3-18", ruling="R-06")
async def test_the_longest_time_to_a_verdict_is_published(tmp_path, peer):
    """R-06: Timeout + Retries x RetryInterval."""
    terms = {"timeout": 30, "retries": 3, "retry_interval": 60}
    async with running(tmp_path, peer, terms=terms) as gateway:
        partners = (await gateway.get("/v1/partners"))["partners"]
        sender = next(partner for partner in partners if partner["role"] == "sender")
        assert sender["verdict_after_s"] == 30 + 3 * 60


FOUR: dict[str, Any] = {"timeout": 1, "retries": 3, "retry_interval": 1}
"""Terms under which one message leaves four times at most."""


@pytest.mark.statement(ruling="R-38")
@pytest.mark.parametrize("manners", [Manners.HANG_UP, Manners.HALF, Manners.HANG_UP_EARLY])
async def test_no_copy_leaves_without_its_rows(tmp_path, peer, manners):
    """Retries = 3 makes four copies at most, on connections that were kept and then hung up."""
    async with running(tmp_path, peer, terms=FOUR) as gateway:
        first = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        peer.answer_always = manners
        await peer.acknowledge(first)
        second = await gateway.submit(ORDER, to=peer)
        await gateway.until_row(Event.EXHAUSTED)
        begun = gateway.rows(Event.TRANSMITTING, message_id=second)
        ended = gateway.rows(Event.TRANSMITTED, message_id=second)
        assert [row.attempt for row in begun] == [row.attempt for row in ended] == [1, 2, 3, 4]
        copies = [arrival for arrival in peer.arrivals if arrival.message_id == second]
        assert len(copies) == (0 if manners is Manners.HANG_UP_EARLY else 4)
        assert peer.posts_seen == 1 + 4


@pytest.mark.statement(ruling="R-38")
@pytest.mark.parametrize("semantics", ["AtMostOnce", "BestEffort"])
@pytest.mark.parametrize("manners", [Manners.HANG_UP, Manners.HALF, Manners.HANG_UP_EARLY])
async def test_what_is_sent_once_arrives_once_at_most(tmp_path, peer, semantics, manners):
    """Beside a connection that was kept, and whatever became of the first copy."""
    terms = {**FOUR, "retries": 0, "delivery_semantics": semantics}
    async with running(tmp_path, peer, terms=terms) as gateway:
        await gateway.submit(ORDER, to=peer)
        first = await peer.hear("Normal")
        peer.answer_always = manners
        if semantics == "AtMostOnce":
            await peer.acknowledge(first.message_id)
        second = await gateway.submit(ORDER, to=peer)
        ended = "sent" if semantics == "BestEffort" else "in_doubt"
        await gateway.until_state(second, ended)
        await gateway.everything_said()
        assert len(gateway.rows(Event.TRANSMITTING, message_id=second)) == 1
        assert peer.posts_seen == 2


@pytest.mark.statement(ruling="R-46")
@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        (GATEWAY_TIMEOUT, "sent", "504 Gateway Time-out"),
        (UNAVAILABLE, "sent", "503 Service Unavailable"),
        (OF_AN_MSH, "failed", "StoreFull"),
        (TOO_LARGE, "failed", "413 Request Entity Too Large"),
    ],
    ids=["504", "503", "507 of an MSH", "413"],
)
async def test_a_proxys_word_fails_no_best_effort(tmp_path, peer, answer, state, words):
    """Behind it the message may be stored; only what proves the opposite fails it."""
    peer.answer(answer)
    async with running(
        tmp_path, peer, terms={"retries": 0, "delivery_semantics": "BestEffort"}
    ) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await gateway.until_state(message_id, state)
        (row,) = gateway.rows(Event.TRANSMITTED)
        assert row.reason == words
