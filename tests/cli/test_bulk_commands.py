"""`onceonly bulk …`, and commands about one message that act on many: shown first, then typed."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner
from packages import ORDER

from onceonly.cli import bulk as commands
from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.gateway.application import bulk as application
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

CANCEL = ("message", "cancel", "--state", "queued", "--reason", "INC-42")


@pytest.fixture
async def queued(gateway, peer) -> list[str]:
    """Messages of which no byte left."""
    names = [f"m-{number}" for number in range(8)]
    for name in names:
        await gateway.submit(ORDER, to=peer, message_id=name)
    await peer.hear("Normal")
    return names[1:]


def cancelled(gateway) -> int:
    return len(gateway.rows(Event.CANCELLED))


async def test_a_dry_run_shows_and_does_nothing(run, gateway, queued):
    """How many, five of them, and how to begin."""
    result = await run(*CANCEL, "--dry-run")
    assert result.exit_code == Exit.OK
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == queued[:5]
    assert "take back: 7 messages" in result.stderr
    assert "and 2 more" in result.stderr
    assert "onceonly bulk start 1" in result.stderr
    assert cancelled(gateway) == 0


async def test_yes_begins_and_waits_for_the_end(run, gateway, queued):
    """Exit 0: done with each."""
    result = await run(*CANCEL, "--yes", "-o", "json")
    assert result.exit_code == Exit.OK
    ended = json.loads(result.stdout)
    assert (ended["state"], ended["done"], ended["reason"]) == ("done", 7, "INC-42")
    assert cancelled(gateway) == 7


async def test_some_that_did_not_fit_are_exit_12(run, gateway, queued):
    """And the results say which, and why."""
    await run(*CANCEL, "--yes")
    result = await run("message", "resend", "--reason", "INC-42", "--state", "cancelled", "--yes")
    assert result.exit_code == Exit.PARTIAL
    assert "onceonly bulk results 2 --not-done" in result.stderr
    result = await run("bulk", "results", "2", "--not-done", "-o", "json")
    assert {one["error"] for one in json.loads(result.stdout)} == {"NotResendable"}
    again = ("message", "resend", "--anyway", "--reason", "INC-42", "--state", "cancelled")
    assert (await run(*again, "--yes")).exit_code == Exit.OK
    assert len(gateway.rows(Event.RESENT)) == 7


@pytest.mark.parametrize(("typed", "done"), [("7\n", 7), ("6\n", 0), ("\n", 0)])
async def test_the_number_is_typed(run, gateway, queued, monkeypatch, typed, done):
    """Whoever types another has not looked; nothing is done, and it is not prepared any more."""
    monkeypatch.setattr(commands, "is_asked", lambda: True)
    result = await run(*CANCEL, typed=typed)
    assert result.exit_code == (Exit.OK if done else Exit.USAGE)
    assert cancelled(gateway) == done
    shown = json.loads((await run("bulk", "show", "1", "-o", "json")).stdout)
    assert shown["state"] == ("done" if done else "stopped")


@pytest.mark.parametrize(
    "words",
    [
        ("message", "cancel"),
        ("message", "cancel", "m-1", "--state", "queued"),
        ("message", "cancel", "--reason", "x", "--yes"),
        ("message", "cancel", "--reason", "x", "--dry-run"),
        ("message", "resend", "--reason", "x", "--yes"),
        ("message", "cancel", "m-1", "--dry-run"),
        ("message", "cancel", "m-1", "--reason", "x", "--everything", "--yes"),
        ("message", "cancel", "--state", "queued", "--reason", "x", "--everything", "--yes"),
        ("message", "cancel", "--state", "queued", "--yes"),
        ("message", "cancel", "--state", "queued", "--reason", "x"),
        ("message", "resend", "--state", "queued", "--reason", "x", "--new-version", "--yes"),
        ("bulk", "prepare", "explode", "--reason", "x"),
    ],
    ids=[
        *("none", "both", "only yes", "only dry run", "resend only yes", "one as a dry run"),
        *("one and everything", "criteria and everything"),
        *("no reason", "nobody to ask", "new version", "unknown"),
    ],
)
async def test_what_is_not_meant_is_usage(run, gateway, queued, words):
    """Exit 2, and nothing is selected."""
    assert (await run(*words)).exit_code == Exit.USAGE
    assert json.loads((await run("bulk", "list", "-o", "json")).stdout) == []
    assert cancelled(gateway) == 0


async def test_everything_is_said_in_so_many_words(run, gateway, queued):
    """With it no criterion is needed; what does not fit is skipped as always."""
    result = await run("message", "cancel", "--everything", "--reason", "x", "--dry-run")
    assert "take back: 8 messages" in result.stderr
    assert cancelled(gateway) == 0


async def test_nothing_that_fits_is_nothing_to_do(run, gateway):
    """Exit 0; nobody is asked to type 0."""
    result = await run("message", "cancel", "--to", "urn:x", "--reason", "x", "--yes")
    assert (result.exit_code, "no message fits" in result.stderr) == (Exit.OK, True)


async def test_an_action_is_prepared_started_stopped_and_listed(run, gateway, queued):
    """Each by its own command."""
    result = await run("bulk", "prepare", "cancel", "--state", "queued", "--reason", "INC-42")
    assert "onceonly bulk start 1 --count 7" in result.stderr
    assert (await run("bulk", "start", "1", "--count", "6")).exit_code != Exit.OK
    assert (await run("bulk", "stop", "1")).exit_code == Exit.OK
    assert (await run("bulk", "start", "1", "--count", "7", "--wait")).exit_code == Exit.OK
    assert cancelled(gateway) == 7
    listed = json.loads((await run("bulk", "list", "-o", "json")).stdout)
    assert [(one["number"], one["state"]) for one in listed] == [(1, "done")]
    await run("bulk", "prepare", "ask", "--reason", "INC-42")
    assert (await run("bulk", "start", "2", "--count", "8")).exit_code == Exit.OK
    assert (await run("bulk", "show", "7")).exit_code == Exit.NOT_FOUND


async def test_ctrl_c_ends_the_wait_and_not_the_action(run, gateway, queued, monkeypatch):
    """Exit 130, and how to follow it."""

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt(seconds)

    monkeypatch.setattr(application, "ITEMS_PER_TURN", 1)
    monkeypatch.setattr(commands.time, "sleep", interrupt)
    reach = gateway.parts.desk.failpoints.reach

    def hold(point: str) -> None:
        gateway.store.is_full = point == "before-bulk-item"
        reach(point)

    monkeypatch.setattr(gateway.parts.desk.failpoints, "reach", hold)
    monkeypatch.setattr(application, "PAUSE_S", 0.05)
    result = await run(*CANCEL, "--yes")
    assert result.exit_code == Exit.INTERRUPTED
    assert "onceonly bulk show 1" in result.stderr
    monkeypatch.setattr(gateway.parts.desk.failpoints, "reach", reach)
    gateway.store.is_full = False
    await gateway.until(lambda: gateway.parts.bulks.find(1).state == "done")
    assert cancelled(gateway) == 7


async def test_events_are_shown_line_by_line(run, gateway, queued, monkeypatch):
    """Until Ctrl-C, which is exit 130; in JSON each line is an event."""
    followed: Callable[..., Any] = commands.Client.follow

    def interrupted(self, after=None, kinds=None, partner=None):
        for event in followed(self, after, kinds, partner):
            yield event
            if event.message_id == queued[-1]:
                raise KeyboardInterrupt

    monkeypatch.setattr(commands.Client, "follow", interrupted)
    words = ("message", "tail", "--from", "beginning", "--kinds", "traffic,verdicts")
    result = await run(*words)
    assert result.exit_code == Exit.INTERRUPTED
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == [str(n) for n in range(1, len(lines) + 1)]
    assert "Submitted" in lines[-1]
    shown = [json.loads(line) for line in (await run(*words, "-o", "json")).stdout.splitlines()]
    assert [one["seq"] for one in shown] == list(range(1, len(lines) + 1))
    assert (await run("message", "tail", "--kinds", "gossip")).exit_code == Exit.USAGE


def test_the_number_is_asked_of_people_only():
    """A pipe is nobody who could type."""
    assert not commands.is_asked()
    assert CliRunner().invoke(cli, ["bulk", "--help"]).exit_code == Exit.OK
