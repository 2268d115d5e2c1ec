"""A buyer, who is our gateway, and a seller, who is the strict MSH, under one CPA."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from cutting_link import CuttingLink
from running_gateway import CLOCK_RATE, RunningGateway, form
from strict_process import StrictMsh

from onceonly.gateway.config import read_configuration
from ports import free_port

CPA = Template((Path(__file__).parent / "cpa.xml.template").read_text("utf-8"))
CPA_ID = "cpa-interop"
REGISTRY = "urn:example:registry"
BUYER, SELLER = ({"id": id_, "type": REGISTRY} for id_ in ("10000001", "20000002"))
SELLER_NAME = f"{REGISTRY}:20000002"

RETRIES = 20
RETRY_INTERVAL_S = 1
"""Of the strict MSH, which has no drill; ours is as long by its clock."""

SYNC = {"sync_reply_mode": "mshSignalsOnly"}

TERMS: dict[str, Any] = {
    "sync_reply_mode": "none",
    "ack_requested": "always",
    "ack_signed": "never",
    "duplicate_elimination": "always",
    "retries": RETRIES,
    "retry_interval": f"PT{RETRY_INTERVAL_S}S",
    "signed": "false",
    "buyer_certificate": "",
    "seller_certificate": "",
    "buyer_signs": "",
    "seller_signs": "",
}


class Ordering(NamedTuple):
    """Both sides, running."""

    buyer: RunningGateway
    seller: StrictMsh

    async def order(self, *payloads: bytes, **header: Any) -> str:
        """Submit an order at our gateway; its MessageId."""
        answer = await self.submitted(*payloads, **header)
        assert answer.status in (200, 201), answer
        message_id: str = answer.json["message_id"]
        return message_id

    async def submitted(self, *payloads: bytes, **header: Any) -> Any:
        """What our API says to an order."""
        fields = form(order_header(**header), *payloads)
        return await self.buyer.call("POST", "/v1/messages", files=fields)


def order_header(**header: Any) -> dict[str, Any]:
    """What an application of the buyer says about an order."""
    return {"to": SELLER_NAME, "service": "ordering:1.0", "action": "NewOrder", **header}


def cpa_text(buyer_endpoint: str, seller_endpoint: str, **terms: Any) -> str:
    """The CPA with these endpoints."""
    return CPA.substitute(
        {
            "cpa_id": CPA_ID,
            **TERMS,
            **terms,
            "buyer_endpoint": buyer_endpoint,
            "seller_endpoint": seller_endpoint,
        }
    )


def as_toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        pairs = (f"{key} = {as_toml(one)}" for key, one in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value)


def configuration_text(
    *,
    listen_port: int,
    api_port: int,
    send_to: str,
    rate: int = CLOCK_RATE,
    beside: Sequence[tuple[str, dict[str, Any]]] = (),
    **terms: Any,
) -> str:
    """The buyer's configuration: what the CPA says, in our keys; `beside` has further tables."""
    tables: list[tuple[str, dict[str, Any]]] = [
        (
            "[gateway]",
            {
                "party": [BUYER],
                "listen": f"http://127.0.0.1:{listen_port}/msh",
                "api": f"http://127.0.0.1:{api_port}",
                "store": "gateway.db",
            },
        ),
        (
            "[[agreement]]",
            {
                "id": CPA_ID,
                "profile": "ebms-2.0",
                "with": [SELLER],
                "send_to": send_to,
                "role": "Buyer",
                "partner_role": "Seller",
                "services": [
                    {
                        "id": "ordering:1.0",
                        "type": "urn:example:services",
                        "send": ["NewOrder"],
                        "receive": ["OrderConfirmation"],
                    }
                ],
                "retries": RETRIES,
                "retry_interval": RETRY_INTERVAL_S * rate,
                "persist_duration": "P30D",
                "time_to_live": "P1D",
                **terms,
            },
        ),
        *beside,
        ("[drill]", {"clock_rate": rate}),
    ]
    return "\n".join(
        "\n".join([heading, *(f"{key} = {as_toml(value)}" for key, value in given(keys)), ""])
        for heading, keys in tables
    )


def given(keys: dict[str, Any]) -> list[tuple[str, Any]]:
    """Keys that are None are left out."""
    return [(key, value) for key, value in keys.items() if value is not None]


@asynccontextmanager
async def ordering(
    directory: Path,
    *arguments: str,
    cpa: dict[str, Any] | None = None,
    buyer_link: CuttingLink | None = None,
    seller_link: CuttingLink | None = None,
    **terms: Any,
) -> AsyncIterator[Ordering]:
    """Both sides under a CPA; `terms` are keys of our agreement, `cpa` is what differs there.

    Each link carries what that side posts, and is told here where to.
    """
    file = directory / "cpa.xml"
    seller = StrictMsh(directory, "--cpa", str(file), "--party", "20000002", *arguments)
    listen_port = free_port()
    to_seller, to_buyer = seller.port, listen_port
    if buyer_link:
        buyer_link.target_port, to_seller = to_seller, buyer_link.port
    if seller_link:
        seller_link.target_port, to_buyer = to_buyer, seller_link.port
    seller_uri, buyer_uri = (f"http://127.0.0.1:{port}/msh" for port in (to_seller, to_buyer))
    path = directory / "gateway.toml"
    path.write_text(
        configuration_text(
            listen_port=listen_port, api_port=free_port(), send_to=seller_uri, **terms
        ),
        "utf-8",
    )
    buyer = RunningGateway(read_configuration(path))
    file.write_text(cpa_text(buyer_uri, seller_uri, **(cpa or {})), "utf-8")
    await seller.start()
    try:
        await buyer.start()
        try:
            yield Ordering(buyer, seller)
        finally:
            await buyer.stop(0.0)
    finally:
        await seller.close()
