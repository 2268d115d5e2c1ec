"""What the console shows of signatures: evidence at a message, and certificates that sign."""

import httpx
import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from running_gateway import serving_api
from signed_parties import ORDERING, certificate_of, signing_parties

from onceonly.gateway.supervise import api_and_console

pytestmark = pytest.mark.anyio

PRINTS = {name: certificate_of(name).fingerprint(SHA256()).hex() for name in ("buyer", "seller")}


async def test_a_message_shows_its_evidence_and_who_signed_it(tmp_path):
    """At the sender both envelopes, at the receiver the message; and how to verify them."""
    async with signing_parties(tmp_path) as parties:
        message_id = await parties.submit(b"<Order/>", **ORDERING)
        await parties.delivered(message_id)
        sent = await page(parties.buyer, "message", id=message_id)
        came = await page(parties.seller, "item", offset=1)
    assert "signed acknowledgement: it has just this message" in sent
    assert all(one in sent for one in PRINTS.values())
    assert f"onceonly message evidence {message_id} --to FOLDER" in sent
    assert "the message, signed by its sender" in came
    assert (PRINTS["buyer"] in came, PRINTS["seller"] in came) == (True, False)


async def test_forgotten_evidence_leaves_the_page_as_it_is(tmp_path):
    """Its rows in the journal stay."""
    async with signing_parties(tmp_path) as parties:
        message_id = await parties.submit(b"<Order/>", **ORDERING)
        await parties.delivered(message_id)
        await parties.buyer.parts.desk.transact(lambda txn, _: txn.purge_evidence(1 << 62, 100))
        shown = await page(parties.buyer, "message", id=message_id)
    assert ("EvidenceKept" in shown, "h-evidence" in shown) == (True, False)


async def test_without_signatures_there_is_no_such_section(tmp_path):
    async with signing_parties(tmp_path, sign="none", ack_requested="Unsigned") as parties:
        message_id = await parties.submit(b"<Order/>", **ORDERING)
        await parties.delivered(message_id)
        assert "h-evidence" not in await page(parties.buyer, "message", id=message_id)


async def test_certificates_say_who_signs_with_them(tmp_path):
    async with signing_parties(tmp_path) as parties:
        shown = await page(parties.buyer, "certificates")
    assert "signs with it" in shown
    assert all(one in shown for one in PRINTS.values())


async def page(gateway, path, **query):
    """A page of that gateway's console."""
    async with (
        serving_api(gateway, application=api_and_console(gateway.parts)) as api,
        httpx.AsyncClient(base_url=api) as client,
    ):
        answer = await client.get(f"/console/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.text
