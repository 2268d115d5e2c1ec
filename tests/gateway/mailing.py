"""Gateways that exchange by mail, and the mail system between them.

The mail system is aiosmtpd and aiosmtplib and shares no code with the product: it takes a mail,
says 250, and then does with it what mail systems do.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosmtplib
from aiosmtpd.smtp import SMTP
from peer import PATIENCE_S
from running_gateway import CLOCK_RATE, PATIENT, RunningGateway, form

from onceonly.gateway.config import read_configuration
from ports import free_port

BUYER, SELLER = "urn:duns:111111111", "urn:duns:222222222"
MAILBOXES = {BUYER: "msh@buyer.example", SELLER: "msh@seller.example"}

EAGER: dict[str, Any] = {"timeout": 15, "retries": 1000, "retry_interval": 15}
"""Terms under which a lost copy is made good in 0.3 s, and nobody ever gives up."""


class MailSystem:
    """A relay that takes mail for everybody and carries it to the listener of its domain.

    Faults by name: `next` says how many times each strikes for certain, `chance` how probably
    after that. One seed, one fate.
    """

    def __init__(self, *, seed: int = 0, chance: Mapping[str, float] | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.mails: list[bytes] = []
        self.is_holding = asyncio.Event()
        """Set: mails are taken and kept until `let_go`."""
        self.next: Counter[str] = Counter()
        self.chance = dict(chance or {})
        self._random = random.Random(seed)
        self._ports: dict[str, int] = {}
        self._held: list[tuple[str, list[str], bytes]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: SMTP(self, hostname="relay.example", loop=loop), "127.0.0.1", 0
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def connect(self, mailbox: str, port: int) -> None:
        """From now on mail for the mailbox goes to the port."""
        self._ports[mailbox] = port

    def let_go(self) -> None:
        """Deliver what was kept."""
        self.is_holding.clear()
        for mail in self._held:
            self._start(*mail)
        self._held.clear()

    async def handle_RCPT(self, _server, _session, envelope, address, _options) -> str:  # noqa: N802 - because aiosmtpd looks for that name
        if self._strikes("greylist"):
            return "450 4.2.0 greylisted, come again"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, _session, envelope) -> str:  # noqa: N802 - because aiosmtpd looks for that name
        mail = (envelope.mail_from, envelope.rcpt_tos, envelope.original_content)
        self.mails.append(envelope.original_content)
        if self._strikes("busy"):
            return "451 4.3.2 busy"
        if self.is_holding.is_set():
            self._held.append(mail)
            return "250 kept"
        if self._strikes("lose"):
            return "250 lost"
        self._start(*mail)
        if self._strikes("double"):
            self._start(*mail)
        if self._strikes("hang_up"):
            server.transport.abort()
        return "250 taken"

    def _strikes(self, fault: str) -> bool:
        is_struck = self.next[fault] > 0 or self._random.random() < self.chance.get(fault, 0.0)
        self.next[fault] -= self.next[fault] > 0
        self.counts[fault] += is_struck
        return is_struck

    def _start(self, sender: str, recipients: list[str], mail: bytes) -> None:
        task = asyncio.create_task(self._carry(sender, recipients, mail))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, sender: str, recipients: list[str], mail: bytes) -> None:
        for recipient in recipients:
            try:
                await bring(mail, self._ports[recipient], recipient, sender)
            except (OSError, aiosmtplib.SMTPException):
                self.counts["bounced"] += 1


async def bring(mail: bytes, port: int, recipient: str, sender: str = "x@y.example") -> str:
    """Bring one mail to a listener; what it said. Raises what aiosmtplib raises."""
    client = aiosmtplib.SMTP(
        hostname="127.0.0.1", port=port, local_hostname="relay.example", start_tls=False
    )
    async with asyncio.timeout(PATIENCE_S), client:
        await client.mail(sender, options=[f"SIZE={len(mail)}"])
        await client.rcpt(recipient)
        return (await client.data(mail)).message


def configuration_text(
    party: str, ports: Mapping[str, int], system: MailSystem, **tables: Mapping[str, Any]
) -> str:
    """A gateway that sends and takes mail; `tables` overrides keys of any table."""
    partner = BUYER if party == SELLER else SELLER
    keys: dict[str, dict[str, Any]] = {
        "gateway": {
            "party": [party],
            "listen": f"http://127.0.0.1:{free_port()}/msh",
            "uri": f"smtp:{MAILBOXES[party]}",
            "api": f"http://127.0.0.1:{free_port()}",
            "store": "gateway.db",
        },
        "agreement": {
            "id": "tpa-ab-1",
            "with": [partner],
            "send_to": f"smtp:{MAILBOXES[partner]}",
            **PATIENT,
        },
        "smtp": {
            "mailbox": MAILBOXES[party],
            "listen": f"smtp://127.0.0.1:{ports[party]}",
            "relay": f"smtp://127.0.0.1:{system.port}",
            "starttls": "never",
        },
        "drill": {"clock_rate": CLOCK_RATE},
    }
    lines = []
    for table in {**keys, **tables}:
        lines.append("[[agreement]]" if table == "agreement" else f"[{table}]")
        values = {**keys.get(table, {}), **tables.get(table, {})}
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(lines)


class Partners:
    """Buyer and seller, and the mail system between them."""

    def __init__(self, buyer: RunningGateway, seller: RunningGateway, system: MailSystem) -> None:
        self.buyer = buyer
        self.seller = seller
        self.system = system

    async def submit(self, *payloads: bytes, **header: Any) -> str:
        """The buyer's application hands over a message for the seller; its MessageId."""
        message = {"to": SELLER, "service": "Ordering", "action": "NewOrder", **header}
        answer = await self.buyer.call("POST", "/v1/messages", files=form(message, *payloads))
        assert answer.status in (200, 201), answer
        message_id: str = answer.json["message_id"]
        return message_id

    async def until(self, claim: Callable[[], object]) -> None:
        """Return when the claim is true, asked again after every commit of either."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                commits = [one.store.next_commit() for one in (self.buyer, self.seller)]
                if claim():
                    return
                await asyncio.wait(commits, return_when=asyncio.FIRST_COMPLETED)

    async def until_acknowledged(self, *message_ids: str) -> None:
        await self.until(
            lambda: all(self.buyer.state_of(one) == "acknowledged" for one in message_ids)
        )


@asynccontextmanager
async def partners(
    directory: Path,
    *,
    system: MailSystem | None = None,
    buyer: Mapping[str, Mapping[str, Any]] | None = None,
    seller: Mapping[str, Mapping[str, Any]] | None = None,
) -> AsyncIterator[Partners]:
    """Both run; each knows the other by what its configuration says."""
    system = system or MailSystem()
    await system.open()
    ports = {party: free_port() for party in (BUYER, SELLER)}
    gateways = []
    for party, tables in ((BUYER, buyer), (SELLER, seller)):
        system.connect(MAILBOXES[party], ports[party])
        home = directory / party.rpartition(":")[2]
        home.mkdir()
        path = home / "gateway.toml"
        path.write_text(configuration_text(party, ports, system, **(tables or {})), "utf-8")
        gateways.append(RunningGateway(read_configuration(path)))
    started = []
    try:
        for gateway in gateways:
            await gateway.start()
            started.append(gateway)
        yield Partners(*gateways, system)
    finally:
        for gateway in started:
            await gateway.stop(0.0)
        await system.close()
