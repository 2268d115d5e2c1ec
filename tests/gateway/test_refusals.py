"""What is refused and names no partner: rows within a ration, and a count of the others."""

import pytest
from running_gateway import running

from onceonly.gateway.ration import HOUR_S
from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, Now

pytestmark = pytest.mark.anyio

ROWS = 40
"""In an hour, by the configuration of these tests."""


class StoppedClock:
    """Passes on order."""

    def __init__(self, clock):
        self._clock = clock
        self.passed_s = 0

    def now(self):
        return Now(self._clock.at(), self.passed_s * NS_PER_S)


@pytest.fixture
async def gateway(tmp_path, peer):
    limits = {"refusal_rows_per_hour": ROWS}
    async with running(tmp_path, peer, limits=limits) as alive:
        refusals = alive.parts.refusals
        refusals._clock = alive.stopped = StoppedClock(alive.parts.clock)
        alive.stopped.passed_s = 1
        yield alive


def reasons(gateway):
    return [row.reason for row in gateway.rows(Event.SECURITY_EVENT)]


async def test_a_refusal_is_a_row_with_the_address(gateway):
    """Who it was, on which way, and what was wrong."""
    gateway.parts.refusals.note("192.0.2.1:4711", "smtp", "NulByte")
    await gateway.everything_said()
    (row,) = gateway.rows(Event.SECURITY_EVENT)
    assert (row.endpoint, row.transport, row.direction) == ("192.0.2.1:4711", "smtp", "in")
    assert row.reason == "refused by the smtp endpoint: NulByte"


@pytest.mark.statement(ruling="R-45")
async def test_what_is_beyond_the_ration_is_one_row_when_the_hour_is_over(gateway):
    """A flood costs so many rows in an hour, and one that counts the others."""
    for _ in range(ROWS + 60):
        gateway.parts.refusals.note("192.0.2.1:4711", "http", "BareLineFeed")
    await gateway.everything_said()
    assert len(reasons(gateway)) == ROWS
    await gateway.parts.refusals.sweep()
    assert len(reasons(gateway)) == ROWS
    gateway.stopped.passed_s += HOUR_S
    for _ in range(2):
        await gateway.live_a_round()
        assert len(reasons(gateway)) == ROWS + 1
    assert reasons(gateway)[-1].startswith("60 more refusals in an hour had no row")


@pytest.mark.statement(ruling="R-45")
async def test_packages_of_nobody_share_the_ration(gateway, peer):
    """R-25: a package that names no partner is refused as ever, also where it gets no row."""
    for _ in range(ROWS):
        gateway.parts.refusals.note("192.0.2.1:4711", "http", "BareLineFeed")
    reply = await peer.send("m-1@a.example.com", 1, from_party="urn:duns:9")
    await gateway.everything_said()
    assert (reply.status, reply.headers["onceonly-error"]) == (400, "ValueNotRecognized")
    assert gateway.rows(Event.REJECTED) == []
    known = await peer.send("m-1@a.example.com", "0")
    assert known.status == 204
    assert len(gateway.rows(Event.REJECTED)) == 1


async def test_what_a_full_disk_did_not_take_is_counted_too(gateway):
    """R-28: nothing is raised where nobody could hear it."""
    gateway.store.is_full = True
    gateway.parts.refusals.note("192.0.2.1:4711", "http", "BareLineFeed")
    await gateway.everything_said()
    gateway.store.is_full = False
    gateway.parts.refusals.note("192.0.2.1:4711", "http", "BadHost")
    await gateway.everything_said()
    gateway.stopped.passed_s += HOUR_S
    await gateway.parts.refusals.sweep()
    assert reasons(gateway)[0] == "refused by the http endpoint: BadHost"
    assert reasons(gateway)[1].startswith("1 more refusals")
