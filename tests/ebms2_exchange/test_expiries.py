"""Certificates that sign and end soon, and conversations that wait, are told in every way."""

import pytest
from peer import UNAVAILABLE
from peer_ebms2 import with_peer
from running_gateway import BRIEF
from signed_parties import EBMS, SIGNED, TODAY, YEAR, write_identity
from test_order_receiving import say
from test_order_sending import send
from two_parties import SELLER, agreement, house, write

from onceonly.gateway.checkup import warnings_of
from onceonly.gateway.config import read_configuration
from onceonly.message.instant import from_datetime
from onceonly.steps import expiries
from ports import free_port

pytestmark = pytest.mark.anyio

SOON = TODAY + 0.03 * YEAR
LATER = TODAY + YEAR
OURS = "the last certificate with which we sign"
THEIRS = "the last certificate of partner_certificates"


def gateway_with(tmp_path, ours, theirs, **terms):
    """A gateway of the seller's whose own certificate, and that of its partner, end then."""
    write_identity(tmp_path, "partner", begins=TODAY - YEAR, ends=theirs)
    usual = {**EBMS, **SIGNED, "partner_certificates": ["partner.pem"], **terms}
    identity = write_identity(tmp_path, "seller", begins=TODAY - YEAR, ends=ours)
    table = agreement("cpa-ab-1", "urn:duns:311111111", "http://127.0.0.1:9/msh", **usual)
    return write(tmp_path, "seller-gateway", house(SELLER, "seller", free_port()), identity, table)


def incidents(gateway):
    return [one.reason for one in gateway.store.snapshot().list_incidents(is_open=True)]


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [(LATER, LATER, []), (SOON, LATER, [OURS]), (LATER, SOON, [THEIRS])],
    ids=["none", "ours", "theirs"],
)
async def test_a_certificate_that_ends_soon_is_told(tmp_path, ours, theirs, told):
    """By an incident, once; by `/readyz`, and the condition that probes and alerts read."""
    gateway = gateway_with(tmp_path, ours, theirs)
    await gateway.start()
    try:
        for _ in range(2):
            await gateway.parts.desk.sweep()
        reasons = incidents(gateway)
        assert [what for what in (OURS, THEIRS) for one in reasons if what in one] == told
        assert all(f"{SOON:%Y-%m-%d}" in one for one in reasons)
        ready = await gateway.get("/readyz")
        assert (ready["ready"], ready["warnings"]) == (True, reasons)
        condition = await gateway.get("/v1/condition")
        ends = {one["file"]: one["ends_at"] for one in condition["certificates"]}
        assert ends["partner_certificates of cpa-ab-1"].startswith(f"{theirs:%Y-%m-%d}")
    finally:
        await gateway.stop(0.0)


async def test_the_incident_ends_when_another_certificate_takes_over(tmp_path):
    """After a reload; nobody has to resolve it."""
    gateway = gateway_with(tmp_path, LATER, SOON)
    await gateway.start()
    try:
        await gateway.parts.desk.sweep()
        assert len(incidents(gateway)) == 1
        write_identity(tmp_path, "partner-2", begins=TODAY - YEAR, ends=LATER)
        path = gateway.configuration.path
        old, new = '"partner.pem"', '"partner.pem", "partner-2.pem"'
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
        assert (await gateway.call("POST", "/v1/reload")).status == 200
        await gateway.parts.desk.sweep()
        assert incidents(gateway) == []
    finally:
        await gateway.stop(0.0)


async def test_check_says_what_ends_soon(tmp_path):
    """And nothing of it without a time, or where a key cannot be read, which is a problem."""
    path = gateway_with(tmp_path, SOON, SOON).configuration.path
    now_at = from_datetime(TODAY)
    said = list(warnings_of(read_configuration(path), now_at))
    assert any(one.startswith("[[identity]] seller: its certificate ends") for one in said)
    assert any("the last certificate of partner_certificates ends" in one for one in said)
    assert not any("certificate ends" in one for one in warnings_of(read_configuration(path)))
    (tmp_path / "seller.key").unlink()
    said = list(warnings_of(read_configuration(path), now_at))
    assert not any("[[identity]]" in one for one in said)


async def test_an_unsigned_gateway_looks_at_no_certificate(tmp_path):
    async with with_peer(tmp_path) as (gateway, _):
        assert not expiries.has_signers(gateway.parts.desk.house)
        assert (await gateway.get("/readyz"))["warnings"] == []


async def test_conversations_that_wait_are_counted(tmp_path):
    """In the condition and in the metrics; both kinds."""
    terms = {**BRIEF, "timeout": None, "message_order": "Guaranteed"}
    async with with_peer(tmp_path, **terms) as (gateway, peer):

        async def counted():
            found = await gateway.get("/v1/condition")
            return found["conversations_blocked"], found["conversations_with_gap"]

        assert await counted() == (0, 0)
        await say(peer, 2)
        peer.answer(UNAVAILABLE)
        await gateway.until_state(await send(gateway, peer), "in_doubt")
        assert await counted() == (1, 1)
        metrics = (await gateway.api.request("GET", "/metrics")).text
        assert "onceonly_conversations_blocked 1.0" in metrics
        assert "onceonly_conversations_with_gap 1.0" in metrics
