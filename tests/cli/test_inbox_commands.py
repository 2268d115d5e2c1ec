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
async def test_a_folder_that_cannot_be_written_is_told_in_one_line(run, tmp_path):
    """Exit 1 and no traceback; the message can be taken again."""
    (tmp_path / "file").touch()
    result = await run("inbox", "take", M, "--into", tmp_path / "file" / "taken")
    assert result.exit_code == Exit.UNEXPECTED
    assert "cannot be written" in result.stderr
    assert isinstance(result.exception, SystemExit)
    again = await run("inbox", "take", M, "--into", tmp_path / "taken")
    assert again.exit_code == Exit.OK


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
    monkeypatch.setattr("onceonly.cli.lists.PAGE_MAX", 2)
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


@pytest.fixture
async def two(gateway, peer):
    """One MessageId at offsets 1 and 2: a BestEffort message came twice."""
    for count in (1, 2):
        await peer.send(M, None, semantics="BestEffort")
        await gateway.until(lambda count=count: len(gateway.inbox_ids()) == count)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("terms", [{"delivery_semantics": "BestEffort", "retries": 0}])
@pytest.mark.parametrize(
    "words",
    [("take", M), ("done", M), ("processing", M, "complete"), ("refuse", M, "--reason", "x")],
    ids=lambda words: words[0],
)
async def test_an_id_that_two_items_have_is_refused(run, gateway, tmp_path, words):
    """Exit 2 and the offsets; `take ID; done ID` would take one twice and the other never."""
    into = ("--into", tmp_path / "taken") if words[0] == "take" else ()
    result = await run("inbox", *words, *into)
    assert result.exit_code == Exit.USAGE
    assert "Ambiguous" in result.stderr
    assert "(1, 2)" in result.stderr
    assert gateway.rows(Event.PROCESSING_CHANGED, Event.APPLICATION_REFUSED) == []
    assert not (tmp_path / "taken").exists()


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("terms", [{"delivery_semantics": "BestEffort", "retries": 0}])
async def test_an_offset_says_which_item(run, tmp_path):
    """Every command of an item has --offset, alone or beside the id."""
    into = tmp_path / "taken"
    taken = await run("inbox", "take", "--offset", "2", "--into", into, "-o", "json")
    assert json.loads(taken.stdout)["offset"] == 2
    assert [path.name.split("-")[0] for path in into.iterdir()] == ["00000002"]
    assert (await run("inbox", "processing", "--offset", "1", "in-progress")).exit_code == Exit.OK
    done = await run("inbox", "done", M, "--offset", "2")
    assert done.stderr.strip() == f"{M} (offset 2): complete"
    assert (await run("inbox", "refuse", "--offset", "1", "--reason", "x")).exit_code == Exit.OK
    listed = json.loads((await run("inbox", "list", "-o", "json")).stdout)
    assert [item["processing"] for item in listed] == ["in-progress", "complete"]


@pytest.mark.usefixtures("received")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), Exit.USAGE),
        ((M, M), Exit.USAGE),
        (("--offset", "0"), Exit.USAGE),
        (("--offset", "2"), Exit.NOT_FOUND),
        (("other", "--offset", "1"), Exit.NOT_FOUND),
    ],
)
async def test_an_item_is_named_once_and_is_there(run, gateway, words, code):
    """What says no item, or two, is refused before anything is reported."""
    assert (await run("inbox", "done", *words)).exit_code == code
    assert gateway.rows(Event.PROCESSING_CHANGED) == []


@pytest.mark.parametrize("verb", ["take", "done"])
async def test_a_message_that_is_not_there_is_not_found(run, gateway, verb):
    """Exit 3."""
    assert (await run("inbox", verb, "none")).exit_code == Exit.NOT_FOUND


@pytest.mark.usefixtures("received")
async def test_redeliver_hands_over_once_more(run, gateway):
    """At a new offset, which is said; by the id or by an offset of the message."""
    why = ("--reason", "INC-42: restored")
    result = await run("inbox", "redeliver", M, *why, "-o", "json")
    assert result.exit_code == Exit.OK
    assert f"handed over again: {M} (offset 2)" in result.stderr
    item = json.loads(result.stdout)
    assert (item["offset"], item["handed_over_again"], item["first_offset"]) == (2, 1, 1)
    assert (await run("inbox", "redeliver", M, *why)).exit_code == Exit.OK
    assert (await run("inbox", "redeliver", "--offset", "1", *why)).exit_code == Exit.OK
    assert [row.reason for row in gateway.rows(Event.HANDED_OVER_AGAIN)] == [why[1]] * 3


@pytest.mark.usefixtures("received")
async def test_redeliver_acts_on_many(run, gateway, peer):
    """A dry run shows items of the inbox; begun, each is handed over again."""
    wanted = ("inbox", "redeliver", "--from", peer.party, "--reason", "INC-42")
    result = await run(*wanted, "--dry-run")
    assert result.exit_code == Exit.OK
    assert result.stdout.split("\t")[:2] == ["1", M]
    assert "hand over to the application once more: 1 messages" in result.stderr
    assert gateway.rows(Event.HANDED_OVER_AGAIN) == []
    assert (await run(*wanted, "--yes")).exit_code == Exit.OK
    assert len(gateway.rows(Event.HANDED_OVER_AGAIN)) == 1
    everything = ("inbox", "redeliver", "--everything", *wanted[4:], "--dry-run")
    assert "once more: 1 messages" in (await run(*everything)).stderr
    prepared = await run("bulk", "prepare", "redeliver", "--processing", "in-progress", *wanted[4:])
    assert "onceonly bulk start 4 --count 1" in prepared.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("inbox", "redeliver", "--reason", "x"),
        ("inbox", "redeliver", M),
        ("inbox", "redeliver", M, "--since", "2h", "--reason", "x"),
        ("inbox", "redeliver", "--reason", "x", "--yes"),
        ("inbox", "redeliver", "--reason", "x", "--dry-run"),
        ("inbox", "redeliver", "--offset", "1", "--reason", "x", "--dry-run"),
        ("bulk", "prepare", "redeliver", "--state", "failed", "--reason", "x"),
        ("bulk", "prepare", "cancel", "--processing", "complete", "--reason", "x"),
    ],
    ids=[
        *("none", "no reason", "both", "only yes", "only dry run", "one as a dry run"),
        *("sent", "received"),
    ],
)
@pytest.mark.usefixtures("received")
async def test_what_is_not_meant_is_handed_over_no_more(run, gateway, words):
    """Exit 2, and nothing is selected."""
    assert (await run(*words)).exit_code == Exit.USAGE
    assert gateway.rows(Event.HANDED_OVER_AGAIN) == []
    assert json.loads((await run("bulk", "list", "-o", "json")).stdout) == []
