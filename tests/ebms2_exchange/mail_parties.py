"""Two gateways that exchange in ebMS 2.0 by mail, with the mail system of the older profiles."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mailing import BUYER, MAILBOXES, SELLER, MailSystem, Partners, configuration_text
from running_gateway import RunningGateway
from signed_parties import EBMS, SIGNED, write_identity

from onceonly.gateway.config import read_configuration
from ports import free_port

ORDERING = {"service": "urn:services:Ordering", "action": "NewOrder"}
EAGER: dict[str, Any] = {"retries": 1000, "retry_interval": 15}
"""Terms under which a lost copy is made good in 0.3 s, and nobody gives up."""


@asynccontextmanager
async def mailing_parties(
    directory: Path,
    *,
    system: MailSystem | None = None,
    is_signed: bool = False,
    buyer: dict[str, Any] | None = None,
    seller: dict[str, Any] | None = None,
    **terms: Any,
) -> AsyncIterator[Partners]:
    """Both run. `terms` are of both agreements, `buyer` and `seller` of one."""
    system = system or MailSystem()
    await system.open()
    ports = {party: free_port() for party in (BUYER, SELLER)}
    names = {BUYER: "buyer", SELLER: "seller"}
    gateways = []
    for party, own in ((BUYER, buyer), (SELLER, seller)):
        partner = SELLER if party == BUYER else BUYER
        system.connect(MAILBOXES[party], ports[party])
        home = directory / names[party]
        home.mkdir()
        agreed = {**EBMS, **terms, **(own or {})}
        extra = ""
        if is_signed:
            _, identity = write_identity(home, names[party])
            write_identity(home, names[partner])
            extra = "\n[[identity]]\n" + "\n".join(
                f'{name} = "{value}"' for name, value in identity.items()
            )
            agreed = {**SIGNED, "partner_certificates": [f"{names[partner]}.pem"], **agreed}
        if agreed.get("timeout", "") is None:
            del agreed["timeout"]
        text = configuration_text(party, ports, system, agreement=agreed)
        # What the older profiles need is nothing of this one.
        lines = [line for line in text.splitlines() if not line.startswith("timeout =")]
        (home / "gateway.toml").write_text("\n".join(lines) + extra + "\n", "utf-8")
        gateways.append(RunningGateway(read_configuration(home / "gateway.toml")))
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
