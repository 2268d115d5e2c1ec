"""The page of rare rows: what it shows, how it is narrowed, and what it says of wrong filters."""

import httpx
import pytest
from two_gateways import DISTANT, SELLER

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio


@pytest.fixture
async def http(world):
    async with httpx.AsyncClient(base_url=world.api, trust_env=False) as client:
        yield client


async def test_a_duplicate_says_what_it_repeats(world, http):
    """How long after the first copy it came."""
    for _ in range(2):
        await world.peer.send("INV-7@distant.example", 1)
    await world.buyer.until_row(Event.DUPLICATE_ELIMINATED)
    await world.buyer.parts.counting.catch_up()
    page = (await http.get("/console/exceptions?event=DuplicateEliminated")).text
    assert "INV-7@distant.example" in page
    assert "after the first" in page
    assert "a repeat came, and was eliminated" in page


async def test_the_list_is_narrowed_by_kind_and_partner(world, http):
    """A chip keeps the other filters, and takes its own away again."""
    page = (await http.get(f"/console/exceptions?event=ErrorReceived&partner={DISTANT}")).text
    assert "PO-5000" in page
    assert f"/console/exceptions?event=Rejected&amp;partner={DISTANT.replace(':', '%3A')}" in page
    assert f'href="/console/exceptions?partner={DISTANT.replace(":", "%3A")}"' in page
    assert f"onceonly exceptions --event ErrorReceived --partner {DISTANT}" in page
    other = (await http.get(f"/console/exceptions?event=ErrorReceived&partner={SELLER}")).text
    assert "There is none." in other


@pytest.mark.parametrize("wrong", ["since=yesterday", "event=Nothing"])
async def test_a_wrong_filter_is_named(http, wrong):
    """And the list is empty, not the whole."""
    page = await http.get(f"/console/exceptions?{wrong}")
    assert page.status_code == 400
    assert 'role="alert"' in page.text
    assert "<tbody>" not in page.text


async def test_a_time_before_everything_finds_nothing(http):
    """Until is exclusive, and of the journal's own clock."""
    page = await http.get("/console/exceptions?until=2020-01-01T00:00:00Z")
    assert (page.status_code, "There is none." in page.text) == (200, True)
