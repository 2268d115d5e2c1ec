"""Calls of applications, over ASGI against a running gateway: submit, follow, read the inbox."""

import asyncio
import json
from hashlib import sha256
from typing import Any

import pytest
from calling import received, refused
from packages import ORDER, PayloadPart
from peer import Peer
from running_gateway import OUR_PARTY, form, running

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"


# --- Submitting ----------------------------------------------------------------------------------


def header(peer: Peer, **more: Any) -> dict[str, Any]:
    return {"to": peer.party, "service": "Ordering", "action": "NewOrder", **more}


async def test_a_submission_is_answered_with_its_state(gateway, peer):
    """201 and everything that the application needs to follow the message."""
    answer = await gateway.submitted(ORDER, to=peer, conversation="c-1", ref="r-1")
    assert answer.status == 201
    shape = answer.json
    assert shape["state"] in ("queued", "sending")
    assert (shape["from"], shape["to"]) == ([OUR_PARTY], [peer.party])
    assert (shape["conversation"], shape["ref"]) == ("c-1", "r-1")
    assert shape["digest"] == sha256(ORDER).hexdigest()
    assert (shape["replayed"], shape["is_final"]) == (False, False)


async def test_a_put_is_idempotent_on_its_message_id(gateway, peer):
    """I14: the same twice is one message, sent once."""
    for status, replayed in ((201, False), (200, True)):
        answer = await gateway.call("PUT", "/v1/messages/po-1", files=form(header(peer), ORDER))
        assert (answer.status, answer.json["replayed"]) == (status, replayed)
        assert answer.json["message_id"] == "po-1"
    await peer.hear("Normal")
    assert len(gateway.rows(Event.SUBMITTED)) == 1
    assert not peer.has_unheard()


@pytest.mark.parametrize("in_header", [True, False], ids=["header", "field"])
async def test_a_post_is_idempotent_on_its_key(gateway, peer, in_header):
    """The Idempotency-Key header and the `key` field are the same thing."""
    fields = header(peer) if in_header else header(peer, key="PO-4711")
    headers = {"idempotency-key": "PO-4711"} if in_header else {}
    answers = [
        await gateway.call("POST", "/v1/messages", files=form(fields, ORDER), headers=headers)
        for _ in range(2)
    ]
    assert [answer.status for answer in answers] == [201, 200]
    assert len({answer.json["message_id"] for answer in answers}) == 1


async def test_submissions_at_once_under_one_id_are_one_message(gateway, peer):
    """I14: concurrency makes no second message."""
    calls = [
        gateway.call("PUT", "/v1/messages/po-1", files=form(header(peer), ORDER)) for _ in range(8)
    ]
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status for answer in answers) == [200] * 7 + [201]
    assert len(gateway.rows(Event.SUBMITTED)) == 1


@pytest.mark.parametrize(
    ("change", "payload"),
    [
        ({}, b"<Other/>"),
        ({"action": "Other"}, ORDER),
        ({"service": "Other"}, ORDER),
        ({"conversation": "other"}, ORDER),
        ({"ref": "other"}, ORDER),
        ({"kind": "text/xml"}, ORDER),
        ({"name": "other.xml"}, ORDER),
    ],
    ids=["content", "action", "service", "conversation", "ref", "content type", "payload name"],
)
async def test_something_else_under_the_same_name_is_a_conflict(gateway, peer, change, payload):
    """409 names which of the two names was taken; the first message stays as it is."""
    fields = header(peer, message_id="po-1", key="K-1", conversation="c", ref="r")
    await gateway.call("POST", "/v1/messages", files=form(fields, ORDER))
    change = dict(change)
    label = {name: change.pop(name) for name in ("kind", "name") if name in change}
    by_id = form({**fields, "key": "K-2", **change}, payload, **label)
    assert refused(await gateway.call("POST", "/v1/messages", files=by_id)) == (
        409,
        "MessageIdTaken",
    )
    by_key = form({**fields, "message_id": "po-2", **change}, payload, **label)
    assert refused(await gateway.call("POST", "/v1/messages", files=by_key)) == (
        409,
        "IdempotencyKeyTaken",
    )
    assert len(gateway.rows(Event.SUBMITTED)) == 1


@pytest.mark.parametrize(
    ("change", "status", "name"),
    [
        ({"to": "urn:duns:9"}, 404, "UnknownPartner"),
        ({"agreement": "tpa-x"}, 404, "UnknownAgreement"),
        ({"to": None}, 400, "InvalidField"),
        ({"service": ""}, 400, "InvalidField"),
        ({"action": None}, 400, "InvalidField"),
        ({"action": 7}, 400, "InvalidField"),
        ({"message_id": "with a space"}, 400, "InvalidField"),
        ({"message_id": "m" * 256}, 400, "InvalidField"),
        ({"conversation": "two\nlines"}, 400, "InvalidField"),
        ({"action": "two\nlines"}, 400, "InvalidField"),
        ({"state": "acknowledged"}, 400, "InvalidField"),
    ],
)
async def test_a_wrong_field_is_refused_by_name(gateway, peer, change, status, name):
    """400 or 404 with a name that stays; nothing is stored (attack R3 among them)."""
    fields = form({**header(peer), **change}, ORDER)
    assert refused(await gateway.call("POST", "/v1/messages", files=fields)) == (status, name)
    assert gateway.rows(Event.SUBMITTED) == []


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ([("payload", ("a", b"x", "text/plain"))], "InvalidMultipart"),
        ([("message", (None, b"{", "application/json"))], "InvalidMultipart"),
        ([("message", (None, b"[]", "application/json"))], "InvalidMultipart"),
        ([("message", (None, b"[" * 60_000, "application/json"))], "InvalidMultipart"),
        ([("message", (None, b"x" * 70_000, "application/json"))], "InvalidMultipart"),
    ],
    ids=["no message", "broken", "no object", "deep", "long"],
)
async def test_a_form_that_is_no_submission_is_refused(gateway, fields, name):
    """400 InvalidMultipart, whatever is wrong with the form."""
    assert refused(await gateway.call("POST", "/v1/messages", files=fields)) == (400, name)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ([("other", (None, b"x", "text/plain"))], "'other' is no part of a submission"),
        ([("attachment", ("a.txt", b"x", "text/plain"))], "'attachment' is no part"),
        ([("payload", (None, b"x", "text/plain"))], "it has a filename"),
        ([("message", (None, b"{}", "application/json"))] * 2, "'message' is there twice"),
        ([("message", ("m.json", b"{}", "application/json"))] * 2, "'message' is there twice"),
    ],
    ids=["unknown", "unknown file", "no file name", "two messages", "two message files"],
)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/jobs/job-1/messages/m-1"])
async def test_a_part_that_no_submission_has_is_named(gateway, peer, path, fields, text):
    """400 InvalidField that says which part and what is wrong with it."""
    whole = form(header(peer), ORDER) if fields[0][0] != "message" else []
    method = "PUT" if "job" in path else "POST"
    answer = await gateway.call(method, path, files=[*whole, *fields])
    assert refused(answer) == (400, "InvalidField")
    assert text in answer.json["error"]["text"]
    assert gateway.rows(Event.SUBMITTED) == []


NO_KEYS = ["", " ", "\u00a0", " PO-1", "PO-1 ", "PO\t1", "two\nlines", "\x00", "\x7f", "k" * 256]


@pytest.mark.parametrize("key", NO_KEYS, ids=ascii)
async def test_a_key_that_cannot_be_meant_is_refused(gateway, peer, key):
    """Two orders under it would be one: the second would silently not be sent."""
    answer = await gateway.submitted(ORDER, to=peer, key=key)
    assert refused(answer) == (400, "InvalidField")
    assert "key" in answer.json["error"]["text"]
    assert gateway.rows(Event.SUBMITTED) == []


@pytest.mark.parametrize(
    "keys",
    [[b""], [b" "], [b"k" * 256], [b"PO\t1"], [b"\xff"], [b"PO-1", b"PO-1"], [b"PO-1", b"PO-2"]],
    ids=ascii,
)
async def test_a_key_of_the_head_that_cannot_be_meant_is_refused(gateway, peer, keys):
    """The same grammar; and there is one key, not two."""
    headers = [("Idempotency-Key", key) for key in keys]
    fields = form(header(peer), ORDER)
    answer = await gateway.call("POST", "/v1/messages", files=fields, headers=headers)
    assert refused(answer) == (400, "InvalidField")
    assert gateway.rows(Event.SUBMITTED) == []


async def test_a_key_is_the_same_text_in_the_head_and_in_the_json(gateway, peer):
    """In UTF-8; both may be there, if they agree."""
    key = "Bestellung-ü-4711"
    headers = {b"Idempotency-Key": key.encode()}
    first = await gateway.submitted(ORDER, to=peer, key=key)
    for more in ({}, {"key": key}):
        fields = form(header(peer, **more), ORDER)
        again = await gateway.call("POST", "/v1/messages", files=fields, headers=headers)
        assert again.json["message_id"] == first.json["message_id"]
    fields = form(header(peer, key="another"), ORDER)
    answer = await gateway.call("POST", "/v1/messages", files=fields, headers=headers)
    assert refused(answer) == (400, "InvalidField")


@pytest.mark.parametrize(
    "name", ['a "b" c', "a\\b", 'a\\"', "C:\\dir\\x", "\\\\x\\y", "a%22b", "ü;="]
)
async def test_a_payload_keeps_the_name_that_it_was_given(gateway, peer, name):
    """Quoted as a head quotes: nothing is cut that looks like another system's path."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    raw = (
        f'--b\r\nContent-Disposition: form-data; name="message"\r\n\r\n{json.dumps(header(peer))}'
        f'\r\n--b\r\nContent-Disposition: form-data; name="payload"; filename="{quoted}"'
        "\r\n\r\nx\r\n--b--\r\n"
    ).encode()
    headers = {"content-type": "multipart/form-data; boundary=b"}
    answer = await gateway.call("POST", "/v1/messages", content=raw, headers=headers)
    assert answer.status == 201, answer
    view = gateway.store.snapshot().find_outbound_view(answer.json["message_id"])
    assert [payload.name for payload in view.message.payloads] == [name]


async def test_a_payload_name_that_is_no_text_is_refused(gateway, peer):
    """It would arrive as another one."""
    raw = (
        b'--b\r\nContent-Disposition: form-data; name="payload"; filename="\xff"\r\n\r\nx\r\n--b--'
    )
    headers = {"content-type": "multipart/form-data; boundary=b"}
    answer = await gateway.call("POST", "/v1/messages", content=raw + b"\r\n", headers=headers)
    assert refused(answer) == (400, "InvalidField")


async def test_a_body_that_is_no_form_is_refused(gateway):
    """A JSON body is a common mistake."""
    answer = await gateway.call("POST", "/v1/messages", json={"to": "x"})
    assert refused(answer) == (400, "InvalidMultipart")


@pytest.mark.parametrize(
    ("count", "status", "name"), [(100, 413, "TooManyPayloads"), (102, 400, "InvalidMultipart")]
)
async def test_too_many_payloads_are_refused(gateway, peer, count, status, name):
    """P1: a package has at most 100 parts, and one of them is the header."""
    fields = form(header(peer), *[b"x"] * count)
    assert refused(await gateway.call("POST", "/v1/messages", files=fields)) == (status, name)
    assert (await gateway.submitted(*[b"x"] * 99, to=peer)).status == 201
    assert len((await peer.hear("Normal")).payloads) == 99


@pytest.mark.parametrize(
    "label", ["x" * 256, "tab\there", " order.xml", "two\u2028lines", "next\x85line"]
)
async def test_a_payload_label_is_one_line_of_text(gateway, peer, label):
    """X16: it ends in a header and a database, and the partner must be able to read it."""
    raw = (
        f'--b\r\nContent-Disposition: form-data; name="message"\r\n\r\n{json.dumps(header(peer))}'
        f'\r\n--b\r\nContent-Disposition: form-data; name="payload"; filename="{label}"'
        "\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n"
    ).encode()
    headers = {"content-type": "multipart/form-data; boundary=b"}
    answer = await gateway.call("POST", "/v1/messages", content=raw, headers=headers)
    assert refused(answer) == (400, "InvalidField")


@pytest.mark.parametrize(
    "kind",
    [
        "text plain",
        'text/plain; charset="',
        "text/plain; a",
        "text",
        "a/" + "b" * 300,
    ],
)
async def test_a_payload_type_that_could_break_a_header_is_refused(gateway, peer, kind):
    """M3: a Content-Type ends in a MIME header; what we could not write is never accepted."""
    fields = form(header(peer), ORDER, kind=kind)
    assert refused(await gateway.call("POST", "/v1/messages", files=fields)) == (
        400,
        "InvalidField",
    )
    assert (await gateway.submitted(ORDER, to=peer)).status == 201


@pytest.mark.parametrize("field", ["to", "action", "message_id", "key", "conversation"])
async def test_half_a_surrogate_pair_is_no_text(gateway, peer, field):
    """R-25: JSON can say what no document can; refused before a step begins."""
    raw = json.dumps(header(peer, **{field: "\ud800"})).encode()
    answer = await gateway.call("POST", "/v1/messages", files=form(raw, ORDER))
    assert refused(answer) == (400, "InvalidMultipart")
    assert (await gateway.submitted(ORDER, to=peer)).status == 201


async def test_the_id_in_the_path_and_in_the_json_must_agree(gateway, peer):
    """A contradiction is refused, never resolved."""
    fields = form(header(peer, message_id="po-2"), ORDER)
    assert refused(await gateway.call("PUT", "/v1/messages/po-1", files=fields)) == (
        400,
        "InvalidField",
    )


async def test_an_ambiguous_partner_needs_an_agreement(tmp_path, peer):
    """With two agreements the caller says which."""
    second = Peer(peer.party, "tpa-ab-2")
    async with running(tmp_path, peer, second) as gateway:
        assert refused(await gateway.submitted(ORDER, to=peer)) == (400, "AmbiguousAgreement")
        answer = await gateway.submitted(ORDER, to=peer, agreement="tpa-ab-1")
        assert answer.json["agreement"] == "tpa-ab-1"
    await second.close()


@pytest.mark.parametrize(
    "payloads",
    [(b"x" * 1001,), (b"x" * 600, b"x" * 600), (b"x" * 300_000,)],
    ids=["one", "the sum", "announced"],
)
async def test_too_large_payloads_are_refused(tmp_path, peer, payloads):
    """413: payload_bytes_max counts all payloads of a message."""
    async with running(tmp_path, peer, gateway={"payload_bytes_max": 1000}) as gateway:
        assert refused(await gateway.submitted(*payloads, to=peer)) == (413, "PayloadTooLarge")
        assert (await gateway.submitted(b"x" * 1000, to=peer)).status == 201


async def test_a_submission_of_unknown_length_is_refused(gateway):
    """Bounds: a form is spooled before it can be counted, so it must announce its length."""

    async def endless():
        yield b"--b\r\n"

    headers = {"content-type": "multipart/form-data; boundary=b"}
    answer = await gateway.call("POST", "/v1/messages", content=endless(), headers=headers)
    assert refused(answer) == (411, "LengthRequired")


async def test_a_full_queue_refuses_before_anything_is_accepted(tmp_path, peer):
    """R-27: 503 QueueFull; there is room again once a message has its verdict."""
    async with running(tmp_path, peer, gateway={"queued_max": 2}) as gateway:
        first = await gateway.submit(ORDER, to=peer)
        await gateway.submit(ORDER, to=peer)
        assert refused(await gateway.submitted(ORDER, to=peer)) == (503, "QueueFull")
        assert len(gateway.rows(Event.SUBMITTED)) == 2
        await peer.hear("Normal")
        await peer.acknowledge(first)
        assert (await gateway.submitted(ORDER, to=peer)).status == 201


async def test_submissions_at_once_do_not_pass_the_bound_together(tmp_path, peer):
    """R-27: each is asked again in its step, where it sees what the others have added."""
    async with running(tmp_path, peer, gateway={"queued_max": 2}) as gateway:
        answers = await asyncio.gather(*(gateway.submitted(ORDER, to=peer) for _ in range(5)))
        assert sorted(one.status for one in answers) == [201, 201, 503, 503, 503]
        assert len(gateway.rows(Event.SUBMITTED)) == 2


async def test_an_id_of_any_legal_form_can_be_asked_for(gateway, peer):
    """MessageIds are not made for URLs; quoted they still name the message."""
    message_id = "a/b?c#d%e;ü@x"
    await gateway.submit(ORDER, to=peer, message_id=message_id)
    quoted = "a%2Fb%3Fc%23d%25e%3B%C3%BC@x"
    assert (await gateway.get(f"/v1/messages/{quoted}"))["message_id"] == message_id


# --- Following -----------------------------------------------------------------------------------


@pytest.mark.statement("S3-19")
async def test_a_message_is_shown_with_its_timeline(gateway, peer):
    """State, attempts and every journal row about it, oldest first."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    await peer.acknowledge(message_id)
    shape = await gateway.get(f"/v1/messages/{message_id}")
    assert (shape["state"], shape["is_final"], shape["attempt"]) == ("acknowledged", True, 1)
    assert shape["settled_at"] is not None
    assert [row["event"] for row in shape["timeline"]] == [
        "Submitted",
        "Transmitting",
        "Transmitted",
        "AckReceived",
    ]
    assert shape["pair"] == {"state": "open", "reason": None}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/messages/none"),
        ("POST", "/v1/messages/none/cancel"),
        ("GET", "/v1/inbox/none/payloads/0"),
        ("POST", "/v1/inbox/none/processing"),
    ],
)
async def test_what_is_not_there_is_not_found(gateway, method, path):
    """404 NotFound."""
    body = {"json": {"processing": "complete"}} if "processing" in path else {}
    assert refused(await gateway.call(method, path, **body)) == (404, "NotFound")


async def test_messages_are_listed_page_by_page(gateway, peer):
    """Keyset paging in submission order: every message once, and an end."""
    ids = [await gateway.submit(ORDER, to=peer, conversation="c") for _ in range(5)]
    seen: list[str] = []
    after = 0
    while after is not None:
        page = await gateway.get(f"/v1/messages?limit=2&after={after}")
        seen += [message["message_id"] for message in page["messages"]]
        after = page["next_after"]
    assert seen == ids


async def test_messages_are_filtered(gateway, peer):
    """By state, partner and conversation, alone and together."""
    ids = [await gateway.submit(ORDER, to=peer, conversation=f"c-{n}") for n in range(3)]

    async def listed(query: str) -> list[str]:
        page = await gateway.get(f"/v1/messages?{query}")
        return [message["message_id"] for message in page["messages"]]

    assert await listed("state=sending") == ids[:1]
    assert await listed("state=queued") == ids[1:]
    assert await listed("conversation=c-1") == ids[1:2]
    assert await listed(f"to={peer.party}") == ids
    assert await listed("to=urn:duns:9") == []
    assert await listed("state=queued&conversation=c-0") == []


@pytest.mark.parametrize(
    "query",
    ["state=flying", "after=-1", "after=1e3", "limit=x", "after=99999999999999999999", "after=٣"],
)
async def test_a_wrong_query_is_refused(gateway, query):
    """400 InvalidField, never a guess."""
    assert refused(await gateway.call("GET", f"/v1/messages?{query}")) == (400, "InvalidField")


@pytest.mark.parametrize("wait", ["-1", "nan", "inf", "soon"])
async def test_a_wrong_wait_is_refused(gateway, wait):
    """A wait is a number of seconds."""
    assert refused(await gateway.call("GET", f"/v1/inbox?wait={wait}")) == (400, "InvalidField")


async def test_a_queued_message_can_be_taken_back(gateway, peer):
    """Cancelled for good, never sent; the pair goes on with the next one."""
    first, second, third = [await gateway.submit(ORDER, to=peer) for _ in range(3)]
    answer = await gateway.call("POST", f"/v1/messages/{second}/cancel")
    assert (answer.status, answer.json["state"]) == (200, "cancelled")
    await peer.hear("Normal")
    await peer.acknowledge(first)
    assert (await peer.hear("Normal")).message_id == third


async def test_a_message_of_which_a_byte_left_is_taken_back_by_its_receiver(gateway, peer):
    """R-08: only the receiver can confirm that now, so it is asked."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    answer = await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
    assert (answer.status, answer.json["state"]) == (202, "sending")
    assert (await peer.hear("CancelRequest")).ref == message_id


async def test_a_message_that_never_reached_anybody_can_be_taken_back(tmp_path, peer):
    """No byte left: cancelled, and the next one gets the turn under a number of its own."""
    peer.refuse_connections()
    async with running(tmp_path, peer) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        following = await gateway.submit(ORDER, to=peer)
        await gateway.until_row(Event.TRANSMITTED)
        await peer.listen()
        await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
        sent = await peer.hear("Normal")
        assert (sent.message_id, sent.number) == (following, "000000001")


# --- The inbox -----------------------------------------------------------------------------------


async def test_the_inbox_replays_by_offset(gateway, peer):
    """I12: ordered, replayable, with all of the header and links to the payloads."""
    for number in (1, 2, 3):
        await received(gateway, peer, f"m-{number}@a.example.com", number)
    items = (await gateway.get("/v1/inbox"))["items"]
    offsets = [item["offset"] for item in items]
    assert offsets == sorted(set(offsets))
    assert (await gateway.get("/v1/inbox"))["items"] == items
    assert (await gateway.get(f"/v1/inbox?after={offsets[0]}&limit=1"))["items"] == items[1:2]
    assert (await gateway.get(f"/v1/inbox?after={offsets[-1]}"))["items"] == []
    assert (items[0]["from"], items[0]["service"]) == ([peer.party], "QuoteToCollect")
    assert items[0]["processing"] == "not-started"
    assert await gateway.get("/v1/inbox/m-2@a.example.com") == items[1]
    assert await gateway.get(f"/v1/inbox/m-2@a.example.com?offset={offsets[1]}") == items[1]
    for path in ("none", f"m-2@a.example.com?offset={offsets[0]}"):
        answer = await gateway.call("GET", f"/v1/inbox/{path}")
        assert refused(answer) == (404, "NotFound")


async def test_a_long_poll_wakes_when_a_message_is_handed_over(gateway, peer):
    """The wait ends with the message, not with the time."""
    polling = asyncio.create_task(gateway.get("/v1/inbox?wait=60"))
    await peer.send(M, 1)
    assert [item["message_id"] for item in (await polling)["items"]] == [M]


async def test_a_long_poll_wakes_for_best_effort_too(gateway, peer):
    """What needs no acknowledgement is handed over in the same step and announced."""
    polling = asyncio.create_task(gateway.get("/v1/inbox?wait=60"))
    await peer.send(M, None, semantics="BestEffort")
    assert [item["message_id"] for item in (await polling)["items"]] == [M]


async def test_a_long_poll_that_sees_nothing_ends(gateway):
    """An empty page after the time that was asked for."""
    assert (await gateway.get("/v1/inbox?wait=0.01"))["items"] == []


async def test_a_payload_is_served_so_that_no_browser_shows_it(gateway, peer):
    """R6: an attachment, not sniffed, sandboxed; with its length, type and digest."""
    html = (PayloadPart("p@a", "text/html", b"<script>alert(1)</script>"),)
    await peer.send(M, 1, payloads=html)
    await gateway.until_handed_over(M)
    response = await gateway.api.get(f"/v1/inbox/{M}/payloads/0")
    assert response.content == html[0].content
    wanted = {
        "content-type": "text/html",
        "content-disposition": "attachment",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox",
        "content-length": str(len(html[0].content)),
        "etag": f'"{sha256(html[0].content).hexdigest()}"',
    }
    assert {name: response.headers[name] for name in wanted} == wanted
    assert refused(await gateway.call("GET", f"/v1/inbox/{M}/payloads/1")) == (404, "NotFound")


async def test_processing_moves_forward_only(gateway, peer):
    """I44: the same again is harmless, a step back is refused, each change is one row."""
    await received(gateway, peer, M, 1)
    path = f"/v1/inbox/{M}/processing"
    for word in ("in-progress", "in-progress", "complete", "complete"):
        answer = await gateway.call("POST", path, json={"processing": word})
        assert (answer.status, answer.json["processing"]) == (200, word)
    for word in ("in-progress", "not-started"):
        answer = await gateway.call("POST", path, json={"processing": word})
        assert refused(answer) == (409, "ProcessingWentBack")
    changes = [row.reason for row in gateway.rows(Event.PROCESSING_CHANGED)]
    assert changes == ["in-progress", "complete"]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b'{"processing": "eaten"}', "InvalidField"),
        (b'{"processing": ["complete"]}', "InvalidField"),
        (b"{}", "InvalidField"),
        (b"", "InvalidField"),
        (b"[]", "InvalidJson"),
        (b"{", "InvalidJson"),
        (b"\xff", "InvalidJson"),
    ],
)
async def test_a_wrong_report_is_refused(gateway, peer, body, name):
    """400, and the state stays."""
    await received(gateway, peer, M, 1)
    answer = await gateway.call("POST", f"/v1/inbox/{M}/processing", content=body)
    assert refused(answer) == (400, name)
