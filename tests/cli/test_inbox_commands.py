"""`onceonly inbox`: received messages as files, without code."""

import json
from hashlib import sha256

import pytest
from asking import ask
from packages import PayloadPart

from onceonly.cli.exits import Exit
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
CONTENTS = (b"<Order/>", b"", b"y" * 300_000)
PAYLOADS = [PayloadPart(f"p{n}@a", "text/plain", body) for n, body in enumerate(CONTENTS)]


@pytest.fixture
async def received(gateway, peer):
    """The peer has sent a message whose labels are `../../etc/passwd`."""
    await peer.send(M, 1, payloads=PAYLOADS)
    await gateway.until_handed_over(M)


@pytest.mark.usefixtures("received")
async def test_take_writes_files_under_names_of_our_own(run, gateway, tmp_path):
    """P11: byte for byte, named by offset, number and digest, never by the sender."""
    into = tmp_path / "taken"
    result = await run("inbox", "take", M, "--into", into)
    assert result.exit_code == Exit.OK
    files = sorted(into.iterdir())
    assert result.stdout.splitlines() == [str(path) for path in files]
    assert tuple(path.read_bytes() for path in files) == CONTENTS
    assert [path.name for path in files] == [
        f"00000001-{n}-{sha256(body).hexdigest()[:16]}" for n, body in enumerate(CONTENTS)
    ]
    assert not (tmp_path / "etc").exists()


@pytest.mark.usefixtures("received")
async def test_take_reports_progress_and_may_be_repeated(run, gateway, tmp_path):
    """In progress once; the files are the same again."""
    into = tmp_path / "taken"
    first = await run("inbox", "take", M, "--into", into, "-o", "json")
    again = await run("inbox", "take", M, "--into", into, "-o", "json")
    assert json.loads(first.stdout) == json.loads(again.stdout)
    assert [row.reason for row in gateway.rows(Event.PROCESSING_CHANGED)] == ["in-progress"]


@pytest.mark.usefixtures("received")
async def test_done_completes_and_list_shows_it(run, gateway):
    """The round of an application without code."""
    listed = await run("inbox", "list")
    assert listed.stdout.split("\t")[:2] == ["1", M]
    assert (await run("inbox", "done", M)).exit_code == Exit.OK
    (item,) = json.loads((await run("inbox", "list", "-o", "json")).stdout)
    assert item["processing"] == "complete"
    assert json.loads((await run("inbox", "list", "--after", "1", "-o", "json")).stdout) == []


async def test_a_list_goes_on_over_the_pages_of_the_gateway(run, gateway, peer, monkeypatch):
    """As many as were asked for: whoever counts them would find too few."""
    monkeypatch.setattr("onceonly.cli.inbox.PAGE", 2)
    names = [f"m-{n}@a.example.com" for n in range(1, 6)]
    for number, name in enumerate(names, 1):
        await peer.send(name, number)
        await gateway.until_handed_over(*names[:number])

    async def listed(*more: str) -> list[str]:
        found = json.loads((await run("inbox", "list", "-o", "json", *more)).stdout)
        return [item["message_id"] for item in found]

    assert await listed() == names
    assert await listed("--limit", "3", "--after", "1") == names[1:4]


@pytest.mark.usefixtures("received")
async def test_processing_reports_a_state_and_refuse_ends_it(run, gateway):
    """In progress; then the application will not have it after all."""
    assert (await run("inbox", "processing", M, "in-progress")).exit_code == Exit.OK
    assert [row.reason for row in gateway.rows(Event.PROCESSING_CHANGED)] == ["in-progress"]
    assert (await run("inbox", "processing", M, "done")).exit_code == Exit.USAGE
    refused = await run("inbox", "refuse", M, "--reason", "no such article")
    assert refused.exit_code == Exit.OK
    assert gateway.rows(Event.APPLICATION_REFUSED)


@pytest.mark.statement("S4-26")
@pytest.mark.parametrize("terms", [{"reports_processing": True}])
async def test_take_asks_before_it_writes(run, gateway, peer, tmp_path):
    """A message that its sender took back is not there to be taken, and one is told why."""
    await peer.send(M, 1)
    await gateway.until_handed_over(M)
    await ask(peer, "CancelRequest", M)
    await gateway.until_row(Event.CANCEL_CONFIRMED)
    result = await run("inbox", "take", M, "--into", tmp_path / "taken")
    assert result.exit_code == Exit.NOT_FOUND
    assert "its sender took the message back" in result.stderr
    assert not (tmp_path / "taken").exists()


@pytest.mark.usefixtures("received")
async def test_trace_shows_a_received_message_too(run):
    """The journal is one, whichever way a message goes."""
    result = await run("message", "trace", M)
    assert result.exit_code == Exit.OK
    events = [line.split("\t")[1] for line in result.stdout.splitlines()]
    assert events[0] == "Stored"
    assert "HandedOver" in events


async def test_a_list_has_at_least_one_place(run):
    """Exit 2, rather than a page that nobody asked for."""
    for noun in ("inbox", "message"):
        assert (await run(noun, "list", "--limit", "0")).exit_code == Exit.USAGE


@pytest.mark.parametrize("verb", ["take", "done"])
async def test_a_message_that_is_not_there_is_not_found(run, gateway, verb):
    """Exit 3."""
    assert (await run("inbox", verb, "none")).exit_code == Exit.NOT_FOUND
