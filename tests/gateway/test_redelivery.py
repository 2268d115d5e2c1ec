"""A message is handed over once more to an application that lost it, each time that it is asked."""

import asyncio
from typing import Any

import pytest
from asking import ask
from calling import refused
from peer import Peer
from running_gateway import RunningGateway, running

from onceonly.gateway.application import bulk as pace
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
WHY = {"reason": "the database was restored"}
ITEM = "/v1/inbox/items/{}"


async def came(gateway: RunningGateway, peer: Peer, *names: str) -> None:
    for number, name in enumerate(names or (M,), 1):
        await peer.send(name, number)
        await gateway.until_handed_over(*(names or (M,))[:number])


async def again(gateway: RunningGateway, offset: int = 1, **head: str) -> Any:
    path = f"{ITEM.format(offset)}/redeliver"
    answer = await gateway.call("POST", path, json=WHY, headers=head)
    assert answer.status == 201, answer
    return answer.json


async def say(gateway: RunningGateway, offset: int, processing: str) -> Any:
    path = f"{ITEM.format(offset)}/processing"
    return await gateway.call("POST", path, json={"processing": processing})


def told(gateway: RunningGateway, *events: Event) -> list[tuple[str, int | None, str | None]]:
    return [(row.event.value, row.attempt, row.reason) for row in gateway.rows(*events)]


async def test_the_message_is_in_the_inbox_once_more(gateway, peer):
    """At a new offset, as a repetition that says what it repeats; the first item stays."""
    await came(gateway, peer)
    first = await gateway.get(ITEM.format(1))
    assert (first["handed_over_again"], first["first_offset"]) == (0, None)
    item = await again(gateway)
    assert item["offset"] == 2
    assert item["handed_over_again"] == 1
    assert item["first_offset"] == 1
    assert item["first_handed_over_at"] == first["handed_over_at"]
    assert item["digest"] == first["digest"]
    assert (await gateway.get("/v1/inbox?after=1"))["items"] == [item]
    content = [await gateway.api.get(one["payloads"][0]["href"]) for one in (first, item)]
    assert content[0].content == content[1].content
    assert (await again(gateway))["handed_over_again"] == 2
    assert (await again(gateway, 2))["first_offset"] == 1


@pytest.mark.parametrize("path", [f"/v1/inbox/{M}{{}}", f"/v1/inbox/items{{}}?message_id={M}"])
async def test_a_message_id_means_the_newest_item(gateway, peer, path):
    """Hand-overs of one message leave no doubt which message is meant."""
    await came(gateway, peer)
    item = await again(gateway)
    assert await gateway.get(path.format("")) == item
    assert (await gateway.api.get(path.format("/payloads/0"))).status_code == 200
    body = {"processing": "complete"}
    done = await gateway.call("POST", path.format("/processing"), json=body)
    assert (done.json["offset"], done.json["processing"]) == (2, "complete")
    assert (await gateway.get(ITEM.format(1)))["processing"] == "complete"
    await again(gateway)
    refusal = await gateway.call("POST", path.format("/refuse"), json=WHY)
    assert (refusal.status, refusal.json["offset"]) == (200, 3)


async def test_the_journal_says_who_asked_and_why(gateway, peer):
    """One row for the wish, with actor and reason, and one for the hand-over, as the first has."""
    await came(gateway, peer)
    await again(gateway, **{"onceonly-operator": "Ann"})
    [asked] = gateway.rows(Event.HANDED_OVER_AGAIN)
    first, second = gateway.rows(Event.HANDED_OVER)
    assert (asked.attempt, asked.reason) == (2, WHY["reason"])
    assert asked.actor is not None
    assert asked.actor.startswith("Ann")
    assert first.attempt is None
    assert (second.attempt, second.digest) == (2, first.digest)
    assert (second.reason or "").startswith("again, at offset 2; first at offset 1 on 20")
    assert first.seq < asked.seq < second.seq


async def test_nothing_is_sent(gateway, peer):
    """Neither an acknowledgement nor a receipt goes out once more."""
    await came(gateway, peer)
    before = gateway.rows(Event.ACK_SENT, Event.RECEIPT_SENT)
    item = await again(gateway)
    assert (await say(gateway, item["offset"], "complete")).status == 200
    assert gateway.rows(Event.ACK_SENT, Event.RECEIPT_SENT) == before


async def test_whoever_waits_for_the_inbox_is_woken(gateway, peer):
    """A long poll ends with it, as with a message that comes."""
    await came(gateway, peer)
    waiting = asyncio.create_task(gateway.get("/v1/inbox?after=1&wait=30"))
    await again(gateway)
    page = await waiting
    assert [item["offset"] for item in page["items"]] == [2]


async def test_what_partners_are_told_never_goes_back(gateway, peer):
    """I44: the repetition has a state of its own, and carries the message's forward only."""
    await came(gateway, peer)
    await say(gateway, 1, "complete")
    await again(gateway)
    assert (await say(gateway, 2, "in-progress")).status == 200
    assert (await gateway.get(ITEM.format(1)))["processing"] == "complete"
    assert (await say(gateway, 2, "complete")).status == 200
    assert told(gateway, Event.PROCESSING_CHANGED) == [
        ("ProcessingChanged", None, "complete"),
        ("ProcessingChanged", 2, "in-progress"),
        ("ProcessingChanged", 2, "complete"),
    ]
    assert refused(await say(gateway, 2, "in-progress")) == (409, "ProcessingWentBack")


async def test_whoever_asks_says_that_the_application_had_it(gateway, peer):
    """From then on its sender cannot take it back; the repetition's end is the message's."""
    await came(gateway, peer)
    await again(gateway)
    assert (await gateway.get(ITEM.format(1)))["processing"] == "in-progress"
    await gateway.call(
        "POST", "/v1/inbox/processing", json={"processing": "complete", "after": 1, "up_to": 2}
    )
    assert (await gateway.get(ITEM.format(1)))["processing"] == "complete"
    assert told(gateway, Event.PROCESSING_CHANGED) == [
        ("ProcessingChanged", None, "in-progress"),
        ("ProcessingChanged", 2, "complete"),
        ("ProcessingChanged", None, "complete"),
    ]


async def test_a_repetition_may_be_refused(gateway, peer):
    """What is complete stays so for its sender; what is not is refused with it."""
    await came(gateway, peer, "m-1", "m-2")
    await say(gateway, 1, "complete")
    for offset in (1, 2):
        await again(gateway, offset)
        answer = await gateway.call("POST", f"{ITEM.format(offset + 2)}/refuse", json=WHY)
        assert answer.status == 200
    assert [(row.message_id, row.attempt) for row in gateway.rows(Event.APPLICATION_REFUSED)] == [
        ("m-1", 2),
        ("m-2", 2),
        ("m-2", None),
    ]
    assert refused(await say(gateway, 2, "complete")) == (409, "Refused")
    assert (await gateway.get(ITEM.format(1)))["processing"] == "complete"


@pytest.mark.parametrize(
    ("path", "status", "name"),
    [
        ("/v1/inbox/items/9/redeliver", 404, "NotFound"),
        (f"/v1/inbox/items/redeliver?message_id={M}", 404, "NotFound"),
    ],
)
async def test_what_never_came_cannot_come_again(gateway, path, status, name):
    """And nothing is written but that somebody asked."""
    assert refused(await gateway.call("POST", path, json=WHY)) == (status, name)
    assert gateway.rows(Event.HANDED_OVER_AGAIN) == []


async def test_a_reason_is_needed(gateway, peer):
    """It is an operator's deliberate act."""
    await came(gateway, peer)
    for body in ({}, {"reason": " "}):
        answer = await gateway.call("POST", f"{ITEM.format(1)}/redeliver", json=body)
        assert answer.status == 400
    assert gateway.rows(Event.HANDED_OVER_AGAIN) == []


async def test_a_call_that_is_repeated_hands_over_once(gateway, peer):
    """Whoever says what it has seen is not taken for one that asks anew: a lost answer, two clicks.

    It does not matter by which of its items the message is named.
    """
    await came(gateway, peer)
    path, body = f"{ITEM.format(1)}/redeliver", {**WHY, "after": 1}
    calls = [gateway.call("POST", path, json=body) for _ in range(2)]
    first, second = sorted(await asyncio.gather(*calls), key=lambda answer: answer.status)
    assert first.status == 201
    assert refused(second) == (409, "AlreadyHandedOver")
    assert first.json["handed_over_at"][:19] in second.json["error"]["text"]
    assert "at offset 2;" in second.json["error"]["text"]
    assert (await gateway.call("POST", path, json={**WHY, "after": 2})).status == 201
    path = f"{ITEM.format(2)}/redeliver"
    assert refused(await gateway.call("POST", path, json={**WHY, "after": 2}))[0] == 409
    assert len(gateway.rows(Event.HANDED_OVER_AGAIN)) == 2


async def test_what_is_purged_is_refused_by_name(gateway, peer):
    """With the day: its application has to ask the sender, since nobody here has it."""
    await came(gateway, peer)
    await say(gateway, 1, "complete")
    parts = gateway.parts
    forgotten = await parts.desk.transact(
        lambda txn, ground: txn.purge_inbound(ground.now.at + 10**15, 9)
    )
    await parts.desk.transact(
        lambda txn, ground: txn.append(
            [ground.house.rows.about_gateway(Event.PURGED, ground.now, "1 received")]
        )
    )
    assert forgotten == 1
    for path in ("/v1/inbox/items/1/redeliver", f"/v1/inbox/items/redeliver?message_id={M}"):
        answer = await gateway.call("POST", path, json=WHY)
        assert refused(answer) == (409, "Purged")
        assert " on 20" in answer.json["error"]["text"]


async def test_a_restart_does_it_neither_twice_nor_not(tmp_path, peer):
    """What was answered is durable, and later messages have other offsets."""
    async with running(tmp_path, peer) as gateway:
        await came(gateway, peer)
        item = await again(gateway)
    async with running(tmp_path, peer) as gateway:
        await peer.send("m-2@a.example.com", 2)
        await gateway.until_handed_over(M, M, "m-2@a.example.com")
        page = await gateway.get("/v1/inbox?after=1")
        assert page["items"][0] == item
        assert [one["offset"] for one in page["items"]] == [2, 3]
        assert len(gateway.rows(Event.HANDED_OVER)) == 3


async def prepared(gateway: RunningGateway, **inbox: Any) -> Any:
    body = {"do": "redeliver", "inbox": inbox, **WHY}
    answer = await gateway.call("POST", "/v1/bulk", json=body)
    assert answer.status == 201, answer
    return answer.json


async def started(gateway: RunningGateway, number: int, count: int) -> Any:
    path = f"/v1/bulk/{number}"
    answer = await gateway.call("POST", f"{path}/start", json={"count": count})
    assert answer.status == 202, answer
    await gateway.until(lambda: gateway.parts.bulks.find(number).state == "done")
    return await gateway.get(path)


NAMES = tuple(f"m-{number}" for number in range(1, 8))


async def test_a_selection_of_the_inbox_is_handed_over_again(gateway, peer):
    """Looked at first, and each message once; the result says at which offset it is now."""
    await came(gateway, peer, *NAMES)
    found = await prepared(gateway, **{"from": peer.party})
    assert (found["items"], found["where"], found["samples"]) == (7, None, [])
    assert found["inbox"] == {"from": peer.party}
    assert [one["offset"] for one in found["items_of_inbox"]] == [1, 2, 3, 4, 5]
    assert gateway.rows(Event.HANDED_OVER_AGAIN) == []
    ended = await started(gateway, found["number"], 7)
    assert (ended["done"], ended["skipped"], ended["failed"]) == (7, 0, 0)
    results = (await gateway.get(f"/v1/bulk/{found['number']}/results"))["results"]
    assert [(one["message_id"], one["offset"], one["text"]) for one in results] == [
        (name, number, f"at offset {number + 7}") for number, name in enumerate(NAMES, 1)
    ]
    rows = gateway.rows(Event.HANDED_OVER_AGAIN)
    assert {row.actor for row in rows} == {gateway.rows(Event.ASKED)[-1].actor}
    assert all((row.reason or "").endswith("(bulk action 1)") for row in rows)
    page = await gateway.get("/v1/inbox?after=7")
    assert [(one["message_id"], one["handed_over_again"]) for one in page["items"]] == [
        (name, 1) for name in NAMES
    ]


async def test_a_message_that_is_there_twice_is_selected_once(gateway, peer):
    """By its newest hand-over, in the place of the first."""
    await came(gateway, peer, *NAMES)
    await again(gateway, 3)
    found = await prepared(gateway)
    assert found["items"] == 7
    assert [one["offset"] for one in found["items_of_inbox"]] == [1, 2, 8, 4, 5]


async def test_it_is_selected_by_the_item_that_fits(gateway, peer):
    """The others do not count: neither those that do not fit, nor one that is purged."""
    await came(gateway, peer, "m-1", "m-2")
    await say(gateway, 1, "complete")
    for _ in range(2):
        await again(gateway)
    await say(gateway, 4, "complete")
    not_started = await prepared(gateway, processing="not-started")
    assert [one["offset"] for one in not_started["items_of_inbox"]] == [3, 2]
    complete = await prepared(gateway, processing="complete")
    assert [one["offset"] for one in complete["items_of_inbox"]] == [4]
    await again(gateway)
    await gateway.parts.desk.transact(
        lambda txn, ground: txn.purge_inbound(ground.now.at + 10**15, 9)
    )
    assert [one["offset"] for one in (await gateway.get("/v1/inbox"))["items"]] == [2, 3, 5]
    assert [one["offset"] for one in (await prepared(gateway))["items_of_inbox"]] == [5, 2]


async def test_what_was_refused_is_selected_only_by_that_word(gateway, peer):
    """Its sender may have been told that it is not processed; so with a repetition of it."""
    await came(gateway, peer, "m-1", "m-2", "m-3")
    await gateway.call("POST", f"{ITEM.format(1)}/refuse", json=WHY)
    await again(gateway)
    await say(gateway, 3, "complete")
    await gateway.call(
        "POST", f"{ITEM.format((await again(gateway, 3))['offset'])}/refuse", json=WHY
    )
    found = await prepared(gateway, processing="not-started")
    assert [one["offset"] for one in found["items_of_inbox"]] == [2]
    found = await prepared(gateway, refused=True, processing="not-started")
    assert [one["offset"] for one in found["items_of_inbox"]] == [4, 2, 5]
    assert found["inbox"] == {"refused": True, "processing": "not-started"}


async def test_a_selection_does_not_grow_by_what_it_causes(gateway, peer, monkeypatch):
    """What another such action puts there meanwhile is not among it: it would have no end."""
    monkeypatch.setattr(pace, "PAGE", 2)
    await came(gateway, peer, *NAMES)
    number = (await prepared(gateway))["number"]
    await gateway.call("POST", f"/v1/bulk/{number}/start", json={"count": 7})
    assert (await prepared(gateway))["items"] == 7


async def test_what_was_purged_since_is_skipped(gateway, peer):
    """And the others are done."""
    await came(gateway, peer, "m-1", "m-2")
    await say(gateway, 1, "complete")
    number = (await prepared(gateway))["number"]
    await gateway.parts.desk.transact(
        lambda txn, ground: txn.purge_inbound(ground.now.at + 10**15, 9)
    )
    ended = await started(gateway, number, 2)
    assert (ended["done"], ended["skipped"]) == (1, 1)
    [skipped, _] = (await gateway.get(f"/v1/bulk/{number}/results"))["results"]
    assert (skipped["outcome"], skipped["error"]) == ("skipped", "Purged")


@pytest.mark.parametrize(
    "body",
    [
        {"do": "redeliver", "where": {}},
        {"do": "redeliver"},
        {"do": "redeliver", "where": {}, "inbox": {}},
        {"do": "cancel", "inbox": {}},
        {"do": "cancel"},
    ],
)
async def test_a_selection_is_of_one_kind(gateway, body):
    """Sent messages or received ones, as the action is; nothing is selected else."""
    assert refused(await gateway.call("POST", "/v1/bulk", json={**body, **WHY})) == (
        400,
        "InvalidField",
    )
    assert (await gateway.get("/v1/bulk"))["bulks"] == []


@pytest.mark.parametrize("terms", [{"reports_processing": True}])
async def test_its_sender_cannot_take_back_what_was_handed_over_again(tmp_path, peer, terms):
    """Nobody worked on it yet as far as is known, but the application had it twice."""
    async with running(tmp_path, peer, terms=terms) as gateway:
        await came(gateway, peer)
        await again(gateway)
        await ask(peer, "CancelRequest", M)
        await gateway.until_row(Event.REPORT_SENT)
        assert gateway.rows(Event.CANCEL_CONFIRMED) == []
        answer = await gateway.call("GET", ITEM.format(2))
        assert answer.status == 200


@pytest.mark.parametrize("terms", [{"reports_processing": True}])
async def test_nor_what_was_refused_and_handed_over_again(tmp_path, peer, terms):
    """The application works on the repetition of what it had refused (I44, R-08)."""
    async with running(tmp_path, peer, terms=terms) as gateway:
        await came(gateway, peer)
        await gateway.call("POST", f"{ITEM.format(1)}/refuse", json=WHY)
        await again(gateway)
        await ask(peer, "CancelRequest", M)
        await gateway.until_row(Event.REPORT_SENT)
        assert gateway.rows(Event.CANCEL_CONFIRMED) == []
        assert (await say(gateway, 2, "complete")).status == 200
        assert (await again(gateway, 2))["offset"] == 3


@pytest.mark.parametrize("terms", [{"reports_processing": True}])
async def test_what_its_sender_took_back_stays_away(tmp_path, peer, terms):
    """The sender was told that it is never processed."""
    async with running(tmp_path, peer, terms=terms) as gateway:
        await came(gateway, peer)
        await ask(peer, "CancelRequest", M)
        await gateway.until_row(Event.CANCEL_CONFIRMED)
        answer = await gateway.call("POST", f"{ITEM.format(1)}/redeliver", json=WHY)
        assert refused(answer) == (409, "Cancelled")
        assert gateway.inbox_ids() == []
