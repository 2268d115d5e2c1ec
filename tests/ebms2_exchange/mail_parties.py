"""Two gateways that exchange in ebMS 2.0 by mail, with the mail system of the older profiles."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from mailing import BUYER, MAILBOXES, SELLER, MailSystem, Partners, configuration_text
from running_gateway import PATIENT, RunningGateway
from signed_parties import EBMS, SIGNED, write_identity

from onceonly.gateway.config import read_configuration
from ports import free_port

ORDERING = {"service": "urn:services:Ordering", "action": "NewOrder"}
EAGER: dict[str, Any] = {"retries": 1000, "retry_interval": 15}
"""Terms under which a lost copy is made good in 0.3 s, and nobody gives up."""

NORWAY: dict[str, Any] = {"preset": "norway", "cpa_id": "cpa-norway-1"}
HERS = {BUYER: "8140001", SELLER: "8140002"}
"""The parties as the Norwegian health network calls them."""

REFERRAL = {"to": f"HER:{HERS[SELLER]}", "service": "Henvisning", "action": "Henvisning"}

_NAMES = {BUYER: "buyer", SELLER: "seller"}


@asynccontextmanager
async def mailing_parties(
    directory: Path, *, system: MailSystem | None = None, is_signed: bool = False, **terms: Any
) -> AsyncIterator[Partners]:
    """Both run, with `terms` in both agreements."""
    agreed = {**EBMS, **(SIGNED if is_signed else {}), **terms}
    async with _mailing(directory, system, agreed, is_signed=is_signed) as both:
        yield both


@asynccontextmanager
async def norwegian_parties(
    directory: Path, *, system: MailSystem | None = None, **terms: Any
) -> AsyncIterator[Partners]:
    """Both run as preset `norway` has it: signed, acknowledged by signature, and by mail."""
    agreed = {**dict.fromkeys(PATIENT), **EBMS, **NORWAY, **terms}
    async with _mailing(directory, system, agreed, is_signed=True) as both:
        yield both


@asynccontextmanager
async def _mailing(
    directory: Path, system: MailSystem | None, agreed: dict[str, Any], *, is_signed: bool
) -> AsyncIterator[Partners]:
    async with AsyncExitStack() as running:
        system = system or MailSystem()
        await system.open()
        running.push_async_callback(system.close)
        ports = {party: free_port() for party in (BUYER, SELLER)}
        gateways = []
        for party in (BUYER, SELLER):
            system.connect(MAILBOXES[party], ports[party])
            path = directory / _NAMES[party] / "gateway.toml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(_text(path.parent, party, ports, system, agreed, is_signed), "utf-8")
            gateways.append(RunningGateway(read_configuration(path)))
        for gateway in gateways:
            await gateway.start()
            running.push_async_callback(gateway.stop, 0.0)
        yield Partners(*gateways, system)


def _text(
    home: Path,
    party: str,
    ports: dict[str, int],
    system: MailSystem,
    agreed: dict[str, Any],
    is_signed: bool,
) -> str:
    partner = SELLER if party == BUYER else BUYER
    identity = ""
    if is_signed:
        _, keys = write_identity(home, _NAMES[party])
        write_identity(home, _NAMES[partner])
        lines = (f'{name} = "{value}"' for name, value in keys.items())
        identity = "\n[[identity]]\n" + "\n".join(lines)
        agreed = {**agreed, "partner_certificates": [f"{_NAMES[partner]}.pem"]}
    text = configuration_text(party, ports, system, agreement=agreed)
    # A key without a value is one that the older profiles need, and this one, or its preset, not.
    kept = [line for line in text.splitlines() if not line.endswith(" = null")]
    text = "\n".join(kept) + identity + "\n"
    if "preset" in agreed:
        for name, number in HERS.items():
            text = text.replace(f'["{name}"]', f'[{{id = "{number}", type = "HER"}}]')
        way = "send" if party == BUYER else "receive"
        service = f'services = [{{id = "Henvisning", type = "string", {way} = ["Henvisning"]}}]'
        text = text.replace("preset =", f"{service}\npreset =")
    return text
