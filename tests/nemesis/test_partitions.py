"""Two gateways on hosts of their own, and a wire that loses, cuts, hangs and refuses (N1, N5-N8).

The firewall of one host is the fault, on real TCP. While it lasts messages are submitted on both
sides; when it is over each of them is acknowledged, and was handed over once.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from typing import NamedTuple

import pytest
from nemesis_evidence import check_exchange, fetch_journal
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange, Gateway, build_exchange, until
from nemesis_network import Host, two_hosts

from onceonly.client import Client
from onceonly.message.event import Event

SETTLE_S = 180.0
"""A transmission that hangs ends after 20 s, and TCP repeats what was lost ever more seldom."""

MESSAGES = 4
LOST_OF_100 = 30
HEAD_BYTES = 120
"""Packets up to here are TCP's own: a handshake, an acknowledgement, an end."""


class Fault(NamedTuple):
    """The rules of the sender's host."""

    name: str
    incoming: str = "accept"
    outgoing: str = "accept"
    passes_all: bool = False
    """In the end, without being healed."""


LOSS = f"meta l4proto tcp numgen random mod 100 < {LOST_OF_100} drop"
FAULTS = [
    Fault("loss", incoming=LOSS, outgoing=LOSS, passes_all=True),
    Fault("reset", outgoing="meta l4proto tcp reject with tcp reset"),
    Fault("one-way-out", outgoing="drop"),
    Fault("one-way-in", incoming="drop"),
    Fault("half-open-out", outgoing=f"meta l4proto tcp meta length > {HEAD_BYTES} drop"),
    Fault("half-open-in", incoming=f"meta l4proto tcp meta length > {HEAD_BYTES} drop"),
    Fault("partition", incoming="drop", outgoing="drop"),
]
SHORT_FAULT_S = 1.0
"""TCP repeats a few times; the gateways' own waits run out in the full form."""

SHORT = ("loss", "one-way-out")


@dataclass
class Hosted(Gateway):
    """A gateway on a host of its own."""

    host: Host = field(default_factory=lambda: Host("", ""))

    def launch(self) -> None:
        """Start the process there and do not wait for anything."""
        self.launch_command(*self.host.prefix)


@dataclass
class Wired(Exchange):
    """Two gateways and the hosts that they are on."""

    hosts: tuple[Host, ...] = ()

    def strike(self, fault: Fault) -> None:
        """From now on."""
        self.hosts[0].filter(incoming=fault.incoming, outgoing=fault.outgoing)

    def heal(self) -> None:
        """Everything passes again."""
        self.hosts[0].heal()


@pytest.fixture(scope="module")
def wired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    """Two running gateways; they live through all tests here."""
    with ExitStack() as stack:
        hosts = stack.enter_context(two_hosts())
        plain = build_exchange(tmp_path_factory.mktemp("wired"))
        sites = [
            replace(gateway.site, host=host.address)
            for gateway, host in zip(plain.gateways, hosts, strict=True)
        ]
        ours = Hosted(sites[0], sites[1], host=hosts[0])
        theirs = Hosted(sites[1], sites[0], host=hosts[1])
        exchange = Wired(ours, theirs, hosts=hosts)
        for gateway, host in zip(exchange.gateways, hosts, strict=True):
            gateway.configure()
            stack.enter_context(host.window(gateway.site.api_port))
        stack.callback(exchange.destroy)
        exchange.start()
        yield exchange


def count_disturbed(client: Client) -> int:
    """Transmissions that had to be made although the message had been sent before."""
    rows = [row for row in fetch_journal(client) if row.event is Event.TRANSMITTING]
    return len(rows) - len({row.message_id for row in rows})


@pytest.mark.statement("S0-01", "S0-04", ruling="R-05")
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=fault.name, marks=() if fault.name in SHORT else pytest.mark.full)
        for fault in FAULTS
    ],
)
def test_a_wire_that_fails_loses_nothing_and_doubles_nothing(
    wired: Wired, fault: Fault, form: Form, say: Say
) -> None:
    """Submitted before, during and after it: all acknowledged and handed over once, in order."""
    with wired.clients() as (ours, theirs):
        before = count_disturbed(ours)
        try:
            wired.submit(ours, f"{fault.name}-before")
            wired.strike(fault)
            for number in range(MESSAGES):
                wired.submit(ours, f"{fault.name}-{number}")
            if not (fault.passes_all or form.is_full):
                Flag().wait(SHORT_FAULT_S)  # the fault itself, not a synchronisation
            elif not fault.passes_all:
                until(lambda: count_disturbed(ours) > before, "the fault is felt", SETTLE_S)
        finally:
            if not fault.passes_all:
                wired.heal()
        last = f"{fault.name}-{MESSAGES - 1}"
        until(lambda: ours.get(last).state == "acknowledged", "all is settled", SETTLE_S)
        wired.heal()
        for message_id in wired.payloads:
            wired.await_complete(ours, theirs, message_id)
        disturbed = count_disturbed(ours) - before
    found = check_exchange(wired)
    say(
        f"nemesis: {fault.name}, {disturbed} resends, {found.duplicates} duplicates so far; "
        "nothing lost, nothing twice",
        partitions=1,
    )
