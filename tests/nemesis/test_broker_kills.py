"""kill -9 of gateways and of the broker between them (method Transport, S1-12)."""

from collections.abc import Iterator

import pytest
from nemesis_evidence import check_inbox, check_journals, read_journal
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange, await_inbox, until
from nemesis_load import strike
from nemesis_ways import BROKER, use_broker

from broker import Broker, running_broker
from onceonly.api.history import JournalCriteria
from onceonly.message.event import Event

WAITING = 8
BROKER_DIES_EVERY = 8


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One broker for all tests here: it comes back from each of its deaths."""
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


def check_all(exchange: Exchange, *, duplicates: int = 0) -> int:
    """Every message sent, and handed over once; returns how many duplicates were eliminated.

    So many of them are awaited: the broker may still have them when all is handed over.
    """
    eliminated = JournalCriteria(event=Event.DUPLICATE_ELIMINATED.value)
    with exchange.clients() as (ours, theirs):
        for message_id in exchange.payloads:
            until(lambda m=message_id: ours.get(m).state == "sent", f"{message_id} is sent")
        await_inbox(theirs, len(exchange.payloads))
        check_inbox(theirs, exchange.payloads, in_order=False)
        until(
            lambda: theirs.count_journal(eliminated).count >= duplicates,
            f"{duplicates} duplicates are eliminated",
        )
    exchange.stop()
    sent, received = (read_journal(gateway) for gateway in exchange.gateways)
    found = check_journals(sent, received, exchange.payloads, is_acknowledged=False)
    return found.duplicates


@pytest.mark.statement("S1-12", "S1-26", ruling="R-02")
@pytest.mark.parametrize(
    ("role", "point"), [("receiver", "after-commit"), ("sender", "after-transmit")]
)
def test_a_death_around_a_confirm_brings_the_message_again(
    exchange: Exchange, broker: Broker, role: str, point: str
) -> None:
    """Between our commit and our word to the broker, or between its word and our note."""
    use_broker(exchange, broker)
    victim = exchange.gateway(role)
    victim.configure(f"{point}:1")
    exchange.start()
    with exchange.clients() as (ours, _):
        exchange.submit_if_up(ours, "confirmed")
        victim.await_death()
        victim.start()
    assert check_all(exchange, duplicates=1) == 1


@pytest.mark.statement("S1-12")
def test_what_the_broker_confirmed_outlives_its_death(exchange: Exchange, broker: Broker) -> None:
    """Confirmed while nobody was there to take it; the broker dies; all of it arrives, once."""
    use_broker(exchange, broker)
    exchange.start()
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "while-somebody-is-there")
        await_inbox(theirs, 1)  # The receiver has made its queue.
        exchange.receiver.kill()
        for number in range(WAITING):
            exchange.submit(ours, f"waiting-{number}")
        for message_id in exchange.payloads:
            until(lambda m=message_id: ours.get(m).state == "sent", f"{message_id} is sent")
        broker.kill()
        exchange.submit(ours, "without-a-broker")
    broker.start()
    exchange.receiver.start()
    check_all(exchange)


@pytest.mark.full
def test_random_kills_of_gateways_and_broker_lose_nothing(
    exchange: Exchange, broker: Broker, form: Form, say: Say
) -> None:
    """The same load as over HTTP; the broker dies, too."""
    use_broker(exchange, broker)

    def kill_the_broker(cycle: int) -> None:
        if cycle % BROKER_DIES_EVERY == BROKER_DIES_EVERY - 1:
            broker.kill()
            broker.start()

    strike(exchange, BROKER, form.share(1), say, kill_the_broker)
