"""Agreements as the API shows them: terms and places, words, times, history, difference."""

from pathlib import Path
from typing import Any

import pytest
from calling import refused
from packages import ORDER
from peer import Peer
from running_gateway import OUR_PARTY, RunningGateway, running, write_configuration

from onceonly.gateway.config import read_configuration
from onceonly.gateway.config.effective import effective
from onceonly.gateway.config.keys import AGREEMENT_KEYS
from onceonly.store.contract.agreements import AgreementStep, AgreementTransaction

pytestmark = pytest.mark.anyio

ID = "tpa-ab-1"
SHOP = {"name": "shop", "scopes": ["read"], "application": "shop", "agreements": [ID]}


def edit(gateway: RunningGateway, old: str, new: str) -> None:
    """Replace text in the gateway's file."""
    path = gateway.configuration.path
    text = path.read_text("utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new), "utf-8")


def add(gateway: RunningGateway, peer: Peer, *more: str) -> None:
    """Write an agreement with the peer into the file."""
    path = gateway.configuration.path
    table = ["", "[[agreement]]", f'id = "{peer.agreement}"', f'with = ["{peer.party}"]']
    lines = [*table, f'send_to = "{peer.uri}"', *more, ""]
    path.write_text(path.read_text("utf-8") + "\n".join(lines), "utf-8")


async def terms(gateway: RunningGateway) -> dict[str, dict[str, Any]]:
    found = await gateway.get(f"/v1/agreements/{ID}")
    return {one["key"]: one for one in found["terms"]}


async def difference(gateway: RunningGateway, query: str = "") -> Any:
    return await gateway.get(f"/v1/agreement-difference{query}")


async def history(gateway: RunningGateway, name: str = ID) -> list[Any]:
    found: list[Any] = (await gateway.get(f"/v1/agreements/{name}/history"))["history"]
    return found


async def test_every_key_is_shown_with_the_line_that_says_so(gateway: RunningGateway) -> None:
    """Or without one, where it is a default; and no key is left out."""
    shown = await terms(gateway)
    assert shown.keys() == AGREEMENT_KEYS.keys()
    lines = gateway.configuration.path.read_text("utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.startswith("retry_interval"))
    assert shown["retry_interval"]["place"] == f"{gateway.configuration.path}:{line}"
    assert (shown["retry_interval"]["value"], shown["retry_interval"]["unit"]) == (
        "1000000",
        "seconds",
    )
    assert (shown["persist_duration"]["value"], shown["persist_duration"]["place"]) == (
        "P30D",
        None,
    )
    assert all(one["meaning"] for one in shown.values())


@pytest.mark.parametrize(
    ("more", "key", "value"),
    [
        ({"profile": "rm-2001"}, "window", "16"),
        ({"level": 1, "time_to_live": "P1DT2H"}, "retries", "until the message expires"),
        ({"level": 4, "time_to_live": "PT1H30M"}, "ping_before_send_above", "0"),
        ({"level": 4, "time_to_live": "PT1H30M"}, "time_to_live", "PT1H30M"),
        ({"level": 3, "time_to_live": "P1D"}, "level", "3"),
        ({"profile": "rm-2001"}, "on_exhausted", "fail"),
        ({"msh_time_accuracy": "01:05"}, "msh_time_accuracy", "01:05"),
        ({"round_trip": 7}, "round_trip", "7"),
        ({"strict_release": True}, "notify_failures", "false"),
    ],
)
def test_a_value_in_effect_is_what_the_terms_became(
    tmp_path: Path, more: dict[str, Any], key: str, value: str
) -> None:
    """Where the profile or a level decides, what it decided."""
    text = write_configuration(tmp_path, [], gateway={"party": [OUR_PARTY]}).read_text("utf-8")
    keys = {"id": ID, "with": ["urn:duns:1"], "send_to": "http://b.example/msh", **more}
    written = [f"{name} = {_toml(one)}" for name, one in keys.items()]
    path = tmp_path / "gateway.toml"
    path.write_text("\n".join([text, "[[agreement]]", *written, ""]), "utf-8")
    found = read_configuration(path)
    assert effective(found.agreements[0], found.agreement_tables[ID])[key] == value


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')


async def test_an_agreement_says_how_long_a_message_takes_at_most(
    tmp_path: Path, peer: Peer
) -> None:
    """The agreed waits and the transmissions' own, one after the other, and what they add up to."""
    keys = {"timeout": 30, "retries": 3, "retry_interval": 1200, "name": "Acme"}
    async with running(tmp_path, peer, terms=keys) as gateway:
        found = await gateway.get(f"/v1/agreements/{ID}")
    worst = found["worst_case"]
    begun = [(one["what"], one["times"], one["begins_s"]) for one in worst["waits"]]
    assert begun[:2] == [("timeout", 1, 0), ("retry_interval", 3, 30)]
    assert begun[2] == ("transmission", 4, 3630)
    assert (
        worst["within_s"]
        == worst["tries_s"]
        == sum(one["times"] * one["each_s"] for one in worst["waits"])
    )
    said = " ".join(found["words"])
    assert "the partner is Acme" in said
    assert "is sent again up to 3 times: the first time after 30 s, then every 20 min" in said
    assert (found["partner_name"], found["is_configured"], found["checks"]) == ("Acme", True, [])


async def test_times_that_do_not_fit_are_told(tmp_path: Path, peer: Peer) -> None:
    """What is agreed fits, but with the time of the transmissions it does not."""
    keys = {"timeout": 10, "retries": 2, "retry_interval": 10, "time_to_live": "PT30S"}
    async with running(tmp_path, peer, terms=keys) as gateway:
        found = await gateway.get(f"/v1/agreements/{ID}")
        [listed] = (await gateway.get("/v1/agreements"))["agreements"]
    [misfit] = found["worst_case"]["misfits"]
    assert misfit.startswith("time_to_live (30 s) ends a message before all its tries")
    assert found["checks"] == [misfit]
    assert (listed["findings"], listed["within_s"]) == (1, 30)


async def test_messages_without_an_end_are_counted_under_their_agreement(
    gateway: RunningGateway, peer: Peer
) -> None:
    for _ in range(3):
        await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    [listed] = (await gateway.get("/v1/agreements"))["agreements"]
    shown = await gateway.get(f"/v1/agreements/{ID}")
    assert listed["unsettled"] == shown["unsettled"] == {"queued": 2, "sending": 1, "in_doubt": 0}


async def test_the_history_says_what_a_reload_changed(
    gateway: RunningGateway, other_peer: Peer
) -> None:
    """Who had it read, which keys, from what to what; and what a start has found."""
    [first] = await history(gateway)
    assert (first["change"], first["by"], first["terms"]) == ("added", "the start", [])
    edit(gateway, "timeout = 1000000", "timeout = 999")
    add(gateway, other_peer)
    await gateway.call("POST", "/v1/reload")
    changed, _ = await history(gateway)
    assert (changed["change"], changed["by"]) == ("changed", "anybody")
    assert changed["terms"] == [{"key": "timeout", "was": "1000000", "now": "999"}]
    shown = await gateway.get(f"/v1/agreements/{ID}")
    assert shown["in_force_since"] == changed["at"]
    assert [one["change"] for one in await history(gateway, other_peer.agreement)] == ["added"]
    page = await gateway.get(f"/v1/agreements/{ID}/history?limit=1")
    assert page["next_before"] == changed["number"]
    older = await gateway.get(f"/v1/agreements/{ID}/history?before={changed['number']}")
    assert [one["change"] for one in older["history"]] == ["added"]
    assert (await gateway.get(f"/v1/agreements/{ID}/history?before=0"))["history"] == []


async def test_a_restart_with_the_same_file_adds_nothing_to_the_history(
    tmp_path: Path, peer: Peer
) -> None:
    """And one with another file does."""
    async with running(tmp_path, peer) as gateway:
        await history(gateway)
        configuration = gateway.configuration
    again = RunningGateway(read_configuration(configuration.path))
    await again.start()
    assert len(await history(again)) == 1
    edit(again, "retries = 1", "retries = 0")
    await again.stop(0.0)
    third = RunningGateway(read_configuration(configuration.path))
    await third.start()
    try:
        assert [one["change"] for one in await history(third)] == ["changed", "added"]
    finally:
        await third.stop(0.0)


async def test_an_agreement_that_left_is_in_the_history_and_not_in_the_list(
    gateway: RunningGateway, other_peer: Peer
) -> None:
    add(gateway, other_peer)
    await gateway.call("POST", "/v1/reload")
    edit(gateway, f'id = "{other_peer.agreement}"', 'id = "tpa-new"')
    await gateway.call("POST", "/v1/reload")
    names = [one["agreement"] for one in (await gateway.get("/v1/agreements"))["agreements"]]
    assert names == [ID, "tpa-new"]
    removed, added = await history(gateway, other_peer.agreement)
    assert (removed["change"], added["change"]) == ("removed", "added")
    shown = await gateway.get(f"/v1/agreements/{other_peer.agreement}")
    assert (shown["is_configured"], shown["words"], shown["place"]) == (False, [], None)
    assert {one["key"]: one["value"] for one in shown["terms"]}["send_to"] == other_peer.uri


async def test_the_difference_is_what_a_reload_would_change(
    gateway: RunningGateway, other_peer: Peer
) -> None:
    """And nothing is changed by asking."""
    assert (await difference(gateway))["is_different"] is False
    edit(gateway, "retries = 1", "retries = 0")
    add(gateway, other_peer)
    found = await difference(gateway)
    assert found["changed"] == "[[agreement]] added: tpa-cb-1; [[agreement]] changed: tpa-ab-1"
    assert [(one["agreement"], one["change"]) for one in found["agreements"]] == [
        (ID, "changed"),
        (other_peer.agreement, "added"),
    ]
    assert found["agreements"][0]["terms"] == [{"key": "retries", "was": "1", "now": "0"}]
    assert (found["is_different"], found["is_refused"]) == (True, False)
    assert (await terms(gateway))["retries"]["value"] == "1"
    one = await difference(gateway, f"?agreement={ID}")
    assert [row["agreement"] for row in one["agreements"]] == [ID]
    answer = await gateway.call("GET", "/v1/agreement-difference?agreement=nothing")
    assert refused(answer) == (404, "NotFound")
    assert (await gateway.call("POST", "/v1/reload")).json["changed"] == found["changed"]


async def test_the_difference_says_why_a_reload_would_be_refused(
    gateway: RunningGateway, peer: Peer
) -> None:
    """A key for which a restart is needed, an agreement that is needed, a file that is wrong."""
    await gateway.submit(ORDER, to=peer)
    edit(gateway, f'id = "{ID}"', 'id = "tpa-other"')
    edit(gateway, "[gateway]\n", "[gateway]\nbackups = 'elsewhere'\n")
    found = await difference(gateway)
    assert (found["is_refused"], found["needs_restart"]) == (True, ["[gateway] backups"])
    blocked = {one["agreement"]: one["is_blocked"] for one in found["agreements"]}
    assert blocked == {ID: True, "tpa-other": False}
    assert found["blocked"] == [ID]
    edit(gateway, "retries = 1", "retries = one")
    wrong = await difference(gateway)
    assert wrong["is_refused"]
    assert "is not TOML" in wrong["problem"]


async def test_the_difference_knows_what_a_part_of_the_gateway_refuses(
    gateway: RunningGateway,
) -> None:
    """A file of certificates that are none is read by the webhook alone."""
    path = gateway.configuration.path
    (path.parent / "no.pem").write_text("none", "ascii")
    secret = "whsec_" + "QUJD" * 8
    hook = f'\n[[webhook]]\nid = "erp"\nurl = "https://erp.example/"\nsecret = "{secret}"\n'
    path.write_text(path.read_text("utf-8") + hook + 'trusted = "no.pem"\n', "utf-8")
    found = await difference(gateway)
    said = (await gateway.call("POST", "/v1/reload")).json["error"]["text"]
    assert (found["is_refused"], found["problem"]) == (True, said)
    path.write_text(path.read_text("utf-8").replace('trusted = "no.pem"\n', ""), "utf-8")
    assert (await difference(gateway))["is_refused"] is False
    assert (await gateway.get("/v1/webhooks"))["webhooks"] == []


async def test_an_application_sees_its_own_agreements_alone(
    tmp_path: Path, peer: Peer, other_peer: Peer
) -> None:
    """What is another's is not there, in a list, by its id, in the history or the difference."""
    path = write_configuration(tmp_path, [peer, other_peer], gateway={"api_token": "secret"})
    gateway = RunningGateway(read_configuration(path))
    await gateway.start()
    try:
        gateway.api.headers["authorization"] = "Bearer secret"
        made = (await gateway.call("POST", "/v1/keys", json=SHOP)).json
        edit(gateway, "retries = 1", "retries = 0")
        head = {"authorization": f"Bearer {made['key']}"}
        page = (await gateway.call("GET", "/v1/agreements", headers=head)).json
        assert [one["agreement"] for one in page["agreements"]] == [ID]
        for path in (f"/v1/agreements/{other_peer.agreement}", "/v1/agreements/none"):
            for more in ("", "/history"):
                answer = await gateway.call("GET", path + more, headers=head)
                assert refused(answer) == (404, "NotFound")
        found = (await gateway.call("GET", "/v1/agreement-difference", headers=head)).json
        assert [one["agreement"] for one in found["agreements"]] == [ID]
        assert found["changed"] == ""
        for name in (other_peer.agreement, "none"):
            query = f"/v1/agreement-difference?agreement={name}"
            assert refused(await gateway.call("GET", query, headers=head)) == (404, "NotFound")
        answer = await gateway.call("GET", "/v1/certificates", headers=head)
        assert refused(answer) == (403, "Forbidden")
    finally:
        await gateway.stop(0.0)


async def test_the_history_of_one_agreement_is_bounded(gateway: RunningGateway) -> None:
    """The last changes stay, those of other agreements untouched."""
    row = gateway.store.snapshot().list_agreement_changes(ID, 1 << 62, 1)[0]
    transaction = gateway.store.begin()
    assert isinstance(transaction, AgreementTransaction)
    for _ in range(5):
        transaction.add_agreement_change(row, keep=3)
    numbers = [one.number for one in transaction.list_agreement_changes(ID, 1 << 62, 100)]
    assert numbers == [6, 5, 4]
    assert [one.change for one in transaction.list_last_agreement_changes()] == [
        AgreementStep.ADDED
    ]
    gateway.store.rollback()
