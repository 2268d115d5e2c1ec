"""A log that is rotated by a signal, and one that cannot be written (R-47)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from running_gateway import write_configuration

from onceonly.cli.exits import Exit
from onceonly.client import Client

pytestmark = pytest.mark.process

PATIENCE_S = 60.0
POLL_S = 0.02


@contextmanager
def serving(config: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A gateway that says everything into its file, and nothing to stderr."""
    command = [sys.executable, "-m", "onceonly", "serve", "-c", str(config)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        _, said = process.communicate(timeout=PATIENCE_S)
        assert said == b""


def until(claim: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    """Wait for what another process does; it must not end before."""
    deadline = time.monotonic() + PATIENCE_S
    while not claim():
        assert process.poll() is None, process.returncode
        assert time.monotonic() < deadline
        time.sleep(POLL_S)  # nobody tells when another process has written


def has(file: Path, event: str) -> bool:
    """Whether the log has a line of that event."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return any(json.loads(line)["event"] == event for line in lines)


def api_of(config: Path) -> str:
    lines = config.read_text("utf-8").splitlines()
    return next(line for line in lines if line.startswith("api ")).split('"')[1]


def test_a_rotated_log_goes_on_in_a_new_file(tmp_path: Path) -> None:
    """Every line is in one of the two, and the file is closed to other users."""
    config = write_configuration(tmp_path, [], gateway={"log_file": "gateway.log"})
    log, old = tmp_path / "gateway.log", tmp_path / "gateway.log.1"
    with serving(config) as process:
        until(lambda: has(log, "ready"), process)
        log.rename(old)
        process.send_signal(signal.SIGUSR1)
        until(lambda: has(log, "log file opened again"), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == Exit.OK
    assert has(log, "stopped")
    assert not has(old, "stopped")
    assert log.stat().st_mode & 0o007 == 0


def test_a_log_that_cannot_be_opened_again_goes_on_where_it_was(tmp_path: Path) -> None:
    """As when somebody moved the folder away."""
    folder = tmp_path / "logs"
    folder.mkdir()
    config = write_configuration(tmp_path, [], gateway={"log_file": "logs/gateway.log"})
    moved = tmp_path / "moved"
    with serving(config) as process:
        until(lambda: has(folder / "gateway.log", "ready"), process)
        folder.rename(moved)
        process.send_signal(signal.SIGUSR1)
        until(lambda: has(moved / "gateway.log", "log file not opened again"), process)
        with Client(api_of(config)) as client:
            assert client.is_ready()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")  # noqa: PTH110 - because a marker has no path
def test_a_log_on_a_full_disk_stops_nothing(tmp_path: Path) -> None:
    """Only its lines are lost."""
    config = write_configuration(tmp_path, [], gateway={"log_file": "/dev/full"})
    with serving(config) as process, Client(api_of(config)) as client:
        until(client.is_ready, process)
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == Exit.OK


def test_a_log_file_that_cannot_be_made_is_named_at_start(tmp_path: Path) -> None:
    config = write_configuration(tmp_path, [], gateway={"log_file": "nowhere/gateway.log"})
    command = [sys.executable, "-m", "onceonly", "serve", "-c", str(config)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == Exit.UNEXPECTED
    assert "nowhere/gateway.log" in ended.stderr


def test_a_pipe_that_nobody_reads_is_refused_at_once(tmp_path: Path) -> None:
    """Opened on the event loop when the signal comes, it would hold up all messages."""
    pipe = tmp_path / "gateway.log"
    os.mkfifo(pipe)
    config = write_configuration(tmp_path, [], gateway={"log_file": pipe.name})
    command = [sys.executable, "-m", "onceonly", "serve", "-c", str(config)]
    ended = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == Exit.UNEXPECTED
    assert b"gateway.log" in ended.stderr


def test_without_a_log_file_the_signal_ends_nothing(tmp_path: Path) -> None:
    config = write_configuration(tmp_path, [])
    command = [sys.executable, "-m", "onceonly", "serve", "-c", str(config)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            with Client(api_of(config)) as client:
                until(client.is_ready, process)
                process.send_signal(signal.SIGUSR1)
                process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == Exit.OK
        finally:
            process.kill()
