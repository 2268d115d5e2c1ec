"""What people call a partner: shown beside its PartyId, and taken for it in a filter."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from calling import refused
from packages import ORDER
from peer import Peer
from running_gateway import BRIEF, RunningGateway, write_configuration

from onceonly.gateway.config import read_configuration

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"


@pytest.fixture
async def gateway(tmp_path: Path, peer: Peer, other_peer: Peer) -> AsyncIterator[RunningGateway]:
    """Two partners with names."""
    path = write_configuration(tmp_path, [peer, other_peer], BRIEF)
    text = path.read_text("utf-8")
    for one, name in ((peer, "Acme in Köln"), (other_peer, "Bolt")):
        text = text.replace(f'id = "{one.agreement}"', f'id = "{one.agreement}"\nname = "{name}"')
    path.write_text(text, "utf-8")
    configuration = read_configuration(path)
    peer.gateway_uri = other_peer.gateway_uri = configuration.uri
    alive = RunningGateway(configuration)
    await alive.start()
    yield alive
    await alive.stop(0.0)


async def rename(gateway: RunningGateway, old: str, new: str) -> None:
    path = gateway.configuration.path
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    answer = await gateway.call("POST", "/v1/reload")
    assert answer.status == 200, answer


async def test_the_name_stands_beside_whatever_has_a_partner(
    gateway: RunningGateway, peer: Peer
) -> None:
    """Message, its rows, journal, inbox, notice and incident; a reload is enough to change it."""
    sent = await gateway.submit(ORDER, to=peer)
    await gateway.until(lambda: bool(gateway.notices()))
    await peer.post(peer.normal(M, 1))
    await gateway.until_handed_over(M)
    detail = await gateway.get(f"/v1/messages/{sent}")
    [notice] = (await gateway.get("/v1/notices"))["notices"]
    assert notice["partner"] == peer.party
    [item] = (await gateway.get("/v1/inbox"))["items"]
    rows = (await gateway.get("/v1/journal"))["records"]
    [incident] = (await gateway.get("/v1/incidents"))["incidents"]
    bulk = {"do": "ask", "where": {"to": "acme in köln"}, "reason": "x"}
    prepared = await gateway.call("POST", "/v1/bulk", json=bulk)
    shown = [detail, notice, item, incident, *detail["timeline"], *prepared.json["samples"]]
    assert len(prepared.json["samples"]) == 1
    assert {one["partner_name"] for one in shown} == {"Acme in Köln"}
    assert {row.get("partner_name") for row in rows} == {None, "Acme in Köln"}
    await rename(gateway, "Acme in Köln", "Acme")
    assert (await gateway.get(f"/v1/messages/{sent}"))["partner_name"] == "Acme"


@pytest.mark.parametrize(
    ("path", "member"),
    [
        ("/v1/messages?to=", "messages"),
        ("/v1/journal?partner=", "records"),
        ("/v1/incidents?partner=", "incidents"),
        ("/v1/inbox?from=", "items"),
        ("/v1/agreements?partner=", "agreements"),
    ],
)
async def test_a_filter_takes_the_name_for_the_partner(
    gateway: RunningGateway, peer: Peer, other_peer: Peer, path: str, member: str
) -> None:
    """In any case of its letters; and finds what the PartyId finds, and nothing else."""
    for one in (peer, other_peer):
        await gateway.submit(ORDER, to=one)
        await one.post(one.normal(f"{one.agreement}@x", 1))
    await gateway.until(lambda: len(gateway.inbox_ids()) > 1)
    await gateway.until(lambda: len(gateway.notices()) > 1)
    await gateway.everything_said()

    async def found(name: str) -> Any:
        return (await gateway.get(path + name))[member]

    assert await found("Bolt") == await found("bOLT") == await found(other_peer.party)
    assert await found("Bolt")
    assert await found("Bolt") != await found("acme in köln")
    assert await found("nobody") == []


async def test_a_name_of_several_partners_is_refused(
    gateway: RunningGateway, peer: Peer, other_peer: Peer
) -> None:
    """The refusal says which they are; a PartyId is never taken for a name."""
    await rename(gateway, "Bolt", "Acme in Köln")
    answer = await gateway.call("GET", "/v1/messages?to=Acme%20in%20K%C3%B6ln")
    assert refused(answer) == (400, "InvalidField")
    assert answer.json["error"]["field"] == "to"
    assert f"{peer.party}, {other_peer.party}" in answer.json["error"]["text"]
    await rename(gateway, '"Acme in Köln"', f'"{peer.party}"')
    message_id = await gateway.submit(ORDER, to=peer)
    page = await gateway.get(f"/v1/messages?to={peer.party}")
    assert [one["message_id"] for one in page["messages"]] == [message_id]


async def test_an_action_takes_the_name_too(gateway: RunningGateway, other_peer: Peer) -> None:
    """It is done to that partner, by its PartyId."""
    answer = await gateway.call("POST", "/v1/partners/Bolt/suspend", json={})
    assert answer.status == 200, answer
    states = {(one["partner"], one["role"]): one["state"] for one in answer.json["partners"]}
    assert states == {
        (other_peer.party, "sender"): "suspended",
        (other_peer.party, "receiver"): "open",
    }
