"""What an operator reads when something does not get through: the cause, in every place (R-40)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from asking import inquiry
from packages import ORDER, Parcel, error_list
from peer import NO_CONTENT, Manners, Peer
from peer_2001 import Peer2001, answering
from running_gateway import BRIEF, RunningGateway, running

from onceonly.message.event import Direction, Event
from onceonly.store.contract.entries import Role

pytestmark = pytest.mark.anyio


@pytest.fixture
async def newer() -> AsyncIterator[Peer2001]:
    """A partner of rm-2001, listening."""
    partner = Peer2001()
    await partner.listen()
    yield partner
    await partner.close()


def answer(head: str, *fields: str) -> bytes:
    """An answer of HTTP without a body."""
    return "\r\n".join([f"HTTP/1.1 {head}", *fields, "Content-Length: 0", "", ""]).encode()


OF_A_PROXY = answer("413 Request Entity Too Large")
OF_AN_MSH = answer(
    "404 Not Found", "Onceonly-Error: NotFound", "Onceonly-Reason: there is nothing at this path"
)
MOVED = answer("301 Moved Permanently", "Location: https://b.example.com/msh?token=x")
OF_A_GATEWAY = answer("502 Bad Gateway")
OF_AN_API = answer("405 Method Not Allowed")

CAUSES = {
    "a proxy's limit": (OF_A_PROXY, "refused, 413 Request Entity Too Large"),
    "a wrong path": (OF_AN_MSH, "refused, 404 NotFound: there is nothing at this path"),
    "a redirect": (MOVED, "refused, 301 Moved Permanently, to https://b.example.com/msh"),
    "a proxy alone": (OF_A_GATEWAY, "unknown, 502 Bad Gateway"),
    "another server": (OF_AN_API, "refused, 405 Method Not Allowed"),
    "no HTTP": (b"SSH-2.0-x\r\n\r\n", "unknown, malformed answer"),
    "half an answer": (Manners.HALF, "unknown, connection lost"),
    "nobody": (None, "refused, connection refused"),
    "an MSH that is silent": (NO_CONTENT, "accepted, 204"),
}


async def seen_by_operators(gateway: RunningGateway, peer: Peer, message_id: str) -> dict[str, Any]:
    """The cause, wherever somebody may look for it."""
    shown = await gateway.get(f"/v1/messages/{message_id}")
    partners = (await gateway.get("/v1/partners"))["partners"]
    (pair,) = [one for one in partners if one["role"] == "sender"]
    (incident,) = (await gateway.get("/v1/incidents"))["incidents"]
    (notice,) = (await gateway.get("/v1/notices"))["notices"]
    return {
        "message": shown["reason"],
        "its pair": shown["pair"]["reason"],
        "pair": pair["reason"],
        "incident": incident["reason"],
        "notice": notice["reason"],
        "last of the message": shown["last_outcome"]["words"],
        "last of the pair": pair["last_outcome"]["words"],
    }


@pytest.mark.statement(ruling="R-40")
@pytest.mark.parametrize("cause", CAUSES)
async def test_the_cause_stands_wherever_somebody_looks(tmp_path, peer, cause):
    """One incident, one notice, and each says what the last transmission met, with its status."""
    said, words = CAUSES[cause]
    if said is None:
        peer.refuse_connections()
    else:
        peer.answer_always = said
    async with running(tmp_path, peer, terms=BRIEF) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await gateway.until_row(Event.PAIR_SUSPENDED)
        seen = await seen_by_operators(gateway, peer, message_id)
        assert {where: text for where, text in seen.items() if not text.endswith(words)} == {}
        outcome = (await gateway.get(f"/v1/messages/{message_id}"))["last_outcome"]
        assert (outcome["attempt"], outcome["endpoint"]) == (3, peer.uri)
        assert str(outcome["status_code"] or "") in words


async def test_a_message_that_gets_through_has_no_reason(gateway, peer):
    """Its last outcome is what it is; nothing is wrong."""
    message_id = await gateway.submit(ORDER, to=peer)
    assert (await gateway.get(f"/v1/messages/{message_id}"))["reason"] is None
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    shown = await gateway.get(f"/v1/messages/{message_id}")
    assert (shown["reason"], shown["last_outcome"]["words"]) == (None, "accepted, 204")
    (receiver, sender) = (await gateway.get("/v1/partners"))["partners"]
    assert (receiver["last_outcome"], sender["last_outcome"]) == (None, None)


@pytest.mark.statement(ruling="R-40")
async def test_equal_refusals_are_an_incident_long_before_the_last_retry(tmp_path, peer):
    """It ends with the acknowledgement, since nobody has to look any more."""
    peer.answer_always = OF_A_PROXY
    terms = {"timeout": 1, "retries": 1000, "retry_interval": 1}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await gateway.until_row(Event.TRANSMITTED, 2)
        assert gateway.open_incidents() == [] or len(gateway.rows(Event.TRANSMITTED)) > 2
        await gateway.until_row(Event.TRANSMITTED, 5)
        (incident,) = (await gateway.get("/v1/incidents"))["incidents"]
        assert incident["reason"] == "3 times in a row: refused, 413 Request Entity Too Large"
        assert gateway.pair_state(Role.SENDER, peer) == "open"
        assert gateway.state_of(message_id) == "sending"
        peer.answer_always = NO_CONTENT
        await peer.acknowledge(message_id)
        assert gateway.open_incidents() == []


@pytest.mark.statement(ruling="R-40")
async def test_a_window_of_messages_that_meet_one_cause_is_one_incident(tmp_path, newer):
    """rm-2001: whoever is away from his path is so for each of them."""
    newer.answer_always = OF_AN_MSH
    terms = {"profile": "rm-2001", "timeout": 1, "retries": 1000, "retry_interval": 1}
    async with running(tmp_path, newer, terms=terms) as gateway:
        for _ in range(3):
            await gateway.submit(ORDER, to=newer)
        await gateway.until_row(Event.TRANSMITTED, 15)
        assert gateway.open_incidents() == [Role.SENDER]


@pytest.mark.parametrize(
    "code", ["Inconsistent", "ValueNotRecognized", "NotSupported", "OtherXml", "MimeProblem"]
)
async def test_a_peers_explicit_refusal_is_final(gateway, peer, code):
    """The one copy that left was refused: it is certain, at once, and says what the peer said."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    await peer.refuse(message_id, code)
    shown = await gateway.get(f"/v1/messages/{message_id}")
    assert (shown["state"], shown["error_code"]) == ("failed", code)
    assert shown["reason"].startswith(f"refused by the peer: {code}")


# --- What is refused shows at the message that waits for it --------------------------------------


async def refusals_at(gateway: RunningGateway, message_id: str) -> list[str]:
    """What the trace of a message of ours says was refused."""
    shown = await gateway.get(f"/v1/messages/{message_id}")
    rows = [
        row
        for row in shown["timeline"]
        if row["event"] in ("Rejected", "SecurityEvent") and row["direction"] == Direction.OUT
    ]
    assert all(row["error_code"] for row in rows)
    return [row["reason"] for row in rows]


def at_noon(parcel: Parcel) -> Parcel:
    """With a Timestamp that is none."""
    start = parcel.body.index(b"<Timestamp>") + len(b"<Timestamp>")
    end = parcel.body.index(b"</Timestamp>")
    return parcel._replace(body=parcel.body[:start] + b"noon" + parcel.body[end:])


@pytest.mark.statement(ruling="R-20")
@pytest.mark.parametrize("kind", ["Acknowledgement", "Error"])
async def test_a_signal_that_is_refused_shows_at_its_message(gateway, peer, kind):
    """Its Timestamp is none; it changes nothing, and the trace says what was wrong with it."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    errors = error_list("Inconsistent", "Error", None) if kind == "Error" else ""
    parcel = peer.signal(kind, message_id, errors=errors, message_id="s-1")
    assert (await peer.post(at_noon(parcel))).status == 400
    (reason,) = await refusals_at(gateway, message_id)
    assert reason.startswith(f"{kind} s-1 was refused: ")
    assert "Timestamp" in reason
    assert gateway.state_of(message_id) == "sending"
    assert gateway.rows(Event.REJECTED, message_id="s-1") == [], "no message has that id"
    await peer.acknowledge(message_id)
    assert gateway.state_of(message_id) == "acknowledged"


async def test_a_signal_about_nothing_of_ours_that_is_refused_names_no_parties(gateway, peer):
    """It stands in the journal, and in nobody's ledger."""
    await peer.post(at_noon(peer.signal("Acknowledgement", "nobodys")))
    (row,) = gateway.rows(Event.REJECTED)
    assert (row.message_id, row.from_party, row.to_party) == ("nobodys", None, None)


async def test_a_signal_that_says_not_what_it_is_about_has_a_row_of_its_own(gateway, peer):
    """Nothing is guessed."""
    await peer.post(peer.signal("Acknowledgement", "a b", message_id="s-1"))
    (row,) = gateway.rows(Event.REJECTED)
    assert (row.message_id, row.to_party) == ("s-1", None)


async def test_the_answer_to_an_inquiry_that_is_refused_shows_at_the_message(tmp_path, peer):
    """Level 2: the message has not left yet, and waits for a Pong."""
    async with running(tmp_path, peer, terms={"ping_before_send_above": 0}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        ping = await peer.hear("Ping")
        await gateway.until_row(Event.PING_SENT)
        pong = inquiry(peer, "Pong", ping.message_id)
        await peer.post(at_noon(pong))
        (reason,) = await refusals_at(gateway, message_id)
        assert reason.startswith("Pong ")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"semantics": "BestEffort"}, "Inconsistent"),
        ({"timestamp": "2001-02-15T11:12:12Z"}, "Time"),
    ],
    ids=["before it is admitted", "behind that"],
)
async def test_a_response_that_is_refused_shows_at_its_request(tmp_path, newer, fields, code):
    """It has a row of its own as well: it is a message."""
    async with running(tmp_path, newer, terms={"profile": "rm-2001"}) as gateway:
        message_id = await gateway.submit(ORDER, to=newer)
        await newer.hear()
        await newer.send_2001("r-1@a.example.com", ref=message_id, **fields)
        await gateway.until_row(Event.REJECTED, 2)
        (reason,) = await refusals_at(gateway, message_id)
        assert reason.startswith("the response r-1@a.example.com was refused: ")
        own, _ = gateway.rows(Event.REJECTED)
        assert (own.message_id, own.direction) == ("r-1@a.example.com", Direction.IN)
        assert own.error_code.startswith(code)


async def test_an_answer_that_cannot_be_read_shows_at_the_message_that_was_posted(tmp_path, newer):
    """syncReplyMode: nothing in it says what it is about, and the exchange does."""
    terms = {"profile": "rm-2001", "sync_reply_mode": "signalsOnly"}
    newer.answer_always = answering(newer.signal("Acknowledgement", "x")._replace(body=b"none"))
    async with running(tmp_path, newer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=newer)
        await gateway.until_row(Event.REJECTED)
        assert any(
            "an answer was refused: " in one for one in await refusals_at(gateway, message_id)
        )


async def test_who_is_refused_reads_why_in_the_answer(gateway, peer):
    """Also where an error goes back beside it: the operator there sees it in his own trace."""
    reply = await peer.send("m-1@a.example.com", 5)
    assert reply.status == 204
    assert reply.headers["onceonly-error"] == "InvalidSequenceNumber"
    assert "expected" in reply.headers["onceonly-reason"]
