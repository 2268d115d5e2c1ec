"""Deaths of a receiver in what it owes beside the acknowledgement: receipts, failure notices,
responses in the answer of HTTP, and messages that it withholds."""

from collections import Counter

import pytest
from nemesis_evidence import check_exchange, check_inbox, fetch_journal
from nemesis_gateways import Exchange, await_acknowledged, insist, read_inbox_ids, until
from nemesis_points import NOTICE, RECEIPT

from onceonly.client import Client
from onceonly.demo.gateways import free_ports
from onceonly.message.event import Event


def count_events(client: Client) -> Counter[Event]:
    return Counter(row.event for row in fetch_journal(client))


def prepare(exchange: Exchange, point: str) -> None:
    """Both run, and the receiver will die at the point."""
    exchange.receiver.configure(f"{point}:1")
    exchange.start()


def die_and_return(exchange: Exchange) -> None:
    exchange.receiver.await_death()
    exchange.receiver.start()


@pytest.mark.statement("S1-04")
@pytest.mark.parametrize("point", ["before-hand-over", *RECEIPT])
def test_a_receipt_is_sent_once_by_whoever_hands_the_message_over(
    exchange: Exchange, point: str
) -> None:
    """A crash before the hand-over loses no receipt. After it the receipt goes out at most once,
    like every signal, and its sender can ask for the status."""
    exchange.agree(
        profile="rm-2001",
        delivery_receipt_requested="Unsigned",
        delivery_receipt_provided="Unsigned",
    )
    prepare(exchange, point)
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "receipt")
        die_and_return(exchange)
        exchange.await_complete(ours, theirs, "receipt")
        if point == "before-receipt":
            ours.request_status("receipt")
            until(lambda: ours.get("receipt").recovery.status == "Received", "it is there")
            assert ours.get("receipt").receipts == ()
        else:
            until(lambda: ours.get("receipt").receipts, "the receipt is there")
            assert len(ours.get("receipt").receipts) == 1
        check_exchange(exchange)


@pytest.mark.statement("S1-52", ruling="R-14")
@pytest.mark.parametrize("point", NOTICE)
def test_a_failure_notice_is_owed_until_it_was_taken(exchange: Exchange, point: str) -> None:
    """Owed since the application's refusal, over every crash; its application is told once."""
    exchange.agree(profile="rm-2001")
    prepare(exchange, point)
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "refused")
        exchange.await_complete(ours, theirs, "refused")
        item = theirs.find_inbox_item("refused")
        assert item is not None
        exchange.sender.kill()
        insist(lambda: theirs.refuse(item, "no such article"))
        if point == "after-notice":
            exchange.receiver.await_death()
            exchange.receiver.configure("after-notice:1")
            exchange.sender.start()
            exchange.receiver.launch()
        exchange.receiver.await_death()
        exchange.start()
        until(lambda: ours.get("refused").error_code is not None, "the sender knows of it")
        until(lambda: count_events(theirs)[Event.FAILURE_NOTICE_SENT], "it is owed no more")
        assert [one.kind for one in ours.notices()] == ["NotProcessed"]
        assert ours.get("refused").state == "acknowledged"
        assert count_events(ours)[Event.ERROR_RECEIVED] == (2 if point == "after-notice" else 1)
        assert count_events(theirs)[Event.APPLICATION_REFUSED] == 1
        check_inbox(theirs, exchange.payloads)


def answer(exchange: Exchange, client: Client, request: str) -> None:
    """The receiver's application hands over its response, again where it has to."""
    insist(
        lambda: client.submit(
            [(b"<Response/>", "application/xml", "response.xml")],
            to=exchange.sender.site.party,
            service="Ordering",
            action="Confirm",
            message_id="response",
            ref=request,
        )
    )


@pytest.mark.statement("S1-29", "S1-34", "S1-35")
@pytest.mark.parametrize("has_response", [False, True])
def test_a_death_with_an_open_exchange_is_survived(exchange: Exchange, has_response: bool) -> None:
    """The repeat finds nobody at work and is answered; request and response arrive once each."""
    exchange.agree(profile="rm-2001", sync_reply_mode="signalsAndResponse", timeout=16)
    if has_response:
        exchange.receiver.configure("before-transmit:1")
    exchange.start()
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "request")
        until(lambda: theirs.find_inbox_item("request"), "the application has the request")
        if not has_response:
            exchange.receiver.restart()
            await_acknowledged(ours, "request")
        answer(exchange, theirs, "request")
        if has_response:
            die_and_return(exchange)
        until(lambda: ours.find_inbox_item("response"), "the response is there")
        await_acknowledged(theirs, "response")
        await_acknowledged(ours, "request")
        assert read_inbox_ids(ours) == ["response"]
        check_inbox(theirs, exchange.payloads)
        assert count_events(theirs)[Event.HANDED_OVER] == 1
        assert count_events(ours)[Event.HANDED_OVER] == 1


@pytest.mark.statement("S3-05", "S3-06", ruling="R-12")
@pytest.mark.parametrize("point", ["after-acknowledge", "before-hand-over"])
def test_what_is_withheld_is_handed_over_once_an_acknowledgement_left(
    exchange: Exchange, point: str
) -> None:
    """Withheld over restarts while nothing can leave; then released once, whoever dies.

    No copy comes meanwhile: a death in the midst of its acknowledgement would end the certainty.
    """
    sender, receiver = exchange.gateways
    [nobody] = free_ports(1)
    sender.agree(timeout=2_000, retries=10, retry_interval=2_000)
    receiver.agree(
        strict_release=True,
        send_to=f"http://127.0.0.1:{nobody}/msh",
        receiver_uri=sender.site.uri,
    )
    exchange.start()
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "withheld")
        for lives in (1, 2):
            until(lambda n=lives: count_events(theirs)[Event.WITHHELD] >= n, "it is withheld")
            assert read_inbox_ids(theirs) == []
            receiver.kill()
            receiver.start()
        receiver.kill()
        receiver.agree(send_to=sender.site.uri)
        receiver.configure(f"{point}:1")
        receiver.launch()
        die_and_return(exchange)
        exchange.await_complete(ours, theirs, "withheld")
        check_exchange(exchange)
