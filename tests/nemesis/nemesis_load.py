"""Load on two gateways that are killed: applications that insist, and random kills (C1, C2)."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event as Flag

from nemesis_evidence import Evidence, check_inbox, check_journals, read_journal
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange, Gateway, Payload, await_inbox, read_inbox, submit, until
from nemesis_ways import Way

from onceonly.client import Client, GatewayUnreachable

Payloads = Mapping[str, Payload]

SIZES = (0, 300, 4_000, 100_000)
"""An empty one, two that live in a row, and one that goes through the spool."""

PACE_S = 0.02

KILL_WITHIN_S = 0.6
"""The next kill comes at a random instant of this span."""


class Application:
    """Submits without end and repeats what found no gateway, as every application must."""

    def __init__(self, gateway: Gateway, way: Way, chance: random.Random, stop: Flag) -> None:
        self._gateway = gateway
        self._way = way
        self._chance = chance
        self._stop = stop
        self.payloads: dict[str, Payload] = {}
        """Every message whose submission was answered with yes, in order."""

    def work(self) -> None:
        """Submit, a bounded number ahead of what is settled, until told to stop."""
        with Client(self._gateway.site.api) as client:
            while not self._stop.is_set():
                self._submit_next(client)
                if len(self.payloads) > self._way.ahead_max:
                    self._await_settled(client, list(self.payloads)[-self._way.ahead_max])

    def _submit_next(self, client: Client) -> None:
        message_id = f"{self._gateway.site.name}-{len(self.payloads)}@nemesis.example"
        payload = Payload.numbered(message_id, self._chance.choice(SIZES))
        conversation = self._way.conversation_of(len(self.payloads))
        partner = self._gateway.partner
        self._insist(lambda: submit(client, partner, message_id, payload, conversation))
        self.payloads[message_id] = payload

    def _await_settled(self, client: Client, message_id: str) -> None:
        while not self._stop.wait(PACE_S):
            if self._insist(lambda: client.get(message_id).state) == self._way.end:
                return

    def _insist(self, call: Callable[[], object]) -> object:
        # A submission under way is brought to its end even when told to stop: it may be stored.
        while True:
            try:
                return call()
            except GatewayUnreachable:
                self._stop.wait(PACE_S)


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


def strike(
    exchange: Exchange,
    way: Way,
    form: Form,
    say: Say,
    again: Callable[[int], None] = lambda _: None,
) -> None:
    """Kill under load, both ways, check what both sides show, and say what was counted.

    `again` is called before each cycle, with its number, for faults beside the kills.
    """
    chance, stop, begun = form.chance("kills", way.name), Flag(), time.monotonic()
    applications = [
        Application(gateway, way, form.chance(gateway.site.name), stop)
        for gateway in exchange.gateways
    ]
    exchange.start()
    with under_load(applications, stop):
        try:
            for cycle in range(form.cycles):
                again(cycle)
                kill_and_restart(exchange, chance)
        finally:
            for gateway in exchange.gateways:
                gateway.await_ready()
    counts = _check(exchange, way, *(one.payloads for one in applications))
    kills = sum(gateway.kills for gateway in exchange.gateways)
    messages = [len(one.payloads) for one in applications]
    resends = sum(one.resends for one in counts)
    duplicates = sum(one.duplicates for one in counts)
    say(
        f"nemesis: {way.name}, seed {form.seed}, {form.cycles} cycles, {kills} kills, "
        f"{messages[0]} + {messages[1]} messages, {resends} resends, "
        f"{duplicates} duplicates eliminated, "
        f"{time.monotonic() - begun:.0f} s; nothing lost, nothing twice",
        cycles=form.cycles,
        kills=kills,
        messages=sum(messages),
        resends=resends,
        duplicates_eliminated=duplicates,
        lost=0,
        twice=0,
    )


def check_conversations(client: Client, payloads: Payloads, way: Way) -> None:
    """Each conversation was handed over in the order of its submissions (O1, O2)."""
    conversation = {name: way.conversation_of(at) for at, name in enumerate(payloads)}
    handed = [name for _, name, _ in read_inbox(client, with_payloads=False)]
    for one in {*conversation.values()} - {None}:
        sent = [name for name in payloads if conversation[name] == one]
        assert [name for name in handed if conversation[name] == one] == sent, one


def _check(exchange: Exchange, way: Way, there: Payloads, back: Payloads) -> Sequence[Evidence]:
    """Both inboxes while the gateways run, both journals once they have stopped."""
    with exchange.clients() as (ours, theirs):
        for sender, receiver, payloads in ((ours, theirs, there), (theirs, ours, back)):
            for message_id in payloads:
                until(
                    lambda c=sender, m=message_id: c.get(m).state == way.end,
                    f"{message_id} is {way.end}",
                )
            await_inbox(receiver, len(payloads))
            check_inbox(receiver, payloads, in_order=way.is_ordered)
            check_conversations(receiver, payloads, way)
    exchange.stop()
    first, second = (read_journal(gateway) for gateway in exchange.gateways)
    return [
        check_journals(
            *halves,
            payloads,
            is_acknowledged=way.is_acknowledged,
            is_ordered=bool(way.conversations),
        )
        for *halves, payloads in ((first, second, there), (second, first, back))
    ]
