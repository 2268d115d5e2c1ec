"""The demonstration counts a message as proven only by bytes that prove it to a stranger."""

import asyncio
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from running_gateway import serving_api
from signed_parties import ORDERING, certificate_of, signing_parties

from onceonly.client import Client
from onceonly.demo.gateways import DemoFailed, Site
from onceonly.demo.receipts import is_proven, proven
from onceonly.demo.verdict import Sent
from onceonly.message.word import changed

pytestmark = pytest.mark.anyio

SIGNERS = {
    name: certificate_of(name).fingerprint(SHA256()).hex()
    for name in ("buyer", "seller", "stranger")
}


async def test_evidence_counts_if_it_is_theirs_and_of_these_bytes(tmp_path):
    """By the right keys, with the digest of the document, and of both envelopes."""
    async with signing_parties(tmp_path) as parties:
        message_id = await parties.submit(b"<Order/>", **ORDERING)
        await parties.delivered(message_id)
        sent = Sent(message_id, "buyer", "seller", (sha256(b"<Order/>").hexdigest(),))
        site = site_at(tmp_path, parties.buyer.configuration.api)
        async with serving_api(parties.buyer) as api:
            with Client(api) as client:
                kept = (await asyncio.to_thread(client.evidence, message_id)).envelopes
            both = (sent, sent._replace(message_id="nobody's@demo"))
            assert await asyncio.to_thread(proven, site, both, SIGNERS) == {message_id}
    with pytest.raises(DemoFailed, match="buyer's evidence cannot be had"):
        proven(site, (sent,), SIGNERS)
    assert is_proven(sent, kept, SIGNERS)
    others = (
        (sent._replace(receiver="stranger"), kept),
        (sent._replace(sender="stranger"), kept),
        (sent._replace(digests=(sha256(b"<Another/>").hexdigest(),)), kept),
        (sent._replace(message_id="another"), kept),
        (sent, [one for one in kept if one.kind == "message"]),
        (sent, [one for one in kept if one.kind != "message"]),
        (sent, ()),
        (sent, [changed(one, document="bm8=") for one in kept]),
    )
    assert [is_proven(claimed, proofs, SIGNERS) for claimed, proofs in others] == [False] * 8


def site_at(directory, api):
    """The buyer of a demonstration whose API is there."""
    port = int(api.rpartition(":")[2])
    return Site(
        name="buyer", party="", directory=directory, lake=directory, msh_port=1, api_port=port
    )
