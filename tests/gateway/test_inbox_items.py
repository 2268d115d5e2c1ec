"""Which item of the inbox a call is about: an offset always says it, a MessageId not always."""

from typing import Any

import pytest
from asking import ask
from calling import received, refused
from packages import PayloadPart
from peer import Peer
from running_gateway import RunningGateway, running

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"


def payload(content: bytes) -> list[PayloadPart]:
    return [PayloadPart("p@a", "text/plain", content)]


@pytest.fixture
async def two(tmp_path, peer, other_peer):
    """A gateway in whose inbox two partners' messages have one MessageId, at offsets 1 and 2."""
    async with running(tmp_path, peer, other_peer) as alive:
        for number, partner in enumerate((peer, other_peer), 1):
            await partner.send(M, 1, payloads=payload(partner.party.encode()))
            await alive.until(lambda count=number: len(alive.inbox_ids()) == count)
        yield alive


CALLS: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("GET", "/payloads/0", None),
    ("POST", "/processing", {"processing": "in-progress"}),
    ("POST", "/refuse", {"reason": "no"}),
    ("POST", "/redeliver", {"reason": "lost"}),
]


@pytest.mark.parametrize(("method", "step", "body"), CALLS)
@pytest.mark.parametrize("path", [f"/v1/inbox/{M}{{}}", f"/v1/inbox/items{{}}?message_id={M}"])
async def test_an_id_that_two_items_have_is_refused(two, path, method, step, body):
    """409 Ambiguous, with the offsets in the text and as a member; nothing was done to either."""
    answer = await two.call(method, path.format(step), json=body)
    assert (answer.status, answer.json["error"]["name"]) == (409, "Ambiguous")
    assert answer.json["error"]["offsets"] == [1, 2]
    assert "(1, 2)" in answer.json["error"]["text"]
    assert two.rows(Event.PROCESSING_CHANGED, Event.APPLICATION_REFUSED) == []


@pytest.mark.parametrize(
    "path", ["/v1/inbox/items/{0}{1}", f"/v1/inbox/{M}{{1}}?offset={{0}}"], ids=["items", "id"]
)
async def test_an_offset_says_which(two, peer, other_peer, path):
    """Each of the two is read, reported on and refused by itself."""
    for offset, partner in enumerate((peer, other_peer), 1):
        item = await two.get(path.format(offset, ""))
        assert (item["offset"], item["from"]) == (offset, [partner.party])
        content = await two.api.get(path.format(offset, "/payloads/0"))
        assert content.content == partner.party.encode()
        assert (await two.api.get(item["payloads"][0]["href"])).content == content.content
    done = await two.call("POST", path.format(1, "/processing"), json={"processing": "complete"})
    assert done.json["processing"] == "complete"
    refusal = await two.call("POST", path.format(2, "/refuse"), json={"reason": "no"})
    assert refusal.json["processing"] == "not-started"
    [row] = two.rows(Event.APPLICATION_REFUSED)
    assert row.from_party == other_peer.party


@pytest.mark.parametrize("terms", [{"delivery_semantics": "BestEffort", "retries": 0}])
async def test_copies_of_a_best_effort_message_are_items_of_their_own(tmp_path, peer, terms):
    """R-16: what comes three times is three items, and the id alone says none of them."""
    async with running(tmp_path, peer, terms=terms) as gateway:
        for number in (1, 2, 3):
            await peer.send(M, number, semantics="BestEffort")
            await gateway.until(lambda count=number: len(gateway.inbox_ids()) == count)
        answer = await gateway.call("GET", f"/v1/inbox/{M}")
        assert answer.json["error"]["offsets"] == [1, 2, 3]


@pytest.mark.parametrize("path", [f"/v1/inbox/{M}", f"/v1/inbox/items?message_id={M}"])
async def test_an_id_of_one_item_says_it(gateway, peer, path):
    """As it always did."""
    item = await received(gateway, peer, M, 1)
    assert await gateway.get(path) == item


async def test_a_message_may_be_called_like_a_step_of_a_path(gateway, peer):
    """`items`, `processing`, `payloads` and `1` are MessageIds, and their calls are about them."""
    for number, name in enumerate(("items", "processing", "payloads", "1", "refuse", "2"), 1):
        item = await received(gateway, peer, name, number)
        assert await gateway.get(f"/v1/inbox/{name}") == item
        assert await gateway.get(f"/v1/inbox/items?message_id={name}") == item
        content = await gateway.api.get(f"/v1/inbox/{name}/payloads/0")
        assert content.status_code == 200
        report = {"processing": "complete"}
        for path in (f"/v1/inbox/{name}/processing", f"/v1/inbox/items/{number}/processing"):
            assert (await gateway.call("POST", path, json=report)).json["offset"] == number


@pytest.mark.parametrize(
    "path",
    [
        "/v1/inbox/items/7",
        "/v1/inbox/items/0",
        "/v1/inbox/items/x",
        "/v1/inbox/items/" + "9" * 30,
        "/v1/inbox/items/1/payloads/9",
        "/v1/inbox/items?message_id=none",
        f"/v1/inbox/{M}?offset=7",
        f"/v1/inbox/{M}?offset=0",
        "/v1/inbox/none?offset=1",
    ],
)
async def test_an_item_that_is_not_there_is_not_found(gateway, peer, path):
    """404, also where offset and MessageId are of two items: neither is meant."""
    await received(gateway, peer, M, 1)
    assert refused(await gateway.call("GET", path)) == (404, "NotFound")


@pytest.mark.parametrize("terms", [{"reports_processing": True}])
async def test_an_item_that_was_taken_back_says_so_at_its_offset(tmp_path, peer, terms):
    """By id and by offset alike."""
    async with running(tmp_path, peer, terms=terms) as gateway:
        await received(gateway, peer, M, 1)
        await ask(peer, "CancelRequest", M)
        await gateway.until_row(Event.CANCEL_CONFIRMED)
        for path in (f"/v1/inbox/{M}", "/v1/inbox/items/1"):
            assert refused(await gateway.call("GET", path)) == (409, "Cancelled")


async def test_a_range_may_be_reported_whatever_ids_are_in_it(two: RunningGateway, peer: Peer):
    """Offsets need no id."""
    body = {"after": 0, "up_to": 2, "processing": "complete"}
    assert (await two.call("POST", "/v1/inbox/processing", json=body)).json == {"moved": 2}
