"""Our gateway and the strict MSH under a CPA that wants everything signed."""

import pytest
from ordering import SYNC, ordering
from signers import CPA_TERMS, IDENTITY, OUR_TERMS, write_signer, write_signers
from strict_process import need_strict_msh

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

ORDER = b'<Order number="4711"/>'
CONFIRMATION = b"<Confirmation/>"
SIGNED = {**OUR_TERMS, "beside": [IDENTITY]}
WAYS = [pytest.param({}, id="asynchronous"), pytest.param(SYNC, id="synchronous")]


@pytest.fixture(autouse=True)
def partner() -> None:
    need_strict_msh()


@pytest.mark.exchange(
    "Signed orders and confirmations, with payload and without, and signed acknowledgements",
    quirk="It signs the copied References of an acknowledgement in their own form",
    key="sign, partner_certificates",
)
@pytest.mark.parametrize("way", WAYS)
async def test_both_sides_have_evidence(tmp_path, way):
    """It takes what we signed, and we what it signed; its acknowledgements are kept."""
    keys = write_signers(tmp_path)
    async with ordering(tmp_path, *keys, cpa={**CPA_TERMS, **way}, **SIGNED, **way) as both:
        orders = [await both.order(ORDER, b"\r\n"), await both.order()]
        for order in orders:
            await both.buyer.until_state(order, "acknowledged")
        confirmations = [
            await both.seller.send("OrderConfirmation", content) for content in (CONFIRMATION, b"")
        ]
        for confirmation in confirmations:
            assert (await both.seller.settled(confirmation)).status == "delivered"
        await both.buyer.until(lambda: len(both.buyer.inbox_ids()) == len(confirmations))
        kept = {row.message_id for row in both.buyer.rows(Event.EVIDENCE_KEPT)}
        assert set(orders) <= kept
        assert await both.seller.log() == []


@pytest.mark.exchange("Order signed by a key that it does not trust: its SecurityFailure")
async def test_it_refuses_another_key_of_ours(tmp_path):
    keys = write_signers(tmp_path, buyer="stranger")
    async with ordering(tmp_path, *keys, cpa={**CPA_TERMS, **SYNC}, **SIGNED, **SYNC) as both:
        order = await both.order(ORDER)
        await both.buyer.until_state(order, "failed")
        row = await both.buyer.until_row(Event.ERROR_RECEIVED)
        assert row.error_code == "SecurityFailure"


@pytest.mark.exchange("Confirmation signed by a key that we do not trust: our SecurityFailure")
async def test_we_refuse_another_key_of_its(tmp_path):
    """And nothing of it is stored."""
    keys = write_signers(tmp_path)
    write_signer(tmp_path, "stranger")
    terms = {**SIGNED, "partner_certificates": ["stranger.pem"]}
    async with ordering(tmp_path, *keys, cpa=CPA_TERMS, **terms) as both:
        confirmation = await both.seller.send("OrderConfirmation", CONFIRMATION)
        sent = await both.seller.settled(confirmation)
        assert sent.status == "failed"
        assert "SecurityFailure" in sent.note
        both.buyer.assert_nothing_stored()
