"""`onceonly probe`: every look, from where on it is wrong, and what a program gets."""

import asyncio
import json
import socket
import sys
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner

from onceonly.api.condition import CertificateEnd, Condition, DiskSpace
from onceonly.api.history import JournalRow
from onceonly.api.looks import LOOKS, Level, Seen, Thresholds
from onceonly.api.operating import Health, PartnerPair
from onceonly.cli import probe
from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.client import Client
from onceonly.message.event import Event
from onceonly.message.instant import to_datetime
from onceonly.message.word import changed
from ports import free_port

NOW_S = 1_800_000_000
POLL_S = 0.05


def at(before_s: float) -> str:
    return to_datetime(int((NOW_S - before_s) * 1e6)).isoformat(timespec="microseconds")


WELL = Condition(
    now=at(0),
    ready=True,
    disk=DiskSpace(
        store_bytes=5_000_000, log_bytes=100, spool_bytes=0, free_bytes=50, total_bytes=100
    ),
    certificates=(CertificateEnd(file="our.pem", ends_at=at(-90 * 86_400)),),
    messages={"queued": 0, "sending": 0, "in_doubt": 0},
    oldest_waiting_at=None,
    oldest_doubt_at=None,
    incidents_open=0,
    last_row_at=at(5),
    last_seq=10,
    counted_seq=10,
    published_seq=10,
    publish_interval_s=60,
)
HEALTH = Health(
    status="ok", version="0.1.0", party=("urn:x:1",), store_epoch=2, draining=False, drill=None
)
PAIR = PartnerPair(
    partner="urn:x:2",
    partner_name=None,
    role="sender",
    from_party="urn:x:1",
    to_party="urn:x:2",
    state="open",
    reason=None,
    trouble=None,
    sequence_number=1,
    in_flight=(),
    window=1,
    queued=0,
    verdict_after_s=60,
    last_outcome=None,
    state_since_at=None,
    last_contact_at=at(100_000),
    oldest_waiting_at=None,
    first_try_share=None,
    first_try_of=0,
    waiting=(),
)
ROW = JournalRow(
    party="urn:x:1",
    event=Event.SUBMITTED,
    at=at(500),
    monotonic_ns=1,
    schema_version=2,
    seq=9,
    store_epoch=2,
    chain_hash="",
)


def found(name: str, *, health: Health = HEALTH, pair: PartnerPair = PAIR, **facts: Any) -> Level:
    """The level of one look at a gateway that is well but for these facts."""
    row = facts.pop("unpublished", None)
    seen = Seen(
        now_s=NOW_S,
        condition=changed(WELL, **facts),
        health=health,
        partners=[pair],
        unpublished=row,
    )
    finding = LOOKS[name](seen, Thresholds())
    assert finding.name == name
    assert finding.seen
    assert finding.expected
    assert (finding.move == "nobody's") == (finding.level is Level.OK)
    return finding.level


@pytest.mark.parametrize("name", LOOKS)
def test_a_gateway_that_is_well_has_no_finding(name: str) -> None:
    assert found(name) is Level.OK


def space(free: int) -> DiskSpace:
    return changed(WELL.disk, free_bytes=free, spool_bytes=None)


def ends(days: float) -> tuple[CertificateEnd, ...]:
    return (CertificateEnd(file="our.pem", ends_at=at(-days * 86_400)), *WELL.certificates)


def begins(later_s: float) -> tuple[CertificateEnd, ...]:
    return (changed(WELL.certificates[0], begins_at=at(-later_s)),)


@pytest.mark.parametrize(
    ("name", "facts", "level"),
    [
        ("ready", {"ready": False}, Level.CRITICAL),
        ("ready", {"health": changed(HEALTH, draining=True)}, Level.WARNING),
        ("disk", {"disk": space(14)}, Level.WARNING),
        ("disk", {"disk": space(4)}, Level.CRITICAL),
        ("pairs", {"pair": changed(PAIR, state="suspended")}, Level.CRITICAL),
        ("doubts", {"messages": {"in_doubt": 1}, "oldest_doubt_at": at(9)}, Level.WARNING),
        ("backlog", {"messages": {"queued": 1}, "oldest_waiting_at": at(899)}, Level.OK),
        ("backlog", {"messages": {"queued": 1}, "oldest_waiting_at": at(901)}, Level.WARNING),
        ("conversations", {"conversations_blocked": 1}, Level.WARNING),
        ("conversations", {"conversations_with_gap": 1}, Level.WARNING),
        ("conversations", {}, Level.OK),
        ("silence", {"pair": changed(PAIR, oldest_waiting_at=at(3_601))}, Level.WARNING),
        ("silence", {"pair": changed(PAIR, oldest_waiting_at=at(3_599))}, Level.OK),
        ("certificates", {"certificates": ends(29)}, Level.WARNING),
        ("certificates", {"certificates": ends(6)}, Level.CRITICAL),
        ("certificates", {"certificates": begins(60)}, Level.CRITICAL),
        ("certificates", {"certificates": begins(-60)}, Level.OK),
        (
            "certificates",
            {"certificates": (CertificateEnd(file="x", ends_at=None),)},
            Level.WARNING,
        ),
        ("certificates", {"certificates": ()}, Level.OK),
        ("clock", {"now": at(31)}, Level.WARNING),
        ("clock", {"last_row_at": at(-31)}, Level.WARNING),
        ("clock", {"last_row_at": None}, Level.OK),
        ("publication", {"published_seq": None, "unpublished": ROW}, Level.WARNING),
        ("publication", {"unpublished": changed(ROW, at=at(10))}, Level.OK),
    ],
)
def test_every_look_knows_when_something_is_wrong(
    name: str, facts: dict[str, Any], level: Level
) -> None:
    assert found(name, **facts) is level


def test_a_line_names_a_few_of_many() -> None:
    """A wall of three hundred partners says less."""
    closed = [changed(PAIR, partner=f"urn:x:{n}", state="suspended") for n in range(9)]
    seen = Seen(now_s=NOW_S, condition=WELL, health=HEALTH, partners=closed, unpublished=None)
    assert LOOKS["pairs"](seen, Thresholds()).seen.endswith("and 4 more")


@pytest.mark.anyio
async def test_the_command_tells_people_and_programs(tmp_path: Path) -> None:
    """Over a real gateway: one partner suspended, the rest is well."""
    config = tmp_path / "gateway.toml"
    listen, api = free_port(), free_port()
    config.write_text(
        f'[gateway]\nparty = ["urn:duns:222222222"]\nlisten = "http://127.0.0.1:{listen}/msh"\n'
        f'api = "http://127.0.0.1:{api}"\nstore = "g.db"\nlake = "lake"\n'
        '[[agreement]]\nid = "tpa"\nwith = ["urn:duns:111111111"]\n'
        'send_to = "http://127.0.0.1:9/msh"\n'
    )
    down = await run("-c", str(config), "--format", "nagios")
    assert (down[0], down[1].startswith("ONCEONLY CRITICAL - ")) == (2, True)
    assert (await run("-c", str(config)))[0] == Exit.UNREACHABLE
    gateway = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "onceonly", "serve", "-c", str(config)),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert gateway.stderr is not None
        async with asyncio.timeout(20):
            while b"ready" not in await gateway.stderr.readline():
                pass
        limits = ("--disk-warning-percent", "0", "--disk-critical-percent", "0")
        code, said = await run("-c", str(config), *limits)
        assert code == Exit.OK, said
        assert len(said.splitlines()) == len(LOOKS)
        with Client(f"http://127.0.0.1:{api}") as client:
            await anyio.to_thread.run_sync(client.suspend, "urn:duns:111111111")
            async with asyncio.timeout(20):
                await counted(client)
        code, said = await run("pairs", "-c", str(config), "--format", "nagios")
        assert (code, said.splitlines()[0]) == (
            2,
            "ONCEONLY CRITICAL - pairs: urn:duns:111111111 suspended as sender | pairs=2",
        )
        code, said = await run("pairs", "clock", "-c", str(config), "--format", "json")
        assert code == Exit.SUSPENDED
        assert [one["level"] for one in json.loads(said)] == ["critical", "ok"]
        _, said = await run("pairs", "-c", str(config), "--format", "prometheus")
        assert 'onceonly_probe_level{look="pairs"} 2' in said
    finally:
        gateway.terminate()
        await gateway.communicate()


async def run(*words: str) -> tuple[int, str]:
    invoke = partial(CliRunner().invoke, cli, ["probe", *words])
    result = await anyio.to_thread.run_sync(invoke)
    return result.exit_code, result.stdout


async def counted(client: Client) -> None:
    """Every row is counted, which a gateway that lives does by itself."""
    while True:
        condition = await anyio.to_thread.run_sync(client.condition)
        if condition.counted_seq == condition.last_seq:
            return
        await asyncio.sleep(POLL_S)  # the API tells how far it is, and nothing else


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ("nonsense --api http://127.0.0.1:1 --format nagios", "'nonsense' is not one of"),
        ("--format=nagios --api http://127.0.0.1:1 --disk 3", "No such option"),
        ("--format nagios -c no.toml", "no.toml"),
        ("--format nagios -c broken.toml", "broken.toml:1:"),
        ("--format nagios --api nonsense", "UnusableAddress"),
        ("--format nagios --api http://no-such-host.invalid:1", "cannot be reached"),
        ("--format nagios --api https://127.0.0.1:1 --ca broken.toml", "broken.toml"),
        ("--format nagios --api http://127.0.0.1:1 --key-file no.key", "the key cannot be read"),
        ("--format nagios --api http://127.0.0.1:1 --doubts some", "not a valid integer"),
        ("--format nagios", "--api"),
    ],
)
def test_whatever_is_wrong_a_plugin_ends_as_one(tmp_path, monkeypatch, words, seen):
    """UNKNOWN, one line on stdout, nothing on stderr: nobody looks there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.toml").write_text("nonsense\n", "utf-8")
    result = CliRunner().invoke(cli, ["probe", *words.split()])
    assert (result.exit_code, result.stderr) == (3, "")
    [line] = result.stdout.splitlines()
    assert line.startswith("ONCEONLY UNKNOWN - ")
    assert seen in line
    other = CliRunner().invoke(cli, ["probe", *words.replace("nagios", "text").split()])
    assert (other.exit_code in {Exit.USAGE, Exit.UNREACHABLE}, other.stdout) == (True, "")


def test_a_wrong_key_and_a_foreign_server_are_unknown():
    """The gateway refuses the call; or something that is no gateway answers."""

    class Refusing(BaseHTTPRequestHandler):
        answer = (401, b'{"error": {"name": "Unauthorized", "text": "the key is wrong | bad"}}')

        def do_GET(self):
            status, body = self.answer
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Not to stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = ["probe", "--api", f"http://127.0.0.1:{server.server_port}", "--format", "nagios"]
    try:
        for answer, seen in (
            (Refusing.answer, "Unauthorized: the key is wrong / bad"),
            ((200, b"[1, 2]"), ""),
            ((200, b"<html>"), ""),
        ):
            Refusing.answer = answer
            result = CliRunner().invoke(cli, command)
            assert (result.exit_code, result.stderr) == (3, "")
            [line] = result.stdout.splitlines()
            assert line.startswith("ONCEONLY UNKNOWN - ")
            assert seen in line
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("form", "code", "said"),
    [("nagios", 2, "ONCEONLY CRITICAL - the gateway cannot be reached: "), ("text", 5, "")],
)
def test_a_gateway_that_hangs_is_told_in_time(form, code, said):
    """All calls together have the time, also where an answer comes byte by byte."""
    is_over = threading.Event()

    def drip() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n")
            while not is_over.wait(POLL_S):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as server:
        dripping = threading.Thread(target=drip)
        dripping.start()
        began_s = time.monotonic()
        api = f"http://127.0.0.1:{server.getsockname()[1]}"
        result = CliRunner().invoke(
            cli, ["probe", "--api", api, "--format", form, "--timeout", "0.5"]
        )
        took_s = time.monotonic() - began_s
        is_over.set()
        dripping.join()
    assert result.exit_code == code, result.output
    assert result.stdout.startswith(said)
    assert "has not answered every call within 0.5 s" in result.output
    assert len(result.output.splitlines()) == 1
    assert took_s < 5


def test_a_plugin_has_a_time_of_its_own(monkeypatch):
    """Without an option, and shorter than the time after which it would be ended."""
    assert probe.NAGIOS_TIMEOUT_S < 10
    monkeypatch.setattr(probe, "NAGIOS_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        api = f"http://127.0.0.1:{server.getsockname()[1]}"
        result = CliRunner().invoke(cli, ["probe", "--api", api, "--format", "nagios"])
    assert (result.exit_code, len(result.stdout.splitlines())) == (2, 1)
