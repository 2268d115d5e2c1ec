"""A receiver of webhooks: answers as it is told to, and keeps what came, if its signature fits."""

import asyncio
import hmac
import json
from base64 import b64decode
from hashlib import sha256
from typing import Any, NamedTuple

PATIENCE_S = 30

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Heard(NamedTuple):
    """One post."""

    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def is_signed(self, secret: str = SECRET) -> bool:
        """Checked as a receiver does it, over the bytes that came."""
        key = b64decode(secret.removeprefix("whsec_"))
        timestamp = self.headers["webhook-timestamp"]
        signed = f"{self.event_id}.{timestamp}.".encode() + self.body
        expected = hmac.new(key, signed, sha256).digest()
        given = self.headers["webhook-signature"].split(" ")
        return any(
            hmac.compare_digest(expected, b64decode(one.removeprefix("v1,"))) for one in given
        )


class Receiver:
    """Listens on a port of its own."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.may_answer = asyncio.Event()
        """Cleared, every answer waits until it is set."""
        self.may_answer.set()
        self._came = asyncio.Condition()
        self._answers: list[bytes] = []

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def answer(self, *answers: str) -> None:
        """The status lines of the next answers, with headers; an empty one hangs up."""
        self._answers += [one.encode() for one in answers]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                pairs = (line.split(": ", 1) for line in lines)
                headers = {name.lower(): value for name, value in pairs}
                body = await reader.readexactly(int(headers["content-length"]))
                self.heard.append(Heard(first.split(" ")[1], headers, body))
                async with self._came:
                    self._came.notify_all()
                await self.may_answer.wait()
                status = self._answers.pop(0) if self._answers else b"204 No Content"
                if not status:
                    return
                writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async def hear(self, count: int) -> list[Heard]:
        """What was posted, once there are so many posts."""
        async with asyncio.timeout(PATIENCE_S), self._came:
            await self._came.wait_for(lambda: len(self.heard) >= count)
        return self.heard

    async def close(self) -> None:
        self._server.close()
        await self._server.wait_closed()
