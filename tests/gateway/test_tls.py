"""Gateways under TLS: each shows its certificate, believes its own anchors and nobody else."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from peer import Peer
from running_gateway import NEVER_S, RunningGateway, form

from certificates import certify
from onceonly.gateway.certificates import calling_tls, listening_tls
from onceonly.gateway.config import ConfigurationError, Tls, read_configuration
from onceonly.message.event import Event
from ports import free_port

pytestmark = pytest.mark.anyio

BUYER, SELLER = "urn:duns:111111111", "urn:duns:222222222"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("buyer", "seller", "stranger"):
        certify(folder, name)
    return folder


def configuration(
    folder: Path, name: str, certificates: Path, ports: dict[str, int], tls: str
) -> Path:
    other = "seller" if name == "buyer" else "buyer"
    parties = {"buyer": BUYER, "seller": SELLER}
    text = f"""
[gateway]
party = ["{parties[name]}"]
listen = "https://127.0.0.1:{ports[name]}/msh"
api = "http://127.0.0.1:{free_port()}"
store = "{name}.db"

[[agreement]]
id = "tpa-ab-1"
with = ["{parties[other]}"]
send_to = "https://127.0.0.1:{ports[other]}/msh"
timeout = {NEVER_S}
retry_interval = {NEVER_S}
retries = 1

[tls]
certificate = "{certificates / name}.pem"
key = "{certificates / name}.key"
{tls}
"""
    path = folder / f"{name}.toml"
    path.write_text(text, "utf-8")
    return path


@asynccontextmanager
async def two_gateways(
    folder: Path, certificates: Path, **tls: str
) -> AsyncIterator[tuple[RunningGateway, RunningGateway]]:
    """Buyer and seller, each with these keys more in its `[tls]`."""
    ports = {"buyer": free_port(), "seller": free_port()}
    both = [
        RunningGateway(
            read_configuration(configuration(folder, name, certificates, ports, tls[name]))
        )
        for name in ("buyer", "seller")
    ]
    for one in both:
        await one.start()
    try:
        yield both[0], both[1]
    finally:
        for one in both:
            await one.stop(0.0)


async def submit(gateway: RunningGateway) -> str:
    header = {"to": SELLER, "service": "Ordering", "action": "NewOrder"}
    answer = await gateway.call("POST", "/v1/messages", files=form(header, b"<Order/>"))
    assert answer.status == 201, answer
    message_id: str = answer.json["message_id"]
    return message_id


async def test_a_message_and_its_acknowledgement_travel_under_tls(tmp_path, certificates):
    """Both ask for the other's certificate, and both show one that the other believes."""
    mutual = 'trusted = "{}/{}.pem"\nclients = true'
    async with two_gateways(
        tmp_path,
        certificates,
        buyer=mutual.format(certificates, "seller"),
        seller=mutual.format(certificates, "buyer"),
    ) as (buyer, seller):
        message_id = await submit(buyer)
        await seller.until_handed_over(message_id)
        await buyer.until_state(message_id, "acknowledged")


async def test_the_system_s_certificates_are_trusted_where_none_are_named(
    tmp_path, certificates, monkeypatch
):
    """Both authorities are of the system here; they are read with the first call."""
    both = [certificates / f"{name}.pem" for name in ("buyer", "seller")]
    of_the_system = tmp_path / "system.pem"
    of_the_system.write_text("".join(one.read_text("ascii") for one in both), "ascii")
    monkeypatch.setenv("SSL_CERT_FILE", str(of_the_system))
    assert calling_tls(None).get_ca_certs() == []
    async with two_gateways(tmp_path, certificates, buyer="", seller="") as (buyer, seller):
        message_id = await submit(buyer)
        await seller.until_handed_over(message_id)
        await buyer.until_state(message_id, "acknowledged")


@pytest.mark.parametrize("trusted", ["stranger", ""], ids=["another anchor", "the system's"])
async def test_a_partner_that_cannot_prove_itself_gets_no_byte(tmp_path, certificates, trusted):
    """The message is not shown to a server whose certificate we do not believe."""
    anchors = f'trusted = "{certificates}/{trusted}.pem"' if trusted else ""
    async with two_gateways(tmp_path, certificates, buyer=anchors, seller="") as (buyer, seller):
        await submit(buyer)
        row = await buyer.until_row(Event.TRANSMITTED)
        assert (row.outcome, row.status_code) == ("refused", None)
        seller.assert_nothing_stored()


async def test_a_caller_without_a_certificate_is_not_heard(tmp_path, certificates):
    """Under `clients = true` a message of one who shows another certificate is not stored."""
    async with two_gateways(
        tmp_path,
        certificates,
        buyer=f'trusted = "{certificates}/seller.pem"',
        seller=f'trusted = "{certificates}/stranger.pem"\nclients = true',
    ) as (buyer, seller):
        await submit(buyer)
        row = await buyer.until_row(Event.TRANSMITTED)
        assert (row.outcome, row.status_code, row.reason) == ("unknown", None, "connection lost")
        seller.assert_nothing_stored()


def fingerprint(certificates: Path, name: str) -> str:
    pem = (certificates / f"{name}.pem").read_text("ascii")
    return sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def pinned_configuration(folder: Path, certificates: Path, name: str) -> Path:
    """A seller that lets buyer and stranger call, and believes a message from one of them."""
    both = folder / "both.pem"
    both.write_bytes(
        b"".join((certificates / f"{one}.pem").read_bytes() for one in ("buyer", "stranger"))
    )
    ports = {"buyer": free_port(), "seller": free_port()}
    tls = f'trusted = "{both}"\nclients = true'
    path = configuration(folder, "seller", certificates, ports, tls)
    text = path.read_text("utf-8")
    pin = f'caller_certificate = "{fingerprint(certificates, name)}"'
    path.write_text(text.replace("retries = 1", f"retries = 1\n{pin}"), "utf-8")
    return path


@pytest.mark.parametrize(("believed", "status"), [("buyer", 204), ("stranger", 403)])
async def test_a_partner_calls_under_its_own_certificate(tmp_path, certificates, believed, status):
    """H27, R-26: another partner's certificate opens the door, but speaks for nobody else."""
    path = pinned_configuration(tmp_path, certificates, believed)
    seller = RunningGateway(read_configuration(path))
    await seller.start()
    context = ssl.create_default_context(cafile=certificates / "seller.pem")
    context.load_cert_chain(certificates / "buyer.pem", certificates / "buyer.key")
    peer = Peer(BUYER)
    peer.gateway_uri, peer.gateway_party = seller.uri, SELLER
    parcels = [
        peer.normal("m-1@a.example.com", 1),
        peer.signal("Acknowledgement", "m-2@b.example.com"),
    ]
    try:
        async with httpx.AsyncClient(verify=context) as client:
            for parcel in parcels:
                headers = {"Content-Type": parcel.content_type}
                answer = await client.post(seller.uri, content=parcel.body, headers=headers)
                assert answer.status_code == status
        rows = seller.rows(Event.SECURITY_EVENT)
        if status == 403:
            seller.assert_nothing_stored()
            assert [row.error_code for row in rows] == ["SecurityFailure"] * 2
        else:
            await seller.until_handed_over("m-1@a.example.com")
            assert rows == []
    finally:
        await seller.stop(0.0)
        await peer.close()


async def test_a_certificate_of_a_caller_needs_that_callers_are_asked(tmp_path, certificates):
    """A promise that nobody checks is refused with its line."""
    path = pinned_configuration(tmp_path, certificates, "buyer")
    path.write_text(path.read_text("utf-8").replace("clients = true", ""), "utf-8")
    with pytest.raises(ConfigurationError, match=r"caller_certificate needs an https listen"):
        read_configuration(path)


def keys(certificates: Path, **changes: Any) -> Tls:
    values: dict[str, Any] = {
        "certificate": certificates / "buyer.pem",
        "key": certificates / "buyer.key",
        "trusted": certificates / "seller.pem",
        "clients": False,
    }
    return Tls(**{**values, **changes})


async def test_what_is_no_certificate_is_named_at_start(certificates):
    """The file is in the message, whatever is wrong with it."""
    with pytest.raises(OSError, match=r"no\.pem"):
        listening_tls(keys(certificates, certificate=certificates / "no.pem"))
    with pytest.raises(OSError, match=r"seller\.key"):
        calling_tls(keys(certificates, key=certificates / "seller.key"))
    with pytest.raises(OSError, match=r"seller\.key"):
        calling_tls(keys(certificates, trusted=certificates / "seller.key"))


async def test_without_a_table_partners_are_verified_all_the_same():
    """No `[tls]`: we listen in clear, and call with the system's anchors and TLS 1.2 at least."""
    assert listening_tls(None) is None
    context = calling_tls(None)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
