"""Two real gateways as an operator runs them, and what their applications do.

Knows processes, configuration files and the application API. Every wait has a deadline and looks
at a state that somebody else drives; the process under test is watched in the same breath.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import pytest
from nemesis_child import Command, Fork, Running

from onceonly.api.messages import Receipt
from onceonly.client import Client, GatewayUnreachable
from onceonly.demo.gateways import free_ports
from onceonly.gateway.config.keys import REPEATED

AGREEMENT = "tpa-nemesis"
CLOCK_RATE = 20
"""A second of the agreement lasts 50 ms."""

RETRY_INTERVAL_S = 4
"""In agreed seconds, as is the timeout: 0.2 s of real time, many times an undisturbed exchange."""

RETRIES = 100_000
"""More than any outage here needs, so that no pair is ever suspended."""

READY_S = 120.0
"""Longest start on a machine that is busy with other things."""

SETTLE_S = 120.0
"""Longest way of a message to its end once both gateways run."""

DEATH_S = 60.0
"""Longest way to an armed failpoint."""

POLL_S = 0.02
LOG_LINES_SHOWN = 25

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Site:
    """One side: who it is, where it listens and where its files are."""

    name: str
    party: str
    directory: Path
    msh_port: int
    api_port: int
    store: Path
    host: str = "127.0.0.1"
    """Where its MSH listens; the API is local always."""

    @property
    def uri(self) -> str:
        return f"http://{self.host}:{self.msh_port}/msh"

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def lake(self) -> Path:
        return self.directory / "lake"


Tables = Mapping[str, Mapping[str, Any]]
"""Keys of a configuration file by table, in the words of the file."""


def configuration(ours: Site, theirs: Site, failpoints: Sequence[str], tables: Tables) -> str:
    """The text of a gateway's file; `tables` replaces keys, and adds tables."""
    usual: dict[str, dict[str, Any]] = {
        "gateway": {
            "party": [ours.party],
            "listen": ours.uri,
            "api": ours.api,
            "store": str(ours.store),
            "lake": str(ours.lake),
            "publish_interval": 3600,
        },
        "agreement": {
            "id": AGREEMENT,
            "with": [theirs.party],
            "send_to": theirs.uri,
            "timeout": RETRY_INTERVAL_S,
            "retries": RETRIES,
            "retry_interval": RETRY_INTERVAL_S,
        },
        "drill": {"clock_rate": CLOCK_RATE, "failpoints": list(failpoints)},
    }
    lines: list[str] = []
    for name in {**usual, **tables}:
        lines.append(f"[[{name}]]" if name in REPEATED else f"[{name}]")
        keys = {**usual.get(name, {}), **tables.get(name, {})}
        lines += [
            f"{key} = {json.dumps(value)}" for key, value in keys.items() if value is not None
        ]
    return "\n".join(lines)


@dataclass
class Gateway:
    """One gateway's process, again and again."""

    site: Site
    partner: Site
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What its file says otherwise than usual; `configure` writes it."""
    starts: int = 0
    kills: int = 0
    _process: Running | None = field(default=None, repr=False)
    _code: int | None = None

    def configure(self, *failpoints: str) -> None:
        """Write the configuration that the next start reads."""
        text = configuration(self.site, self.partner, failpoints, self.tables)
        self.file.write_text(text, encoding="utf-8")

    def agree(self, **terms: Any) -> None:
        """Other terms of the agreement on this side, from the next start on."""
        self.tables["agreement"] = {**self.tables.get("agreement", {}), **terms}
        self.configure()

    def launch(self) -> None:
        """Start the process and do not wait for anything."""
        self._begin(Fork(self.file, self.log))

    def launch_command(self, *prefix: str) -> None:
        """The same by the command that an operator types, under `prefix` if given."""
        self._begin(Command([*prefix, *self.command], self.log))

    def _begin(self, process: Running) -> None:
        assert not self.is_running, "it runs already"
        self._process, self._code = process, None
        self.starts += 1

    @property
    def command(self) -> list[str]:
        """What an operator types."""
        return [sys.executable, "-m", "onceonly", "serve", "-c", str(self.file)]

    def start(self) -> None:
        """Start the process and wait until it is ready."""
        self.launch()
        self.await_ready()

    def await_ready(self) -> None:
        """Wait until it takes submissions; it must not end before."""
        code = self.wait_until_ready_or_dead()
        if code is not None:
            pytest.fail(f"the {self.site.name} ended with {code} at its start:\n{self.log_end()}")

    def wait_until_ready_or_dead(self) -> int | None:
        """None when it is ready; its exit code if it ended before."""
        deadline = time.monotonic() + READY_S
        with Client(self.site.api) as client:
            while not client.is_ready():
                code = self.wait_for_end(POLL_S)
                if code is not None:
                    return code
                assert time.monotonic() < deadline, f"the {self.site.name} is not ready"
        return None

    def wait_for_end(self, timeout_s: float) -> int | None:
        """The exit code, or None if it still runs after so long."""
        assert self._process is not None, "it was never started"
        if self._code is None:
            self._code = self._process.wait(timeout_s)
        return self._code

    @property
    def pid(self) -> int:
        assert self._process is not None, "it was never started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self.wait_for_end(0) is None

    def kill(self) -> None:
        """As hard as a power cut does it to a process."""
        self.send(signal.SIGKILL)
        assert self.wait_for_end(READY_S) == -signal.SIGKILL, self.log_end()
        self.kills += 1

    def restart(self, *failpoints: str) -> None:
        """Killed, and started again with these failpoints."""
        if self.is_running:
            self.kill()
        self.configure(*failpoints)
        self.start()

    def await_death(self) -> None:
        """Wait until a failpoint kills it, and disarm it for the next start."""
        assert self.wait_for_end(DEATH_S) == -signal.SIGKILL, self.log_end()
        self.kills += 1
        self.configure()

    def stop(self) -> float:
        """Stop in order; returns the seconds that it took."""
        begun = time.monotonic()
        self.send(signal.SIGTERM)
        code = self.wait_for_end(READY_S)
        assert code == 0, f"the {self.site.name} stopped with {code}:\n{self.log_end()}"
        return time.monotonic() - begun

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def destroy(self) -> None:
        """Leave no process behind, stopped ones included."""
        if self.is_running:
            self.send(signal.SIGKILL)
            self.wait_for_end(READY_S)

    def log_end(self) -> str:
        """The last lines that it said."""
        if not self.log.exists():
            return "(no log)"
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])

    @property
    def file(self) -> Path:
        return self.site.directory / "gateway.toml"

    @property
    def log(self) -> Path:
        return self.site.directory / "gateway.log"


class Payload(bytes):
    """What a message carries; the same for the same number, so that a repeat is a repeat."""

    @classmethod
    def numbered(cls, message_id: str, size_bytes: int = 2_000) -> "Payload":
        line = f"<Order><ID>{message_id}</ID></Order>\n".encode()
        return cls((line * (size_bytes // len(line) + 1))[:size_bytes])

    @property
    def digest(self) -> str:
        return sha256(self).hexdigest()


def submit(
    client: Client, to: Site, message_id: str, payload: bytes, conversation: str | None = None
) -> Receipt:
    """Hand one message over, under its own id."""
    return client.submit(
        [(payload, "application/xml", "order.xml")],
        to=to.party,
        service="urn:services:Ordering",
        action="NewOrder",
        message_id=message_id,
        conversation=conversation,
    )


def insist(call: Callable[[], T]) -> T:
    """The call's result, repeated while the gateway is down, as every application must."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        try:
            return call()
        except GatewayUnreachable:
            assert time.monotonic() < deadline, "the gateway does not come back"
            pause()


def pause() -> None:
    """Between two looks at what another process does."""
    _NEVER_SET.wait(POLL_S)


_NEVER_SET = threading.Event()


def until(condition: Callable[[], T | None], what: str, within_s: float = SETTLE_S) -> T:
    """The first true value of `condition`. Fails after so long, saying what was awaited."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {what}"
        pause()
    return value


def await_acknowledged(client: Client, message_id: str) -> None:
    """Wait until the sender holds an acknowledgement, noted durably."""
    until(lambda: is_acknowledged(client, message_id), f"{message_id} is acknowledged")


def is_acknowledged(client: Client, message_id: str) -> bool:
    """Whether it is so now."""
    return bool(client.get(message_id).state == "acknowledged")


def await_inbox(client: Client, count: int) -> None:
    """Wait until so many messages were handed over."""
    until(lambda: len(read_inbox_ids(client)) >= count, f"{count} messages are handed over")


def read_inbox_ids(client: Client) -> list[str]:
    """MessageIds of the inbox, by offset."""
    return [message_id for _, message_id, _ in read_inbox(client, with_payloads=False)]


def read_inbox(client: Client, *, with_payloads: bool = True) -> list[tuple[int, str, str]]:
    """(offset, MessageId, SHA-256 of the first payload's bytes) of everything, by offset."""
    found: list[tuple[int, str, str]] = []
    while items := client.inbox(after=found[-1][0] if found else 0, limit=1000):
        for item in items:
            digest = sha256()
            for piece in client.payload(item, 0) if with_payloads else ():
                digest.update(piece)
            found.append((item.offset, item.message_id, digest.hexdigest()))
    return found


@dataclass
class Exchange:
    """A sender and a receiver that know each other."""

    sender: Gateway
    receiver: Gateway
    payloads: dict[str, Payload] = field(default_factory=dict)
    """What was sent by the sender, by MessageId, in the order of the submissions."""
    is_sound: bool = True
    """Nothing has failed on it yet."""

    def agree(self, **terms: Any) -> None:
        """Other terms of the agreement on both sides, from the next start on."""
        for gateway in self.gateways:
            gateway.agree(**terms)

    def start(self) -> None:
        """Start whichever does not run; they come up side by side."""
        for gateway in self.gateways:
            if not gateway.is_running:
                gateway.launch()
        for gateway in self.gateways:
            gateway.await_ready()

    @property
    def gateways(self) -> tuple[Gateway, Gateway]:
        return self.sender, self.receiver

    def gateway(self, role: str) -> Gateway:
        return {"sender": self.sender, "receiver": self.receiver}[role]

    @contextmanager
    def clients(self) -> Iterator[tuple[Client, Client]]:
        """Applications of both sides."""
        with Client(self.sender.site.api) as ours, Client(self.receiver.site.api) as theirs:
            yield ours, theirs

    def submit(self, client: Client, message_id: str, size_bytes: int = 2_000) -> Receipt:
        """Hand a message to the sender; again, it is the same message."""
        payload = self.payloads.setdefault(message_id, Payload.numbered(message_id, size_bytes))
        return submit(client, self.receiver.site, message_id, payload)

    def submit_if_up(self, client: Client, message_id: str, size_bytes: int = 2_000) -> bool:
        """Whether the sender said yes; it may be dying."""
        try:
            self.submit(client, message_id, size_bytes)
        except GatewayUnreachable:
            return False
        return True

    def complete(self, message_id: str, size_bytes: int = 2_000) -> None:
        """Submit (again, where it was) and wait until acknowledged and handed over."""
        with self.clients() as (ours, theirs):
            insist(lambda: self.submit(ours, message_id, size_bytes))
            self.await_complete(ours, theirs, message_id)

    def await_complete(self, ours: Client, theirs: Client, message_id: str) -> None:
        """Wait until the message is acknowledged and handed over."""
        await_acknowledged(ours, message_id)
        until(lambda: theirs.find_inbox_item(message_id), f"{message_id} is handed over")

    def stop(self) -> None:
        """Stop both in order, so that their stores can be read."""
        for gateway in self.gateways:
            if gateway.is_running:
                gateway.stop()

    def destroy(self) -> None:
        """Leave no process behind."""
        for gateway in self.gateways:
            gateway.destroy()


def build_exchange(
    directory: Path, *, sender_store: Path | None = None, receiver_store: Path | None = None
) -> Exchange:
    """Two configured gateways below `directory`, each store there or where it is said."""
    ports = free_ports(4)
    sites = []
    for index, (name, party, store) in enumerate(
        [
            ("sender", "urn:duns:111111111", sender_store),
            ("receiver", "urn:duns:222222222", receiver_store),
        ]
    ):
        home = directory / name
        home.mkdir(exist_ok=True)
        sites.append(
            Site(
                name=name,
                party=party,
                directory=home,
                msh_port=ports[2 * index],
                api_port=ports[2 * index + 1],
                store=store or home / "gateway.db",
            )
        )
    sender, receiver = sites
    exchange = Exchange(Gateway(sender, receiver), Gateway(receiver, sender))
    for gateway in exchange.gateways:
        gateway.configure()
    return exchange
