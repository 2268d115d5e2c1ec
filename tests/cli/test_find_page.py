"""The commands and the Python of `docs/how-to/find.md`, run against a gateway; what they find."""

import asyncio
import contextlib
import io
import shlex
from datetime import UTC, datetime

import click
import pyarrow.parquet as pq
import pytest
from packages import ORDER

from onceonly.api.messages import MessageCriteria
from onceonly.cli.exits import Exit
from onceonly.cli.times import When
from onceonly.client.lists import MessageChoice
from ports import free_port
from recipes import examples_of, replaced

pytestmark = pytest.mark.anyio

PAGE = "how-to/find.md"
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def lines(program: str) -> list[str]:
    """Commands of the page that run this program, without the configuration."""
    found = [line for block in examples_of(PAGE, "sh") for line in block.splitlines()]
    return [line for line in found if line.startswith(program)]


async def test_every_command_of_the_page_runs(run, gateway, peer, tmp_path, monkeypatch):
    """And prints the message that fits, if one does."""
    message_id = await gateway.submit(ORDER, to=peer, message_id="01a1fc1b-1", key="PO-4711")
    await peer.hear("Normal")
    await gateway.everything_said()
    folder = tmp_path / "exports"
    folder.mkdir()
    monkeypatch.chdir(folder)
    told = {}
    for line in lines("onceonly"):
        here = {" -c gateway.toml": "", "urn:duns:222222222": peer.party}
        words = shlex.split(replaced(line, here))
        result = await run(*words[1:])
        assert result.exit_code == Exit.OK, (line, result.stderr)
        told[" ".join(words[1:])] = result.stdout
    assert len(told) == 24
    for found in ("message list --newest", "message list --key PO-4711"):
        assert told[found].startswith(message_id)
    assert told["message list --id-prefix 01a1fc1b"].startswith(message_id)
    assert told[f"message count --to {peer.party} --since 7d"] == "1\n"
    assert told["message list --newest --since 2h --state failed"] == ""
    assert message_id in told[f"journal list --newest --event Transmitted --partner {peer.party}"]
    assert told["journal count --event Transmitted --since 24h"] == "1\n"
    assert pq.read_table("messages.parquet")["message_id"].to_pylist() == [message_id]
    written = {one.name: one.read_bytes() for one in folder.iterdir()}
    assert written["failed.csv"].count(b"\r\n") == 1
    assert written["received.ndjson"] == b""
    assert message_id in told[f"message export - --format csv --to {peer.party}"]


async def test_an_export_is_whole_or_not_there(run, gateway, tmp_path, monkeypatch):
    """Nothing is replaced, and what cannot be finished goes away."""
    folder = tmp_path / "exports"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "kept.csv").write_text("mine")
    wrong = {
        ("kept.csv",): (Exit.USAGE, "is there already"),
        ("kept.xls",): (Exit.USAGE, "say which --format"),
        ("no/such.csv",): (Exit.USAGE, "No such file"),
        ("new.csv", "--api", f"http://127.0.0.1:{free_port()}"): (Exit.UNREACHABLE, "reached"),
    }
    for words, (code, said) in wrong.items():
        result = await run("message", "export", *words)
        assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
    assert {one.name: one.read_text() for one in folder.iterdir()} == {"kept.csv": "mine"}


async def test_what_the_page_asks_over_http_is_answered(gateway, peer):
    """With the parameters that it shows."""
    await gateway.submit(ORDER, to=peer)
    for line in lines("curl"):
        _, address = shlex.split(line)
        answer = await gateway.get(address.removeprefix("http://127.0.0.1:8411"))
        assert set(answer) in ({"messages", "next_after", "is_cut"}, {"count", "is_more"})


async def test_the_python_of_the_page_prints_every_message(gateway, peer):
    """Page by page, and then how many there are."""
    for number in range(3):
        message_id = f"m-{number}"
        await gateway.submit(ORDER, to=peer, message_id=message_id)
        await peer.hear("Normal")
        await peer.acknowledge(message_id)
        await gateway.everything_said()
    [example] = examples_of(PAGE, "python")
    changes = {
        "http://127.0.0.1:8411": gateway.configuration.api,
        "urn:duns:222222222": peer.party,
        'order="newest"': 'order="newest", limit=2',
        "2026-11-25": "2020-11-25",
    }
    printed = await asyncio.to_thread(run_python, replaced(example, changes))
    *shown, count = printed.splitlines()
    assert [line.split()[0] for line in shown] == ["m-2", "m-1", "m-0"]
    assert count == "3"


def run_python(example: str) -> str:
    """What it prints, run as a program."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "example", "exec"), {"__name__": "example"})
    return printed.getvalue()


def test_an_instant_is_relative_or_absolute():
    """What has no zone is in UTC; what is neither is refused with examples."""
    when = When(lambda: NOW)
    read = {
        "45s": "2026-11-25T11:59:15.000000Z",
        "2w": "2026-11-11T12:00:00.000000Z",
        "2026-11-25": "2026-11-25T00:00:00.000000Z",
        "2026-11-25T08:00": "2026-11-25T08:00:00.000000Z",
        "2026-11-25T08:00:00.5Z": "2026-11-25T08:00:00.500000Z",
        "2026-11-25T08:00:00+02:00": "2026-11-25T06:00:00.000000Z",
    }
    assert {text: when.convert(text, None, None) for text in read} == read
    for text in ("", "yesterday", "2x", "-1h", "2026-13-01", "0001-01-01T00:00:00+23:00"):
        with pytest.raises(click.BadParameter, match="such as 2h"):
            when.convert(text, None, None)


def test_the_client_takes_every_criterion_of_the_list():
    """One definition: what `Client.list` can be asked for is what the API can be."""
    assert set(MessageChoice.__annotations__) == set(MessageCriteria.__struct_fields__)
