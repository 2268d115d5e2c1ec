"""Keys and certificates are taken over by a reload, without a stop."""

from base64 import b64encode

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from signed_parties import (
    ORDERING,
    certificate_of,
    envelope_signing,
    with_signing_peer,
    write_identity,
)
from two_parties import submit

from onceonly.message.errors import LocalError
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio


def edit(gateway, old, new):
    """Change the file of the gateway."""
    path = gateway.configuration.path
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def in_base64(name):
    """A certificate as a signature has it."""
    return b64encode(certificate_of(name).public_bytes(Encoding.DER))


async def test_the_next_key_signs_after_a_reload(tmp_path):
    """What is stored already goes out again with its old signature (R-04)."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        await submit(gateway, peer.party, **ORDERING)
        assert in_base64("seller") in (await peer.hear("NewOrder")).body
        write_identity(tmp_path, "seller-2")
        added = '[[identity]]\nid = "seller-2"\ncertificate = "seller-2.pem"\n'
        added += 'key = "seller-2.key"\nfrom = 2026-01-01T00:00:00Z\n\n[[agreement]]'
        edit(gateway, "[[agreement]]", added)
        what = await gateway.parts.reload.reload("a test")
        assert "[[identity]] added: seller-2" in what
        await submit(gateway, peer.party, **ORDERING)
        assert in_base64("seller-2") in (await peer.hear("NewOrder")).body


@pytest.mark.statement("E2-52")
async def test_a_certificate_that_is_taken_away_is_revoked(tmp_path):
    async with with_signing_peer(tmp_path) as (gateway, peer):
        await peer.post(peer.signed("m-1@a.example.com"))
        await peer.hear("Acknowledgment")
        new = certificate_of("new").public_bytes(Encoding.PEM)
        (tmp_path / "new.pem").write_bytes(new)
        edit(gateway, '["partner.pem"]', '["new.pem"]')
        await gateway.parts.reload.reload("a test")
        await peer.post(peer.signed("m-2@a.example.com"))
        assert (await peer.hear("MessageError")).ref == "m-2@a.example.com"
        content = peer.message("m-3@a.example.com")
        await peer.post(peer.package(content, signer=envelope_signing("new")))
        await peer.hear("Acknowledgment")
        assert len(gateway.rows(Event.SIGNATURE_REFUSED)) == 1


async def test_a_key_that_cannot_be_used_is_refused_and_the_old_one_signs_on(tmp_path):
    async with with_signing_peer(tmp_path) as (gateway, peer):
        (tmp_path / "seller.key").chmod(0o644)
        with pytest.raises(LocalError, match="can be read by others"):
            await gateway.parts.reload.reload("a test")
        await submit(gateway, peer.party, **ORDERING)
        assert in_base64("seller") in (await peer.hear("NewOrder")).body
