"""The figures of the page about several hops are what the journals of real chains say."""

import re
from pathlib import Path
from typing import Any

import pytest
from chain import EAGER, PATIENT, Chain, Plan, running_chain

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "multi-hop.md"
UNSIGNED: dict[str, Any] = {"ack_requested": "Unsigned"}


def drawn(heading: str) -> list[str]:
    """The steps of the figure below the heading."""
    section = PAGE.read_text("utf-8").partition(f"## {heading}")[2]
    figure = re.search(r"```sequence\n[^\n]*\n(.*?)```", section, re.DOTALL)
    assert figure is not None, heading
    return figure[1].splitlines()


def recorded(chain: Chain, message_id: str) -> list[str]:
    """What happened, in the figure's words and in the order of the journals' instants."""
    arrivals = (Event.ARRIVED_IN_TRANSIT, Event.STORED)
    rows = [
        (row.at, place, row.event)
        for place, node in enumerate(chain.nodes, start=1)
        for row in node.of(message_id, *arrivals, Event.ACK_RECEIVED)
    ]
    steps = []
    for _, place, event in sorted(rows):
        if event in arrivals:
            steps.append(f"{place - 1} -> {place}: message")
        else:
            steps.append(f"{place + 1} -> {place}: acknowledgement")
        steps.append(f"{place} commit: {event.value}")
    return steps


@pytest.mark.statement("S0-78", "S3-21", "S3-22")
@pytest.mark.parametrize("profile", ["rm-2000", "rm-2001"])
async def test_a_relayed_message_goes_as_drawn(tmp_path, profile):
    """Message by message to the end, then acknowledgement by acknowledgement back."""
    plan = Plan(profile=profile, modes=("relay", "relay"), terms=PATIENT)
    async with running_chain(tmp_path, plan) as chain:
        message_id = await chain.submit()
        await chain.until_acknowledged(message_id)
        assert recorded(chain, message_id) == drawn("Relay")


@pytest.mark.statement("S1-50")
async def test_an_accepted_message_goes_as_drawn(tmp_path):
    """Two deliveries, the second of which is nobody's business at the origin."""
    terms = {**EAGER, **UNSIGNED}
    plan = Plan(profile="rm-2001", modes=("accept",), terms=terms, route_terms=terms)
    async with running_chain(tmp_path, plan) as chain:
        await chain.destination.stop(0.0)
        message_id = await chain.submit()
        await chain.until_acknowledged(message_id)
        await chain.destination.start()
        [middle] = chain.relays
        await chain.until(lambda: middle.state_of(message_id) == "acknowledged")
        assert recorded(chain, message_id) == drawn("Accept")
