"""Connections reset after n bytes of a request or of an answer, for every n (fault N8).

Every transmission of one message is cut one byte later than the one before it, until one passes
whole. Up to then nothing may be stored, or what is stored may not be taken for acknowledged.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from nemesis_cuts import Cutter, CuttingProxy, Flow
from nemesis_evidence import check_exchange, fetch_journal
from nemesis_faults import Form
from nemesis_figures import Say
from nemesis_gateways import Exchange, Site, is_acknowledged, until

from onceonly.client import Client
from onceonly.message.event import Event

CLOCK_RATE = 1_000
"""The wait for an acknowledgement is 4 ms."""

STRIDE = 199
"""Bytes between two cuts in the short form; a prime, so that cuts fall anywhere in a line."""

ANSWER_STRIDE = 17
PAYLOAD_BYTES = 300


class Wires:
    """The two directions between the gateways, each through a proxy."""

    def __init__(self, exchange: Exchange, there: CuttingProxy, back: CuttingProxy) -> None:
        self.exchange = exchange
        self.there = there
        self.back = back

    def start(self, **terms: object) -> None:
        """Start both gateways with these terms of the agreement."""
        for gateway, proxy in zip(self.exchange.gateways, (self.there, self.back), strict=True):
            gateway.tables["drill"] = {"clock_rate": CLOCK_RATE}
            gateway.agree(send_to=proxy.uri, receiver_uri=gateway.partner.uri, **terms)
        self.exchange.start()

    def renew(self) -> None:
        """No connection that was opened before is used again."""
        for proxy in (self.there, self.back):
            proxy.hang_up()


@pytest.fixture
def wires(exchange: Exchange) -> Iterator[Wires]:
    """Two gateways, not started, and the wires between them."""

    def to(site: Site) -> CuttingProxy:
        return CuttingProxy(("127.0.0.1", site.msh_port))

    sender, receiver = (gateway.site for gateway in exchange.gateways)
    with ExitStack() as stack:
        there, back = (stack.enter_context(to(site).running()) for site in (receiver, sender))
        yield Wires(exchange, there, back)
        exchange.destroy()


def step(form: Form, stride: int) -> int:
    return 1 if form.is_full else stride


def instants(client: Client, event: Event) -> list[int]:
    """When it happened, microseconds UTC of a clock that both gateways share."""
    return [row.at for row in fetch_journal(client) if row.event is event]


def await_end(cutter: Cutter, is_over: Callable[[], bool]) -> None:
    """Wait until enough bytes have passed, however long it takes while one cut follows another.

    Two thousand transmissions, each with its commits, take a busy machine many minutes.
    """
    while not is_over():
        cuts = cutter.cuts
        until(
            lambda cuts=cuts: cutter.cuts > cuts or is_over(), f"the end, or another cut ({cuts})"
        )


@pytest.mark.statement("S0-04", ruling="R-05")
@pytest.mark.parametrize("profile", ["rm-2000", "rm-2001"])
def test_a_request_that_is_reset_after_any_byte_stores_nothing(
    wires: Wires, profile: str, form: Form, say: Say
) -> None:
    """Not one byte short of the whole is a message; the whole one is stored once."""
    wires.start(profile=profile)
    cutter = wires.there.cutter = Cutter(Flow.REQUEST, step=step(form, STRIDE))
    with wires.exchange.clients() as (ours, theirs):
        wires.exchange.submit(ours, "cut", PAYLOAD_BYTES)
        # Behind the last byte a reset may come too late.
        await_end(cutter, lambda: is_acknowledged(ours, "cut"))
        wires.exchange.await_complete(ours, theirs, "cut")
        [stored_at] = instants(theirs, Event.STORED)
        begun = sum(at <= stored_at for at in instants(ours, Event.TRANSMITTING))
        # What is reset before its first byte may be a connection that failed: made once more.
        assert begun + 1 >= cutter.cuts, "stored although a part of it was cut off"
        check_exchange(wires.exchange)
    assert cutter.cuts > PAYLOAD_BYTES // step(form, STRIDE)
    text = f"nemesis: {profile}, {cutter.cuts} resets in a request; stored once"
    say(text, resets=cutter.cuts)


@pytest.mark.statement("S0-04", ruling="R-05")
def test_an_answer_that_is_reset_after_any_byte_changes_nothing(
    wires: Wires, form: Form, say: Say
) -> None:
    """Every copy is a duplicate, and no answer, not even a whole 2xx, is an acknowledgement."""
    wires.start(profile="rm-2000")
    wires.exchange.complete("count")
    last = wires.there.answer_bytes
    wires.renew()
    cutter = Cutter(Flow.ANSWER, step=step(form, ANSWER_STRIDE), last_bytes=last)
    wires.there.cutter = cutter
    nothing_back = wires.back.cutter = Cutter(Flow.REQUEST, step=0)
    with wires.exchange.clients() as (ours, theirs):
        wires.exchange.submit(ours, "cut", PAYLOAD_BYTES)
        await_end(cutter, lambda: cutter.is_over)
        assert ours.get("cut").state == "sending"
        nothing_back.is_over = True
        wires.exchange.await_complete(ours, theirs, "cut")
        duplicates = check_exchange(wires.exchange).duplicates
    assert cutter.cuts == last // step(form, ANSWER_STRIDE) + 1
    assert duplicates >= cutter.cuts
    say(
        f"nemesis: rm-2000, {cutter.cuts} resets in an answer; {duplicates} duplicates eliminated",
        resets=cutter.cuts,
    )


@pytest.mark.statement("S0-04", ruling="R-03")
def test_an_acknowledgement_that_is_reset_after_any_byte_is_none(
    wires: Wires, form: Form, say: Say
) -> None:
    """The sender believes the whole one only, and asks for it by another copy until it comes."""
    wires.start(profile="rm-2000")
    cutter = wires.back.cutter = Cutter(Flow.REQUEST, step=step(form, STRIDE))
    with wires.exchange.clients() as (ours, theirs):
        wires.exchange.submit(ours, "cut", PAYLOAD_BYTES)
        # Behind the last byte a reset may come too late.
        await_end(cutter, lambda: is_acknowledged(ours, "cut"))
        wires.exchange.await_complete(ours, theirs, "cut")
        [received_at] = instants(ours, Event.ACK_RECEIVED)
        copies = sum(at <= received_at for at in instants(theirs, Event.DUPLICATE_ELIMINATED))
        assert 1 + copies >= cutter.cuts, "acknowledged although a part of it was cut off"
        check_exchange(wires.exchange)
    say(
        f"nemesis: rm-2000, {cutter.cuts} resets in an acknowledgement; believed once, whole",
        resets=cutter.cuts,
    )


@pytest.mark.statement("S1-29", ruling="R-03")
def test_an_acknowledgement_in_an_answer_that_is_reset_after_any_byte_is_none(
    wires: Wires, form: Form, say: Say
) -> None:
    """The same where it comes back in the answer of HTTP."""
    wires.start(profile="rm-2001", sync_reply_mode="signalsOnly")
    wires.exchange.complete("one")
    last = wires.there.answer_bytes
    wires.renew()
    cutter = Cutter(Flow.ANSWER, step=step(form, STRIDE), last_bytes=last)
    wires.there.cutter = cutter
    with wires.exchange.clients() as (ours, theirs):
        wires.exchange.submit(ours, "cut", PAYLOAD_BYTES)
        # Behind the last byte a reset may come too late.
        await_end(cutter, lambda: is_acknowledged(ours, "cut"))
        wires.exchange.await_complete(ours, theirs, "cut")
        evidence = check_exchange(wires.exchange)
    # A reset behind the last byte of the package may come too late.
    assert cutter.cuts >= (last - 2) // step(form, STRIDE)
    assert evidence.duplicates >= cutter.cuts - 1
    say(
        f"nemesis: rm-2001, {cutter.cuts} resets in an answer with an acknowledgement",
        resets=cutter.cuts,
    )
