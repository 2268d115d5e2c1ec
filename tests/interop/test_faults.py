"""Both sides under load over a link that loses, doubles, delays and cuts, and killed in between.

Then both are asked what they have: nothing may be missing, and nothing there twice.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from ordering import SYNC, configuration_text, cpa_text, order_header
from running_gateway import form
from signers import CPA_TERMS, IDENTITY, OUR_TERMS, write_signers
from strict_process import StrictMsh, need_strict_msh

from onceonly.demo.gateways import CLOCK_RATE, GatewayProcess, Site
from onceonly.demo.link import FaultyLink
from ports import free_port

pytestmark = pytest.mark.anyio

MESSAGES = 12
"""Each way. A link that takes a third of the requests meets each of them about twice."""

LOSS = 0.3
SEED = 29
RETRIES = 200
"""More than any bad luck here: it is asked what is lost, not what is given up."""

SETTLE_S = 100.0
CALL_S = 40.0


def documents(kind: str) -> list[bytes]:
    """What is sent: each is another one, so that each is known by its digest."""
    return [f'<{kind} number="{n}">{"x" * 900 * n}</{kind}>'.encode() for n in range(MESSAGES)]


def digests(sent: Sequence[bytes]) -> list[str]:
    return sorted(hashlib.sha256(one).hexdigest() for one in sent)


class Buyer:
    """Our gateway as a process, and its API from outside."""

    def __init__(self, directory: Path, api_port: int) -> None:
        site = Site(
            name="buyer",
            party="urn:example:registry:10000001",
            directory=directory,
            lake=directory,
            msh_port=0,
            api_port=api_port,
        )
        self.process = GatewayProcess(site)
        self.client = httpx.AsyncClient(
            base_url=site.api, timeout=CALL_S, limits=httpx.Limits(max_keepalive_connections=0)
        )

    async def submit(self, document: bytes) -> None:
        answer = await self.client.post("/v1/messages", files=form(order_header(), document))
        assert answer.status_code == 201, answer.text

    async def states(self) -> list[str]:
        """Of every order, one word each."""
        answer = await self.client.get("/v1/messages", params={"limit": 100})
        assert answer.status_code == 200, answer.text
        return [one["state"] for one in answer.json()["messages"]]

    async def inbox(self, wait_s: float = 0.0) -> list[Any]:
        """Every item; with `wait_s` not before there is a new one, or that time has passed."""
        params: dict[str, Any] = {"limit": 100}
        answer = await self.client.get("/v1/inbox", params=params)
        assert answer.status_code == 200, answer.text
        items: list[Any] = answer.json()["items"]
        if wait_s and len(items) < MESSAGES:
            after = {"after": items[-1]["offset"] if items else 0, "wait": wait_s}
            await self.client.get("/v1/inbox", params={**params, **after})
            return await self.inbox()
        return items


@pytest.mark.exchange(
    f"{MESSAGES} orders and {MESSAGES} confirmations over a link that loses a third, and kill -9 of"
    " each side and of both: reconciled, 0 lost, 0 doubled"
)
@pytest.mark.parametrize(
    ("cpa", "terms"),
    [
        pytest.param({}, {}, id="asynchronous"),
        pytest.param(SYNC, SYNC, id="synchronous"),
        pytest.param(CPA_TERMS, {**OUR_TERMS, "beside": [IDENTITY]}, id="signed"),
    ],
)
async def test_nothing_is_lost_and_nothing_doubled(tmp_path, cpa, terms):
    need_strict_msh()
    listen_port, api_port = free_port(), free_port()
    file = tmp_path / "cpa.xml"
    seller = StrictMsh(
        tmp_path, "--cpa", str(file), "--party", "20000002", *write_signers(tmp_path)
    )
    buyer = Buyer(tmp_path, api_port)
    async with AsyncExitStack() as stack:
        to_seller, to_buyer = [
            await stack.enter_async_context(
                FaultyLink(name, ("127.0.0.1", port), seed=SEED, loss=LOSS)
            )
            for name, port in (("to the seller", seller.port), ("to the buyer", listen_port))
        ]
        seller_uri, buyer_uri = (
            f"http://127.0.0.1:{link.port}/msh" for link in (to_seller, to_buyer)
        )
        file.write_text(cpa_text(buyer_uri, seller_uri, retries=RETRIES, **cpa), "utf-8")
        text = configuration_text(
            listen_port=listen_port,
            api_port=api_port,
            send_to=seller_uri,
            rate=CLOCK_RATE,
            **{"retries": RETRIES, **terms},
        )
        (tmp_path / "gateway.toml").write_text(text, "utf-8")
        stack.push_async_callback(seller.close)
        stack.push_async_callback(buyer.client.aclose)
        stack.push_async_callback(buyer.process.destroy)
        await asyncio.gather(seller.start(), buyer.process.start())
        orders, confirmations = documents("Order"), documents("Confirmation")
        for order, confirmation in zip(orders, confirmations, strict=True):
            await buyer.submit(order)
            await seller.send("OrderConfirmation", confirmation)
        await kill_them(buyer, seller)
        async with asyncio.timeout(SETTLE_S):
            await settled(buyer, seller)
        assert digests(orders) == sorted(one.digests for one in await seller.inbox())
        taken = [one["payloads"][0]["digest"] for one in await buyer.inbox()]
        assert digests(confirmations) == sorted(taken)
        assert set(await buyer.states()) == {"acknowledged"}
        business = [one for one in (await seller.outbox()).values() if one.kind == "business"]
        assert [one.status for one in business] == ["delivered"] * MESSAGES
        assert to_seller.faults, to_buyer.faults


async def kill_them(buyer: Buyer, seller: StrictMsh) -> None:
    """Each side, then both, each time when some more orders have arrived."""
    await seller.inbox(r"(?:.+\n){2}")
    await buyer.process.kill()
    await buyer.process.start()
    await seller.inbox(r"(?:.+\n){5}")
    await seller.kill()
    await seller.start()
    await seller.inbox(r"(?:.+\n){8}")
    await asyncio.gather(buyer.process.kill(), seller.kill())
    await asyncio.gather(buyer.process.start(), seller.start())


async def settled(buyer: Buyer, seller: StrictMsh) -> None:
    """Everything that either side sent has its end."""
    for message_id, one in (await seller.outbox()).items():
        if one.kind == "business":
            await seller.settled(message_id)
    while len(await buyer.inbox(1.0)) < MESSAGES or set(await buyer.states()) != {"acknowledged"}:
        # What is under way ends by itself; the API tells of arrivals, and of nothing else.
        await buyer.client.get("/v1/inbox", params={"after": 10_000, "wait": 0.2})
