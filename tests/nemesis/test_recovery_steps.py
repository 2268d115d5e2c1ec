"""Deaths while a message that was given up is asked about, taken back, or sent anew (R-21).

Nobody knows whether the receiver has the message: the sender asks, and sends it again, or cancels
it and sends a new version. Whoever dies in between, the application processes each content once,
and no message has two new versions.
"""

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event as Flag
from typing import Any

import httpx
import pytest
from nemesis_copies import copy_of
from nemesis_evidence import fetch_journal
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange, insist, until
from nemesis_points import RECOVERY

from onceonly.api.inbox import InboxItem
from onceonly.api.messages import MessageDetail
from onceonly.client import Client
from onceonly.message.errors import LocalError
from onceonly.message.event import Event

RULES: dict[str, Any] = {
    "retries": 0,
    "inquire_status": True,
    "inquiries": 1000,
    "reports_processing": True,
}
"""Gives up after 0.2 s and then asks until somebody answers."""

ASKED_BY_HAND: dict[str, Any] = {
    "retries": 0,
    "ping_before_send_above": 1 << 40,
    "inquiries": 1000,
    "reports_processing": True,
}
"""Gives up and does nothing by rule; what the application then asks is asked until answered."""

AHEAD_MAX = 12
PACE_S = 0.005
KILL_WITHIN_S = 0.5

POINTS = {
    "sender": ("before-inquire", "after-inquire", "before-verdict", "after-verdict"),
    "receiver": ("before-commit", "before-report", "after-report", "before-hand-over"),
}
"""Where the nemesis lies in wait under load."""

CASES = [
    *(("resend", role, f"{point}:1") for point, role in RECOVERY),
    # The first answer is that of the status inquiry, the second that of the cancel.
    *(("new-version", role, f"{point}:2") for point, role in RECOVERY),
    ("new-version", "sender", "before-transmit:2"),
]
SHORT = [
    ("resend", "sender", "after-verdict:1"),
    ("new-version", "sender", "before-verdict:2"),
    ("new-version", "sender", "after-verdict:2"),
    ("new-version", "receiver", "before-report:2"),
]
"""In the short form, in `rm-2001`; the full one tries all, in both profiles."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """More deaths in the full form."""
    if "remedy" in metafunc.fixturenames:
        is_full = Form(metafunc.config.getoption("cycles", 0), 0).is_full
        metafunc.parametrize("profile", ("rm-2000", "rm-2001") if is_full else ("rm-2001",))
        metafunc.parametrize(("remedy", "role", "point"), CASES if is_full else SHORT)


class Worker:
    """The receiver's application: asks before it starts, and notes what it did."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._after = 0
        self.done: Counter[str] = Counter()
        """Digests of the contents that it processed."""

    def work(self) -> None:
        """Process what is new in the inbox, unless its sender took it back."""
        for item in insist(lambda: self._client.inbox(self._after)):
            if self._may_start(item):
                self.done[item.digest] += 1
                insist(lambda item=item: self._client.report(item, "complete"))
            self._after = item.offset

    def _may_start(self, item: InboxItem) -> bool:
        try:
            insist(lambda: self._client.report(item, "in-progress"))
        except LocalError as error:
            if error.name != "Cancelled":
                raise
            return False
        return True


def versions(client: Client, message_id: str) -> list[MessageDetail]:
    """The message and whatever took its place, one after the other."""
    found = [client.get(message_id)]
    while (newer := found[-1].recovery.replaced_by) is not None:
        found.append(client.get(newer))
    return found


def is_settled(client: Client, message_id: str) -> bool:
    """Whether the newest version has a verdict, and every older one is taken back."""
    *older, newest = versions(client, message_id)
    is_over = newest.state in ("acknowledged", "failed")
    return is_over and all(one.state == "cancelled" for one in older)


def check_versions(exchange: Exchange, worker: Worker) -> Counter[str]:
    """Each content processed once, by one version of its message; returns the sender's rows."""
    with exchange.clients() as (ours, theirs):
        sent, received = fetch_journal(ours), fetch_journal(theirs)
        expected: Counter[str] = Counter()
        for message_id in exchange.payloads:
            newest = versions(ours, message_id)[-1]
            expected[newest.digest] = int(newest.state == "acknowledged")
    made = Counter(row.reason for row in sent if (row.reason or "").startswith("new version of"))
    assert set(made.values()) <= {1}, "a message has two new versions"
    for event in (Event.STORED, Event.HANDED_OVER):
        counts = Counter(row.message_id for row in received if row.event is event)
        assert set(counts.values()) <= {1}, f"{event} twice"
    assert worker.done == +expected, "a content was lost, or processed twice"
    return Counter(row.event for row in sent)


def given_up(exchange: Exchange, message_id: str) -> None:
    """A message whose bytes left; its receiver died before it had stored them."""
    exchange.receiver.restart("before-commit:1")
    with exchange.clients() as (ours, _):
        exchange.submit_if_up(ours, message_id)
    exchange.receiver.await_death()


@pytest.mark.statement("S4-20", "S4-24", "S4-25", ruling="R-21")
def test_a_death_while_a_message_is_recovered_is_survived(
    exchange: Exchange, profile: str, remedy: str, role: str, point: str
) -> None:
    """Killed exactly there: sent again, or replaced, once; processed once."""
    turn = "suspend" if profile == "rm-2000" else "fail"
    exchange.agree(profile=profile, when_not_received=remedy, on_exhausted=turn, **RULES)
    sender, receiver = exchange.gateways
    sender.configure(*[point] if role == "sender" else [])
    sender.start()
    given_up(exchange, "doubtful")
    receiver.configure(*[point] if role == "receiver" else [])
    receiver.launch()  # A question may lead it to the point at once.
    exchange.gateway(role).await_death()
    exchange.start()
    with exchange.clients() as (ours, theirs):
        until(lambda: is_settled(ours, "doubtful"), "the message is settled")
        chain = [one.state for one in versions(ours, "doubtful")]
        assert chain == ["acknowledged"] if remedy == "resend" else ["cancelled", "acknowledged"]
        worker = Worker(theirs)
        until(lambda: worker.work() or worker.done, "it is processed")
        check_versions(exchange, worker)


@pytest.mark.statement("S4-26", ruling="R-08")
@pytest.mark.parametrize(
    ("is_stored", "point"),
    [(True, "before-report:1"), (False, "before-report:1"), (False, "after-report:1")],
    ids=["stored", "unknown", "told"],
)
def test_a_tombstone_outlives_the_death_of_whoever_set_it(
    exchange: Exchange, is_stored: bool, point: str
) -> None:
    """Cancelled durably before anybody is told: never processed, whatever copies still come."""
    exchange.agree(profile="rm-2001", **ASKED_BY_HAND)
    sender, receiver = exchange.gateways
    receiver.configure(*[] if is_stored else ["before-commit:1"])
    exchange.start()
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "regretted")
        if is_stored:
            exchange.await_complete(ours, theirs, "regretted")
        else:
            receiver.await_death()
            until(lambda: ours.get("regretted").state == "in_doubt", "it is given up")
        sender.kill()
        copy = copy_of(sender, "regretted")
        sender.start()
        receiver.restart(point)
        ours.cancel("regretted")
        receiver.await_death()
        receiver.start()
        until(lambda: ours.get("regretted").state == "cancelled", "the cancel is confirmed")
        assert copy.post(receiver.site) == httpx.codes.NO_CONTENT
        until(lambda: Event.REJECTED in _events(theirs), "the late copy is refused")
        worker = Worker(theirs)
        worker.work()
        assert not worker.done
        assert _events(theirs)[Event.CANCEL_CONFIRMED] == 1


def _events(client: Client) -> Counter[Event]:
    return Counter(row.event for row in fetch_journal(client))


@contextmanager
def at_work(exchange: Exchange, worker: Worker, stop: Flag) -> Iterator[None]:
    """Both applications at work; they have ended, and ended well, afterwards."""

    def send() -> None:
        with Client(exchange.sender.site.api) as client:
            while not stop.wait(PACE_S):
                ids = list(exchange.payloads)
                ahead = ids[-AHEAD_MAX] if len(ids) >= AHEAD_MAX else None
                if ahead is None or insist(lambda ahead=ahead: is_settled(client, ahead)):
                    message_id = f"m-{len(ids)}@nemesis.example"
                    insist(lambda name=message_id: exchange.submit(client, name, 300))

    def process() -> None:
        while not stop.wait(PACE_S):
            worker.work()

    with ThreadPoolExecutor(2) as executor:
        running = [executor.submit(send), executor.submit(process)]
        try:
            yield
        finally:
            stop.set()
            exchange.start()
    for one in running:
        one.result()


def strike(exchange: Exchange, chance: random.Random) -> None:
    """Restart a side with a death in wait for it, and kill whatever lives at some instant."""
    role = chance.choice(("sender", "receiver"))
    victim = exchange.gateway(role)
    victim.kill()
    victim.configure(f"{chance.choice(POINTS[role])}:{chance.randrange(1, 4)}")
    victim.launch()
    # The random instant itself, not a synchronisation.
    Flag().wait(chance.uniform(0, KILL_WITHIN_S))
    victim.restart()


@pytest.mark.statement("S4-25", "S4-26", ruling="R-21")
def test_kills_under_load_never_process_two_versions(
    exchange: Exchange, form: Form, say: Say
) -> None:
    """What is given up is replaced, again and again, by gateways that die: each content once."""
    exchange.agree(profile="rm-2001", when_not_received="new-version", **RULES)
    exchange.start()
    cycles, chance, stop = form.share(2).cycles, form.chance("versions"), Flag()
    with Client(exchange.receiver.site.api) as theirs, Client(exchange.sender.site.api) as ours:
        worker = Worker(theirs)
        with at_work(exchange, worker, stop):
            for _ in range(cycles):
                strike(exchange, chance)
        for message_id in exchange.payloads:
            until(lambda message_id=message_id: is_settled(ours, message_id), f"{message_id}")
        ends = [versions(ours, message_id)[-1].state for message_id in exchange.payloads]
        wanted = ends.count("acknowledged")
        until(lambda: worker.work() or worker.done.total() >= wanted, "all is processed")
        counts = check_versions(exchange, worker)
    say(
        f"recovery: seed {form.seed}, {cycles} cycles, {len(exchange.payloads)} messages, "
        f"{counts[Event.EXHAUSTED]} given up, {counts[Event.INQUIRY_SENT]} inquiries, "
        f"{counts[Event.CANCELLED]} replaced; nothing lost, nothing twice",
        kills=cycles,
        messages=len(exchange.payloads),
    )
