"""The way through the HTTP API: two `onceonly serve`, and applications on one connection each."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.bodies import bodies
from bench.processes import END_S, cpu_s_of
from bench.workload import Case, messages_of, sellers_of, write_configurations
from onceonly.gateway.config import read_configuration

READY_S = 60
POLL_S = 0.02
END_OF_CASE_S = 600
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
BOUNDARY = "between-the-parts"


class Served:
    """One `onceonly serve`, in a session of its own; what it says is in a file beside its store."""

    def __init__(self, config: Path) -> None:
        host, _, port = read_configuration(config).api.rpartition("/")[2].partition(":")
        self.address = host, int(port)
        with config.with_suffix(".log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "onceonly", "serve", "-c", str(config)],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def cpu_s(self) -> float:
        return cpu_s_of(self._process.pid)

    def memory_bytes(self, name: str) -> int:
        """What the system says of its memory: VmHWM is the most since `forget_peak`."""
        status = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        (line,) = (one for one in status.splitlines() if one.startswith(f"{name}:"))
        return int(line.split()[1]) << 10

    def forget_peak(self) -> None:
        """From now on the most is counted from what it has now."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    async def ready(self) -> None:
        async with asyncio.timeout(READY_S):
            while True:
                if self._process.poll() is not None:
                    raise SystemExit(f"a gateway ended with {self._process.returncode}")
                try:
                    connection = await connect(self.address)
                    status, _ = await connection.call(request("GET", "/readyz"))
                    await connection.close()
                except OSError:
                    status = 0
                if status == 200:
                    return
                await asyncio.sleep(POLL_S)

    async def until_counted(self, status: str, messages: int) -> None:
        """Return once so many messages have that status."""
        connection = await connect(self.address)
        wanted = f'onceonly_messages{{status="{status}"}} {float(messages)}\n'.encode()
        async with asyncio.timeout(END_OF_CASE_S):
            while wanted not in (await connection.call(request("GET", "/metrics")))[1]:  # noqa: ASYNC110 - because a gateway tells nobody
                await asyncio.sleep(POLL_S)

    def end(self) -> None:
        self._process.terminate()
        if self._process.wait(timeout=END_S):
            raise SystemExit(f"a gateway ended with {self._process.returncode}")


class Connection:
    """Calls one after the other; the least that a client can do, so that none of it is measured."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def call(self, request_bytes: bytes) -> tuple[int, bytes]:
        self._writer.write(request_bytes)
        head = await self._reader.readuntil(b"\r\n\r\n")
        body = await self._reader.readexactly(int(LENGTH.search(head)[1]))
        return int(head.split(None, 2)[1]), body

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def connect(address: tuple[str, int]) -> Connection:
    return Connection(*await asyncio.open_connection(*address))


def request(method: str, path: str, body: bytes = b"", kind: str = "text/plain") -> bytes:
    lines = (
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


def submission(to: str, document: bytes) -> bytes:
    """POST /v1/messages, as any client writes it."""
    header = json.dumps({"to": to, "service": "urn:services:Ordering", "action": "NewOrder"})
    disposition = "Content-Disposition: form-data; name="
    first = f'--{BOUNDARY}\r\n{disposition}"message"\r\nContent-Type: application/json\r\n\r\n'
    second = (
        f'\r\n--{BOUNDARY}\r\n{disposition}"payload"; filename="order.xml"\r\n'
        "Content-Type: application/xml\r\n\r\n"
    )
    form = b"".join(
        (first.encode(), header.encode(), second.encode(), document, f"\r\n--{BOUNDARY}--".encode())
    )
    return request("POST", "/v1/messages", form, f"multipart/form-data; boundary={BOUNDARY}")


async def submit_all(address: tuple[str, int], to: str, count: int, all_: Iterator[bytes]) -> None:
    connection = await connect(address)
    for _ in range(count):
        status, body = await connection.call(submission(to, next(all_)))
        if status != 201:
            raise SystemExit(f"a submission was answered with {status}: {body!r}")


def measure(directory: Path, case: Case) -> dict[str, float]:
    """Messages per second and processor time of both gateways; not that of the applications."""
    paths = write_configurations(directory, case)
    receiver, sender = Served(paths["receiver"]), Served(paths["sender"])
    try:
        return asyncio.run(_measured(receiver, sender, case))
    finally:
        sender.end()
        receiver.end()


async def _measured(receiver: Served, sender: Served, case: Case) -> dict[str, float]:
    await receiver.ready()
    await sender.ready()
    documents, messages = bodies(), messages_of(case)
    each = case["per_pair"] // case["writers"]
    cpu_began_s, began = receiver.cpu_s() + sender.cpu_s(), time.perf_counter()
    await asyncio.gather(
        *(
            submit_all(sender.address, to, each, documents)
            for to in sellers_of(case) * case["writers"]
        )
    )
    await sender.until_counted("acknowledged", messages)
    await receiver.until_counted("handed_over", messages)
    elapsed_s = time.perf_counter() - began
    cpu_s = receiver.cpu_s() + sender.cpu_s() - cpu_began_s
    return {"rate": messages / elapsed_s, "cpu_us": cpu_s / messages * 1e6}
