"""Two channels of one CPA: a conversation goes by HTTP one way, and by mail the other (E2-122)."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mailing import BUYER as BUYERS_MAILBOX
from mailing import MAILBOXES, MailSystem, Partners
from mailing import SELLER as SELLERS_MAILBOX
from running_gateway import CLOCK_RATE, RunningGateway, form

sys.path.insert(0, str(Path(__file__).parents[1] / "cpa"))

from cpas import BUYER, SELLER, SELLER_TYPE, characteristics, endpoint, imported

from onceonly.gateway.config import read_configuration
from onceonly.message.event import Event
from ports import free_port

pytestmark = pytest.mark.anyio

SERVICE = "urn:services:Orders"


@asynccontextmanager
async def both(directory: Path) -> AsyncIterator[Partners]:
    """Buyer and seller, each with the tables that the import makes of one CPA for its side."""
    system = MailSystem()
    await system.open()
    ports = {party: free_port() for party in ("buyer", "seller")}
    changes = {
        "characteristics_b": characteristics(syncReplyMode="mshSignalsOnly"),
        "protocol_a": "SMTP",
        "endpoint_a": f"mailto:{MAILBOXES[BUYERS_MAILBOX]}",
        "endpoints_b": endpoint(f"http://127.0.0.1:{ports['seller']}/msh"),
        "default_b": "b_in",
    }
    gateways = []
    for name, party, ours, box in (
        ("buyer", BUYER, f'"{BUYER}"', MAILBOXES[BUYERS_MAILBOX]),
        (
            "seller",
            SELLER,
            f'{{id = "{SELLER}", type = "{SELLER_TYPE}"}}',
            MAILBOXES[SELLERS_MAILBOX],
        ),
    ):
        mail_port = free_port()
        system.connect(box, mail_port)
        wishes = {"instead": (f"{_uri(ports['seller'])}={_uri(ports['seller'])}",)}
        path = directory / f"{name}.toml"
        path.write_text(
            f'[gateway]\nparty = [{ours}]\nlisten = "{_uri(ports[name])}"\n'
            f'api = "http://127.0.0.1:{free_port()}"\nstore = "{name}.db"\n'
            f'[smtp]\nmailbox = "{box}"\nlisten = "smtp://127.0.0.1:{mail_port}"\n'
            f'relay = "smtp://127.0.0.1:{system.port}"\nstarttls = "never"\n'
            f"[drill]\nclock_rate = {CLOCK_RATE}\n"
            f"{imported(party, wishes=wishes, **changes).text}",
            "utf-8",
        )
        gateways.append(RunningGateway(read_configuration(path)))
    try:
        for gateway in gateways:
            await gateway.start()
        yield Partners(*gateways, system)
    finally:
        for gateway in gateways:
            await gateway.stop(0.0)
        await system.close()


def _uri(port: int) -> str:
    return f"http://127.0.0.1:{port}/msh"


async def send(gateway: RunningGateway, to: str, action: str, **header: str) -> str:
    message = {"to": to, "service": SERVICE, "action": action, **header}
    answer = await gateway.call("POST", "/v1/messages", files=form(message, b"<x/>"))
    assert answer.status == 201, answer
    message_id: str = answer.json["message_id"]
    return message_id


@pytest.mark.statement("E2-122")
async def test_a_conversation_goes_by_http_one_way_and_by_mail_the_other(tmp_path):
    """The order with its acknowledgement in the answer; the response by mail, acknowledged too."""
    async with both(tmp_path) as parties:
        buyer, seller = parties.buyer, parties.seller
        order = await send(buyer, f"{SELLER_TYPE}:{SELLER}", "NewOrder", conversation="order-1")
        await buyer.until_state(order, "acknowledged")
        await seller.until_handed_over(order)
        assert parties.system.mails == []
        response = await send(seller, BUYER, "OrderResponse", conversation="order-1", ref=order)
        await seller.until_state(response, "acknowledged")
        await buyer.until_handed_over(response)
        assert len(parties.system.mails) == 1
        for gateway, message_id in ((seller, order), (buyer, response)):
            [item] = (await gateway.call("GET", "/v1/inbox")).json["items"]
            assert (item["message_id"], item["conversation"]) == (message_id, "order-1")
            [row] = gateway.rows(Event.HANDED_OVER)
            assert row.agreement_id == "orders-2026"
