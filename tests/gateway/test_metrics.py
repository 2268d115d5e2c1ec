"""What `/metrics` has: counters that no restart resets, latencies, ages, disk, certificates."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from peer import Peer
from prometheus_client.parser import text_string_to_metric_families
from running_gateway import RunningGateway, running

from certificates import certify
from onceonly.gateway.application import conditions
from onceonly.gateway.certificate_file import validity_of
from onceonly.gateway.metrics import OTHER
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana" / "onceonly.json"
BIG = bytes(range(256)) * 1200


async def samples(gateway: RunningGateway) -> dict[str, float]:
    """Value by name and labels."""
    response = await gateway.api.get("/metrics")
    return {
        f"{one.name}{json.dumps(one.labels, sort_keys=True)}": one.value
        for family in text_string_to_metric_families(response.text)
        for one in family.samples
    }


async def exchanged(gateway: RunningGateway, peer: Peer) -> None:
    message_id = await gateway.submit(BIG, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    await gateway.until_state(message_id, "acknowledged")
    await gateway.submit(b"waits", to=peer)
    await gateway.until_row(Event.TRANSMITTED, 2)
    await gateway.everything_said()
    await gateway.parts.counting.catch_up()


async def test_counts_go_on_after_a_restart(gateway: RunningGateway, peer: Peer) -> None:
    """By agreement; what is under none is there as well, so that the sum is all there was."""
    await exchanged(gateway, peer)
    before = await samples(gateway)
    mine = json.dumps({"agreement": peer.agreement})
    assert before[f"onceonly_submitted_total{mine}"] == 2
    assert before[f"onceonly_first_try_total{mine}"] == 1
    assert before[f"onceonly_submitted_total{json.dumps({'agreement': OTHER})}"] == 0
    assert before["onceonly_acknowledgement_seconds_count{}"] == 1
    assert before['onceonly_acknowledgement_seconds_bucket{"le": "+Inf"}'] == 1
    await gateway.restart()
    after = await samples(gateway)
    for name in (f"onceonly_submitted_total{mine}", "onceonly_acknowledgement_seconds_count{}"):
        assert after[name] == before[name]


async def test_ages_and_sizes_are_there(
    gateway: RunningGateway, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await exchanged(gateway, peer)
    found = await samples(gateway)
    assert found["onceonly_oldest_waiting_seconds{}"] > 0
    assert found["onceonly_oldest_doubt_seconds{}"] == 0
    assert found["onceonly_uncounted_rows{}"] == 0
    assert found["onceonly_spool_bytes{}"] == len(BIG)
    for name in ("store", "log", "disk_free", "disk_total"):
        assert found[f"onceonly_{name}_bytes{{}}"] > 0
    [heard] = [value for name, value in found.items() if "last_contact" in name]
    assert heard > 1.7e9
    monkeypatch.setattr(conditions, "SPOOL_FILES_MAX", 0)
    assert "onceonly_spool_bytes{}" not in await samples(gateway)


async def test_the_dashboard_asks_for_what_there_is(
    tmp_path: Path, gateway: RunningGateway, peer: Peer
) -> None:
    """Every name in the Grafana file is one of ours, and so is every status."""
    certify(tmp_path, "seller")
    await exchanged(gateway, peer)
    text = (await gateway.api.get("/metrics")).text
    families = set(re.findall(r"^# HELP (onceonly_\w+)", text, re.MULTILINE))
    histogram = "onceonly_acknowledgement_seconds"
    names = families | {f"{histogram}_{end}" for end in ("bucket", "count", "sum")}
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    expressions = [
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    ] + [one["query"] for one in dashboard["templating"]["list"]]
    asked = {name for text in expressions for name in re.findall(r"onceonly_\w+", text)}
    assert len(asked) > 20
    assert asked <= names
    statuses = (await gateway.get("/v1/condition"))["messages"]
    for wanted in re.findall(r'status=~?"([^"]+)"', " ".join(expressions)):
        assert set(wanted.split("|")) <= set(statuses)


async def test_the_condition_of_a_gateway_is_shown(tmp_path: Path, peer: Peer) -> None:
    """What a probe asks for."""
    certify(tmp_path, "seller")
    keys = {"lake": "lake"}
    async with running(tmp_path, peer, gateway=keys) as gateway:
        await exchanged(gateway, peer)
        found = await gateway.get("/v1/condition")
        assert (found["published_seq"], found["certificates"]) == (None, [])
        assert found["last_seq"] == found["counted_seq"]
        await gateway.call("POST", "/v1/lake/publish")
        again = await gateway.get("/v1/condition")
        assert again["published_seq"] == again["last_seq"]
        assert again["oldest_waiting_at"] is not None
        assert again["disk"]["free_bytes"] > 0


def test_the_end_of_a_certificate_is_read(tmp_path: Path) -> None:
    """The first of a file; what is none, and what is cut, is left out."""
    certify(tmp_path, "seller")
    file = tmp_path / "seller.pem"
    found = validity_of(file)
    now_at = datetime.now(UTC).timestamp() * 1e6
    assert found is not None
    assert now_at - 86_400e6 < found.from_at <= now_at < found.until_at < now_at + 3 * 86_400e6
    text = file.read_text()
    file.write_text(text.replace("A", "B", 40) + "\n" + text)
    assert validity_of(file) is not None
    file.write_text("nothing")
    assert validity_of(file) is None
