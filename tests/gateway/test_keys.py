"""Who may call the API: keys, their scopes, what an application sees, and who did what."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest
from calling import AnyOperation, received, refused
from packages import ORDER
from peer import PATIENCE_S, Peer
from running_gateway import Answered, RunningGateway, form, running, serving_api
from test_hostile_callers import path_of, without_waiting

from onceonly.api.inbox import WhichItem
from onceonly.api.inbox_operations import ITEM_CALLS
from onceonly.api.operation import ARROW
from onceonly.api.operations import OPERATIONS
from onceonly.api.rights import RIGHTS
from onceonly.api.words import Scope
from onceonly.gateway.api.access import CALLER
from onceonly.gateway.caller import TOKEN, Caller
from onceonly.gateway.keys import digest_of
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M, N = "m-1@a.example.com", "n-1@c.example.com"
SCOPES = ("submit", "read", "payloads", "operate", "admin")
SHOP = {"application": "shop", "agreements": ["tpa-ab-1"]}
OTHER = {"application": "other", "agreements": ["tpa-cb-1"]}


async def made(gateway: RunningGateway, name: str, *scopes: str, **more: Any) -> dict[str, str]:
    """The head of a caller with a new key; the caller of the gateway in this process makes it."""
    async with as_admin(gateway) as admin:
        body = {"name": name, "scopes": list(scopes), **more}
        response = await admin.post("/v1/keys", json=body)
    assert response.status_code == 201, response.text
    return {"authorization": f"Bearer {response.json()['key']}"}


def as_admin(gateway: RunningGateway) -> Any:
    """A client inside the process, in the name of the token, as a page of ours would be."""
    application = gateway.parts.api.application(gateway.parts.access)

    async def in_the_name_of_the_token(scope: Any, receive: Any, send: Any) -> None:
        await application({**scope, CALLER: TOKEN}, receive, send)

    transport = httpx.ASGITransport(in_the_name_of_the_token)
    return httpx.AsyncClient(transport=transport, base_url=gateway.configuration.api)


async def call(
    gateway: RunningGateway, operation: AnyOperation, path: str, head: dict[str, str], **more: Any
) -> Answered:
    """One call with this head; what is no JSON is None."""
    response = await gateway.api.request(
        operation.method, path, headers=head, params=without_waiting(operation), **more
    )
    is_json = response.headers["content-type"] == "application/json"
    return Answered(response.status_code, response.json() if is_json else None)


def names_of(answer: Answered) -> str | None:
    return None if answer.status < 400 else refused(answer)[1]


# --- Keys -----------------------------------------------------------------------------------------


async def test_the_first_key_closes_the_api(gateway):
    """On loopback nobody needs one before; with the first, everybody does."""
    assert (await gateway.call("GET", "/v1/messages")).status == 200
    assert "security" not in (await gateway.get("/openapi.json"))["paths"]["/v1/messages"]["get"]
    answer = await gateway.call("POST", "/v1/keys", json={"name": "boss", "scopes": ["admin"]})
    assert answer.status == 201
    assert refused(await gateway.call("GET", "/v1/messages")) == (401, "Unauthorized")
    head = {"authorization": f"Bearer {answer.json['key']}"}
    assert (await gateway.call("GET", "/v1/messages", headers=head)).status == 200
    document = (await gateway.call("GET", "/openapi.json", headers=head)).json
    assert document["paths"]["/v1/messages"]["get"]["security"] == [{"token": ["read"]}]
    assert (await gateway.call("GET", "/healthz")).status == 200


async def test_keys_may_be_demanded_before_there_are_any(tmp_path, peer):
    """`api_keys = true`: nobody gets in who could make the first one over the API."""
    async with running(tmp_path, peer, gateway={"api_keys": True}) as closed:
        body = {"name": "mine", "scopes": ["admin"]}
        assert refused(await closed.call("POST", "/v1/keys", json=body)) == (401, "Unauthorized")


async def test_a_key_is_shown_once_and_kept_as_its_hash(gateway):
    """Neither store, nor list, nor journal, nor metrics have the secret."""
    head = await made(gateway, "boss", "admin")
    secret = head["authorization"].removeprefix("Bearer ")
    [kept] = gateway.store.snapshot().list_api_keys()
    assert kept.digest == digest_of(secret)
    await gateway.everything_said()
    seen = json.dumps((await gateway.call("GET", "/v1/keys", headers=head)).json)
    seen += str(gateway.rows()) + (await gateway.api.get("/metrics", headers=head)).text
    seen += gateway.configuration.store.read_bytes().decode("latin-1")
    wal = gateway.configuration.store.with_name(gateway.configuration.store.name + "-wal")
    seen += wal.read_bytes().decode("latin-1")
    assert secret not in seen
    assert secret.removeprefix("oo_") not in seen


async def test_a_revoked_key_opens_nothing_and_its_name_stays(gateway):
    """From the answer on, and after a restart; revoked again it is as it was."""
    boss = await made(gateway, "boss", "admin")
    shop = await made(gateway, "shop", "read")
    assert (await gateway.call("GET", "/v1/messages", headers=shop)).status == 200
    first = await gateway.call("DELETE", "/v1/keys/shop", headers=boss)
    assert first.json["revoked_at"] is not None
    for _ in range(2):
        answer = await gateway.call("GET", "/v1/messages", headers=shop)
        assert refused(answer) == (401, "Unauthorized")
        await gateway.restart()
    again = await gateway.call("DELETE", "/v1/keys/shop", headers=boss)
    assert again.json["revoked_at"] == first.json["revoked_at"]
    body = {"name": "shop", "scopes": ["read"]}
    answer = await gateway.call("POST", "/v1/keys", json=body, headers=boss)
    assert refused(answer) == (409, "KeyExists")
    answer = await gateway.call("DELETE", "/v1/keys/nobody", headers=boss)
    assert refused(answer) == (404, "NotFound")


async def test_a_key_says_when_it_was_last_used(gateway):
    """In the list at once; in the store once for a minute of calls."""
    boss = await made(gateway, "boss", "admin")
    for _ in range(3):
        found = (await gateway.call("GET", "/v1/keys", headers=boss)).json["keys"]
    assert found[0]["last_used_at"] is not None
    await gateway.everything_said()
    [kept] = gateway.store.snapshot().list_api_keys()
    assert kept.last_used_at is not None
    assert kept.made_by == "api_token"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"name": "a b", "scopes": ["read"]}, "InvalidField"),
        ({"name": "../x", "scopes": ["read"]}, "InvalidField"),
        ({"name": "a", "scopes": ["root"]}, "InvalidField"),
        ({"name": "a", "scopes": []}, "InvalidField"),
        ({"name": "a", "scopes": "read"}, "InvalidField"),
        ({"name": "a", "scopes": ["read"], "digest": "0" * 64}, "InvalidField"),
        ({"name": "a", "scopes": ["read"], "made_by": "root"}, "InvalidField"),
        ({"name": "a", "scopes": ["read"], "agreements": ["tpa-ab-1"]}, "InvalidKey"),
        ({"name": "a", "scopes": ["read"], "application": "shop"}, "InvalidKey"),
        ({"name": "a", "scopes": ["admin"], **SHOP}, "InvalidKey"),
        ({"name": "a", "scopes": ["submit", "operate"]}, "InvalidKey"),
        ({"name": "anybody", "scopes": ["read"]}, "KeyExists"),
        ({"name": "api_token", "scopes": ["read"]}, "KeyExists"),
        (
            {"name": "a", "scopes": ["read"], "application": "shop", "agreements": ["tpa-?"]},
            "UnknownAgreement",
        ),
    ],
)
async def test_a_key_that_cannot_be_is_refused(gateway, body, name):
    """Nothing is kept of it, whatever members it brings along; the first can make others."""
    assert refused(await gateway.call("POST", "/v1/keys", json=body))[1] == name
    assert gateway.store.snapshot().list_api_keys() == []


@pytest.mark.parametrize(
    "value",
    ["", "Bearer", "Bearer ", "Basic {}", "bearer {}", "Bearer {} ", "Bearer {}x", "{}", "\xff"],
)
async def test_only_the_whole_key_opens(gateway, value):
    """Nearly is not at all; and two of them are none."""
    head = await made(gateway, "boss", "admin")
    secret = head["authorization"].removeprefix("Bearer ")
    given = value.format(secret).encode("latin-1")
    headers = [(b"authorization", given)]
    answer = await gateway.call("GET", "/v1/messages", headers=headers)
    assert refused(answer) == (401, "Unauthorized")
    twice = [(b"authorization", head["authorization"].encode())] * 2
    assert refused(await gateway.call("GET", "/v1/messages", headers=twice))[0] == 401


async def test_the_token_is_a_key_with_every_right(tmp_path, peer):
    """As it was before there were keys, beside which it goes on."""
    async with running(tmp_path, peer, gateway={"api_token": "gehéim"}) as guarded:
        head = {b"authorization": "Bearer gehéim".encode()}
        body = {"name": "a", "scopes": ["read"]}
        assert (await guarded.call("POST", "/v1/keys", json=body, headers=head)).status == 201
        wrong = {b"authorization": b"Bearer geheim"}
        assert (await guarded.call("GET", "/v1/keys", headers=wrong)).status == 401


# --- Scopes ---------------------------------------------------------------------------------------


def test_every_operation_says_who_may_call_it():
    """None is without a right, and no right is of nothing."""
    assert {one.name for one in OPERATIONS} == RIGHTS.keys()
    assert set(SCOPES) == {*Scope.__args__}  # type: ignore[attr-defined]  # because a Literal has them
    for operation in OPERATIONS:
        right = operation.right
        assert not (right.is_own and right.scope == "admin"), operation.name


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_key_does_what_its_scope_says_and_nothing_else(gateway, peer, scope):
    """403 Forbidden names the scope that is missing, for every operation there is."""
    await received(gateway, peer, M, 1)
    head = await made(gateway, "one", scope)
    for operation in OPERATIONS:
        answer = await call(gateway, operation, path_of(operation), head)
        is_allowed = operation.is_open or scope in (operation.right.scope, "admin")
        assert (names_of(answer) == "Forbidden") is not is_allowed, (operation.name, answer)
        if not is_allowed:
            assert f"lacks the scope {operation.right.scope}" in answer.json["error"]["text"]


async def test_documents_in_a_list_need_their_own_scope(gateway, peer):
    """`payloads=inline` and an Arrow stream have the bytes in them."""
    await received(gateway, peer, M, 1)
    head = await made(gateway, "reader", "read")
    assert (await gateway.call("GET", "/v1/inbox", headers=head)).status == 200
    inline = await gateway.call("GET", "/v1/inbox?payloads=inline", headers=head)
    assert refused(inline) == (403, "Forbidden")
    stream = await gateway.call("GET", "/v1/inbox", headers={**head, "accept": ARROW})
    assert refused(stream) == (403, "Forbidden")


async def test_a_caller_is_taken_from_inside_the_process_alone(gateway):
    """No field of a head, whatever it is called, makes a caller."""
    await made(gateway, "boss", "admin")
    for name in ("onceonly.caller", "onceonly-caller", "x-onceonly-caller"):
        answer = await gateway.call("GET", "/v1/messages", headers={name: "admin"})
        assert refused(answer) == (401, "Unauthorized")


# --- Denied calls ---------------------------------------------------------------------------------


async def test_denied_calls_are_counted_and_their_rows_are_rationed(tmp_path, peer):
    """One row for each, until the ration is used up; the metric counts all (R-45)."""
    limits = {"refusal_rows_per_hour": 3}
    async with running(tmp_path, peer, limits=limits) as alive:
        boss = await made(alive, "boss", "admin")
        reader = await made(alive, "reader", "read")
        await alive.call("GET", "/v1/keys", headers=reader)
        for _ in range(5):
            await alive.call("GET", "/v1/keys?secret=oo_x", headers={"authorization": "Bearer a"})
        await alive.call("GET", "/v1/keys", headers={"origin": "http://evil.example"})
        await alive.everything_said()
        rows = alive.rows(Event.SECURITY_EVENT)
        assert len(rows) == 3
        assert "Forbidden: GET '/v1/keys' with the key 'reader'" in (rows[0].reason or "")
        assert "Unauthorized: GET '/v1/keys'" in (rows[1].reason or "")
        assert "oo_x" not in str(rows)
        metrics = (await alive.api.get("/metrics", headers=boss)).text
        assert 'onceonly_api_denied_total{name="Forbidden"} 1.0' in metrics
        assert 'onceonly_api_denied_total{name="Unauthorized"} 5.0' in metrics
        assert 'onceonly_api_denied_total{name="ForeignOrigin"} 1.0' in metrics


# --- An application's own -------------------------------------------------------------------------


@pytest.fixture
async def shared(tmp_path, peer: Peer, other_peer: Peer) -> AsyncIterator[RunningGateway]:
    """A gateway of two applications: `shop` under tpa-ab-1, `other` under tpa-cb-1.

    Of each there are a message out, one in, a notice, and a job. Item 1 is the shop's.
    """
    async with running(tmp_path, peer, other_peer) as alive:
        for one, message_id, job in ((peer, M, "shop.job"), (other_peer, N, "other.job")):
            await received(alive, one, message_id, 1)
            await alive.submit(ORDER, to=one, message_id=message_id)
            row = {"message_id": f"staged-{message_id}", "to": one.party, "payload": "x"}
            row |= {"service": "S", "action": "A"}
            answer = await alive.call(
                "POST", f"/v1/jobs/{job}/messages", content=json.dumps(row).encode()
            )
            assert answer.json["rows"][0]["outcome"] == "accepted"
        yield alive


def own_path(operation: AnyOperation) -> str:
    """The path about what is the shop's."""
    return path_of(operation).replace("job-1", "shop.job")


OWN = [one for one in OPERATIONS if one.right.is_own]
NAMING = [one for one in OWN if "{" in one.path and one.name != "putMessage"]


@pytest.mark.parametrize("operation", NAMING, ids=lambda one: one.name)
async def test_what_is_anothers_is_not_there(shared, operation):
    """The answer is the one that an id gets that nobody ever used; and nothing is changed."""
    head = await made(shared, "their-key", "submit", "read", "payloads", "operate", **OTHER)
    before = len(shared.rows())
    is_report = "processing" in operation.path
    body: dict[str, Any] = {"json": {"processing": "complete"}} if is_report else {}
    theirs = await call(shared, operation, own_path(operation), head, **body)
    nowhere = own_path(operation).replace(M, "never@x").replace("/1", "/999999")
    nowhere = nowhere.replace("shop.job", "never.job")
    nobodys = await call(shared, operation, nowhere, head, **body)
    assert (theirs.status, names_of(theirs)) == (nobodys.status, names_of(nobodys))
    assert names_of(theirs) in ("NotFound", "InvalidField"), theirs
    assert M not in json.dumps(theirs.json).replace(own_path(operation), "").replace(repr(M), "")
    await shared.everything_said()
    assert len(shared.rows()) == before


@pytest.mark.parametrize("calls", ITEM_CALLS, ids=lambda one: one.get.name)
async def test_an_item_that_only_the_query_names_is_anothers_too(shared, calls):
    """By MessageId, with and without its offset."""
    head = await made(shared, "their-key", "submit", "read", "payloads", "operate", **OTHER)
    bodies = {calls.report: {"processing": "complete"}, calls.redeliver: {"reason": "lost"}}
    for query in ({"message_id": M}, {"message_id": M, "offset": "1"}, {"offset": "1"}):
        for one in calls.all:
            response = await shared.api.request(
                one.method,
                path_of(one),
                headers=head,
                params={key: value for key, value in query.items() if key in names(one)},
                json=bodies.get(one),
            )
            assert response.status_code in (400, 404), (one.name, query, response.text)


def names(operation: AnyOperation) -> tuple[str, ...]:
    return operation.query_type.__struct_fields__


async def test_what_is_ones_own_is_there(shared):
    """The same calls, with the key of the one whose it is."""
    head = await made(shared, "key", "submit", "read", "payloads", "operate", **SHOP)
    for operation in NAMING:
        if operation.method == "get" and operation.query_type is not WhichItem:
            answer = await call(shared, operation, own_path(operation), head)
            assert answer.status == 200, (operation.name, answer)
    answer = await shared.call("GET", f"/v1/messages/{M}", headers=head)
    assert answer.json["message_id"] == M


async def test_a_timeline_has_no_row_of_anothers_message(shared, peer, other_peer):
    """Another application received one of the same MessageId from its own partner."""
    await other_peer.send("x@y", 2)
    await shared.until(lambda: "x@y" in shared.inbox_ids())
    head = await made(shared, "key", "submit", "read", **SHOP)
    message = {"to": peer.party, "service": "Ordering", "action": "NewOrder"}
    answer = await shared.call("PUT", "/v1/messages/x@y", files=form(message, ORDER), headers=head)
    assert answer.status == 201
    found = (await shared.call("GET", "/v1/messages/x@y", headers=head)).json
    assert {row["agreement_id"] for row in found["timeline"]} == {"tpa-ab-1"}
    boss = await made(shared, "boss", "admin")
    whole = (await shared.call("GET", "/v1/messages/x@y", headers=boss)).json
    assert {"tpa-ab-1", "tpa-cb-1"} <= {row["agreement_id"] for row in whole["timeline"]}


async def test_what_waits_with_a_revoked_key_is_told_nothing(shared, peer):
    """A stream of events ends, and a long poll is refused, before anything else is told."""
    head = await made(shared, "key", "read", **SHOP)
    following = shared.parts.following
    async with serving_api(shared) as api, asyncio.timeout(PATIENCE_S):
        stream_head = {**head, "accept": "text/event-stream"}
        async with (
            httpx.AsyncClient(base_url=api, timeout=PATIENCE_S) as client,
            client.stream("GET", "/v1/events", headers=stream_head) as stream,
        ):
            lines = stream.aiter_lines()
            assert await anext(lines) == "retry: 1000"
            polled = asyncio.ensure_future(client.get("/v1/events?wait=50", headers=head))
            while following.followers < 2:
                await anyio.lowlevel.checkpoint()
            await shared.parts.keys.revoke("key")
            await peer.send("later@x", 2)
            await shared.until(lambda: "later@x" in shared.inbox_ids())
            told = [line async for line in lines if line.startswith(("event", "data"))]
            assert told == []
            assert (await polled).status_code == 401


async def test_who_calls_cannot_choose_his_address(shared):
    """H25: what a proxy may say in a head, anybody on this machine can say."""
    async with (
        serving_api(shared) as api,
        httpx.AsyncClient(base_url=api, timeout=PATIENCE_S) as client,
    ):
        head = {"authorization": "Bearer wrong", "x-forwarded-for": "10.9.8.7"}
        await made(shared, "boss", "admin")
        assert (await client.get("/v1/messages", headers=head)).status_code == 401
    await shared.everything_said()
    [row] = shared.rows(Event.SECURITY_EVENT)
    assert row.endpoint == "127.0.0.1"


LISTS = {
    "listMessages": ("/v1/messages", "messages"),
    "listInbox": ("/v1/inbox", "items"),
    "listNotices": ("/v1/notices", "notices"),
    "listJournal": ("/v1/journal", "records"),
    "listJobs": ("/v1/jobs", "jobs"),
    "listEvents": ("/v1/events", "events"),
}
"""Path of each list that an application may ask for, and the member with its rows."""

OF_AGREEMENTS = {"listAgreements", "getDifference"}
"""They have nothing of messages in them: `test_agreements` says that they are private."""


def test_every_list_of_an_application_is_in_the_table_above():
    """A new one has to be made private."""
    lists = [one for one in OWN if one.method == "get" and "{" not in one.path]
    told = {one.name for one in lists if not one.is_open} - {"getOpenApi"}
    by_query = {calls.get.name for calls in ITEM_CALLS} | {"getPayloadByQuery"}
    counts = {f"count{name.removeprefix('list')}" for name in LISTS if name != "listEvents"}
    assert told - by_query == LISTS.keys() | counts | OF_AGREEMENTS


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_has_what_is_ones_own_alone(shared, peer, other_peer, name):
    """With and without filters, in both orders; and a count counts no more."""
    shop = await made(shared, "key", "read", **SHOP)
    other = await made(shared, "their-key", "read", **OTHER)
    path, member = LISTS[name]
    await peer.refuse(M, "InvalidSequenceNumber")
    await other_peer.refuse(N, "InvalidSequenceNumber")
    await shared.until(lambda: len(shared.notices()) > 1)
    ours, theirs = (peer.party, "shop.job"), (other_peer.party, "other.job")
    for head, own, foreign in ((shop, ours, theirs), (other, theirs, ours)):
        mine, their = (M, N) if own is ours else (N, M)
        queries = ("?after=0",) if name == "listEvents" else ("", "?order=newest", "?id_prefix=")
        for query in queries:
            rows = (await shared.call("GET", path + query, headers=head)).json[member]
            assert rows, (name, query)
            assert (own[1] if name == "listJobs" else mine) in json.dumps(rows)
            assert not any(what in json.dumps(rows) for what in (*foreign, f'"{their}"'))
        if name == "listEvents":
            continue
        count = (await shared.call("GET", path.replace("/v1", "/v1/counts"), headers=head)).json
        whole = (await shared.call("GET", f"{path}?limit=1000", headers=head)).json[member]
        assert count["count"] == len(whole)
    foreign_filters = {"agreement": "tpa-cb-1", "id_prefix": "other.", "message_id": N}
    for key, value in foreign_filters.items():
        answer = await shared.call("GET", path, params={key: value}, headers=shop)
        assert answer.status == 400 or not answer.json[member], (name, key)


async def test_a_range_is_reported_of_ones_own_items(shared):
    """What is another's stays as it is, although its offset is in the range."""
    head = await made(shared, "key", "submit", **SHOP)
    body = {"after": 0, "up_to": 100, "processing": "complete"}
    answer = await shared.call("POST", "/v1/inbox/processing", json=body, headers=head)
    assert answer.json == {"moved": 1}
    items = shared.store.snapshot().list_inbox(0, 10)
    states = {item.message.agreement_id: item.processing.value for item in items}
    assert states == {"tpa-ab-1": "complete", "tpa-cb-1": "not-started"}


async def test_an_application_is_refused_what_is_about_the_whole_gateway(shared):
    """Whatever scopes it has."""
    head = await made(shared, "key", "submit", "read", "payloads", "operate", **SHOP)
    for operation in OPERATIONS:
        if operation.right.is_own:
            continue
        answer = await call(shared, operation, path_of(operation), head)
        assert names_of(answer) == "Forbidden", operation.name
        assert "about the whole gateway" in answer.json["error"]["text"]


async def test_an_application_submits_under_its_own_agreements(shared, peer, other_peer):
    """Another's agreement and partner are unknown to it, named or not."""
    head = await made(shared, "key", "submit", **SHOP)

    async def submitted(to: Peer, **header: Any) -> Answered:
        message = {"to": to.party, "service": "Ordering", "action": "NewOrder", **header}
        fields = form(message, ORDER)
        return await shared.call("POST", "/v1/messages", files=fields, headers=head)

    assert (await submitted(peer)).status == 201
    assert refused(await submitted(other_peer)) == (404, "UnknownPartner")
    assert refused(await submitted(other_peer, agreement="tpa-cb-1"))[0] == 404
    assert refused(await submitted(peer, message_id=N)) == (409, "MessageIdTaken")
    row = {"message_id": "x@y", "to": other_peer.party, "payload": "x"}
    row |= {"service": "S", "action": "A"}
    answer = await shared.call(
        "POST", "/v1/jobs/shop.job/messages", content=json.dumps(row).encode(), headers=head
    )
    assert answer.json["rows"][0]["error"]["name"] == "UnknownPartner"


async def test_a_taken_key_does_not_say_whose_message_has_it(shared, peer, other_peer):
    """The Idempotency-Key is refused, without the MessageId of the other application."""
    theirs = await shared.submit(ORDER, to=other_peer, key="k-1")
    head = await made(shared, "key", "submit", **SHOP)
    message = {"to": peer.party, "service": "Ordering", "action": "NewOrder", "key": "k-1"}
    answer = await shared.call("POST", "/v1/messages", files=form(message, ORDER), headers=head)
    assert refused(answer) == (409, "IdempotencyKeyTaken")
    assert theirs not in json.dumps(answer.json)


# --- The audit ------------------------------------------------------------------------------------

ACTIONS = [one for one in OPERATIONS if one.right.is_action]


def test_whatever_an_operator_changes_is_an_action():
    """What an application does by itself has its own rows, and is none."""
    own = {"postMessage", "putMessage", "putJobMessage", "postJobMessages", "releaseJob"}
    own |= {"dropJob", "reportProcessingOfRange"}
    own |= {"publishJournal"}  # Programs call it by the clock; it changes nothing.
    own |= {calls.report.name for calls in ITEM_CALLS}
    assert {one.name for one in OPERATIONS if one.writes and not one.right.is_action} == own


@pytest.mark.parametrize("operation", ACTIONS, ids=lambda one: one.name)
async def test_every_action_has_a_row_that_says_who_and_why(gateway, peer, operation):
    """Before it begins, so also where it is then refused."""
    await received(gateway, peer, M, 1)
    head = await made(gateway, "console", "admin")
    head |= {"onceonly-operator": "Ann", "onceonly-reason": "maintenance"}
    bodies: dict[str, Any] = {
        "setDraining": {"draining": False},
        "resumeMessage": {"reason": "maintenance"},
        "settleMessage": {"as": "delivered", "reason": "maintenance"},
        "createKey": {"name": "new", "scopes": ["read"]},
        "prepareBulk": {"do": "cancel", "where": {}, "reason": "maintenance"},
        "startBulk": {"count": 0},
        **{calls.redeliver.name: {"reason": "maintenance"} for calls in ITEM_CALLS},
        "resetConversation": {"reason": "maintenance"},
        "releaseConversation": {"reason": "maintenance"},
        "dropConversation": {"reason": "maintenance"},
        "muteRule": {"for_s": 60, "reason": "maintenance"},
    }
    before = len(gateway.rows(Event.ASKED))
    path = path_of(operation)
    query = {"message_id": M} if "message_id" in names(operation) else {}
    query |= without_waiting(operation) or {}
    response = await gateway.api.request(
        operation.method, path, headers=head, params=query, json=bodies.get(operation.name, {})
    )
    assert response.status_code not in (400, 401, 403), response.text
    rows = gateway.rows(Event.ASKED)
    assert len(rows) == before + 1
    assert rows[-1].actor == "Ann (console)"
    assert (rows[-1].reason or "").startswith(operation.name)
    assert (rows[-1].reason or "").endswith(": maintenance")
    if "{message_id}" in operation.path:
        assert rows[-1].message_id == M
    page = (await gateway.call("GET", "/v1/audit?limit=1", headers=head)).json
    assert page["records"][0]["seq"] == rows[-1].seq
    assert page["next_before"] == rows[-1].seq
    later = (await gateway.call("GET", f"/v1/audit?before={rows[-1].seq}", headers=head)).json
    assert [row["seq"] for row in later["records"]] == [row.seq for row in rows[-2::-1]]


async def test_a_key_that_may_not_operate_speaks_for_nobody(gateway, peer):
    """403, and the row is not written."""
    message_id = await gateway.submit(ORDER, to=peer)
    head = await made(gateway, "app", "submit")
    answer = await gateway.call(
        "POST", f"/v1/messages/{message_id}/cancel", headers={**head, "onceonly-operator": "Ann"}
    )
    assert refused(answer) == (403, "Forbidden")
    assert [row.actor for row in gateway.rows(Event.ASKED)] == ["api_token"]


async def test_an_action_goes_on_over_a_full_disk_where_it_can(gateway):
    """Its row is in the log alone: nothing is refused for the sake of the audit."""
    gateway.store.is_full = True
    assert (await gateway.call("POST", "/v1/drain", json={"draining": True})).status == 200
    gateway.store.is_full = False
    assert gateway.rows(Event.ASKED) == []


def test_a_caller_sees_its_own():
    """The two questions that every part asks of it."""
    shop = Caller("key", frozenset({"read"}), "shop", frozenset({"tpa-ab-1"}))
    assert shop.owns("tpa-ab-1")
    assert not shop.owns("tpa-cb-1")
    assert not shop.owns(None)
    assert shop.owns_job("shop.orders")
    assert not shop.owns_job("shopping.orders")
    assert TOKEN.owns(None)
    assert TOKEN.owns_job("any")
