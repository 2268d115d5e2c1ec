"""kill -9 of both gateways at random instants, under load, again and again (fault C1, C2)."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event as Flag

import pytest
from nemesis_evidence import check_inbox, check_journals, read_journal
from nemesis_faults import Form
from nemesis_gateways import (
    Exchange,
    Gateway,
    Payload,
    await_acknowledged,
    await_inbox,
    is_acknowledged,
    submit,
)

from onceonly.client import Client, GatewayUnreachable

AHEAD_MAX = {"rm-2000": 6, "rm-2001": 24}
"""Messages submitted and not yet acknowledged, per side: kills meet a full window and a queue
behind it, not mountains."""

SIZES = (0, 300, 4_000, 100_000)
"""An empty one, two that live in a row, and one that goes through the spool."""

KILL_WITHIN_S = 0.6
"""The next kill comes at a random instant of this span."""


class Application:
    """Submits without end and repeats what found no gateway, as every application must."""

    def __init__(self, gateway: Gateway, ahead_max: int, chance: random.Random, stop: Flag) -> None:
        self._gateway = gateway
        self._ahead_max = ahead_max
        self._chance = chance
        self._stop = stop
        self.payloads: dict[str, Payload] = {}
        """Every message whose submission was answered with yes, in order."""

    def work(self) -> None:
        """Submit, a bounded number ahead of the acknowledgements, until told to stop."""
        with Client(self._gateway.site.api) as client:
            while not self._stop.is_set():
                self._submit_next(client)
                if len(self.payloads) > self._ahead_max:
                    self._await_acknowledged(client, list(self.payloads)[-self._ahead_max])

    def _submit_next(self, client: Client) -> None:
        message_id = f"{self._gateway.site.name}-{len(self.payloads)}@nemesis.example"
        payload = Payload.numbered(message_id, self._chance.choice(SIZES))
        self._insist(lambda: submit(client, self._gateway.partner, message_id, payload))
        self.payloads[message_id] = payload

    def _await_acknowledged(self, client: Client, message_id: str) -> None:
        while not self._stop.wait(0.02):
            if self._insist(lambda: is_acknowledged(client, message_id)):
                return

    def _insist(self, call: Callable[[], object]) -> object:
        # A submission under way is brought to its end even when told to stop: it may be stored.
        while True:
            try:
                return call()
            except GatewayUnreachable:
                self._stop.wait(0.02)


@contextmanager
def under_load(applications: Sequence[Application], stop: Flag) -> Iterator[None]:
    """Both applications at work; both have ended, and ended well, afterwards."""
    with ThreadPoolExecutor(len(applications)) as executor:
        running = [executor.submit(application.work) for application in applications]
        try:
            yield
        finally:
            stop.set()
    for one in running:
        one.result()


def kill_and_restart(exchange: Exchange, chance: random.Random) -> None:
    """Kill one or both at a random instant; the next cycle may even meet the recovery (C2)."""
    victims = chance.choice(
        [(exchange.sender,), (exchange.receiver,), (exchange.sender, exchange.receiver)]
    )
    # The random instant itself, not a synchronisation.
    Flag().wait(chance.uniform(0, KILL_WITHIN_S))
    for gateway in victims:
        gateway.kill()
        gateway.launch()
    if chance.random() < 0.8:
        for gateway in exchange.gateways:
            gateway.await_ready()


def check_all_arrived(
    sender: Client, receiver: Client, application: Application, *, in_order: bool
) -> None:
    """Everything that the application handed over ends acknowledged and in the other inbox."""
    for message_id in application.payloads:
        await_acknowledged(sender, message_id)
    await_inbox(receiver, len(application.payloads))
    check_inbox(receiver, application.payloads, in_order=in_order)


@pytest.mark.statement("S0-01", "S0-04", "S1-04", "S3-02", "S3-04", ruling="R-01")
@pytest.mark.parametrize("profile", list(AHEAD_MAX))
def test_random_kills_lose_nothing_and_double_nothing(
    exchange: Exchange, profile: str, form: Form, say: Callable[[str], None]
) -> None:
    """kill -9 of either or both under load, both ways: all acknowledged, each handed over once."""
    exchange.agree(profile=profile)
    chance, stop, begun = form.chance("kills", profile), Flag(), time.monotonic()
    applications = [
        Application(gateway, AHEAD_MAX[profile], form.chance(gateway.site.name), stop)
        for gateway in exchange.gateways
    ]
    exchange.start()
    with under_load(applications, stop):
        try:
            for _ in range(form.cycles):
                kill_and_restart(exchange, chance)
        finally:
            for gateway in exchange.gateways:
                gateway.await_ready()
    first, second = applications
    in_order = profile == "rm-2000"
    with exchange.clients() as (ours, theirs):
        check_all_arrived(ours, theirs, first, in_order=in_order)
        check_all_arrived(theirs, ours, second, in_order=in_order)
    exchange.stop()
    journals = [read_journal(gateway) for gateway in exchange.gateways]
    there = check_journals(journals[0], journals[1], first.payloads)
    back = check_journals(journals[1], journals[0], second.payloads)
    say(
        f"nemesis: {profile}, seed {form.seed}, {form.cycles} cycles, "
        f"{sum(gateway.kills for gateway in exchange.gateways)} kills, "
        f"{len(first.payloads)} + {len(second.payloads)} messages, "
        f"{there.resends + back.resends} resends, "
        f"{there.duplicates + back.duplicates} duplicates eliminated, "
        f"{time.monotonic() - begun:.0f} s; nothing lost, nothing twice"
    )
