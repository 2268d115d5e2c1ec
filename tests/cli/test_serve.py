"""`onceonly serve` as a process: it starts, says so, drains on SIGTERM, and refuses to be two."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from running_gateway import OUR_PARTY, write_configuration

from onceonly.cli.exits import Exit
from onceonly.client import Client
from onceonly.message.identity import MessageKey
from onceonly.store.sqlite.store import open_sqlite

pytestmark = pytest.mark.process

PATIENCE_S = 60
"""A start takes about a second on a quiet machine."""


@contextmanager
def serving(config) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "onceonly", "serve", "-c", str(config)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


def await_event(process, event: str) -> dict[str, object]:
    """The next log line of that event; the log ends where the process does."""
    for line in process.stderr:
        entry = json.loads(line)
        if entry["event"] == event:
            return entry
    raise AssertionError(f"the gateway ended without {event!r}")


@pytest.fixture
def config(tmp_path):
    return write_configuration(tmp_path, [])


def api_of(config) -> str:
    lines = config.read_text().splitlines()
    return next(line for line in lines if line.startswith("api ")).split('"')[1]


def test_a_gateway_says_ready_and_drains_on_sigterm(config):
    """R-22: exit 0; the journal begins with Started and the drill, and ends with Stopped."""
    with serving(config) as process:
        await_event(process, "ready")
        with Client(api_of(config)) as client:
            assert client.is_ready()
            assert client.health().drill is not None
        process.send_signal(signal.SIGTERM)
        await_event(process, "stopped")
        assert process.wait(PATIENCE_S) == Exit.OK
    with sqlite3.connect(config.with_name("gateway.db")) as database:
        rows = database.execute("SELECT event FROM journal ORDER BY seq").fetchall()
    database.close()
    assert [row[0] for row in rows] == ["Started", "Drill", "Stopped"]


def test_a_stop_waits_for_nobody_who_follows(config):
    """An open stream ends as a whole answer, and the stop is in order."""
    api = api_of(config)
    with serving(config) as process:
        await_event(process, "ready")
        stream = httpx.stream("GET", f"{api}/v1/events", headers={"accept": "text/event-stream"})
        with stream as response:
            lines = response.iter_lines()
            assert next(lines) == "retry: 1000"
            process.send_signal(signal.SIGTERM)
            assert [line for line in lines if line.startswith("event")] == []
        log = [json.loads(line) for line in process.stderr]
        assert process.wait(PATIENCE_S) == Exit.OK
    assert [one["event"] for one in log if one["level"] in ("error", "critical")] == []


def test_a_second_gateway_on_one_store_is_refused(config):
    """R-23: exit 1 with the reason, and the first one goes on."""
    with serving(config) as first:
        await_event(first, "ready")
        command = [sys.executable, "-m", "onceonly", "serve", "-c", str(config)]
        second = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
        assert second.returncode == Exit.UNEXPECTED
        assert "gateway.db" in second.stderr
        assert "Traceback" not in second.stderr
        with Client(api_of(config)) as client:
            assert client.is_ready()


@pytest.mark.parametrize("key", ["listen", "api"])
def test_an_address_that_is_taken_is_named(tmp_path, key):
    """Exit 1 with the address, whichever of the two it is."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with serving(write_configuration(elsewhere, [])) as other:
        await_event(other, "ready")
        taken = api_of(elsewhere / "gateway.toml")
        path = "/msh" if key == "listen" else ""
        config = write_configuration(tmp_path, [], gateway={key: taken + path})
        command = [sys.executable, "-m", "onceonly", "serve", "-c", str(config)]
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
    assert ended.returncode == Exit.UNEXPECTED
    assert taken.rpartition(":")[2] in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_gateway_forgets_by_itself_what_is_over(tmp_path):
    """R-19: at `purge_interval`; the journal says what went, and the message is gone."""
    config = write_configuration(tmp_path, [], gateway={"purge_interval": 1})
    key = MessageKey("urn:duns:111111111", OUR_PARTY, "m-1@a.example.com")
    store = open_sqlite(tmp_path / "gateway.db", party=OUR_PARTY, clock_at=lambda: 0)
    store.begin().cancel_inbound(key, at=1, keep_until_at=2)
    store.commit()
    store.close()
    with serving(config) as process:
        assert await_event(process, "purged")["inbound"] == 1
    with sqlite3.connect(config.with_name("gateway.db")) as database:
        rows = database.execute("SELECT reason FROM journal WHERE event = 'Purged'").fetchall()
        left = database.execute("SELECT count(*) FROM tombstone").fetchone()
    database.close()
    assert (rows, left) == ([("1 received",)], (0,))
