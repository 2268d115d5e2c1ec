"""`onceonly send` and `onceonly message`: output, and the exit code that tells the fate."""

import asyncio
import json
import os

import pytest
from asking import report
from peer import UNAVAILABLE, Manners
from running_gateway import BRIEF, NEVER_S

from onceonly.cli.exits import Exit
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio


@pytest.fixture
def send(run, peer, order):
    """`send(options…)`: the order to the peer."""

    async def send_order(*options):
        header = ("--to", peer.party, "--service", "Ordering", "--action", "NewOrder")
        return await run("send", order, *header, *options)

    return send_order


async def test_send_prints_the_message_id_and_nothing_else(send, gateway, peer):
    """Data on stdout, talk on stderr."""
    result = await send()
    assert result.exit_code == Exit.OK
    message_id = result.stdout.strip()
    sent = await peer.hear("Normal")
    assert (sent.message_id, sent.payloads) == (message_id, [b"<Order/>"])
    assert sent.parts[0]["content-type"] in ("application/xml", "text/xml")
    assert result.stderr == ""


async def test_send_again_under_a_key_adds_nothing(send, gateway):
    """The business key makes the command safe to repeat."""
    first = await send("--key", "PO-4711")
    again = await send("--key", "PO-4711")
    assert first.stdout == again.stdout
    assert "submitted before" in again.stderr
    assert len(gateway.rows(Event.SUBMITTED)) == 1


async def test_send_wait_ends_with_the_acknowledgement(send, gateway, peer):
    """Exit 0: the partner's gateway holds the message."""
    waiting = asyncio.create_task(send("--wait", "-o", "json"))
    sent = await peer.hear("Normal")
    await peer.acknowledge(sent.message_id)
    result = await waiting
    assert result.exit_code == Exit.OK
    assert json.loads(result.stdout)["state"] == "acknowledged"


@pytest.mark.parametrize("terms", [BRIEF])
async def test_send_wait_tells_a_doubt(send, gateway, peer):
    """Exit 7: a copy may have arrived."""
    result = await send("--wait")
    assert result.exit_code == Exit.IN_DOUBT
    assert "in_doubt" in result.stderr


@pytest.mark.parametrize("terms", [{**BRIEF, "retries": 0}])
async def test_send_wait_tells_a_suspension(send, gateway, peer):
    """Exit 10: nothing left us, and nothing will before a resume."""
    peer.refuse_connections()
    assert (await send("--wait")).exit_code == Exit.SUSPENDED


@pytest.mark.parametrize("terms", [{**BRIEF, "retries": 0, "on_exhausted": "fail"}])
async def test_send_wait_tells_a_failure(send, gateway, peer):
    """Exit 6: surely not delivered."""
    peer.refuse_connections()
    assert (await send("--wait")).exit_code == Exit.FAILED


async def test_send_wait_tells_a_refusal(send, gateway, peer):
    """Exit 8: the partner will not have it, and says why."""
    waiting = asyncio.create_task(send("--wait"))
    sent = await peer.hear("Normal")
    await peer.refuse(sent.message_id, "ValueNotRecognized")
    result = await waiting
    assert result.exit_code == Exit.REFUSED
    assert "ValueNotRecognized" in result.stderr


async def test_send_wait_gives_up_waiting_and_says_so(send, gateway, peer):
    """Exit 9: it goes on without us."""
    peer.answer(Manners.SILENCE)
    assert (await send("--wait", "--wait-timeout", "0")).exit_code == Exit.STILL_TRYING


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (("--to", "urn:duns:9"), Exit.NOT_FOUND, "UnknownPartner"),
        (("--agreement", "tpa-x"), Exit.NOT_FOUND, "UnknownAgreement"),
        (("--action", ""), Exit.USAGE, "InvalidField"),
        (("--ref", "two words"), Exit.USAGE, "InvalidField"),
    ],
)
async def test_a_refused_submission_is_told_by_name(send, gateway, options, code, word):
    """Exit 2 or 3, with the gateway's own words."""
    result = await send(*options)
    assert result.exit_code == code
    assert word in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "name", ['the "best" order.xml', "a\\b.xml", 'a\\"', "C:\\x.xml", "a%22b;=.xml", "\u00fc.xml"]
)
async def test_a_file_keeps_its_name(run, gateway, peer, order, name):
    """What a head or another system has a meaning for arrives as it is."""
    header = ("--to", peer.party, "--service", "S", "--action", "A")
    result = await run("send", order.rename(order.with_name(name)), *header)
    assert result.exit_code == Exit.OK
    view = gateway.store.snapshot().find_outbound_view(result.stdout.strip())
    assert [payload.name for payload in view.message.payloads] == [name]


def not_utf8(order):
    return order.rename(order.with_name(os.fsdecode(b"caf\xe9.xml")))


def two_lines(order):
    return order.rename(order.with_name("two\nlines.xml"))


def pipe(order):
    path = order.with_name("pipe")
    os.mkfifo(path)
    return path


def longer_than_it_says(order):
    del order
    return "/proc/self/status"


@pytest.mark.parametrize("make", [not_utf8, two_lines, pipe, longer_than_it_says])
async def test_a_file_that_cannot_be_sent_is_told_in_one_line(run, gateway, peer, order, make):
    """Exit 2, no traceback, and nothing is submitted."""
    header = ("--to", peer.party, "--service", "S", "--action", "A")
    path = make(order)
    before = [order] if order.exists() else []
    result = await run("send", *before, path, *header)
    assert result.exit_code == Exit.USAGE
    assert isinstance(result.exception, SystemExit)
    [line] = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert line.isprintable()
    await gateway.everything_said()
    assert gateway.rows(Event.SUBMITTED) == []


async def test_standard_input_is_read_once(run, gateway, peer):
    """The second would be empty, and nobody would know."""
    header = ("--to", peer.party, "--service", "S", "--action", "A")
    assert (await run("send", "-", "-", *header)).exit_code == Exit.USAGE
    assert gateway.rows(Event.SUBMITTED) == []


async def test_a_file_that_is_not_there_is_a_usage_error(run, gateway, peer):
    """Exit 2, before anything is sent."""
    header = ("--to", peer.party, "--service", "S", "--action", "A")
    result = await run("send", "/nowhere/order.xml", *header)
    assert result.exit_code == Exit.USAGE
    assert gateway.rows(Event.SUBMITTED) == []


async def test_list_show_and_trace_print_tables_for_people(run, gateway, peer):
    """Tab-separated where stdout is no terminal, so that cut and awk work."""
    message_id = await gateway.submit(b"<Order/>", to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    listed = await run("message", "list")
    assert listed.stdout.split("\t")[:3] == [message_id, "sending", peer.party]
    shown = await run("message", "show", message_id)
    assert f"to               {peer.party}" in shown.stdout
    traced = await run("message", "trace", message_id)
    events = [line.split("\t")[1] for line in traced.stdout.splitlines()]
    assert events == ["Submitted", "Transmitting", "Transmitted"]


TOO_LARGE = b"HTTP/1.1 413 Request Entity Too Large\r\nContent-Length: 0\r\n\r\n"
WORDS = "refused, 413 Request Entity Too Large"


@pytest.mark.statement(ruling="R-40")
@pytest.mark.parametrize("terms", [BRIEF])
async def test_the_last_outcome_is_told_by_every_command(send, run, gateway, peer):
    """Status and words, from the line of `send --wait` to the trace."""
    peer.answer_always = TOO_LARGE
    result = await send("--wait")
    assert result.exit_code == Exit.IN_DOUBT
    assert f"(DeliveryFailure: no acknowledgement after the last retry; last outcome: {WORDS})" in (
        result.stderr
    )
    message_id = result.stdout.strip()
    for words in (("message", "show", message_id), ("message", "status", message_id)):
        shown = (await run(*words)).stdout
        assert f"last_outcome     {WORDS}\n" in shown
        assert "reason           no acknowledgement" in shown
    # The last column is the partner's name, which it has not here.
    assert f"\t{WORDS}\t\n" in (await run("partner", "list")).stdout
    assert WORDS in (await run("partner", "incidents")).stdout
    traced = (await run("message", "trace", message_id)).stdout
    assert "\tTransmitted\t3\trefused\t413\t\t413 Request Entity Too Large\n" in traced


@pytest.mark.parametrize("terms", [{**BRIEF, "retries": 1000}])
async def test_whoever_stops_waiting_is_told_the_last_outcome(send, gateway, peer):
    """Nothing has ended: the partner may answer yet."""
    peer.refuse_connections()
    await gateway.submit(b"<Order/>", to=peer, message_id="m-1@a.example.com")
    await gateway.until_row(Event.TRANSMITTED)
    result = await send("--wait", "--wait-timeout", "0.1", "--key", "k")
    assert result.exit_code == Exit.STILL_TRYING
    assert "queued (no answer yet); see: " in result.stderr


async def test_the_same_in_json_is_what_the_api_says(run, gateway, peer):
    """One documented schema per noun: `-o json` adds and hides nothing."""
    message_id = await gateway.submit(b"<Order/>", to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    shown = json.loads((await run("message", "show", message_id, "-o", "json")).stdout)
    assert shown == await gateway.get(f"/v1/messages/{message_id}")
    listed = json.loads((await run("message", "list", "-o", "json")).stdout)
    assert listed == (await gateway.get("/v1/messages"))["messages"]
    traced = json.loads((await run("message", "trace", message_id, "-o", "json")).stdout)
    assert traced == shown["timeline"]


async def test_list_filters_and_pages(run, gateway, peer):
    """`--limit` counts messages, not pages."""
    ids = [await gateway.submit(b"x", to=peer, conversation="c") for _ in range(3)]
    result = await run("message", "list", "--conversation", "c", "--limit", "2", "-o", "json")
    assert [row["message_id"] for row in json.loads(result.stdout)] == ids[:2]
    queued = await run("message", "list", "--state", "queued", "-o", "json")
    assert [row["message_id"] for row in json.loads(queued.stdout)] == ids[1:]
    assert (await run("message", "list", "--state", "flying")).exit_code == Exit.USAGE


async def test_wait_for_several_tells_the_worst(run, gateway, peer):
    """The exit code of a set is that of its worst fate."""
    good = await gateway.submit(b"x", to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(good)
    bad = await gateway.submit(b"x", to=peer)
    await peer.hear("Normal")
    await peer.refuse(bad, "ValueNotRecognized")
    result = await run("message", "wait", good, bad)
    assert result.exit_code == Exit.REFUSED
    assert [line.split("\t")[1] for line in result.stdout.splitlines()] == [
        "acknowledged",
        "failed",
    ]


@pytest.mark.parametrize("terms", [{"timeout": NEVER_S}])
async def test_cancel_takes_back_what_never_left(run, gateway, peer):
    """At once, without asking anybody."""
    await gateway.submit(b"x", to=peer)
    queued = await gateway.submit(b"x", to=peer)
    result = await run("message", "cancel", queued)
    assert (result.exit_code, "cancelled" in result.stdout) == (Exit.OK, True)
    assert (await run("message", "cancel", queued)).exit_code == Exit.NOT_POSSIBLE


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({}, Exit.OK),
        ({"accepted": "false", "status": "Received", "processing": "complete"}, Exit.REFUSED),
    ],
)
async def test_cancel_asks_the_receiver_and_tells_its_answer(run, gateway, peer, answer, code):
    """Exit 0: confirmed; exit 8: refused, and why."""
    message_id = await gateway.submit(b"x", to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    waiting = asyncio.create_task(run("message", "cancel", message_id))
    await report(peer, await peer.hear("CancelRequest"), **answer)
    result = await waiting
    assert result.exit_code == code
    assert ("Received, complete" in result.stderr) is bool(answer)


async def test_cancel_does_not_wait_for_ever(run, gateway, peer):
    """Exit 9: no answer yet; the gateway asks on."""
    message_id = await gateway.submit(b"x", to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    result = await run("message", "cancel", message_id, "--timeout", "0.01")
    assert result.exit_code == Exit.STILL_TRYING
    assert "has not answered" in result.stderr


@pytest.mark.statement("S3-19")
async def test_status_says_how_a_message_stands(run, gateway, peer):
    """Pending, then acknowledged; the exit code tells it."""
    message_id = await gateway.submit(b"x", to=peer)
    await peer.hear("Normal")
    pending = await run("message", "status", message_id, "-o", "json")
    assert pending.exit_code == Exit.STILL_TRYING
    assert json.loads(pending.stdout)["state"] == "sending"
    await peer.acknowledge(message_id)
    done = await run("message", "status", message_id)
    assert (done.exit_code, "acknowledged" in done.stdout) == (Exit.OK, True)


@pytest.mark.parametrize(
    ("says", "code"), [("Received", Exit.OK), ("Forwarded", Exit.STILL_TRYING)]
)
async def test_status_remote_asks_the_partner(run, gateway, peer, says, code):
    """What it says is shown; that it has the message is as good as its acknowledgement."""
    message_id = await gateway.submit(b"x", to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    words = ("message", "status", message_id, "--remote", "-o", "json")
    waiting = asyncio.create_task(run(*words))
    await report(peer, await peer.hear("StatusRequest"), status=says, processing="complete")
    result = await waiting
    assert result.exit_code == code
    said = json.loads(result.stdout)
    assert (said["partner_says"], said["processing"]) == (says, "complete")
    silent = await run(*words, "--timeout", "0.01")
    assert silent.exit_code == Exit.STILL_TRYING
    assert "has not answered" in silent.stderr


@pytest.mark.parametrize("terms", [{**BRIEF, "retries": 0, "retry_interval": NEVER_S}])
async def test_resend_sends_again_what_was_given_up(run, gateway, peer):
    """Not before; and as a new version once the old one is gone."""
    message_id = await gateway.submit(b"x", to=peer)
    await peer.hear("Normal")
    await gateway.until_state(message_id, "in_doubt")
    assert (await run("message", "resend", message_id)).exit_code == Exit.OK
    await peer.hear("Normal")
    asked = await run("message", "resend", message_id, "--new-version", "-o", "json")
    assert json.loads(asked.stdout)["recovery"]["wants_new_version"] is True
    await report(peer, await peer.hear("CancelRequest"))
    assert (await peer.hear("Normal")).message_id != message_id


@pytest.mark.parametrize("terms", [{**BRIEF, "retries": 0, "on_exhausted": "fail"}])
async def test_what_never_left_goes_out_again_as_new_messages(run, gateway, peer):
    """One, or all together; a script learns how it ended, and that a word needs a reason (R-41)."""
    peer.refuse_connections()
    old = [await gateway.submit(body, to=peer) for body in (b"x", b"y")]
    for message_id in old:
        await gateway.until_state(message_id, "failed")
    assert (await run("message", "wait", old[0])).exit_code == Exit.FAILED
    listed = await run("partner", "incidents")
    assert "2 failed" in listed.stdout
    await peer.listen()
    one = await run("message", "resend", old[0], "-o", "json")
    new = json.loads(one.stdout)["resent_as"]
    assert new in one.stderr
    assert (await peer.hear("Normal")).message_id == new
    rest = await run("partner", "resume", peer.party, "--unsent")
    assert (rest.exit_code, "1 messages go out again" in rest.stderr) == (Exit.OK, True)
    for options in (["--anyway"], ["--anyway", "--reason", " "]):
        assert (await run("message", "resend", old[1], *options)).exit_code == Exit.USAGE


@pytest.mark.parametrize("verb", ["show", "status", "trace", "resend", "cancel", "wait"])
async def test_a_message_that_is_not_there_is_not_found(run, gateway, verb):
    """Exit 3."""
    result = await run("message", verb, "none")
    assert result.exit_code == Exit.NOT_FOUND
    assert "NotFound" in result.stderr


@pytest.mark.parametrize("terms", [{**BRIEF, "retries": 0}])
async def test_partners_are_listed_suspended_and_resumed(run, gateway, peer):
    """The operator's round: see it, stop it, let it go on."""
    peer.answer_always = UNAVAILABLE
    message_id = await gateway.submit(b"x", to=peer)
    await gateway.until_row(Event.PAIR_SUSPENDED)
    listed = json.loads((await run("partner", "list", "-o", "json")).stdout)
    sender = next(row for row in listed if row["role"] == "sender")
    assert (sender["state"], sender["in_flight"]) == ("suspended", [message_id])
    resumed = await run("partner", "resume", peer.party)
    assert resumed.exit_code == Exit.OK
    await gateway.until_row(Event.PAIR_SUSPENDED, 2)
    suspended = await run("partner", "suspend", peer.party, "--reason", "holiday")
    assert "suspended" in suspended.stdout
    assert (await run("partner", "resume", "urn:duns:9")).exit_code == Exit.NOT_FOUND


@pytest.mark.parametrize("terms", [{**BRIEF, "retries": 0}])
async def test_incidents_are_listed_and_closed_by_resuming(run, gateway, peer):
    """Open ones, or all of them."""
    await gateway.submit(b"x", to=peer)
    await gateway.until_row(Event.PAIR_SUSPENDED)
    [incident] = json.loads((await run("partner", "incidents", "-o", "json")).stdout)
    assert incident["to"] == peer.party
    await peer.acknowledge((await peer.hear("Normal")).message_id)
    assert (await run("partner", "incidents")).stdout == ""
    assert "no acknowledgement" in (await run("partner", "incidents", "--all")).stdout


@pytest.mark.statement("S4-15")
@pytest.mark.parametrize(("said", "code"), [("true", Exit.OK), ("false", Exit.REFUSED)])
async def test_ping_tells_whether_a_partner_takes_messages(run, gateway, peer, said, code):
    """Exit 0 or 8 by its answer."""
    waiting = asyncio.create_task(run("partner", "ping", peer.party))
    await report(peer, await peer.hear("Ping"), accepted=said)
    result = await waiting
    assert (result.exit_code, peer.agreement in result.stdout) == (code, True)


async def test_ping_tells_that_nobody_answers(run, gateway, peer):
    """Exit 9; a partner that is not ours is exit 3."""
    silent = await run("partner", "ping", peer.party, "--wait", "0.01")
    assert silent.exit_code == Exit.STILL_TRYING
    assert (await run("partner", "ping", "urn:duns:9")).exit_code == Exit.NOT_FOUND


async def test_a_lake_that_cannot_be_written_is_told_by_name(run, gateway):
    """Exit 1: the rows stay in the journal, and go out once the way is free."""
    in_the_way = gateway.configuration.path.with_name("lake")
    in_the_way.rmdir()
    in_the_way.write_text("a file where the lake should be")
    result = await run("lake", "publish")
    assert result.exit_code == Exit.UNEXPECTED
    assert "LakeFailed" in result.stderr
    in_the_way.unlink()
    result = await run("lake", "publish")
    assert result.exit_code == Exit.OK
    assert "rows published" in result.stderr
