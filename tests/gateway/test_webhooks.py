"""Webhooks: every event is told in order, signed, at least once, and a dead one can be replayed."""

from dataclasses import replace
from typing import Any

import pytest
from listening import SECRET, Receiver
from running_gateway import RunningGateway, running, write_configuration

from onceonly.api.events import KIND_OF, USUAL_KINDS
from onceonly.gateway.checkup import problems_of, warnings_of
from onceonly.gateway.config import Webhook, read_configuration
from onceonly.gateway.config.webhook_keys import keys_of
from onceonly.gateway.open_files import find_open
from onceonly.gateway.webhooks.posting import Poster
from onceonly.gateway.webhooks.webhook import Told
from onceonly.gateway.webhooks.webhooks import Webhooks, shown_url
from onceonly.message.event import Event
from onceonly.steps import webhooks as steps
from onceonly.store.contract.webhooks import DeliveryState

pytestmark = pytest.mark.anyio

OTHER_SECRET = "whsec_" + "QUJD" * 8


@pytest.fixture
async def receiver():
    found = Receiver()
    await found.start()
    yield found
    await found.close()


@pytest.fixture
async def alive(tmp_path, peer):
    async with running(tmp_path, peer) as gateway:
        yield gateway


def wanted(url: str, **keys: Any) -> Webhook:
    values = {
        "id": "erp",
        "url": url,
        "kinds": USUAL_KINDS,
        "secrets": keys_of(SECRET),
        "trusted": None,
        "timeout_s": 5,
        "give_up_after_s": 3600,
    }
    return Webhook(**{**values, **keys})


async def told_by(alive: RunningGateway, webhook: Webhook) -> Told:
    """A webhook that has begun; nothing is posted until the test looks. It never waits."""
    poster = Poster(webhook.url, trusted=webhook.trusted, timeout_s=webhook.timeout_s)
    told = Told(webhook, desk=alive.parts.desk, poster=poster, keys=webhook.secrets)
    await told.begin()
    return told


async def look(told: Told) -> bool:
    """One look, without the pause after a failure."""
    told.hurry()
    return await told.look()


async def tell_all(told: Told) -> None:
    while await look(told):
        pass
    await told.close()


def deliveries(alive: RunningGateway, state: DeliveryState | None = None) -> list[Any]:
    found = alive.store.snapshot().list_deliveries("erp", 0, 1000, state)
    return [(one.seq, one.state, one.attempts, one.status_code) for one in found]


async def a_message(alive, peer) -> str:
    """A message of ours that is acknowledged."""
    message_id = await alive.submit(b"<Order/>", to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    await alive.until_state(message_id, "acknowledged")
    return message_id


async def test_a_verdict_is_told_and_signed(alive, peer, receiver):
    """Type, data and the headers of Standard Webhooks; one post for one event."""
    told = await told_by(alive, wanted(receiver.url))
    message_id = await a_message(alive, peer)
    await tell_all(told)
    (row,) = alive.rows(Event.ACK_RECEIVED)
    (post,) = receiver.heard
    assert (post.target, post.is_signed(), post.is_signed(OTHER_SECRET)) == ("/hook", True, False)
    assert post.json["type"] == "verdicts.AckReceived"
    assert (post.json["data"]["message_id"], post.json["data"]["seq"]) == (message_id, row.seq)
    assert post.event_id.startswith("evt_")
    assert post.event_id.endswith(f"_{row.store_epoch}_{row.seq}")
    assert deliveries(alive) == [(row.seq, DeliveryState.DELIVERED, 1, 204)]


async def test_events_come_in_order_and_only_wanted_ones(alive, peer, receiver):
    """By the kinds of the configuration."""
    told = await told_by(alive, wanted(receiver.url, kinds=("traffic",)))
    await a_message(alive, peer)
    await tell_all(told)
    seqs = [post.json["data"]["seq"] for post in receiver.heard]
    rows = [row.seq for row in alive.rows() if KIND_OF[row.event] == "traffic"]
    assert seqs == [seq for seq in rows if seq >= seqs[0]]
    assert seqs[-1] == rows[-1]


async def test_a_hand_over_that_was_asked_for_is_told_as_one(alive, peer, receiver):
    """As events of their own, not as a replay: the number, who had it asked for why, and where."""
    told = await told_by(alive, wanted(receiver.url))
    await peer.send("m-1@a.example.com", 1)
    await alive.until_handed_over("m-1@a.example.com")
    await alive.call("POST", "/v1/inbox/items/1/redeliver", json={"reason": "it was lost"})
    await tell_all(told)
    posts = [(post.json["type"], post.json["data"]) for post in receiver.heard]
    assert [(name, event["attempt"]) for name, event in posts] == [
        ("inbox.HandedOver", None),
        ("inbox.HandedOverAgain", 2),
        ("inbox.HandedOver", 2),
    ]
    assert posts[1][1]["reason"] == "it was lost"
    assert posts[2][1]["reason"].startswith("again, at offset 2; first at offset 1 on ")
    assert len({post.event_id for post in receiver.heard}) == 3


async def test_rows_are_read_once(alive, peer, receiver, monkeypatch):
    """One that is behind goes on in what it has read, however many events are in it."""
    told = await told_by(alive, wanted(receiver.url, kinds=("traffic",)))
    await a_message(alive, peer)
    snapshot = type(alive.store.snapshot())
    reads: list[int] = []
    usual = snapshot.list_journal

    def counted(self: Any, after: int, limit: int) -> Any:
        reads.append(after)
        return usual(self, after, limit)

    monkeypatch.setattr(snapshot, "list_journal", counted)
    await tell_all(told)
    assert len(receiver.heard) > 2
    assert reads == [reads[0], told.seq]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://chat.example/services/T1/B2/secret", "https://chat.example/services/…"),
        ("https://chat.example:8443/hook?token=7", "https://chat.example:8443/hook"),
        ("https://chat.example/hook/", "https://chat.example/hook"),
        ("https://chat.example", "https://chat.example"),
        ("https://chat.example//secret", "https://chat.example/…"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url, shown):
    """Chat services have a token in the path, others in the query."""
    assert shown_url(url) == shown


async def test_a_new_webhook_is_told_what_happens_from_now_on(alive, peer, receiver):
    """And goes on where it was, not at the end, when it begins again."""
    await a_message(alive, peer)
    told = await told_by(alive, wanted(receiver.url))
    await a_message(alive, peer)
    again = await told_by(alive, wanted(receiver.url))
    await tell_all(again)
    await told.close()
    assert len(receiver.heard) == 1


@pytest.mark.parametrize(
    ("answer", "status", "word"),
    [
        ("500 No", 500, "500"),
        ("302 Found\r\nlocation: /elsewhere", 302, "redirects are not followed"),
        ("", None, "RemoteProtocolError"),
    ],
)
async def test_what_fails_is_tried_again_under_the_same_id(
    alive, peer, receiver, answer, status, word
):
    """The next event waits for its turn; a redirect is not followed."""
    told = await told_by(alive, wanted(receiver.url))
    await a_message(alive, peer)
    await a_message(alive, peer)
    receiver.answer(answer)
    await look(told)
    ((_, state, attempts, code),) = deliveries(alive)
    assert (state, attempts, code) == (DeliveryState.PENDING, 1, status)
    assert word in told.trouble
    await tell_all(told)
    first, second, third = receiver.heard
    assert first.event_id == second.event_id != third.event_id
    assert {post.target for post in receiver.heard} == {"/hook"}
    assert [one[1:3] for one in deliveries(alive)] == [
        (DeliveryState.DELIVERED, 2),
        (DeliveryState.DELIVERED, 1),
    ]
    assert told.trouble is None


async def test_nobody_listens(alive, peer, receiver):
    """A refused connection is an attempt like any other."""
    told = await told_by(alive, wanted(receiver.url))
    await receiver.close()
    await a_message(alive, peer)
    await look(told)
    await told.close()
    assert "ConnectError" in told.trouble


async def test_a_dead_event_is_an_incident_until_it_is_replayed(alive, peer, receiver):
    """The next one has its turn; the replay has the same id, and ends the incident."""
    webhook = wanted(receiver.url, give_up_after_s=0)
    told = await told_by(alive, webhook)
    parts = alive.parts
    webhooks = Webhooks([told], desk=parts.desk, tasks=parts.tasks, bugs=parts.bugs)
    await a_message(alive, peer)
    receiver.answer("503 No")
    await look(told)
    ((seq, state, _, _),) = deliveries(alive)
    assert state is DeliveryState.DEAD
    assert webhooks.list_shapes().webhooks[0].has_dead
    (incident,) = alive.store.snapshot().list_incidents(is_open=True)
    assert "webhook 'erp'" in incident.reason
    assert (await webhooks.replay("erp", seq)).state == "replay"
    await tell_all(told)
    first, second = receiver.heard
    assert first.event_id == second.event_id
    assert deliveries(alive) == [(seq, DeliveryState.DELIVERED, 2, 204)]
    assert alive.store.snapshot().list_incidents(is_open=True) == []


async def test_an_incident_is_about_one_webhook(alive, peer, receiver):
    """It ends when this webhook has no dead event any more, whatever another one has."""
    told = [
        await told_by(alive, wanted(receiver.url, id=name, give_up_after_s=0))
        for name in ("erp", "crm")
    ]
    parts = alive.parts
    webhooks = Webhooks(told, desk=parts.desk, tasks=parts.tasks, bugs=parts.bugs)
    await a_message(alive, peer)
    receiver.answer("503 No", "503 No")
    for one in told:
        await look(one)
    ((seq, _, _, _),) = deliveries(alive)
    await webhooks.replay("erp", seq)
    for one in told:
        await tell_all(one)
    (incident,) = alive.store.snapshot().list_incidents(is_open=True)
    assert "webhook 'crm'" in incident.reason


async def test_old_deliveries_are_forgotten(alive, peer, receiver, monkeypatch):
    """By the purge, in small steps: delivered ones above a number, and dead ones after a time."""
    told = await told_by(alive, wanted(receiver.url, give_up_after_s=0))
    parts = alive.parts
    webhooks = Webhooks([told], desk=parts.desk, tasks=parts.tasks, bugs=parts.bugs)
    for _ in range(4):
        await a_message(alive, peer)
    receiver.answer("503 No")
    await tell_all(told)
    assert len(deliveries(alive)) == 4
    assert await webhooks.forget_over() == 0
    monkeypatch.setattr(steps, "DELIVERED_KEPT", 1)
    monkeypatch.setattr(steps, "ROWS_PER_STEP", 1)
    assert await webhooks.forget_over() == 2
    assert [state for _, state, _, _ in deliveries(alive)] == ["dead", "delivered"]
    assert len(alive.store.snapshot().list_incidents(is_open=True)) == 1
    monkeypatch.setattr(steps, "DEAD_KEPT_S", -1)
    assert await webhooks.forget_over() == 1
    assert alive.store.snapshot().list_incidents(is_open=True) == []


async def test_a_webhook_that_was_removed_is_forgotten(alive, peer, receiver):
    """Its deliveries and its incident; the next purge finds nothing."""
    told = await told_by(alive, wanted(receiver.url, give_up_after_s=0))
    await a_message(alive, peer)
    receiver.answer("503 No")
    await tell_all(told)
    await alive.live_a_round(purge_interval_s=0)
    await alive.until(lambda: not deliveries(alive))
    snapshot = alive.store.snapshot()
    assert snapshot.list_incidents(is_open=True) == []
    assert snapshot.find_webhook_seq("erp") == told.seq


async def test_a_replay_that_fails_is_dead_again(alive, peer, receiver):
    """It is one attempt, and whoever asked for it looks."""
    told = await told_by(alive, wanted(receiver.url))
    parts = alive.parts
    webhooks = Webhooks([told], desk=parts.desk, tasks=parts.tasks, bugs=parts.bugs)
    await a_message(alive, peer)
    await look(told)
    ((seq, _, _, _),) = deliveries(alive)
    receiver.answer("503 No")
    await webhooks.replay("erp", seq)
    await tell_all(told)
    assert deliveries(alive, DeliveryState.DEAD) == [(seq, DeliveryState.DEAD, 2, 503)]


async def test_several_secrets_all_sign(alive, peer, receiver):
    """So that a key can be exchanged."""
    secrets = keys_of([OTHER_SECRET, SECRET])
    told = await told_by(alive, wanted(receiver.url, secrets=secrets))
    await a_message(alive, peer)
    await tell_all(told)
    (post,) = receiver.heard
    assert post.is_signed(SECRET)
    assert post.is_signed(OTHER_SECRET)


@pytest.fixture
def configured(tmp_path, peer, receiver):
    """A gateway with a webhook whose secret is in a file."""
    path = write_configuration(tmp_path, [peer])
    (tmp_path / "secret").write_text(SECRET + "\n", "ascii")
    table = (
        f'[[webhook]]\nid = "erp"\nurl = "{receiver.url}?token=7"\nsecret = {{file = "secret"}}\n'
    )
    path.write_text(path.read_text("utf-8") + table, "utf-8")
    found = read_configuration(path)
    peer.gateway_uri = found.uri
    return found


async def test_a_gateway_tells_its_webhooks(configured, peer, receiver):
    """From its start on; the calls of the API show how it goes."""
    alive = RunningGateway(configured)
    await alive.start()
    try:
        await a_message(alive, peer)
        await alive.until(lambda: deliveries(alive, DeliveryState.DELIVERED))
        assert receiver.heard[0].is_signed()
        (shown,) = (await alive.get("/v1/webhooks"))["webhooks"]
        assert (shown["id"], shown["url"], shown["has_dead"]) == ("erp", receiver.url, False)
        page = await alive.get("/v1/webhooks/erp/deliveries?state=delivered&limit=1")
        (one,) = page["deliveries"]
        assert one["state"] == "delivered"
        path = f"/v1/webhooks/erp/deliveries/{one['seq']}/replay"
        assert (await alive.call("POST", path)).status == 202
        await alive.until(lambda: deliveries(alive)[0][2] == 2)
        assert receiver.heard[0].event_id == receiver.heard[1].event_id
        for wrong in (
            "/v1/webhooks/other/deliveries/1/replay",
            "/v1/webhooks/erp/deliveries/999999/replay",
            "/v1/webhooks/erp/deliveries/1/replay",
        ):
            assert (await alive.call("POST", wrong)).status == 404
    finally:
        await alive.stop(1.0)


async def test_a_check_finds_what_cannot_work(configured, tmp_path):
    """A secret that others can read, certificates that are none, and plain http to elsewhere."""
    assert [one for one in problems_of(configured) if "webhook" in one] == []
    (webhook,) = configured.webhooks
    (tmp_path / "secret").chmod(0o644)
    assert any(one.path.endswith("secret") for one in find_open(configured))
    broken = replace_one(configured, webhook, trusted=tmp_path / "secret")
    assert [one for one in problems_of(broken) if one.startswith("webhook erp: ")]
    plain = replace_one(configured, webhook, url="http://erp.example/hook")
    assert [one for one in warnings_of(plain) if one.startswith("webhook erp: ")]


def replace_one(configuration: Any, webhook: Webhook, **keys: Any) -> Any:
    values = {name: getattr(webhook, name) for name in Webhook.__struct_fields__}
    return replace(configuration, webhooks=(Webhook(**{**values, **keys}),))
