"""Calls of operators, over ASGI against a running gateway; the API's document; who may call."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from calling import received, refused
from packages import ORDER
from running_gateway import OUR_PARTY, running

from onceonly.api.operations import OPERATIONS
from onceonly.gateway.api.application import Api
from onceonly.gateway.api.openapi import openapi_json
from onceonly.gateway.api.serving import calls_of
from onceonly.journal.record import CHAIN_START
from onceonly.message.event import Event
from onceonly.store.contract.entries import Role

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"


# --- The document --------------------------------------------------------------------------------


def test_every_route_is_described_and_every_description_is_a_route():
    """Style rule 40: what is declared and what is served are the same list, each once."""
    served = [operation.name for operation, _ in calls_of(Api)]
    assert sorted(served) == sorted(operation.name for operation in OPERATIONS)
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert len({(one.method, one.path) for one in OPERATIONS}) == len(OPERATIONS)


async def test_the_document_is_served(gateway):
    """OpenAPI 3.1 with a path for each route."""
    document = await gateway.get("/openapi.json")
    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) == {operation.path for operation in OPERATIONS}


async def test_the_document_is_made_for_who_asks_and_once(gateway):
    """Not at every start of a gateway, which it would make a tenth of a second longer."""
    openapi_json.cache_clear()
    gateway.parts.api.application(gateway.parts.access)
    assert openapi_json.cache_info().misses == 0
    first, second = [await gateway.get("/openapi.json") for _ in range(2)]
    assert first == second
    assert openapi_json.cache_info().misses == 1


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/nothing", "/v1/messages/none/cancel/x/y"])
async def test_an_unknown_path_is_not_found(gateway, path):
    """One error shape, also where no route is."""
    assert refused(await gateway.call("GET", path)) == (404, "NotFound")


async def test_a_wrong_method_is_named(gateway):
    """405 in the same shape."""
    assert refused(await gateway.call("DELETE", "/v1/inbox")) == (405, "MethodNotAllowed")


# --- Operators -----------------------------------------------------------------------------------


async def test_partners_are_listed_before_anything_was_sent(gateway, peer):
    """Both directions of every agreement, in order."""
    partners = (await gateway.get("/v1/partners"))["partners"]
    assert [(p["role"], p["partner"], p["state"]) for p in partners] == [
        ("receiver", peer.party, "open"),
        ("sender", peer.party, "open"),
    ]


async def test_suspend_and_resume_by_name(gateway, peer):
    """Idempotent, journalled with their reason, and visible at the message."""
    for _ in range(2):
        answer = await gateway.call(
            "POST", f"/v1/partners/{peer.party}/suspend", json={"reason": "holiday"}
        )
        states = {p["role"]: p["state"] for p in answer.json["partners"]}
        assert states == {"sender": "suspended", "receiver": "open"}
    submitted = await gateway.submitted(ORDER, to=peer)
    assert (submitted.json["state"], submitted.json["pair"]["state"]) == ("queued", "suspended")
    await gateway.resume(peer)
    assert (await peer.hear("Normal")).message_id == submitted.json["message_id"]
    assert len(gateway.rows(Event.PAIR_SUSPENDED)) == 1
    assert len(gateway.rows(Event.PAIR_RESUMED)) == 1
    await gateway.resume(peer)
    assert len(gateway.rows(Event.PAIR_RESUMED)) == 1


@pytest.mark.parametrize("verb", ["suspend", "resume"])
async def test_an_unknown_partner_is_not_found(gateway, verb):
    """404 UnknownPartner."""
    answer = await gateway.call("POST", f"/v1/partners/urn:duns:9/{verb}")
    assert refused(answer) == (404, "UnknownPartner")


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("\ud800", "InvalidJson"),
        ("two\nlines", "InvalidField"),
        ("x" * 256, "InvalidField"),
        (5, "InvalidField"),
    ],
)
async def test_an_operators_reason_is_one_line_of_text(gateway, peer, reason, name):
    """It goes into the journal, and from there to people's terminals."""
    body = json.dumps({"reason": reason}).encode()
    answer = await gateway.call("POST", f"/v1/partners/{peer.party}/suspend", content=body)
    assert refused(answer) == (400, name)
    assert gateway.rows(Event.PAIR_SUSPENDED) == []


@pytest.mark.statement("S0-31", "S0-38", "S3-11", ruling="R-07")
async def test_incidents_and_notices_tell_what_happened(gateway, peer):
    """Open incidents, all of them on demand, and notices in order with paging."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await peer.refuse(message_id, "InvalidSequenceNumber")
    (incident,) = (await gateway.get("/v1/incidents"))["incidents"]
    assert (incident["role"], incident["to"], incident["resolved_at"]) == (
        Role.SENDER,
        peer.party,
        None,
    )
    (notice,) = (await gateway.get("/v1/notices"))["notices"]
    assert (notice["message_id"], notice["kind"], notice["severity"]) == (
        message_id,
        "DeliveryFailure",
        "Warning",
    )
    assert (await gateway.get(f"/v1/notices?after={notice['number']}"))["notices"] == []
    await gateway.resume(peer)
    assert (await gateway.get("/v1/incidents"))["incidents"] == []
    (resolved,) = (await gateway.get("/v1/incidents?all=1"))["incidents"]
    assert resolved["resolved_at"] is not None


async def test_the_journal_is_read_by_seq(gateway, peer):
    """Every row once, in order, whatever the page size."""
    await received(gateway, peer, M, 1)
    whole = (await gateway.get("/v1/journal"))["records"]
    assert [row["seq"] for row in whole] == list(range(1, len(whole) + 1))
    assert whole[0]["chain_hash"] != CHAIN_START
    paged: list[Any] = []
    while page := (await gateway.get(f"/v1/journal?limit=2&after={len(paged)}"))["records"]:
        paged += page
    assert paged == whole
    about_it = (await gateway.get(f"/v1/journal?message_id={M}"))["records"]
    assert about_it == [row for row in whole if row.get("message_id") == M] != []


async def test_draining_is_said_and_never_assumed(gateway):
    """An empty body does not let partners send again."""
    answer = await gateway.call("POST", "/v1/drain", json={"draining": True})
    assert answer.json == {"draining": True}
    assert refused(await gateway.call("POST", "/v1/drain", json={})) == (400, "InvalidField")
    assert (await gateway.get("/healthz"))["draining"] is True


async def test_publishing_twice_publishes_once(gateway, peer):
    """The count is of new rows."""
    await received(gateway, peer, M, 1)
    first = await gateway.call("POST", "/v1/lake/publish")
    assert first.json == {"published": len(gateway.rows())}
    assert (await gateway.call("POST", "/v1/lake/publish")).json == {"published": 0}


async def test_publishing_and_reading_go_on_beside_each_other(gateway):
    """A snapshot belongs to the thread that takes it: a segment is written while pages are read."""
    row = gateway.parts.desk.about_gateway(Event.DRILL, "x" * 200)
    await gateway.parts.group.transact(lambda txn: txn.append([row] * 20_000))
    publishing = asyncio.ensure_future(gateway.parts.operations.publish())
    pages = 0
    while not publishing.done():
        assert len(gateway.store.snapshot().list_journal(0, 50)) == 50
        pages += 1
        await asyncio.wait((publishing,), timeout=0)
    assert await publishing >= 20_000
    assert pages > 1


async def test_a_lake_that_cannot_be_written_is_named(tmp_path, peer):
    """The journal keeps the rows; the caller learns why."""
    (tmp_path / "lake").write_text("a file is in the way")
    async with running(tmp_path, peer) as gateway:
        await received(gateway, peer, M, 1)
        answer = await gateway.call("POST", "/v1/lake/publish")
        assert refused(answer) == (503, "LakeFailed")


async def test_health_says_that_this_is_a_drill(gateway):
    """Nobody may take the times of a drill for real ones."""
    health = await gateway.get("/healthz")
    assert health["status"] == "ok"
    assert health["drill"]["clock_rate"] == 50
    assert health["party"] == [OUR_PARTY]


async def test_readiness_is_told(gateway):
    """200 while packages and submissions are taken, else 503."""
    assert await gateway.get("/readyz") == {"ready": True, "warnings": []}
    gateway.parts.operations.is_ready = False
    assert (await gateway.call("GET", "/readyz")).status == 503


async def test_metrics_count_from_the_store(gateway, peer):
    """Prometheus text; what a restart does not reset."""
    await received(gateway, peer, M, 1)
    await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await gateway.restart()
    response = await gateway.api.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    assert 'onceonly_messages{status="sending"} 1.0' in response.text
    assert 'onceonly_messages{status="handed_over"} 1.0' in response.text
    assert "onceonly_incidents_open 0.0" in response.text


# --- Access --------------------------------------------------------------------------------------


async def test_a_page_of_another_origin_is_refused_everywhere(gateway):
    """R4: a browser on this machine is no way in."""
    for operation in OPERATIONS:
        headers = {"origin": "http://evil.example"}
        answer = await gateway.call(operation.method, operation.path, headers=headers)
        assert refused(answer) == (403, "ForeignOrigin"), operation


async def test_our_own_origin_may_call(gateway):
    """The console is served from the API's address."""
    headers = {"origin": gateway.configuration.api}
    assert (await gateway.call("GET", "/v1/partners", headers=headers)).status == 200


@pytest.fixture
async def guarded(tmp_path, peer):
    """A gateway whose API wants a token."""
    async with running(tmp_path, peer, gateway={"api_token": "s3cret"}) as alive:
        yield alive


@pytest.mark.parametrize("given", [None, "Bearer wrong", "s3cret", "Bearer ", "Basic s3cret"])
async def test_a_token_is_wanted_on_every_route(guarded, given):
    """R1: 401, but for what a load balancer asks."""
    headers = {} if given is None else {"authorization": given}
    for operation in OPERATIONS:
        answer = await guarded.call(operation.method, operation.path, headers=headers)
        if operation.path in ("/healthz", "/readyz"):
            assert answer.status == 200, operation
        else:
            assert refused(answer) == (401, "Unauthorized"), operation


async def test_the_token_lets_in(guarded):
    """And is never shown (R13)."""
    headers = {"authorization": "Bearer s3cret"}
    assert (await guarded.call("GET", "/v1/partners", headers=headers)).status == 200
    response = await guarded.api.get("/healthz")
    assert isinstance(response, httpx.Response)
    assert "s3cret" not in response.text
