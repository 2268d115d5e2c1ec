"""`onceonly doubt …` and `message settle`: what is known, what to do, and the word that ends it."""

import json
from typing import Any

import pytest
from msgspec import convert
from packages import ORDER
from peer import UNAVAILABLE
from running_gateway import BRIEF

from onceonly.api.doubts import Advice, advice_for
from onceonly.api.messages import MessageDetail
from onceonly.cli.exits import Exit
from onceonly.message.event import Event

pytestmark = [pytest.mark.anyio, pytest.mark.statement(ruling="R-49")]

WHY = ("--reason", "INC-42")
NAMES = ("m-1", "m-2", "m-3")


@pytest.fixture
def terms() -> dict[str, Any]:
    """It soon gives up, and goes on with the pair."""
    return {**BRIEF, "on_exhausted": "fail"}


@pytest.fixture
async def doubts(gateway, peer) -> tuple[str, ...]:
    """Messages that a proxy answered for until they were given up."""
    peer.answer_always = UNAVAILABLE
    for name in NAMES:
        await gateway.submit(ORDER, to=peer, message_id=name)
        await gateway.until_state(name, "in_doubt")
    return NAMES


async def test_the_list_has_the_evidence_and_one_thing_to_do(run, doubts):
    """The same that the console's desk recommends."""
    result = await run("doubt", "list", "-o", "json")
    assert result.exit_code == Exit.OK
    rows = json.loads(result.stdout)
    assert [row["message_id"] for row in rows] == list(doubts)
    assert {row["do"] for row in rows} == {"ask"}
    assert all("503" in row["last_outcome"] for row in rows)
    table = await run("doubt", "list", "--limit", "1")
    assert table.stdout.count("\n") == 1
    assert "Nobody here can know it" in table.stdout


async def test_one_is_explained_in_words(run, gateway, doubts):
    """What is known, what to do, its risk, and both words; not of what is in no doubt."""
    result = await run("doubt", "explain", "m-1")
    assert result.exit_code == Exit.OK
    for told in ("in doubt", "503", "message status m-1 --remote", "Risk: None", "--as delivered"):
        assert told in result.stdout
    tries = len(gateway.rows(Event.TRANSMITTED, message_id="m-1"))
    assert f"Tries since it was last started: {tries}; how the last ended: " in result.stdout
    assert "It left" not in result.stdout
    evidence = json.loads((await run("doubt", "explain", "m-1", "-o", "json")).stdout)
    assert evidence["do"] == "ask"
    await run("message", "settle", "m-1", "--as", "delivered", *WHY)
    over = await run("doubt", "explain", "m-1")
    assert over.exit_code == Exit.NOT_POSSIBLE
    assert "operator says that it was delivered" in over.stderr
    assert (await run("doubt", "explain", "m-9")).exit_code == Exit.NOT_FOUND


@pytest.mark.parametrize(("word", "code"), [("delivered", Exit.OK), ("not-delivered", Exit.FAILED)])
async def test_a_word_settles_and_the_exit_code_of_the_message_says_which(
    run, gateway, doubts, word, code
):
    """Refused the second time as not possible, without anything done."""
    for group in ("message", "doubt"):
        name = {"message": "m-1", "doubt": "m-2"}[group]
        settled = await run(group, "settle", name, "--as", word, *WHY)
        assert settled.exit_code == Exit.OK
        assert f"settled_{word.replace('-', '_')}" in settled.stdout
    again = await run("doubt", "settle", "m-1", "--as", word, *WHY)
    assert again.exit_code == Exit.NOT_POSSIBLE
    assert "NotSettleable" in again.stderr
    assert (await run("message", "status", "m-1")).exit_code == code
    assert (await run("message", "wait", "m-2")).exit_code == code
    assert len(gateway.rows(Event.SETTLED)) == 2


async def test_several_are_settled_each_for_itself(run, gateway, doubts):
    """What is refused does not keep the others from it: exit 12; 13 where none was settled."""
    await run("doubt", "settle", "m-2", "--as", "delivered", *WHY)
    result = await run("doubt", "settle", *doubts, "--as", "not-delivered", *WHY)
    assert result.exit_code == Exit.PARTIAL
    assert "m-2: NotSettleable" in result.stderr
    assert [gateway.state_of(name) for name in ("m-1", "m-3")] == ["settled_not_delivered"] * 2
    none = await run("doubt", "settle", *doubts, "--as", "not-delivered", *WHY)
    assert none.exit_code == Exit.NOT_POSSIBLE


async def test_all_that_fit_are_settled_and_only_doubts(run, gateway, peer, doubts):
    """Shown first; the state is said by the command."""
    words = ("doubt", "settle", "--to", peer.party, "--as", "delivered", *WHY)
    shown = await run(*words, "--dry-run")
    assert "settle the doubt: delivered, on your word: 3 messages" in shown.stderr
    assert gateway.rows(Event.SETTLED) == []
    assert (await run(*words, "--yes")).exit_code == Exit.OK
    assert {gateway.state_of(name) for name in doubts} == {"settled_delivered"}
    for missing in (("doubt", "settle", "m-1", *WHY), ("doubt", "settle", "--as", "delivered")):
        assert (await run(*missing)).exit_code == Exit.USAGE


async def test_no_doubt_is_settled_that_was_not_asked_for(run, gateway, doubts):
    """--yes and --dry-run are no criteria: it takes --everything to mean all doubts."""
    words = ("doubt", "settle", "--as", "not-delivered", *WHY)
    assert (await run(*words, "--yes")).exit_code == Exit.USAGE
    for named in (("m-1",), ("m-1", "m-2")):
        assert (await run(*words, *named, "--dry-run")).exit_code == Exit.USAGE
    assert gateway.rows(Event.SETTLED) == []
    assert (await run(*words, "--everything", "--yes")).exit_code == Exit.OK
    assert {gateway.state_of(name) for name in doubts} == {"settled_not_delivered"}


@pytest.mark.parametrize(
    ("said", "pair", "way_on", "do"),
    [
        ("NotRecognized", "open", "resend", "resend"),
        ("NotRecognized", "open", "new-version", "new-version"),
        ("NotRecognized", "open", None, "ask"),
        ("NotRecognized", "suspended", "new-version", "new-version"),
        ("Received", "open", "resend", "resend"),
        ("Received", "open", "new-version", "ask"),
        ("Received", "suspended", None, "ask"),
        (None, "suspended", "resend", "resend"),
        (None, "suspended", "new-version", "ask"),
        (None, "open", "resend", "ask"),
    ],
)
async def test_the_advice_follows_from_what_is_known(run, doubts, said, pair, way_on, do):
    """One thing, the safest that brings an answer and is not refused; a word is never one."""
    found = json.loads((await run("message", "show", "m-1", "-o", "json")).stdout)
    found["pair"] = {"state": pair, "reason": None}
    found["recovery"]["status"] = said
    found["way_on"] = way_on
    advice = advice_for(convert(found, MessageDetail))
    assert isinstance(advice, Advice)
    assert advice.do == do
    assert ("It cannot be sent again" in advice.why) == (said is not None and do != "resend")


async def test_what_would_be_refused_is_not_recommended(run, gateway, peer, doubts):
    """The number of each was taken back (`on_exhausted = "fail"`): only a new version is left."""
    for name in doubts:
        found = json.loads((await run("message", "show", name, "-o", "json")).stdout)
        assert found["way_on"] == "new-version"
        refused = await run("message", "resend", name)
        assert (refused.exit_code, "NotResendable" in refused.stderr) == (Exit.NOT_POSSIBLE, True)
    found["recovery"]["status"] = "NotRecognized"
    assert advice_for(convert(found, MessageDetail)).do == "new-version"
    found["resent_as"], found["way_on"] = "m-7", None
    advice = advice_for(convert(found, MessageDetail))
    assert (advice.do, "as m-7" in advice.why) == ("ask", True)
    again = await run("message", "resend", "m-1", "--anyway", *WHY)
    assert again.exit_code == Exit.OK
    found = json.loads((await run("message", "show", "m-1", "-o", "json")).stdout)
    assert (found["state"], found["way_on"]) == ("in_doubt", None)
