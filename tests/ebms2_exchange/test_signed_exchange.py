"""Two gateways exchange signed messages and signed acknowledgements, over HTTP."""

import pytest
from signed_parties import ORDERING, signing_parties
from two_parties import BUYER, SELLER

from onceonly.message.event import Event
from onceonly.store.contract.evidence import EvidenceKind

pytestmark = pytest.mark.anyio


def evidence_at(gateway, message_id):
    """What a gateway keeps about a message of the buyer's."""
    found = gateway.store.snapshot().list_evidence(message_id)
    return {one.kind: one for one in found if (one.from_party, one.to_party) == (BUYER, SELLER)}


@pytest.mark.parametrize("how", [{}, {"sign": "messages"}, {"sign": "none"}])
@pytest.mark.parametrize("payloads", [(b"",), (b"<Order/>", b"<Annex/>")])
async def test_a_signed_message_gets_a_signed_acknowledgement(tmp_path, how, payloads):
    """Whatever else is signed: the acknowledgement that is asked for with signed is."""
    async with signing_parties(tmp_path, **how) as parties:
        message_id = await parties.submit(*payloads, **ORDERING)
        await parties.delivered(message_id)
        await parties.seller.until_handed_over(message_id)
        kept = evidence_at(parties.buyer, message_id)
        assert kept.keys() == {EvidenceKind.MESSAGE, EvidenceKind.ACKNOWLEDGMENT}
        assert b"<ds:Signature " in kept[EvidenceKind.ACKNOWLEDGMENT].document
        is_signed = how.get("sign") != "none"
        assert (b"<ds:Signature " in kept[EvidenceKind.MESSAGE].document) is is_signed
        assert bool(evidence_at(parties.seller, message_id)) is is_signed


async def test_the_acknowledgement_in_the_answer_is_signed(tmp_path):
    async with signing_parties(tmp_path, sync_reply_mode="mshSignalsOnly") as parties:
        message_id = await parties.submit(**ORDERING)
        await parties.delivered(message_id)
        assert EvidenceKind.ACKNOWLEDGMENT in evidence_at(parties.buyer, message_id)


async def test_both_directions_at_once(tmp_path):
    async with signing_parties(tmp_path) as parties:
        ids = [await parties.submit(**ORDERING) for _ in range(3)]
        for message_id in ids:
            await parties.delivered(message_id)
        assert not parties.buyer.rows(Event.SIGNATURE_REFUSED)
