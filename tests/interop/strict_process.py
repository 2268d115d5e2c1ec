"""The strict MSH: built by Maven once, and run as a process that a test can kill.

It is a partner in ebMS 2.0 whose rules are this project's, written after what deployed gateways
refuse, and whose MIME, XML, schemas and signatures are other people's: Apache James mime4j, the
JDK's parser and validator, Apache Santuario. It shares no code with the gateway.
"""

import asyncio
import shutil
import signal
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import kept_packages
import pytest

from ports import free_port

PROJECT = Path(__file__).parent / "strict_msh"
BUILT = Path(__file__).parents[2] / "build" / "strict-msh"
SCHEMAS = Path(__file__).parents[3] / "shared" / "spec" / "schemas"
START_S = 30.0
ANSWER_S = 60.0
"""Longer than the process itself waits for what a test asked it to wait for."""


class Received(NamedTuple):
    """A business message in the inbox of the strict MSH."""

    message_id: str
    action: str
    """The Action; `refused` where it was answered with an error."""
    conversation_id: str
    digests: str
    """SHA-256 of each payload, with commas between."""


class Sent(NamedTuple):
    """What it posted, or is about to post."""

    message_id: str
    kind: str
    status: str
    transmissions: str
    note: str


@cache
def why_not_built() -> str:
    """Build it; the reason why that cannot be, or nothing."""
    for program in ("java", "javac", "mvn"):
        if shutil.which(program) is None:
            return f"there is no {program} on this machine"
    # First with what an earlier build left here: that asks nobody, and takes a moment.
    for mode in (["--offline"], []):
        run = subprocess.run(
            ["mvn", "--quiet", "--batch-mode", *mode, "--file", PROJECT / "pom.xml", "package"],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode == 0:
            return ""
    complaint = [line for line in run.stdout.splitlines() if "ERROR" in line]
    if any("COMPILATION" in line for line in complaint):
        raise AssertionError("\n".join(complaint))
    return f"Maven cannot build the strict MSH here: {complaint[0] if complaint else run.stderr}"


def need_strict_msh() -> None:
    """Skip where it cannot be built."""
    reason = why_not_built()
    if reason:
        pytest.skip(reason)


class StrictMsh:
    """One strict MSH over a directory of its own, again and again."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.port = free_port()
        self._control = free_port()
        self._directory = directory
        self._arguments: Sequence[str] = arguments
        self._process: asyncio.subprocess.Process | None = None
        self._client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{self._control}",
            timeout=ANSWER_S,
            # Not one connection outlives a kill.
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def start(self) -> None:
        """Start it, over what it stored before, and wait until it listens."""
        captures = self._directory / "captures"
        captures.mkdir(exist_ok=True)
        schemas = ("--schemas", str(SCHEMAS)) if SCHEMAS.is_dir() else ()
        with (self._directory / "strict-msh.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                "java",
                # What takes seconds at every start, and pays off in hours.
                *("-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx256m"),
                *("-cp", f"{BUILT}/strict-msh-1.jar:{BUILT}/lib/*", "strictmsh.Main"),
                *("--port", str(self.port), "--control", str(self._control)),
                *("--store", str(self._directory / "strict")),
                *("--captures", str(captures)),
                *schemas,
                *self._arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(START_S):
            said = await self._process.stdout.readline()
        assert said == b"ready\n", self.end_of_log()

    async def kill(self) -> None:
        """End it as a power cut does."""
        assert self._process is not None, "only a running process is killed"
        self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    async def close(self) -> None:
        """Leave no process behind; what it wrote is noted."""
        for file in self.captured():
            kept_packages.note(file.read_bytes())
        await self._client.aclose()
        if self._process is not None and self._process.returncode is None:
            await self.kill()

    def end_of_log(self) -> str:
        """What Java complained about."""
        return (self._directory / "strict-msh.log").read_text()[-3000:]

    def captured(self) -> list[Path]:
        """Every package that it wrote, in order."""
        return sorted((self._directory / "captures").glob("*.http"))

    async def send(self, action: str, payload: bytes = b"", **query: str) -> str:
        """Hand a business message over; its MessageId."""
        return await self._post("/send", content=payload, params={"action": action, **query})

    async def ping(self) -> str:
        """Have it ask whether the gateway is there; the MessageId of the Ping."""
        return await self._post("/ping")

    async def ask_status(self, about: str) -> str:
        """Have it ask what became of a message of its own."""
        return await self._post("/status", params={"about": about})

    async def inbox(self, until: str | None = None) -> list[Received]:
        """What it has, as soon as it matches."""
        lines = await self._get("/inbox", until)
        return [Received(*line.split("\t")) for line in lines]

    async def outbox(self, until: str | None = None) -> dict[str, Sent]:
        """What it sends, by MessageId, as soon as it matches."""
        sent = [Sent(*line.split("\t")) for line in await self._get("/outbox", until)]
        return {one.message_id: one for one in sent}

    async def settled(self, message_id: str) -> Sent:
        """A message of its own that is not under way any more."""
        return (await self.outbox(rf"^{message_id}\t\w+\t(?!sending)"))[message_id]

    async def answers(self, until: str) -> list[str]:
        """What it was answered, as soon as it matches."""
        return await self._get("/answers", until)

    async def log(self, until: str | None = None) -> list[str]:
        """What it refused or dropped, as soon as it matches."""
        return await self._get("/log", until)

    async def _post(self, path: str, **arguments: Any) -> str:
        headers = {"Content-Type": "application/xml"}
        answer = await self._client.post(path, headers=headers, **arguments)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def _get(self, path: str, until: str | None) -> list[str]:
        answer = await self._client.get(path, params={"until": until} if until else None)
        assert answer.status_code == 200, answer.text
        return answer.text.splitlines()
