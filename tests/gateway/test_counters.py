"""Counters over time and rare rows of the journal, over the API and by command."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from calling import received, refused
from click.testing import CliRunner
from packages import PayloadPart
from peer import Peer
from running_gateway import RunningGateway, running, serving_api

from onceonly.cli.main import cli
from onceonly.gateway import counting
from onceonly.gateway.api.counter_calls import when
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio


OTHER = PayloadPart("order@a", "application/xml", b"<other/>")


async def exchanged(gateway: RunningGateway, peer: Peer) -> str:
    """One message each way; the one in comes twice. Its MessageId."""
    message_id = await gateway.submit(b"<order/>", to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    await gateway.until_state(message_id, "acknowledged")
    await received(gateway, peer, "r-1@a.example.com", 1)
    await peer.send("r-1@a.example.com", 1)
    await peer.hear("Acknowledgement")
    await gateway.until_row(Event.DUPLICATE_ELIMINATED)
    await gateway.everything_said()
    return message_id


async def test_what_happened_is_counted(gateway: RunningGateway, peer: Peer) -> None:
    """By the minute, by the hour, under each agreement."""
    await exchanged(gateway, peer)
    before = await gateway.get("/v1/counters")
    assert (before["counters"], before["counted_seq"]) == ([], 0)
    rows = len(gateway.rows())
    assert await gateway.parts.counting.catch_up() == rows
    assert await gateway.parts.counting.catch_up() == 0
    for query in ("", "?step=hour", f"?agreement={peer.agreement}"):
        shown = await gateway.get(f"/v1/counters{query}")
        together = shown["together"]
        assert (shown["counted_seq"], shown["last_seq"]) == (rows, rows)
        assert [together[name] for name in ("submitted", "acknowledged", "first_try")] == [1, 1, 1]
        assert [together[name] for name in ("received", "handed_over", "duplicates")] == [1, 1, 1]
        assert sum(together["latencies"]) == 1
        assert 0 < together["latency_p50_s"] <= together["latency_p99_s"]
        assert shown["counters"]
    nothing = await gateway.get("/v1/counters?agreement=none")
    assert (nothing["counters"], nothing["together"]["submitted"]) == ([], 0)
    long_ago = await gateway.get("/v1/counters?from=2020-01-01T00:00:00Z&to=2020-01-01T01:00:00Z")
    assert long_ago["counters"] == []
    wrong = await gateway.call("GET", "/v1/counters?from=yesterday")
    assert refused(wrong) == (400, "InvalidField")


async def test_a_restart_forgets_no_count(gateway: RunningGateway, peer: Peer) -> None:
    """Counting goes on from where the counters end."""
    await exchanged(gateway, peer)
    await gateway.parts.counting.catch_up()
    before = (await gateway.get("/v1/counters"))["together"]
    await gateway.restart()
    await gateway.parts.counting.catch_up()
    after = (await gateway.get("/v1/counters"))["together"]
    assert after == before


async def test_old_rows_are_caught_up_with_in_steps(
    gateway: RunningGateway, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade: the counters are the same."""
    await exchanged(gateway, peer)
    monkeypatch.setattr(counting, "ROWS_PER_STEP", 5)
    monkeypatch.setattr(counting, "ROWS_PER_READ", 2)
    monkeypatch.setattr(counting, "SUMS_PER_STEP", 1)
    assert await gateway.parts.counting.catch_up() == len(gateway.rows())
    together = (await gateway.get("/v1/counters"))["together"]
    assert (together["submitted"], together["duplicates"]) == (1, 1)


async def test_it_counts_as_long_as_the_gateway_lives(gateway: RunningGateway, peer: Peer) -> None:
    """Also on a full disk: later."""
    await exchanged(gateway, peer)
    stop = asyncio.Event()
    gateway.store.is_full = True
    living = asyncio.create_task(gateway.parts.counting.live(stop))
    await gateway.until(lambda: gateway.store.refusals)
    gateway.store.is_full = False
    stop.set()
    await living
    again = asyncio.Event()
    living = asyncio.create_task(gateway.parts.counting.live(again))
    await gateway.until(lambda: gateway.store.snapshot().counted_seq() > 0)
    again.set()
    await living


async def test_a_duplicate_says_what_it_repeats(gateway: RunningGateway, peer: Peer) -> None:
    """When the first copy was stored, and which answer the repeat got."""
    await exchanged(gateway, peer)
    await gateway.parts.counting.catch_up()
    [found] = (await gateway.get("/v1/exceptions?event=DuplicateEliminated"))["exceptions"]
    assert found["row"]["message_id"] == "r-1@a.example.com"
    assert found["repeats"]["delay_s"] > 0
    assert found["repeats"]["answer"] == "AckSent accepted"
    of_others = await gateway.get("/v1/exceptions?partner=nobody")
    assert (of_others["exceptions"], of_others["next_before"]) == ([], None)


async def test_rare_rows_of_all_kinds_are_one_list(tmp_path: Path, peer: Peer) -> None:
    """The newest first, page by page; each row is on one page."""
    async with running(tmp_path, peer) as gateway:
        for n in range(1, 4):
            await received(gateway, peer, f"r-{n}@a.example.com", n)
            await peer.send(f"r-{n}@a.example.com", n)
            await peer.hear("Acknowledgement")
        await gateway.until_row(Event.DUPLICATE_ELIMINATED, 3)
        await peer.send("r-1@a.example.com", 1, payloads=(OTHER,))
        await gateway.until_row(Event.COLLISION_DETECTED)
        await gateway.everything_said()
        await gateway.parts.counting.catch_up()
        whole = (await gateway.get("/v1/exceptions"))["exceptions"]
        seqs = [one["row"]["seq"] for one in whole]
        assert seqs == sorted(seqs, reverse=True)
        kinds = {one["row"]["event"] for one in whole}
        assert {"DuplicateEliminated", "CollisionDetected"} <= kinds
        paged: list[int] = []
        before = ""
        while True:
            page = await gateway.get(f"/v1/exceptions?limit=1{before}")
            paged += [one["row"]["seq"] for one in page["exceptions"]]
            if page["next_before"] is None:
                break
            before = f"&before={page['next_before']}"
        assert paged == seqs
        since, until = whole[-1]["row"]["at"], whole[0]["row"]["at"]
        part = await gateway.get(f"/v1/exceptions?since={since}&until={until}")
        assert [one["row"]["seq"] for one in part["exceptions"]] == seqs[1:]


async def test_the_commands_show_the_same(gateway: RunningGateway, peer: Peer) -> None:
    await exchanged(gateway, peer)
    await gateway.parts.counting.catch_up()
    async with serving_api(gateway) as api:
        shown = await run("counters", "-o", "json", "--api", api)
        assert json.loads(shown)["together"]["submitted"] == 1
        assert (await run("counters", "--api", api)).splitlines()[-1].startswith("together\t1\t1")
        [line] = (await run("duplicates", "--api", api)).splitlines()
        assert "AckSent accepted" in line.split("\t")
        assert peer.party in line
        assert await run("security", "--since", "2020-01-01T00:00:00Z", "--api", api) == ""
        listed = await run(
            "exceptions", "--event", "DuplicateEliminated", "-o", "json", "--api", api
        )
        assert len(json.loads(listed)) == 1


async def run(*words: str) -> str:
    """What one command prints, in this process."""
    result = await anyio.to_thread.run_sync(partial(CliRunner().invoke, cli, words))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-02T00:00:00.5Z", 86_400_500_000),
        ("0001-01-01T00:00:00Z", 0),
        ("2024-02-30T00:00:00Z", 1_709_251_200_000_000),
    ],
)
def test_instants_are_read_as_they_are_declared(text: str, at: Any) -> None:
    assert when(text) == at


async def test_a_pair_says_how_it_goes(tmp_path: Path, peer: Peer) -> None:
    """Since when it has its state, when its partner was heard, what waits and what comes next."""
    terms = {"timeout": 600, "retries": 2, "retry_interval": 1200}
    async with running(tmp_path, peer, terms=terms) as gateway:
        fresh = await pair_with(gateway, peer)
        assert [fresh[name] for name in PAIR_FACTS] == [None, None, None, None, 0, []]
        await exchanged(gateway, peer)
        waits = await gateway.submit(b"x", to=peer)
        await peer.hear("Normal")
        queued = await gateway.submit(b"x", to=peer)
        await gateway.until_row(Event.TRANSMITTED, 2)
        await gateway.everything_said()
        await gateway.parts.counting.catch_up()
        found = await pair_with(gateway, peer)
        assert (found["first_try_share"], found["first_try_of"]) == (1.0, 1)
        assert (found["state_since_at"], found["queued"]) == (None, 1)
        message = await gateway.get(f"/v1/messages/{waits}")
        assert found["oldest_waiting_at"] == message["submitted_at"]
        [waiting] = found["waiting"]
        assert waiting["message_id"] == waits
        for name in ("attempt", "attempts_max", "next_attempt_at", "gives_up_at"):
            assert waiting[name] == message[name]
        [heard] = gateway.rows(Event.DUPLICATE_ELIMINATED)
        assert (
            found["last_contact_at"]
            == (await gateway.get("/v1/exceptions?event=DuplicateEliminated"))["exceptions"][0][
                "row"
            ]["at"]
        ), heard
        await gateway.call("POST", f"/v1/partners/{peer.party}/suspend", json={})
        await gateway.call("POST", f"/v1/messages/{queued}/cancel")
        await gateway.parts.counting.catch_up()
        suspended = await pair_with(gateway, peer)
        assert suspended["state_since_at"] is not None
        back = await pair_with(gateway, peer, "receiver")
        assert (back["last_contact_at"], back["waiting"]) == (found["last_contact_at"], [])


PAIR_FACTS = (
    *("state_since_at", "last_contact_at", "oldest_waiting_at", "first_try_share"),
    *("first_try_of", "waiting"),
)


async def pair_with(gateway: RunningGateway, peer: Peer, role: str = "sender") -> Any:
    pairs = (await gateway.get("/v1/partners"))["partners"]
    return next(one for one in pairs if (one["partner"], one["role"]) == (peer.party, role))
