"""Our gateway and the strict MSH, both running, in both directions."""

import hashlib

import pytest
from cutting_link import cutting_link
from ordering import SELLER_NAME, SYNC, ordering
from strict_process import need_strict_msh

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

ORDER = b'<Order number="4711"/>'
CONFIRMATION = b"<Confirmation/>"
WAYS = [pytest.param({}, id="asynchronous"), pytest.param(SYNC, id="synchronous")]


@pytest.fixture(autouse=True)
def partner() -> None:
    need_strict_msh()


def digests(*payloads: bytes) -> str:
    """As the strict MSH tells them."""
    return ",".join(hashlib.sha256(one).hexdigest() for one in payloads)


@pytest.mark.exchange(
    "Order to it and its acknowledgement, with two payloads, with one of 3 MB, without",
    quirk="It refuses a SOAPAction that is not ebXML in quotes, and a message without Roles",
    key="soap_action, role, partner_role",
)
@pytest.mark.parametrize("way", WAYS)
async def test_an_order_is_delivered_and_acknowledged(tmp_path, way):
    """Byte for byte, once each, in the order of their submission."""
    async with ordering(tmp_path, cpa=way, **way) as both:
        orders = [(ORDER, b"\x00\r\n--annex\xff"), (b"<Order>" + b"x" * 3_000_000,), ()]
        sent = [await both.order(*payloads) for payloads in orders]
        for message_id in sent:
            await both.buyer.until_state(message_id, "acknowledged")
        received = await both.seller.inbox()
        assert {(one.message_id, one.digests) for one in received} == {
            (message_id, digests(*payloads))
            for message_id, payloads in zip(sent, orders, strict=True)
        }
        assert await both.seller.log() == []


@pytest.mark.exchange(
    "Confirmation from it and our acknowledgement, with payload and without",
    quirk="It posts in chunks, asks for HTTP/2, and names its parts by UUIDs without a domain",
)
@pytest.mark.parametrize("way", WAYS)
async def test_a_confirmation_is_handed_over_and_acknowledged(tmp_path, way):
    """As chunks of HTTP, with an offer to change to HTTP/2 that nobody takes."""
    async with ordering(tmp_path, "--chunked", "true", cpa=way, **way) as both:
        order = await both.order(ORDER)
        await both.buyer.until_state(order, "acknowledged")
        with_payload = await both.seller.send("OrderConfirmation", CONFIRMATION, ref=order)
        assert (await both.seller.settled(with_payload)).status == "delivered"
        without = await both.seller.send("OrderConfirmation")
        assert (await both.seller.settled(without)).status == "delivered"
        await both.buyer.until_handed_over(with_payload, without)
        first = both.buyer.store.snapshot().list_inbox(0, 10)[0].message
        assert [one.digest for one in first.payloads] == [digests(CONFIRMATION)]
        assert (first.ref_to_message_id, first.from_role) == (order, "Seller")
        assert await both.seller.log() == []


@pytest.mark.exchange("Order and confirmation under BestEffort: nothing is acknowledged")
async def test_best_effort_ends_with_the_transmission(tmp_path):
    cpa = {"ack_requested": "never", "duplicate_elimination": "never"}
    terms = {"delivery_semantics": "BestEffort", "retries": None, "retry_interval": None}
    async with ordering(tmp_path, cpa=cpa, **terms) as both:
        order = await both.order(ORDER)
        await both.buyer.until_state(order, "sent")
        confirmation = await both.seller.send("OrderConfirmation", CONFIRMATION)
        assert (await both.seller.settled(confirmation)).status == "sent"
        await both.buyer.until_handed_over(confirmation)
        assert [one.message_id for one in await both.seller.inbox(order)] == [order]
        assert await both.seller.log() == []


@pytest.mark.exchange("Ping and StatusRequest to it")
@pytest.mark.parametrize("way", WAYS)
async def test_it_answers_our_questions(tmp_path, way):
    async with ordering(tmp_path, cpa=way, **way) as both:
        order = await both.order(ORDER)
        await both.buyer.until_state(order, "acknowledged")
        pings = await both.buyer.call("POST", f"/v1/partners/{SELLER_NAME}/ping?wait=10")
        assert pings.status == 200, pings
        assert [one["available"] for one in pings.json["pings"]] == [True], pings
        asked = await both.buyer.call("POST", f"/v1/messages/{order}/status-request")
        assert asked.status in (200, 202), asked
        row = await both.buyer.until_row(Event.REPORT_RECEIVED)
        assert row.message_id == order
        assert "Received" in str(row)


@pytest.mark.exchange("Ping and StatusRequest from it")
@pytest.mark.parametrize("way", WAYS)
async def test_we_answer_its_questions(tmp_path, way):
    async with ordering(tmp_path, cpa=way, **way) as both:
        confirmation = await both.seller.send("OrderConfirmation", CONFIRMATION)
        assert (await both.seller.settled(confirmation)).status == "delivered"
        ping = await both.seller.ping()
        assert f"Pong {ping}" in await both.seller.answers(ping)
        known = await both.seller.ask_status(confirmation)
        said = await both.seller.answers(known)
        assert said[-1] in (f"StatusResponse {known} Received", f"StatusResponse {known} Processed")
        unknown = await both.seller.ask_status("nobody@strict.example")
        said = await both.seller.answers(unknown)
        assert said[-1] == f"StatusResponse {unknown} NotRecognized"


@pytest.mark.exchange("Its resend after our acknowledgement was lost")
@pytest.mark.parametrize("way", WAYS)
async def test_its_resend_is_a_duplicate(tmp_path, way):
    """One confirmation is handed over, and the same acknowledgement goes out again (IR-02)."""
    async with cutting_link() as ours, cutting_link() as theirs:
        links = {"buyer_link": ours, "seller_link": theirs}
        async with ordering(tmp_path, cpa=way, **links, **way) as both:
            theirs.cuts, ours.losses = (2, 0) if way else (0, 1)
            confirmation = await both.seller.send("OrderConfirmation", CONFIRMATION)
            sent = await both.seller.settled(confirmation)
            assert sent.status == "delivered"
            assert int(sent.transmissions) > 1
            await both.buyer.until_handed_over(confirmation)


@pytest.mark.exchange("Our resend after its answer was cut")
@pytest.mark.parametrize("way", WAYS)
async def test_our_resend_is_a_duplicate(tmp_path, way):
    """It has one order, and says that a copy came, where we could not know that it had it."""
    async with (
        cutting_link() as link,
        ordering(tmp_path, cpa=way, buyer_link=link, **way) as both,
    ):
        link.cuts = 1
        order = await both.order(ORDER)
        await both.buyer.until_state(order, "acknowledged")
        assert [one.message_id for one in await both.seller.inbox()] == [order]
        if way:
            assert await both.seller.log() == [f"duplicate {order}"]


@pytest.mark.exchange(
    "Order under a CPA that it does not have",
    quirk="It answers an unknown CPA with a Fault of the Client and status 500",
)
async def test_a_fault_of_it_is_a_refusal(tmp_path):
    """The order is never sent again, and what the partner said is told."""
    async with ordering(tmp_path, cpa={"cpa_id": "cpa-other"}) as both:
        order = await both.order(ORDER)
        await both.buyer.until_state(order, "failed")
        await both.buyer.until_row(Event.FAULT_RECEIVED)
        shown = await both.buyer.get(f"/v1/messages/{order}")
        assert "CPA cpa-interop not found" in str(shown)
        assert await both.seller.inbox() == []


@pytest.mark.exchange("Order with an Action that it does not know: its ErrorList")
@pytest.mark.parametrize("way", WAYS)
async def test_an_error_of_it_is_a_refusal(tmp_path, way):
    services = [
        {
            "id": "ordering:1.0",
            "type": "urn:example:services",
            "send": ["NewOrder", "CancelOrder"],
            "receive": ["OrderConfirmation"],
        }
    ]
    async with ordering(tmp_path, cpa=way, services=services, **way) as both:
        order = await both.order(ORDER, action="CancelOrder")
        await both.buyer.until_state(order, "failed")
        row = await both.buyer.until_row(Event.ERROR_RECEIVED)
        assert row.error_code == "ValueNotRecognized"
        assert [one.action for one in await both.seller.inbox()] == ["refused"]


@pytest.mark.exchange(
    "Orders that ask for MessageOrder, or the next MSH to acknowledge: its NotSupported",
    quirk="It knows neither MessageOrder nor the actor nextMSH",
    key="message_order, ack_actor",
)
@pytest.mark.parametrize(
    "terms",
    [
        pytest.param({"message_order": "Guaranteed"}, id="MessageOrder"),
        pytest.param({"ack_actor": "nextMSH"}, id="nextMSH"),
    ],
)
async def test_what_it_does_not_support_is_a_refusal(tmp_path, terms):
    """At once, and without a second copy."""
    async with ordering(tmp_path, **terms) as both:
        order = await both.order(ORDER)
        await both.buyer.until_state(order, "failed")
        row = await both.buyer.until_row(Event.ERROR_RECEIVED)
        assert row.error_code == "NotSupported"


@pytest.mark.exchange("Confirmation with an Action that we do not know: our ErrorList")
@pytest.mark.parametrize("way", WAYS)
async def test_our_error_is_a_refusal(tmp_path, way):
    services = [
        {
            "id": "ordering:1.0",
            "type": "urn:example:services",
            "send": ["NewOrder"],
            "receive": ["OrderReceipt"],
        }
    ]
    async with ordering(tmp_path, cpa=way, services=services, **way) as both:
        confirmation = await both.seller.send("OrderConfirmation", CONFIRMATION)
        sent = await both.seller.settled(confirmation)
        assert sent.status == "failed", sent
        assert "ValueNotRecognized" in sent.note
        both.buyer.assert_nothing_stored()


@pytest.mark.exchange("Confirmation under a CPA that we do not have: our Fault")
async def test_our_fault_says_which_cpa(tmp_path):
    """It takes a status of 500 as something that may pass, so the wait for its verdict is short."""
    cpa = {"cpa_id": "cpa-other", "retries": 1}
    async with ordering(tmp_path, cpa=cpa) as both:
        confirmation = await both.seller.send("OrderConfirmation", CONFIRMATION)
        sent = await both.seller.settled(confirmation)
        assert (sent.status, sent.transmissions) == ("expired", "2"), sent
        assert "HTTP 500" in sent.note
        assert "cpa-other" in sent.note
        both.buyer.assert_nothing_stored()
