"""Ordered conversations whose gateways are killed: each message once, and in order (O1 to O3)."""

from datetime import UTC, datetime
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from nemesis_evidence import fetch_journal
from nemesis_gateways import AGREEMENT, Exchange, await_acknowledged, read_inbox_ids, until

from onceonly.client import Client, GatewayUnreachable
from onceonly.message.event import Event

ORDERED = {"profile": "ebms-2.0", "timeout": None, "message_order": "Guaranteed"}
CONVERSATION = "orders-17"
HERE = ("before-commit", "after-commit", "before-acknowledge", "after-acknowledge")
THERE = ("before-hand-over", "after-hand-over")
SENDING = ("after-commit", "before-transmit", "after-transmit", "before-verdict", "after-verdict")

DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<SOAP:Envelope xmlns:SOAP="http://schemas.xmlsoap.org/soap/envelope/"
 xmlns:eb="http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"><SOAP:Header>
<eb:MessageHeader eb:version="2.0" SOAP:mustUnderstand="1">
 <eb:From><eb:PartyId>{from_party}</eb:PartyId></eb:From>
 <eb:To><eb:PartyId>{to_party}</eb:PartyId></eb:To>
 <eb:CPAId>{agreement}</eb:CPAId><eb:ConversationId>{conversation}</eb:ConversationId>
 <eb:Service>urn:services:Ordering</eb:Service><eb:Action>NewOrder</eb:Action>
 <eb:MessageData><eb:MessageId>{message_id}</eb:MessageId>
  <eb:Timestamp>{timestamp}</eb:Timestamp></eb:MessageData><eb:DuplicateElimination/>
</eb:MessageHeader>
<eb:MessageOrder eb:version="2.0" SOAP:mustUnderstand="1"><eb:SequenceNumber eb:status="{status}">{number}</eb:SequenceNumber></eb:MessageOrder>
<eb:AckRequested eb:version="2.0" SOAP:mustUnderstand="1" eb:signed="false"
 SOAP:actor="urn:oasis:names:tc:ebxml-msg:actor:toPartyMSH"/></SOAP:Header><SOAP:Body/>
</SOAP:Envelope>"""  # noqa: E501 - because white space in a number is the sender's


def name(number: int) -> str:
    return f"m-{number}@buyer.example"


class Partner:
    """A sender whose messages overtake each other, and that takes no acknowledgement."""

    def __init__(self, exchange: Exchange) -> None:
        self._uri = exchange.receiver.site.uri
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._said = {
            "from_party": exchange.sender.site.party,
            "to_party": exchange.receiver.site.party,
            "agreement": AGREEMENT,
            "conversation": CONVERSATION,
            "timestamp": timestamp,
        }

    def say(self, number: int) -> bool:
        """Whether the gateway took the message; it may be dying."""
        status = "Continue" if number else "Reset"
        said = {**self._said, "message_id": name(number), "number": number, "status": status}
        head = {"Content-Type": 'text/xml; charset="UTF-8"', "SOAPAction": '"ebXML"'}
        request = Request(self._uri, DOCUMENT.format(**said).encode(), head)
        try:
            with urlopen(request, timeout=30) as answer:
                return answer.status < 300
        except (URLError, ConnectionError):
            return False


def handed_over(client: Client) -> list[tuple[str | None, int | None]]:
    """MessageId and number of each hand-over, in the journal's order."""
    rows = fetch_journal(client)
    return [(row.message_id, row.order_number) for row in rows if row.event is Event.HANDED_OVER]


@pytest.mark.statement("E2-107")
@pytest.mark.parametrize("point", [*HERE, *THERE])
def test_held_messages_survive_kills_and_are_handed_over_once_in_order(
    exchange: Exchange, point: str
) -> None:
    """E2-107: killed with two held, and again while the message that was missing releases them."""
    receiver = exchange.receiver
    receiver.agree(**ORDERED)
    receiver.start()
    partner = Partner(exchange)
    with exchange.clients() as (_, theirs):
        assert all(partner.say(number) for number in (3, 1))
        until(lambda: acknowledged(theirs) == 2, "both were acknowledged")
        assert read_inbox_ids(theirs) == []
        receiver.kill()
        receiver.configure(f"{point}:1")
        receiver.start()
        assert read_inbox_ids(theirs) == []
        partner.say(0)
        receiver.await_death()
        receiver.start()
        for number in (2, 0, 1, 3):
            until(lambda number=number: partner.say(number), f"{number} was taken")
        until(lambda: len(read_inbox_ids(theirs)) == 4, "all are handed over")
        assert read_inbox_ids(theirs) == [name(number) for number in range(4)]
        assert handed_over(theirs) == [(name(number), number) for number in range(4)]


def acknowledged(client: Client) -> int:
    """How many acknowledgements were tried."""
    return sum(row.event is Event.ACK_SENT for row in fetch_journal(client))


@pytest.mark.statement("E2-105")
@pytest.mark.parametrize("point", SENDING)
def test_a_sender_that_is_killed_leaves_no_gap(exchange: Exchange, point: str) -> None:
    """E2-105: whatever step is cut, the next message leaves after the acknowledgement."""
    exchange.agree(**ORDERED)
    exchange.sender.configure(f"{point}:3")
    exchange.start()
    names = [f"order-{index}" for index in range(5)]
    with exchange.clients() as (ours, theirs):
        for one in names:
            if not submit(exchange, ours, one):
                break
        exchange.sender.await_death()
        exchange.sender.start()
        for one in names:
            assert submit(exchange, ours, one)
            await_acknowledged(ours, one)
        until(lambda: len(read_inbox_ids(theirs)) == len(names), "all are handed over")
        assert handed_over(theirs) == [(one, number) for number, one in enumerate(names)]


def submit(exchange: Exchange, client: Client, message_id: str) -> bool:
    """Submit a message of the conversation, again if it was; False if the sender is down."""
    documents = [(b"<Order/>", "application/xml", "order.xml")]
    try:
        client.submit(
            documents,
            to=exchange.receiver.site.party,
            service="urn:services:Ordering",
            action="NewOrder",
            message_id=message_id,
            conversation=CONVERSATION,
        )
    except GatewayUnreachable:
        return False
    return True
