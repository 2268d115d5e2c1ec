"""Two real gateways with traffic between them, and a partner that does whatever is wrong.

The buyer's gateway is the one that is looked at: `api` serves its console. Its partners are the
seller, a real gateway that takes and sends; and a peer on raw sockets, which refuses, stays silent,
and writes what no partner should.
"""

import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from peer import UNAVAILABLE, Manners, Peer
from running_gateway import BRIEF, RunningGateway, form, serving_api

from certificates import certify
from onceonly.api.operation import LINES
from onceonly.gateway.config import read_configuration
from onceonly.gateway.supervise import api_and_console
from ports import free_port

BUYER, SELLER, DISTANT = "urn:duns:222222222", "urn:duns:444444444", "urn:duns:333333333"
NAME = "The seller in the west"
TOKEN = "a-token-of-the-tests"

MARKUP = "<img/src=x/onerror=window.pwned=1>"
SCRIPT = "<script>window.pwned=1</script>"
QUOTES = "\"'><svg/onload=window.pwned=1>"
BIDI = "\u202eevil\u202c"


@dataclass
class World:
    """The two gateways, the odd partner, and what was done between them."""

    buyer: RunningGateway
    seller: RunningGateway
    peer: Peer
    api: str
    doubt: str = ""
    refused: str = ""
    delivered: str = ""
    received: str = ""

    async def pages(self) -> dict[str, str]:
        """The address of every page, by its name."""
        items = (await self.buyer.get("/v1/inbox"))["items"]
        return {
            "overview": "/console/",
            "month": "/console/?range=30d",
            "messages": "/console/messages",
            "in-doubt": "/console/doubts",
            "message": "/console/message?" + urlencode({"id": self.doubt}),
            "delivered": "/console/message?" + urlencode({"id": self.delivered}),
            "payload": "/console/message?" + urlencode({"id": self.delivered, "look": 0}),
            "sent-header": "/console/message?" + urlencode({"id": self.refused, "look": "header"}),
            "failed": "/console/message?" + urlencode({"id": self.refused}),
            "partners": "/console/partners",
            "partner": "/console/partner?" + urlencode({"partner": DISTANT}),
            "agreements": "/console/agreements",
            "agreement": "/console/agreement?id=orders-2026",
            "agreement-differs": "/console/agreement?id=tpa-cb-1",
            "certificates": "/console/certificates",
            "inbox": "/console/inbox",
            "item": "/console/item?" + urlencode({"offset": items[-1]["offset"]}),
            "trouble": "/console/trouble?all=yes",
            "exceptions": "/console/exceptions",
            "bulks": "/console/bulks",
            "bulk": "/console/bulk?number=1",
            "new-bulk": "/console/new-bulk?q=state:in_doubt",
            "new-bulk-of-inbox": "/console/new-bulk?of=inbox&q=processing:complete",
            "jobs": "/console/jobs",
            "job": "/console/job?job=invoices-november",
            "journal": "/console/journal",
            "audit": "/console/audit",
            "reports": "/console/reports",
            "keys": "/console/keys",
            "system": "/console/system",
            "confirm": "/console/do/anyway?" + urlencode({"on": self.doubt}),
            "nothing-found": "/console/messages?q=colour:red",
            "not-there": "/console/message?id=nothing",
        }

    async def get(self, path: str) -> Any:
        return await self.buyer.get(path)

    async def submit(self, to: str, **header: Any) -> str:
        message = {"to": to, "service": "Ordering", "action": "NewOrder", **header}
        answer = await self.buyer.call("POST", "/v1/messages", files=form(message, b"<Order/>"))
        assert answer.status == 201, answer
        message_id: str = answer.json["message_id"]
        return message_id


def _table(heading: str, keys: dict[str, Any]) -> str:
    lines = (f"{key} = {json.dumps(value)}" for key, value in keys.items())
    return "\n".join([heading, *lines, ""])


def _written(directory: Path, tables: Sequence[tuple[str, dict[str, Any]]]) -> Path:
    directory.mkdir(parents=True)
    path = directory / "gateway.toml"
    path.write_text("\n".join(_table(*one) for one in (*tables, ("[drill]", {"clock_rate": 50}))))
    return path


def _gateway(party: str, uri: str, **more: Any) -> tuple[str, dict[str, Any]]:
    api = f"http://127.0.0.1:{free_port()}"
    keys = {"party": [party], "listen": uri, "api": api, "store": "gateway.db", **more}
    return "[gateway]", keys


@asynccontextmanager
async def _started(directory: Path, *tables: tuple[str, dict[str, Any]]) -> Any:
    alive = RunningGateway(read_configuration(_written(directory, tables)))
    await alive.start()
    try:
        yield alive
    finally:
        await alive.stop(0.0)


@asynccontextmanager
async def two_gateways(directory: Path, **gateway: Any) -> AsyncIterator[World]:
    """Both, with the traffic of an odd morning already behind them."""
    uris = [f"http://127.0.0.1:{free_port()}/msh" for _ in range(2)]
    peer = Peer(DISTANT, "tpa-cb-1")
    peer.gateway_uri = uris[0]
    await peer.listen()
    between = {"id": "orders-2026", **BRIEF, "timeout": 60, "retry_interval": 60}
    tls = _certified(directory)
    ours = [
        _gateway(BUYER, uris[0], backups="backups", **gateway),
        *tls,
        ("[[agreement]]", {**between, "name": NAME, "with": [SELLER], "send_to": uris[1]}),
        ("[[agreement]]", {"id": "tpa-cb-1", "with": [DISTANT], "send_to": peer.uri, **BRIEF}),
    ]
    theirs = [
        _gateway(SELLER, uris[1]),
        ("[[agreement]]", {**between, "with": [BUYER], "send_to": uris[0]}),
    ]
    try:
        async with (
            _started(directory / "buyer", *ours) as buyer,
            _started(directory / "seller", *theirs) as seller,
            serving_api(buyer, application=api_and_console(buyer.parts)) as api,
        ):
            world = World(buyer=buyer, seller=seller, peer=peer, api=api)
            if "api_token" in gateway:
                buyer.api.headers["authorization"] = f"Bearer {gateway['api_token']}"
            write_reports(directory / "buyer" / "reports")
            await _morning(world)
            yield world
    finally:
        await peer.close()


def write_reports(folder: Path) -> None:
    """What the lake's programs and people leave there, with names that no friend would choose."""
    numbers = {
        "as_of": 1_764_100_000_000_000,
        "parties": [BUYER, MARKUP],
        "messages": 25_000,
        "verdicts": {"MATCHED": 24_998, "ACK_LOST": 2},
        "differences": 2,
        "invariants": {"E3": 0, "E1": 1},
    }
    page = f'<!doctype html><meta name="onceonly-report" content="{escape(json.dumps(numbers))}">'
    pack = {"between": [BUYER, SELLER], "verdicts": {"MATCHED": 6}, "differences": 0}
    files = {
        "2026-11.html": f"{page}<script>window.pwned=1</script><h1>Did the promise hold?</h1>",
        f"{BIDI} {QUOTES.replace('/', '')}.html": "<h1>No report</h1>",
        "reconciliation.json": json.dumps({**pack, "verdicts": {"<img>": 1}}),
        "third quarter/summary.json": json.dumps(pack),
        "third quarter/SHA256SUMS": "",
        "third quarter/journal/part-0.parquet": "PAR1",
        "plots/latency.svg": "<svg onload='window.pwned=1'/>",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _certified(directory: Path) -> Sequence[tuple[str, dict[str, Any]]]:
    """A certificate to show to partners, where there is a program that makes one."""
    if shutil.which("openssl") is None:
        return ()
    directory.mkdir(parents=True, exist_ok=True)
    certify(directory, "buyer")
    return [("[tls]", {"certificate": "../buyer.pem", "key": "../buyer.key"})]


async def _morning(world: World) -> None:
    """Orders, invoices, a refusal, a partner that goes silent, and a job."""
    buyer, seller, peer = world.buyer, world.seller, world.peer
    for number in range(4711, 4717):
        world.delivered = await world.submit(SELLER, message_id=f"PO-{number}@buyer.example")
        await buyer.until_state(world.delivered, "acknowledged")
    for number in range(1, 4):
        header = {"to": BUYER, "service": "Invoicing", "action": MARKUP if number == 2 else "New"}
        identifier = QUOTES if number == 2 else f"INV-{number}@seller.example"
        header["message_id"] = identifier
        answer = await seller.call("POST", "/v1/messages", files=form(header, b"<Invoice/>"))
        assert answer.status == 201, answer
        await seller.until_state(identifier, "acknowledged")
        world.received = identifier
    world.refused = await world.submit(
        DISTANT, message_id=f"PO-5000{MARKUP}", service=SCRIPT, action=BIDI, conversation=QUOTES
    )
    arrival = await peer.hear("Normal")
    await peer.refuse(arrival.message_id, "Inconsistent")
    await buyer.until_state(world.refused, "failed")
    peer.answer_always = UNAVAILABLE
    world.doubt = await world.submit(DISTANT, message_id="PO-5001@buyer.example")
    peer.answer(Manners.HANG_UP)
    await buyer.until_state(world.doubt, "in_doubt")
    for number in range(5002, 5006):
        await world.submit(DISTANT, message_id=f"PO-{number}@buyer.example")
    asking = {"onceonly-operator": "anna", "onceonly-reason": "are they there?"}
    answer = await buyer.call("POST", f"/v1/partners/{SELLER}/ping", headers=asking)
    assert answer.status == 200, answer
    await _job(world)
    _edit(buyer.configuration.path)
    where = {"do": "ask", "where": {"to": DISTANT}, "reason": MARKUP}
    answer = await buyer.call("POST", "/v1/bulk", json=where)
    assert answer.status == 201, answer
    await buyer.parts.counting.catch_up()


def _edit(path: Path) -> None:
    """Somebody has changed the file, and not reloaded it yet."""
    text = path.read_text("utf-8")
    more = "inquire_status = true\ninquiries = 7\n"
    path.write_text(text.replace('id = "tpa-cb-1"\n', f'id = "tpa-cb-1"\n{more}'), "utf-8")


async def _job(world: World) -> None:
    rows = [
        {
            "row": number,
            "message_id": f"JOB-{number}@buyer.example",
            "to": SELLER if number != 3 else "urn:duns:000000000",
            "service": "Invoicing",
            "action": "New",
            "payload": "<Invoice/>",
        }
        for number in range(1, 6)
    ]
    answer = await world.buyer.call(
        "POST",
        "/v1/jobs/invoices-november/messages",
        content="".join(json.dumps(row) + "\n" for row in rows),
        headers={"content-type": LINES},
    )
    assert answer.status == 200, answer
