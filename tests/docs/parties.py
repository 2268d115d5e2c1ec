"""Who takes part in the recorded runs: a buyer and a seller, and relays between them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recording import Recording
from world import (
    Application,
    RecordedGateway,
    Table,
    World,
    addresses,
    world_of,
    write_configuration,
)

from ports import free_port

BUYER, SELLER = "urn:duns:111111111", "urn:duns:222222222"
BUYERS, SELLERS = "Buyer's gateway", "Seller's gateway"
BUYER_APPLICATION, SELLER_APPLICATION = "Buyer's application", "Seller's application"

MAILBOXES = "msh@buyer.example", "msh@seller.example"

Terms = dict[str, Any]


@dataclass
class Parties:
    """A buyer and a seller with an agreement; whatever stands between them has routes."""

    world: World
    buyer: RecordedGateway
    seller: RecordedGateway
    relays: list[RecordedGateway] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.buying = Application(self.world, BUYER_APPLICATION, self.buyer, SELLER)
        self.selling = Application(self.world, SELLER_APPLICATION, self.seller, BUYER)


@asynccontextmanager
async def two_parties(
    recording: Recording, directory: Path, terms: Terms, sellers: Terms | None = None
) -> AsyncIterator[Parties]:
    """A buyer and a seller under the defaults of the profile and these terms."""
    async with chain(recording, directory, (), terms, sellers=sellers) as parties:
        yield parties


@asynccontextmanager
async def parties_with_mailboxes(
    recording: Recording, directory: Path, terms: Terms
) -> AsyncIterator[Parties]:
    """The same, with a mail system that brings the seller's mail."""
    way_in, *boxes = (f"smtp://{one}" for one in addresses(3))
    mail = [
        {"mailbox": mailbox, "relay": way_in, "listen": box, "starttls": "never"}
        for mailbox, box in zip(MAILBOXES, boxes, strict=True)
    ]
    async with chain(recording, directory, (), terms, mail=mail) as parties:
        await parties.world.add_mail(SELLERS, MAILBOXES[1], (way_in, boxes[1]))
        yield parties


@asynccontextmanager
async def chain(
    recording: Recording,
    directory: Path,
    relays: Sequence[Terms],
    terms: Terms,
    *,
    sellers: Terms | None = None,
    mail: Sequence[Terms] = (),
) -> AsyncIterator[Parties]:
    """A buyer, relays with these keys of their routes, and a seller."""
    names = [BUYERS, *_relay_names(len(relays)), SELLERS]
    free = [f"http://{one}/msh" for one in addresses(2 * len(names))]
    uris, privates = free[: len(names)], free[len(names) :]
    recording.participants = [BUYER_APPLICATION, *names, SELLER_APPLICATION]
    recording.name(BUYER, "buyer")
    recording.name(SELLER, "seller")
    terms = {"profile": recording.profile, **terms}
    async with world_of(recording) as world:
        gateways = []
        for index, (name, uri) in enumerate(zip(names, uris, strict=True)):
            if index == 0:
                party, rest = BUYER, [_agreement(SELLER, uris[1], terms)]
            elif index == len(names) - 1:
                party = SELLER
                rest = [_agreement(BUYER, uris[-2], {**terms, **(sellers or {})})]
            else:
                party = f"urn:duns:99999999{index}"
                neighbours = uris[index - 1], uris[index + 1]
                rest = _routes(neighbours, {"profile": recording.profile, **relays[index - 1]})
            if mail:
                rest.append(("[smtp]", mail[index]))
            path = directory / f"node-{index}" / "gateway.toml"
            write_configuration(path, _gateway(party, uri, privates[index]), *rest)
            gateways.append(await world.add(name, path, private=privates[index]))
        yield Parties(world, gateways[0], gateways[-1], gateways[1:-1])


def _relay_names(count: int) -> list[str]:
    return ["Relay"] if count == 1 else [f"Relay {n}" for n in range(1, count + 1)]


def _gateway(party: str, uri: str, private: str) -> Table:
    keys = {
        "party": [party],
        "listen": private,
        "uri": uri,
        "api": f"http://127.0.0.1:{free_port()}",
        "store": "gateway.db",
    }
    return "[gateway]", keys


def _agreement(partner: str, uri: str, terms: Terms) -> Table:
    return "[[agreement]]", {"id": "tpa-ab-1", "with": [partner], "send_to": uri, **terms}


def _routes(neighbours: tuple[str, str], terms: Terms) -> list[Table]:
    before, behind = neighbours
    there = {"id": "there", "from": [BUYER], "to": [SELLER], "back_to": before, "send_to": behind}
    back = {"id": "back", "from": [SELLER], "to": [BUYER], "back_to": behind, "send_to": before}
    return [("[[route]]", {**there, **terms}), ("[[route]]", {**back, **terms})]
