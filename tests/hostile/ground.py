"""Where the attacks take place: one gateway with all its listeners, an attacker, a bystander.

The attacker is a partner with an agreement of its own, so that whatever it gets through would be
stored, acknowledged and delivered. The bystander is another partner, whose messages must not
suffer. What an attack did is read from the store, the spool, the journal and the wire.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from packages import Parcel
from peer import PATIENCE_S, Peer
from peer_2001 import Peer2001
from running_gateway import RunningGateway, write_configuration
from smtp_peers import Speaker, speaking

from onceonly.gateway.config import read_configuration
from onceonly.journal.record import Record
from onceonly.message.event import Event
from ports import free_port
from slowness import slowness

M = "m-1@a.example.com"
"""MessageId of what the attacker sends."""

MAILBOX = b"msh@b.example.com"
REFUSAL_ROWS = 60
"""In an hour, so that a flood is one within a second."""

CPU_S_MAX = 1.0
"""On a quiet machine."""
GROWTH_BYTES_MAX = 256 << 20

ABOUT_ATTACKS = (Event.REJECTED, Event.SECURITY_EVENT, Event.COLLISION_DETECTED)
"""Rows that say that somebody tried something."""


class Partners(NamedTuple):
    """Who has an agreement with the gateway."""

    attacker: Peer
    modern: Peer2001
    """The same under the other profile."""
    bystander: Peer


class Ground:
    """The gateway, the two partners, and what was there before the attack."""

    def __init__(self, gateway: RunningGateway, partners: "Partners", smtp: int) -> None:
        self.gateway = gateway
        self.attacker, self.modern, self.bystander = partners
        self.smtp_port = smtp
        self._seen = len(gateway.rows())
        self._sent = 0

    @property
    def host_port(self) -> tuple[str, int]:
        """Of the HTTP listener."""
        host, _, port = self.gateway.uri.split("/")[2].partition(":")
        return host, int(port)

    async def say(self, raw: bytes | Sequence[bytes]) -> str:
        """Send raw bytes to the HTTP listener; see `answer_of`."""
        pieces = [raw] if isinstance(raw, bytes) else raw
        reader, writer = await asyncio.open_connection(*self.host_port)
        try:
            async with asyncio.timeout(PATIENCE_S):
                hearing = asyncio.create_task(_all_of(reader))
                with suppress(ConnectionError):  # It has heard enough.
                    for piece in pieces:
                        writer.write(piece)
                        await writer.drain()
                return answer_of(await hearing)
        finally:
            writer.transport.abort()

    @asynccontextmanager
    async def speaking(self) -> AsyncIterator[Speaker]:
        """A conversation with the mail listener, past the greeting."""
        async with speaking(self.smtp_port) as client:
            await client.greet()
            yield client

    async def mail(self, data: bytes, sender: bytes = b"them@a.example.com") -> str:
        """Bring one mail; the answer to its end."""
        async with self.speaking() as client:
            return await deliver(client, data, sender)

    async def innocent(self) -> None:
        """Another pair's message: delivered and acknowledged, whatever happens here."""
        self._sent += 1
        message_id = f"innocent-{self._sent}@c.example.com"
        assert (await self.bystander.send(message_id, self._sent)).status == 204
        assert (await self.bystander.hear("Acknowledgement")).ref == message_id

    def news(self) -> list[Record]:
        """Rows about attacks since the ground was laid."""
        return [row for row in self.gateway.rows()[self._seen :] if row.event in ABOUT_ATTACKS]

    def delivered(self) -> list[str]:
        """MessageIds in the application's inbox that are not the bystander's."""
        return [one for one in self.gateway.inbox_ids() if not one.startswith("innocent-")]

    def spooled(self) -> list[Path]:
        """Files of payloads."""
        store = self.gateway.configuration.store
        folder = store.with_name(f"{store.name}-spool")
        return [path for path in folder.iterdir() if path.is_file()] if folder.exists() else []

    def acknowledged(self) -> int:
        """Acknowledgements that the attackers got."""
        return len(self.attacker.heard("Acknowledgement") + self.modern.heard("Acknowledgment"))

    def told(self) -> list[str]:
        """Codes of the Error messages that the attackers got."""
        return [
            one.error_code
            for one in self.attacker.heard("Error") + self.modern.heard("MessageError")
        ]


Attack = Callable[[Ground], Awaitable[str]]


class Case(NamedTuple):
    """One row of a table: an attack and what must come of it."""

    id: str
    """Of `spec/security.md`."""
    what: str
    attack: Attack | None
    """None for a case that cannot apply here; `why` says so."""
    answer: str = ""
    """How the answer begins: status and name; what is behind the name does not matter."""
    names: str | None = ""
    """What the one row about it says, beside being there. None: no row, for `why`."""
    delivered: int = 0
    """Messages of the attacker that rightly arrive; else nothing is stored or acknowledged."""
    rows: int | None = None
    """Of rows about it, where it is not one per refusal."""
    why: str = ""
    """Why the answer is not the specification's, or there is no row."""
    gateway: tuple[tuple[str, Any], ...] = ()
    """Keys of `[gateway]` other than the ground's."""
    needs: str | None = None
    """What this machine lacks for it; then the row is skipped and says so."""

    @property
    def rows_expected(self) -> int:
        """A refusal leaves one row, what is rightly taken none."""
        if self.rows is not None:
            return self.rows
        return 0 if self.names is None or self.delivered else 1


async def _all_of(reader: asyncio.StreamReader) -> bytes:
    """Everything up to the end of the connection, also where that is a reset."""
    heard = b""
    with suppress(ConnectionError):
        while piece := await reader.read(65_536):
            heard += piece
    return heard


def answer_of(answer: bytes) -> str:
    """Status and `Onceonly-Error` of the first of the HTTP answers; how many, if several."""
    if not answer:
        return "closed"
    head = answer.partition(b"\r\n\r\n")[0].decode("latin-1")
    status, *lines = head.split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines)
    words = [status.split(" ")[1], fields.get("Onceonly-Error", "")]
    count = answer.count(b"HTTP/1.1 ") - answer.count(b"HTTP/1.1 100 ")
    return " ".join(filter(None, words)) + (f" x{count}" if count > 1 else "")


async def deliver(client: Speaker, data: bytes, sender: bytes = b"them@a.example.com") -> str:
    """One mail on a conversation that stands; the answer to its end."""
    assert (await client.ask(b"MAIL FROM:<" + sender + b">")).startswith("250")
    assert (await client.ask(b"RCPT TO:<" + MAILBOX + b">")).startswith("250")
    assert (await client.ask(b"DATA")).startswith("354")
    await client.say(data)
    return (await client.reply()).strip()


def as_mail(parcel: Parcel, *fields: str) -> bytes:
    """The bytes of a mail with this package, dots doubled, with its final dot."""
    body = parcel.body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n").replace(b"\r\n.", b"\r\n..")
    head = ["From: <them@a.example.com>", *fields, f"Content-Type: {parcel.content_type}", "", ""]
    return "\r\n".join(head).encode() + body + b".\r\n"


@asynccontextmanager
async def laid(directory: Path, **gateway: Any) -> AsyncIterator[Ground]:
    """A fresh ground; `gateway` are keys of `[gateway]`."""
    partners = Partners(
        Peer("urn:duns:111111111"),
        Peer2001("urn:duns:444444444", "cpa-db-1"),
        Peer("urn:duns:333333333", "tpa-cb-1"),
    )
    smtp = free_port()
    path = write_configuration(
        directory,
        (partners.attacker, partners.bystander),
        gateway=gateway,
        limits={"refusal_rows_per_hour": REFUSAL_ROWS},
    )
    table = {
        "mailbox": MAILBOX.decode(),
        "listen": f"smtp://127.0.0.1:{smtp}",
        "starttls": "never",
    }
    with path.open("a", encoding="utf-8") as file:
        file.write("[smtp]\n" + "".join(f'{key} = "{value}"\n' for key, value in table.items()))
        file.write(
            f'[[agreement]]\nid = "cpa-db-1"\nwith = ["{partners.modern.party}"]\n'
            f'profile = "rm-2001"\nsend_to = "{partners.modern.uri}"\n'
        )
    alive = RunningGateway(read_configuration(path))
    for peer in partners:
        peer.gateway_uri = alive.uri
        await peer.listen()
    await alive.start()
    try:
        yield Ground(alive, partners, smtp)
    finally:
        await alive.stop(0.0)
        for peer in partners:
            await peer.close()


class Growth:
    """How much memory this process takes at most, from now on."""

    def __init__(self) -> None:
        # Resets the peak, so that what other tests needed does not count.
        Path("/proc/self/clear_refs").write_text("5", "ascii")
        self._before_bytes = _peak_bytes()

    def check(self) -> None:
        """Raise where it was too much."""
        assert _peak_bytes() - self._before_bytes < GROWTH_BYTES_MAX


class Cost:
    """What an attack costs this process, our side of the sockets included."""

    def __init__(self) -> None:
        self._growth = Growth()
        self._began_s = time.process_time()

    def check(self) -> None:
        """Raise where it was too much."""
        took_s = time.process_time() - self._began_s
        # A tracer's time is not the gateway's, and there may be several times as much of it.
        is_traced = sys.gettrace() is not None
        assert took_s < CPU_S_MAX or took_s < CPU_S_MAX * slowness() or is_traced
        self._growth.check()


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10


async def judge(case: Case, ground: Ground) -> None:
    """Carry out the attack beside the bystander's messages, and look at what came of it."""
    assert case.attack is not None
    cost = Cost()
    answer, _ = await asyncio.gather(case.attack(ground), ground.innocent())
    await ground.innocent()
    await ground.gateway.everything_said()
    cost.check()
    assert answer.startswith(case.answer), answer
    await ground.gateway.until(lambda: len(ground.news()) >= case.rows_expected)
    news = ground.news()
    assert len(news) == case.rows_expected, [(row.event, row.reason) for row in news]
    for row in news:
        assert (case.names or "") in f"{row.error_code} {row.reason}"
        assert row.endpoint or row.message_id, "somebody, or at least an address"
    status, _, name = case.answer.partition(" ")
    if status == "204" and name.isalpha():
        assert ground.told() == [name], "who is known is told what was wrong"
    if case.delivered:
        await ground.gateway.until(lambda: len(ground.delivered()) >= case.delivered)
    assert len(ground.delivered()) == case.delivered
    assert ground.acknowledged() >= case.delivered
    if not case.delivered:
        assert ground.acknowledged() == 0
        assert ground.spooled() == []
        counts = ground.gateway.store.snapshot().count_by_status()
        assert counts.get("stored", 0) == 0
        assert counts.get("handed_over", 0) == 2, "the bystander's"
