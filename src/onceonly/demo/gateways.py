"""The two gateways as an operator runs them: a configuration file each, a process each.

Knows how to start, watch, kill and stop a gateway from outside. It must not know what is sent.
"""

import asyncio
import json
import random
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from onceonly.message.errors import OnceonlyError
from onceonly.message.profile import Profile

AGREEMENT_ID = "tpa-demo"
CLOCK_RATE = 20
"""Drill: a second of the agreement lasts 50 ms."""

TIMEOUT_S = 4
"""In agreed seconds; 0.2 s of real time, many times the undisturbed round trip."""

RETRY_INTERVAL_S = 4
RETRIES = 600
"""Two minutes of real time: more than a restart of the partner ever takes."""

READY_S = 30.0
"""Longest start of a gateway on a machine that is busy with everything else of this run."""

READY_POLL_S = 0.05
STOP_S = 30.0
"""Longest orderly stop: connections drain, the journal is published."""

LOG_LINES_SHOWN = 15


def _timeout_of(profile: Profile) -> str:
    """The line of the first wait; none where that is a RetryInterval, as all others are."""
    return f"timeout = {TIMEOUT_S}\n" if profile.has_timeout else ""


class DemoFailed(OnceonlyError):  # noqa: N818 - because it says what happened
    """The demonstration could not be carried out; says nothing about the promise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One side: its party, its place on disk and its addresses."""

    name: str
    party: str
    directory: Path
    lake: Path
    msh_port: int
    api_port: int

    @property
    def api(self) -> str:
        """Where applications reach the gateway."""
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def configuration(self) -> Path:
        """The gateway's configuration file."""
        return self.directory / "gateway.toml"

    @property
    def key(self) -> Path:
        """The private key with which it signs, if anything is signed."""
        return self.directory / f"{self.name}.key"

    def certificate_of(self, name: str) -> Path:
        """Where it keeps the certificate of the site of that name, its own or its partner's."""
        return self.directory / f"{name}.pem"


def _identity_of(site: Site) -> str:
    """The table of the key that signs."""
    return f"""
[[identity]]
id          = {json.dumps(site.name)}
certificate = {json.dumps(site.certificate_of(site.name).name)}
key         = {json.dumps(site.key.name)}
"""


def _signing_with(theirs: Site) -> str:
    """The lines of an agreement under which everything is signed, acknowledgements too."""
    return f"""\
sign = "all"
ack_requested = "Signed"
partner_certificates = [{json.dumps(theirs.certificate_of(theirs.name).name)}]
"""


def configuration(
    ours: Site,
    *,
    announced_port: int,
    theirs: Site,
    send_to_port: int,
    profile: Profile,
    is_signed: bool,
) -> str:
    """The text of our gateway's file. Both ports are the link's, so that all traffic crosses it.

    Everything beside the profile is the same for both; the windows of the later profiles are the
    default's.
    """
    return f"""\
# Written by `onceonly demo`.
[gateway]
party  = [{json.dumps(ours.party)}]
listen = "http://127.0.0.1:{ours.msh_port}/msh"
uri    = "http://127.0.0.1:{announced_port}/msh"
api    = {json.dumps(ours.api)}
store  = "gateway.db"
lake   = {json.dumps(str(ours.lake))}
publish_interval = 5
{_identity_of(ours) if is_signed else ""}
[[agreement]]
id      = {json.dumps(AGREEMENT_ID)}
profile = {json.dumps(profile.name)}
with    = [{json.dumps(theirs.party)}]
send_to = "http://127.0.0.1:{send_to_port}/msh"
delivery_semantics = "OnceAndOnlyOnce"
{_timeout_of(profile)}retries = {RETRIES}
retry_interval = {RETRY_INTERVAL_S}
persist_duration = "P30D"
time_to_live = "P7D"
{_signing_with(theirs) if is_signed else ""}
[drill]
clock_rate = {CLOCK_RATE}
"""


_PORTS = range(20_000, 32_000)
"""Below the range from which outgoing connections get theirs (32768 up on Linux): while a killed
gateway is down, its port must not become some client's, nor a connection to it meet itself."""


def free_ports(count: int) -> list[int]:
    """Ports on which nobody listens now. Raises `DemoFailed` if there are not enough."""
    ports = list(_free(count))
    if len(ports) < count:
        raise DemoFailed("there are no free ports between 20000 and 32000")
    return ports


def _free(count: int) -> Iterator[int]:
    # By chance of the machine, not of the seed, so that two demonstrations can run at once.
    for port in random.SystemRandom().sample(_PORTS, 200 * count):
        if count == 0:
            return
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            count -= 1
            yield port


class GatewayProcess:
    """One gateway's process, again and again; everything it says goes to `gateway.log`."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.kills = 0
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it and wait until it is ready. Raises `DemoFailed` with the end of its log."""
        with self._log.open("ab") as log:
            # A session of its own: Ctrl-C on the terminal is for us, and we stop it in order.
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "onceonly", "serve", "-c", str(self.site.configuration)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(READY_S):
                while not await self._is_ready():  # noqa: ASYNC110 - because a process only tells when asked
                    await asyncio.sleep(READY_POLL_S)
        except TimeoutError:
            raise DemoFailed(self._complaint(f"is not ready after {READY_S:.0f} s")) from None

    async def kill(self) -> None:
        """Kill it as a power cut does. Raises `DemoFailed` if it had ended by itself before."""
        assert self._process is not None, "only a running gateway is killed"
        self._signal(signal.SIGKILL)
        code = await self._process.wait()
        if code != -signal.SIGKILL:
            raise DemoFailed(self._complaint(f"ended by itself with {code}"))
        self.kills += 1

    async def stop(self) -> None:
        """Stop it in order. Raises `DemoFailed` if it does not come to an end with 0."""
        assert self._process is not None, "only a running gateway is stopped"
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_S):
                code = await self._process.wait()
        except TimeoutError:
            raise DemoFailed(self._complaint(f"did not stop within {STOP_S:.0f} s")) from None
        if code != 0:
            raise DemoFailed(self._complaint(f"stopped with {code}"))

    def send_kill(self) -> None:
        """Kill it, if it runs, without waiting for its end."""
        if self._process is not None and self._process.returncode is None:
            self._signal(signal.SIGKILL)

    async def destroy(self) -> None:
        """Leave no process behind, whatever happened before."""
        self.send_kill()
        if self._process is not None:
            await self._process.wait()

    def check(self) -> None:
        """Raises `DemoFailed` if the process ended without our doing."""
        if self._process is not None and self._process.returncode not in (None, -signal.SIGKILL):
            raise DemoFailed(self._complaint(f"ended by itself with {self._process.returncode}"))

    @property
    def _log(self) -> Path:
        return self.site.directory / "gateway.log"

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "there is a process to signal"
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _is_ready(self) -> bool:
        self.check()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.site.api_port)
        except OSError:
            return False
        try:
            host = f"127.0.0.1:{self.site.api_port}"
            request = f"GET /readyz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            writer.write(request.encode())
            return (await reader.readline()).startswith(b"HTTP/1.1 200")
        except ConnectionError:
            return False
        finally:
            writer.close()

    def _complaint(self, what: str) -> str:
        lines = self._log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return "\n".join([f"the {self.site.name}'s gateway {what}; the end of its log:", *lines])
