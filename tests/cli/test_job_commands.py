"""`onceonly job …` against a gateway that runs in the test."""

import json

import anyio
import pytest

from onceonly.client import Client
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio


def a_row(name: str, number: int, to: str) -> dict[str, object]:
    return {
        "row": number,
        "message_id": name,
        "to": to,
        "service": "Ordering",
        "action": "NewOrder",
        "payload": "<Order/>",
    }


async def staged(gateway, peer) -> None:
    """A job of two rows, one of them for nobody that we know."""

    def stage() -> None:
        with Client(gateway.configuration.api) as client:
            client.stage("j", [a_row("m-1", 0, peer.party), a_row("m-2", 1, "urn:nobody")])

    await anyio.to_thread.run_sync(stage)


async def test_a_job_is_listed_shown_and_released(gateway, peer, run):
    """With counts that add up, and what was rejected."""
    await staged(gateway, peer)
    listed = json.loads((await run("job", "list", "-o", "json")).stdout)
    assert [(one["job"], one["rows"], one["staged"]) for one in listed] == [("j", 2, 1)]
    assert "staging" in (await run("job", "list")).stdout
    shown = await run("job", "show", "j", "--rejects")
    assert "UnknownPartner" in shown.stdout
    rejects = json.loads((await run("job", "show", "j", "--rejects", "-o", "json")).stdout)
    assert [row["row"] for row in rejects] == [1]
    released = json.loads((await run("job", "release", "j", "-o", "json")).stdout)
    assert (released["state"], released["accepted"], released["rejected"]) == ("released", 1, 1)
    await gateway.until_row(Event.SUBMITTED)
    await gateway.until_state("m-1", "sending")
    assert "sending" in (await run("job", "show", "j")).stdout


async def test_a_job_is_dropped(gateway, peer, run):
    """And is not found afterwards."""
    await staged(gateway, peer)
    assert "2 rows dropped" in (await run("job", "drop", "j")).stderr
    assert (await run("job", "show", "j")).exit_code == 3
