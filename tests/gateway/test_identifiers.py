"""Every identifier that the grammar allows, in every path: one step, whatever is in it."""

from itertools import count
from urllib.parse import quote

import pytest
from calling import refused
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from packages import ORDER, PayloadPart
from running_gateway import form

from onceonly.message.errors import RemoteError
from onceonly.message.event import Event
from onceonly.message.identity import checked_identifier

pytestmark = pytest.mark.anyio


def is_identifier(text: str) -> bool:
    try:
        checked_identifier(text, "it")
    except RemoteError:
        return False
    return True


HARD = "/%?#&=+;:@.~\\\"'<>[]{}|^`2Fé€\U0001f4a3"
identifiers = st.one_of(
    st.text(HARD, min_size=1, max_size=40),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=255),
    st.lists(
        st.sampled_from(("x", "..", ".", "payloads", "0", "status-request", "items", "%2F", "")),
        min_size=2,
        max_size=6,
    ).map("/".join),
).filter(is_identifier)

FREELY = settings(
    max_examples=60,
    deadline=None,
    # One gateway serves all examples: each takes ids that no other has had.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def taken() -> set[str]:
    """Ids that an example has used."""
    return set()


@FREELY
@given(message_id=identifiers)
@example(message_id="x/payloads/0")
@example(message_id="0/status-request")
@example(message_id="a%2Fb")
@example(message_id="a+b c".replace(" ", "?"))
async def test_every_id_round_trips_through_the_calls_about_a_message(
    gateway, peer, taken, message_id
):
    """Submitted, shown, listed, asked about and taken back: it is always this one."""
    if message_id in taken:
        return
    taken.add(message_id)
    path = f"/v1/messages/{quote(message_id, safe='')}"
    header = {"to": peer.party, "service": "S", "action": "A"}
    put = await gateway.call("PUT", path, files=form(header, ORDER))
    assert (put.status, put.json["message_id"]) == (201, message_id)
    assert (await gateway.get(path))["message_id"] == message_id
    [row] = gateway.rows(Event.SUBMITTED, message_id=message_id)
    query = f"/v1/journal?message_id={quote(message_id, safe='')}"
    assert row.seq in [one["seq"] for one in (await gateway.get(query))["records"]]
    for verb in ("status-request", "cancel", "resend", "resume"):
        answer = await gateway.call("POST", f"{path}/{verb}", json=reason_for(verb))
        assert answer.json.get("error", {}).get("name") != "MethodNotAllowed"
        assert answer.status != 404 or verb == "resume", (verb, answer)


def reason_for(verb: str) -> dict[str, str]:
    return {"reason": "x"} if verb == "resume" else {}


@pytest.fixture
def numbers():
    """SequenceNumbers of the peer's messages."""
    return count(1)


@FREELY
@given(message_id=identifiers)
@example(message_id="x/payloads/0")
@example(message_id="x")
@example(message_id="x%2Fpayloads%2F0")
@example(message_id="items/1")
async def test_every_id_round_trips_through_the_calls_about_an_item(
    gateway, peer, taken, numbers, message_id
):
    """The item, its payload by path and by link, and the report: it is always this one's."""
    if message_id in taken:
        return
    taken.add(message_id)
    number = next(numbers)
    content = f"payload of {number}".encode()
    part = PayloadPart("p@a", "text/plain", content)
    await peer.send(message_id, number, payloads=[part])
    await gateway.until(lambda: len(gateway.inbox_ids()) == number)
    path = f"/v1/inbox/{quote(message_id, safe='')}"
    item = await gateway.get(path)
    assert (item["message_id"], item["offset"]) == (message_id, number)
    named = f"/v1/inbox/items?message_id={quote(message_id, safe='')}"
    assert await gateway.get(named) == item
    for place in (f"{path}/payloads/0", item["payloads"][0]["href"]):
        assert (await gateway.api.get(place)).content == content
    done = await gateway.call("POST", f"{path}/processing", json={"processing": "complete"})
    assert (done.json["message_id"], done.json["processing"]) == (message_id, "complete")
    refusal = await gateway.call("POST", f"{path}/refuse", json={"reason": "x"})
    assert refused(refusal) == (409, "ProcessingWentBack")


@pytest.mark.parametrize(
    ("method", "path", "status", "name"),
    [
        ("PUT", "/v1/messages/0/status-request", 405, "MethodNotAllowed"),
        ("PUT", "/v1/messages/a/b", 404, "NotFound"),
        ("GET", "/v1/messages/a/cancel", 405, "MethodNotAllowed"),
        ("GET", "/v1/messages/a/b/c", 404, "NotFound"),
        ("GET", "/v1/inbox/x/payloads", 404, "NotFound"),
        ("GET", "/v1/inbox/x%2Fpayloads%2F0", 404, "NotFound"),
        ("GET", "/v1/jobs/a%2Frejects", 404, "NotFound"),
        ("POST", "/v1/partners/urn:duns:111111111/x/suspend", 404, "NotFound"),
        ("GET", "/v1/messages/%ff", 400, "InvalidField"),
        ("GET", "/v1%2Fmessages", 404, "NotFound"),
    ],
)
async def test_a_slash_separates_and_an_escaped_one_does_not(
    gateway, peer, method, path, status, name
):
    """What has more steps than a call is no id, and nothing is done."""
    files = form({"to": peer.party, "service": "S", "action": "A"}) if method == "PUT" else None
    assert refused(await gateway.call(method, path, files=files)) == (status, name)
    assert gateway.rows(Event.SUBMITTED) == []


async def test_a_step_may_be_spelled_with_more_escapes_than_it_needs(gateway, peer):
    """`%6D` is `m`, in an id and in a word of ours."""
    files = form({"to": peer.party, "service": "S", "action": "A"}, ORDER)
    assert (await gateway.call("PUT", "/v1/messages/m%2D1", files=files)).status == 201
    assert (await gateway.get("/v1/%6Dessages/m-1"))["message_id"] == "m-1"
