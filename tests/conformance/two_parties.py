"""A buyer and a seller: two whole gateways with an agreement, or one of them and raw sockets."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from peer import Peer
from peer_2001 import Peer2001
from running_gateway import CLOCK_RATE, PATIENT, RunningGateway, form

from onceonly.gateway.config import read_configuration
from ports import free_port

BUYER, SELLER = "urn:duns:111111111", "urn:duns:222222222"
AGREEMENT = "tpa-ab-1"


class Parties(NamedTuple):
    """Both gateways, running."""

    buyer: RunningGateway
    seller: RunningGateway

    async def submit(self, *payloads: bytes, **header: Any) -> str:
        """Hand a message over at the buyer's; its MessageId."""
        return await submit(self.buyer, SELLER, *payloads, **header)

    async def delivered(self, message_id: str) -> None:
        """Wait until the buyer's gateway has the acknowledgement."""
        await self.buyer.until_state(message_id, "acknowledged")


async def submit(gateway: RunningGateway, to: str, *payloads: bytes, **header: Any) -> str:
    """Hand a message over; its MessageId."""
    message = {"to": to, "service": "Ordering", "action": "NewOrder", **header}
    fields = form(message, *(payloads or (b"<Order/>",)))
    answer = await gateway.call("POST", "/v1/messages", files=fields)
    assert answer.status in (200, 201), answer
    message_id: str = answer.json["message_id"]
    return message_id


def toml_of(value: Any) -> str:
    """A value as TOML spells it, on one line."""
    if isinstance(value, dict):
        members = ", ".join(f"{key} = {toml_of(one)}" for key, one in value.items())
        return f"{{{members}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_of, value))}]"
    return json.dumps(value)


def write(directory: Path, name: str, *tables: tuple[str, dict[str, Any]]) -> RunningGateway:
    """A gateway of these tables, not running yet."""
    path = directory / f"{name}.toml"
    path.write_text(
        "\n".join(
            "\n".join([heading, *(f"{key} = {toml_of(value)}" for key, value in keys.items())])
            for heading, keys in (*tables, ("[drill]", {"clock_rate": CLOCK_RATE}))
        ),
        "utf-8",
    )
    return RunningGateway(read_configuration(path))


def toml(value: Any) -> str:
    """A value of a configuration as its file has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def house(party: str, name: str, port: int) -> tuple[str, dict[str, Any]]:
    """The `[gateway]` table of a party: nothing but what is required."""
    keys = {
        "party": [party],
        "listen": f"http://127.0.0.1:{port}/msh",
        "api": f"http://127.0.0.1:{free_port()}",
        "store": f"{name}.db",
    }
    return "[gateway]", keys


def agreement(id_: str, partner: str, uri: str, **terms: Any) -> tuple[str, dict[str, Any]]:
    """The `[[agreement]]` table with a partner; nothing is sent again unless `terms` say so.

    A term that is None is left out.
    """
    keys = {"id": id_, "with": [partner], "send_to": uri, **PATIENT, **terms}
    return "[[agreement]]", {key: value for key, value in keys.items() if value is not None}


@asynccontextmanager
async def two_parties(directory: Path, **terms: Any) -> AsyncIterator[Parties]:
    """Buyer and seller under one agreement; by default nothing is sent a second time."""
    there, here = free_port(), free_port()
    buyer, seller = (
        write(
            directory,
            name,
            house(party, name, port),
            agreement(AGREEMENT, partner, f"http://127.0.0.1:{far}/msh", **terms),
        )
        for name, party, port, partner, far in (
            ("buyer", BUYER, there, SELLER, here),
            ("seller", SELLER, here, BUYER, there),
        )
    )
    async with AsyncExitStack() as running:
        for gateway in (buyer, seller):
            await gateway.start()
            running.push_async_callback(gateway.stop, 0.0)
        yield Parties(buyer, seller)


@asynccontextmanager
async def with_peers(directory: Path, *partners: dict[str, Any]) -> AsyncIterator[Any]:
    """A gateway of the seller's with a raw peer per dictionary of terms, each with its own."""
    port = free_port()
    peers = [
        (Peer2001 if terms.get("profile") == "rm-2001" else Peer)(
            f"urn:duns:{n}11111111", f"tpa-{n}"
        )
        for n, terms in enumerate(partners, 3)
    ]
    tables = [
        agreement(peer.agreement, peer.party, peer.uri, **terms)
        for peer, terms in zip(peers, partners, strict=True)
    ]
    gateway = write(directory, "seller", house(SELLER, "seller", port), *tables)
    for peer in peers:
        peer.gateway_uri = gateway.uri
        await peer.listen()
    await gateway.start()
    try:
        yield gateway, *peers
    finally:
        await gateway.stop(0.0)
        for peer in peers:
            await peer.close()
