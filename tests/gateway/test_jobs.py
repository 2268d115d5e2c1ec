"""Jobs over the API: staged, released, dropped, and counted so that it adds up."""

from base64 import b64encode
from hashlib import sha256

import pytest
from job_rows import a_row, counted, known, release, stage, staged
from packages import ORDER
from peer import UNAVAILABLE
from running_gateway import form, running

from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S
from onceonly.steps.staging import DROPPED_PER_STEP, MOVED_PER_STEP

pytestmark = pytest.mark.anyio


# --- Staging -------------------------------------------------------------------------------------


async def test_what_is_staged_is_not_sent_and_blocks_nobody(gateway, peer):
    """Other messages of the pair go on as if it were not there, over a restart as well."""
    assert await staged(gateway, a_row(peer, "m-1"), a_row(peer, "m-2")) == ["accepted"] * 2
    await gateway.restart()
    message_id = await gateway.submit(ORDER, to=peer)
    arrival = await peer.hear("Normal")
    assert arrival.message_id == message_id
    assert known(gateway) == [message_id]
    shape = await counted(gateway)
    assert (shape["state"], shape["rows"], shape["staged"]) == ("staging", 2, 2)
    assert (await gateway.call("GET", "/v1/messages/m-1")).status == 404


async def test_a_release_sends_the_rows_in_their_order(gateway, peer):
    """By row number, whatever came first; each under a number of the pair, with its content."""
    await staged(gateway, *(a_row(peer, f"m-{n}", n) for n in (3, 1, 2)))
    await release(gateway)
    await gateway.until(lambda: len(known(gateway)) == 3)
    assert known(gateway) == ["m-1", "m-2", "m-3"]
    arrival = await peer.hear("Normal")
    assert (arrival.message_id, arrival.number) == ("m-1", "000000001")
    assert arrival.payloads == [b"<Order>m-1</Order>"]
    assert {row.actor for row in gateway.rows(Event.SUBMITTED)} == {"job:j"}
    shape = await counted(gateway)
    assert (shape["state"], shape["sending"], shape["queued"]) == ("released", 1, 2)


async def test_a_second_release_changes_nothing(gateway, peer):
    """Whoever asks again because no answer came gets the same."""
    await staged(gateway, a_row(peer, "m-1", 0))
    await release(gateway)
    await gateway.until(lambda: known(gateway) == ["m-1"])
    before = await counted(gateway)
    await release(gateway)
    assert await counted(gateway) == before
    assert len(gateway.rows(Event.SUBMITTED)) == 1


async def test_a_release_that_a_crash_cut_off_goes_on(gateway, peer):
    """What is owed is asked of the store at the next start."""
    rows = [a_row(peer, f"m-{n:03}", n) for n in range(MOVED_PER_STEP + 1)]
    await staged(gateway, *rows)
    gateway.parts.desk.drain()  # Nothing moves any more, as in a process that is killed.
    await release(gateway)
    assert known(gateway) == []
    await gateway.restart()
    await gateway.until(lambda: len(known(gateway)) == len(rows))
    assert known(gateway) == [row["message_id"] for row in rows]


async def test_rows_wait_while_the_queue_is_full(tmp_path, peer):
    """`queued_max` bounds what is released too; it goes on when there is room (R-27)."""
    async with running(tmp_path, peer, gateway={"queued_max": MOVED_PER_STEP}) as gateway:
        rows = [a_row(peer, f"m-{n:03}", n) for n in range(2 * MOVED_PER_STEP)]
        await staged(gateway, *rows)
        await release(gateway)
        await gateway.everything_said()
        assert len(known(gateway)) == MOVED_PER_STEP
        for row in rows[1:MOVED_PER_STEP]:
            await gateway.call("POST", f"/v1/messages/{row['message_id']}/cancel")
        gateway.parts.jobs.sweep()
        await gateway.until(lambda: len(known(gateway)) == len(rows) - 1)
        await gateway.everything_said()
        assert len(known(gateway)) == len(rows) - 1, "and not one more than there is room for"
        assert (await counted(gateway))["cancelled"] == MOVED_PER_STEP - 1


async def test_a_release_waits_for_no_disk(gateway, peer):
    """On a full disk nothing is released; once there is space, what was goes on (R-28)."""
    await staged(gateway, a_row(peer, "m-1", 0))
    gateway.store.is_full = True
    assert (await gateway.call("POST", "/v1/jobs/j/release")).status == 507
    gateway.store.is_full = False
    await release(gateway)
    await gateway.until(lambda: known(gateway) == ["m-1"])


async def test_moving_gives_way_to_a_full_disk(gateway, peer):
    """The steps behind the release meet a full disk: the sweep tries again."""
    await staged(gateway, a_row(peer, "m-1", 0))
    gateway.parts.desk.is_draining = True
    await release(gateway)
    await gateway.everything_said()
    gateway.parts.desk.is_draining = False
    gateway.store.is_full = True
    gateway.parts.jobs.sweep()
    gateway.parts.jobs.sweep()
    await gateway.everything_said()
    gateway.store.is_full = False
    assert known(gateway) == []
    gateway.parts.jobs.sweep()
    await gateway.until(lambda: known(gateway) == ["m-1"])


async def test_a_row_that_is_staged_again_is_the_same_row(gateway, peer):
    """A task that was tried twice changes no count, in whatever order its rows come."""
    rows = [a_row(peer, f"m-{n}", n) for n in range(3)]
    bad = a_row(peer, "m-9", 3, to="urn:nobody")
    assert await staged(gateway, *rows[:2], bad) == ["accepted", "accepted", "rejected"]
    assert await staged(gateway, bad, *reversed(rows)) == ["rejected", *["accepted"] * 3]
    shape = await counted(gateway)
    assert (shape["rows"], shape["staged"], shape["rejected"]) == (4, 3, 1)
    assert len(gateway.rows(Event.REJECTED)) == 1


async def test_two_rows_with_one_id_are_one_message(gateway, peer):
    """The second is a replay; one with another content is rejected."""
    first, again = a_row(peer, "m-1", 0), a_row(peer, "m-1", 1)
    other = a_row(peer, "m-1", 2, payload="<Other/>")
    assert await staged(gateway, first, again, other) == ["accepted", "replayed", "rejected"]
    assert await staged(gateway, first, again, other) == ["accepted", "replayed", "rejected"]
    shape = await counted(gateway)
    assert (shape["accepted"], shape["replayed"], shape["rejected"]) == (1, 1, 1)
    [refusal] = (await gateway.get("/v1/jobs/j/rejects"))["rejects"]
    assert (refusal["row"], refusal["error"]["name"]) == (2, "MessageIdTaken")


async def test_a_row_whose_number_has_another_message_gets_a_number_of_its_own(gateway, peer):
    """Nothing that was accepted is overwritten, and everything is counted."""
    assert await staged(gateway, a_row(peer, "m-1", 0)) == ["accepted"]
    answer = await stage(gateway, a_row(peer, "m-2", 0))
    assert answer.json["rows"][0]["outcome"] == "accepted"
    assert answer.json["rows"][0]["row"] == 1 << 56
    refused = await stage(gateway, a_row(peer, "m-3", 0, to="urn:nobody"))
    assert refused.json["rows"][0]["row"] == 2 << 56
    assert (await counted(gateway))["rows"] == 3


async def test_rows_that_were_released_are_replays_to_whoever_comes_again(gateway, peer):
    """The job that is run again sends nothing; its own counts stay what they were."""
    rows = [a_row(peer, f"m-{n}", n) for n in range(2)]
    await staged(gateway, *rows)
    await release(gateway)
    await gateway.until(lambda: len(known(gateway)) == 2)
    assert await staged(gateway, *rows) == ["replayed", "replayed"]
    assert await staged(gateway, *rows, job="other") == ["replayed", "replayed"]
    await release(gateway)
    assert (await counted(gateway))["accepted"] == 2
    shape = await counted(gateway, "other")
    assert (shape["accepted"], shape["replayed"]) == (0, 2)
    assert len(gateway.rows(Event.SUBMITTED)) == 2


async def test_what_a_released_job_gets_later_waits_for_the_next_release(gateway, peer):
    """A row that is new in a second run is staged like any other."""
    await staged(gateway, a_row(peer, "m-1", 0))
    await release(gateway)
    await gateway.until(lambda: known(gateway) == ["m-1"])
    assert await staged(gateway, a_row(peer, "m-2", 1)) == ["accepted"]
    shape = await counted(gateway)
    assert (shape["state"], shape["staged"], shape["sending"]) == ("staging", 1, 1)
    await release(gateway)
    await gateway.until(lambda: known(gateway) == ["m-1", "m-2"])


async def test_a_message_that_was_sent_meanwhile_is_not_sent_again(gateway, peer):
    """Two jobs, or a job and a submission, of one message: the first wins, the others count."""
    row = a_row(peer, "m-1", 0)
    assert await staged(gateway, row) == ["accepted"]
    assert await staged(gateway, row, job="second") == ["accepted"]
    await release(gateway)
    await gateway.until(lambda: known(gateway) == ["m-1"])
    await release(gateway, "second")
    await gateway.everything_said()
    shape = await counted(gateway, "second")
    assert (shape["accepted"], shape["replayed"]) == (0, 1)
    assert known(gateway) == ["m-1"]


async def test_another_message_that_took_the_id_meanwhile_wins(gateway, peer):
    """The row is rejected, and the journal says so."""
    assert await staged(gateway, a_row(peer, "m-1", 0)) == ["accepted"]
    await gateway.submit(ORDER, to=peer, message_id="m-1")
    await release(gateway)
    await gateway.everything_said()
    assert (await counted(gateway))["rejected"] == 1
    [row] = gateway.rows(Event.REJECTED)
    assert (row.error_code, row.actor, row.direction) == ("MessageIdTaken", "job:j", "out")


async def test_an_id_that_another_message_has_is_refused_when_it_is_staged(gateway, peer):
    """Nobody has to wait for the release to hear of it; the first message stays what it was."""
    await gateway.submit(ORDER, to=peer, message_id="m-1")
    assert await staged(gateway, a_row(peer, "m-1", 0)) == ["rejected"]
    [refusal] = (await gateway.get("/v1/jobs/j/rejects"))["rejects"]
    assert (refusal["row"], refusal["error"]["name"]) == (0, "MessageIdTaken")
    assert known(gateway) == ["m-1"]


async def test_a_row_whose_agreement_is_gone_is_rejected(tmp_path, peer, other_peer):
    """What was staged under an agreement that is configured no more is never sent."""
    async with running(tmp_path, peer, other_peer) as gateway:
        await staged(gateway, a_row(other_peer, "m-1", 0), a_row(peer, "m-2", 1))
    async with running(tmp_path, peer) as gateway:
        await release(gateway)
        await gateway.until(lambda: known(gateway) == ["m-2"])
        shape = await counted(gateway)
        assert (shape["rejected"], shape["accepted"]) == (1, 1)


async def test_times_of_a_message_begin_with_its_release(tmp_path, peer):
    """What was staged long ago is young when it leaves."""
    terms, drill = {"time_to_live": "P29D"}, {"clock_offset_file": "offset"}
    async with running(tmp_path, peer, terms=terms, drill=drill) as gateway:
        await staged(gateway, a_row(peer, "m-1", 0))
        staged_at = gateway.parts.clock.at()
        (tmp_path / "offset").write_text("5000")
        await release(gateway)
        await gateway.until(lambda: known(gateway) == ["m-1"])
        view = gateway.store.snapshot().find_outbound_view("m-1")
        assert view.message.timestamp_at >= staged_at + 5000 * US_PER_S
        assert view.state.expires_at == view.message.timestamp_at + 29 * 86_400 * US_PER_S


async def test_rm_2001_headers_are_made_at_the_release(tmp_path, peer):
    """A header of that profile has the TimeToLive of the message that leaves."""
    terms = {"profile": "rm-2001", "time_to_live": "P29D"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        await staged(gateway, a_row(peer, "m-1", 0))
        await release(gateway)
        await gateway.until(lambda: known(gateway) == ["m-1"])
        message = gateway.store.snapshot().find_outbound_view("m-1").message
        assert message.time_to_live_at == message.timestamp_at + 29 * 86_400 * US_PER_S


# --- One message -----------------------------------------------------------------------------


async def test_one_message_can_be_staged_with_its_payloads(gateway, peer):
    """As a submission is; again it is the same row, with or without a number."""
    header = {"to": peer.party, "service": "Ordering", "action": "NewOrder"}
    path = "/v1/jobs/j/messages/m-1"
    first = await gateway.call("PUT", path, files=form(header, ORDER, b"<More/>"))
    assert (first.status, first.json["outcome"], first.json["row"]) == (201, "accepted", 0)
    again = await gateway.call("PUT", path, files=form(header, ORDER, b"<More/>"))
    assert (again.status, again.json["row"]) == (201, 0)
    numbered = await gateway.call("PUT", f"{path}?row=7", files=form(header, ORDER, b"<More/>"))
    assert (numbered.status, numbered.json["outcome"]) == (200, "replayed")
    other = await gateway.call("PUT", path, files=form(header, b"<Other/>"))
    assert (other.status, other.json["error"]["name"]) == (409, "MessageIdTaken")
    await release(gateway)
    arrival = await peer.hear("Normal")
    assert arrival.payloads == [ORDER, b"<More/>"]


async def test_large_payloads_are_staged_in_the_spool(gateway, peer):
    """And are sent from there."""
    body = bytes(range(256)) * 1024
    row = a_row(peer, "m-1", 0, payload_base64=b64encode(body).decode())
    del row["payload"]
    assert await staged(gateway, row) == ["accepted"]
    assert gateway.store.snapshot().is_spooled(sha256(body).hexdigest())
    await release(gateway)
    assert (await peer.hear("Normal")).payloads == [body]


# --- What is wrong with a row, and with a request ------------------------------------------------


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"to": "urn:nobody"}, "UnknownPartner"),
        ({"agreement": "none"}, "UnknownAgreement"),
        ({"service": ""}, "InvalidField"),
        ({"message_id": None}, "InvalidField"),
        ({"message_id": "two words"}, "InvalidField"),
        ({"message_id": 7}, "InvalidField"),
        ({"key": "k"}, "InvalidField"),
        ({"colour": "red"}, "InvalidField"),
        ({"payload": None}, "InvalidField"),
        ({"payload": 7}, "InvalidField"),
        ({"payload_base64": "AA=="}, "InvalidField"),
        ({"payload": None, "payload_base64": "?"}, "InvalidField"),
        ({"content_type": 7}, "InvalidField"),
        ({"content_type": "a\nb"}, "InvalidField"),
        ({"payloads": "x"}, "InvalidField"),
        ({"payloads": ["x"]}, "InvalidField"),
        ({"payloads": [{"colour": "red"}]}, "InvalidField"),
        ({"payloads": [{"payload": "x"}] * 100}, "TooManyPayloads"),
    ],
)
async def test_a_row_that_cannot_be_a_message_is_rejected_alone(gateway, peer, change, name):
    """Its neighbours are accepted; the answer, the job and the journal say why."""
    row = {**a_row(peer, "m-1", 1), **change}
    if "payloads" in change:
        del row["payload"], row["content_type"]
    good = a_row(peer, "m-2", 2)
    answer = await stage(gateway, row, good)
    assert [one["outcome"] for one in answer.json["rows"]] == ["rejected", "accepted"]
    assert answer.json["rows"][0]["error"]["name"] == name
    rejects = (await gateway.get("/v1/jobs/j/rejects"))["rejects"]
    assert [(one["row"], one["error"]["name"]) for one in rejects] == [(1, name)]
    [noted] = gateway.rows(Event.REJECTED)
    assert (noted.error_code, noted.actor, noted.to_party) == (name, "job:j", None)
    shape = await counted(gateway)
    assert (shape["rejected"], shape["accepted"]) == (1, 1)


async def test_a_row_with_too_large_payloads_is_rejected(tmp_path, peer):
    """payload_bytes_max counts all payloads of a message, handed over in bulk as well."""
    half = {"payload": "x" * 600}
    async with running(tmp_path, peer, gateway={"payload_bytes_max": 1000}) as gateway:
        rows = [
            a_row(peer, "m-1", payload="x" * 1001),
            a_row(peer, "m-2", payloads=[half, half]),
            a_row(peer, "m-3", payload="x" * 1000),
        ]
        del rows[1]["payload"], rows[1]["content_type"]
        answer = await stage(gateway, *rows)
        named = [one.get("error", {}).get("name") for one in answer.json["rows"]]
        assert named == ["PayloadTooLarge", "PayloadTooLarge", None], answer


async def test_a_row_that_was_rejected_may_be_accepted_later(tmp_path, peer, other_peer):
    """Once the agreement is there."""
    row = a_row(other_peer, "m-1", 0)
    async with running(tmp_path, peer) as gateway:
        assert await staged(gateway, row) == ["rejected"]
    async with running(tmp_path, peer, other_peer) as gateway:
        assert await staged(gateway, row) == ["accepted"]
        shape = await counted(gateway)
        assert (shape["rejected"], shape["accepted"]) == (0, 1)


@pytest.mark.parametrize(
    ("body", "status", "name"),
    [
        (b"{", 400, "InvalidJson"),
        (b"[]", 400, "InvalidJson"),
        (b"\xff", 400, "InvalidJson"),
        (b'{"service": "\\ud800"}', 400, "InvalidJson"),
        (b"[" * 100_000, 400, "InvalidJson"),
        (b'{"row": -1}', 400, "InvalidField"),
        (b'{"row": true}', 400, "InvalidField"),
        (b"{}\n" * 1001, 413, "TooManyRows"),
    ],
)
async def test_a_request_that_cannot_be_read_stages_nothing(gateway, body, status, name):
    """It is the caller's bug, and no row of it is kept."""
    answer = await gateway.call("POST", "/v1/jobs/j/messages", content=body)
    assert (answer.status, answer.json["error"]["name"]) == (status, name)
    assert (await gateway.call("GET", "/v1/jobs/j")).status == 404


async def test_a_request_says_how_long_it_is(gateway):
    """So that none is read that is longer than any may be."""

    async def pieces():
        yield b"{}"

    answer = await gateway.call("POST", "/v1/jobs/j/messages", content=pieces())
    assert (answer.status, answer.json["error"]["name"]) == (411, "LengthRequired")
    headers = {"content-length": str(1 << 40)}
    answer = await gateway.call("POST", "/v1/jobs/j/messages", content=b"{}", headers=headers)
    assert (answer.status, answer.json["error"]["name"]) == (413, "PayloadTooLarge")


async def test_a_job_has_a_name(gateway, peer):
    """An identifier, in which a path can be recognised."""
    for job in ("two%20words", "a%2Fb%20"):
        answer = await stage(gateway, a_row(peer, "m-1"), job=job)
        assert answer.status in (400, 404), answer
    assert (await gateway.get("/v1/jobs"))["jobs"] == []


# --- Dropping, forgetting, listing ---------------------------------------------------------------


async def test_a_drop_forgets_what_is_not_released(gateway, peer):
    """However much it is, and again it does nothing; what was released goes on."""
    await staged(gateway, a_row(peer, "m-1", 0))
    await release(gateway)
    await gateway.until(lambda: known(gateway) == ["m-1"])
    for start in (1, 1 + DROPPED_PER_STEP):
        numbers = range(start, start + DROPPED_PER_STEP)
        await staged(gateway, *(a_row(peer, f"m-{n + 1}", n) for n in numbers))
    for dropped in (2 * DROPPED_PER_STEP, 0):
        answer = await gateway.call("DELETE", "/v1/jobs/j")
        assert (answer.status, answer.json) == (200, {"job": "j", "dropped": dropped})
    shape = await counted(gateway)
    assert (shape["rows"], shape["sending"]) == (1, 1)


async def test_nothing_is_released_of_a_job_that_is_not_there(gateway, peer):
    """404, also for one that was dropped."""
    await staged(gateway, a_row(peer, "m-1"))
    await gateway.call("DELETE", "/v1/jobs/j")
    for method, path in (("POST", "/v1/jobs/j/release"), ("GET", "/v1/jobs/j")):
        answer = await gateway.call(method, path)
        assert (answer.status, answer.json["error"]["name"]) == (404, "NotFound")


async def test_what_nobody_releases_is_forgotten(tmp_path, peer):
    """After `forget_job_after`, with a row of the journal."""
    drill = {"clock_offset_file": "offset"}
    async with running(tmp_path, peer, drill=drill) as gateway:
        await staged(gateway, a_row(peer, "m-1"))
        assert (await gateway.parts.purge.sweep()).jobs == 0
        (tmp_path / "offset").write_text(str(8 * 86_400))
        assert (await gateway.parts.purge.sweep()).jobs == 2
        assert (await gateway.get("/v1/jobs"))["jobs"] == []
        assert gateway.rows(Event.PURGED)[0].reason == "2 rows of jobs"


async def test_jobs_are_listed_in_pages(gateway, peer):
    """Oldest first, each with its counts."""
    for job in ("a", "b", "c"):
        await staged(gateway, a_row(peer, f"m-{job}"), job=job)
    page = await gateway.get("/v1/jobs?limit=2")
    assert [job["job"] for job in page["jobs"]] == ["a", "b"]
    rest = await gateway.get(f"/v1/jobs?after={page['next_after']}")
    assert [(job["job"], job["staged"]) for job in rest["jobs"]] == [("c", 1)]
    assert rest["next_after"] is None


async def test_rejects_are_listed_in_pages(gateway, peer):
    """In the order of the rows."""
    await staged(gateway, *(a_row(peer, f"m-{n}", n, to="urn:nobody") for n in range(3)))
    page = await gateway.get("/v1/jobs/j/rejects?limit=2")
    assert [row["row"] for row in page["rejects"]] == [0, 1]
    rest = await gateway.get(f"/v1/jobs/j/rejects?limit=2&after={page['next_after']}")
    assert [row["row"] for row in rest["rejects"]] == [2]
    assert rest["next_after"] is None


async def test_a_job_counts_its_messages_to_the_end(gateway, peer):
    """Acknowledged, and cancelled before a byte left."""
    peer.answer_always = UNAVAILABLE
    await staged(gateway, a_row(peer, "m-1", 0), a_row(peer, "m-2", 1))
    await release(gateway)
    await gateway.until(lambda: len(known(gateway)) == 2)
    await gateway.call("POST", "/v1/messages/m-2/cancel")
    arrival = await peer.hear("Normal")
    await peer.acknowledge(arrival.message_id)
    await gateway.until_state("m-1", "acknowledged")
    shape = await counted(gateway)
    assert (shape["acknowledged"], shape["cancelled"]) == (1, 1)
