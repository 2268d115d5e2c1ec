"""A real RabbitMQ on loopback, from the distribution's package, in a directory of the test's."""

import os
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ports import free_port

SCRIPTS = ("/usr/lib/rabbitmq/bin/rabbitmq-server", "/usr/sbin/rabbitmq-server")
START_S = 60.0
"""A broker on a busy machine is up in a quarter of this."""


class Broker:
    """One broker with its own port mapper, both ours to start, to kill and to start again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.port = free_port()
        mapper_port = free_port()
        self._environment = {
            **os.environ,
            "HOME": str(directory),
            "RABBITMQ_NODENAME": f"onceonly-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(directory / "db"),
            "RABBITMQ_LOG_BASE": str(directory / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(directory / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1",
            "ERL_EPMD_PORT": str(mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }
        self._mapper = subprocess.Popen(
            [_epmd(), "-port", str(mapper_port), "-address", "127.0.0.1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, or start again over what is on its disk; returns when it takes connections."""
        # The files of a broker belong to whoever runs it, so we run the script beneath the
        # wrapper, which would change the user.
        with (self._directory / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [find_server() or "rabbitmq-server"],
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + START_S
        while not self._greets():
            assert self._process.poll() is None, self._said()
            assert time.monotonic() < until, self._said()

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self._mapper.kill()
        self._mapper.wait()

    @property
    def session(self) -> int:
        """Every process of the broker is in it."""
        assert self._process is not None
        return self._process.pid

    def uri(self, query: str) -> str:
        return f"amqp://127.0.0.1:{self.port}/?{query}"

    def _greets(self) -> bool:
        """Whether it answers a protocol that it does not speak with the one that it does."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"AMQP\x00\x00\x00\x00")
                return connection.recv(8) == b"AMQP\x00\x00\x09\x01"
        except OSError:
            # Nothing else to wait for: a broker tells nobody when it listens.
            select.select([], [], [], 0.1)
            return False

    def _said(self) -> str:
        return (self._directory / "broker.log").read_text("utf-8", "replace")[-2000:]


def find_server() -> str | None:
    """The server's script, beneath the package's wrapper; None where there is no server."""
    return next((path for path in SCRIPTS if Path(path).exists()), None)


def _epmd() -> str:
    found = shutil.which("epmd") or next(
        map(str, Path("/usr/lib/erlang").glob("erts-*/bin/epmd")), None
    )
    assert found is not None, "Erlang brings epmd"
    return found


@contextmanager
def running_broker(directory: Path) -> Iterator[Broker]:
    if find_server() is None:
        pytest.skip("there is no rabbitmq-server here; Debian's package of that name has it")
    broker = Broker(directory)
    try:
        broker.start()
        yield broker
    finally:
        broker.close()
