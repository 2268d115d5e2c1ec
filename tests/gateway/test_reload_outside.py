"""A reload of what a gateway does by itself: webhooks, folders, alerts, limits, the API's door."""

import asyncio
import json
import os
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from folder_parts import pickup as pickup_folder
from folder_parts import put, results
from listening import PATIENCE_S, SECRET, Receiver
from packages import ORDER
from peer import Peer
from running_gateway import RunningGateway, running, serving_api

from certificates import certify
from onceonly.gateway.life import Life
from onceonly.message.event import Event
from onceonly.protocol.receiving import ProcessingState
from onceonly.store.spool import Sink
from ports import free_port

pytestmark = pytest.mark.anyio

OTHER_SECRET = "whsec_" + "QUJD" * 8


@pytest.fixture
async def receivers() -> AsyncIterator[tuple[Receiver, Receiver]]:
    found = Receiver(), Receiver()
    for one in found:
        await one.start()
    yield found
    for one in found:
        one.may_answer.set()
        await one.close()


@pytest.fixture
def box(tmp_path: Path) -> Path:
    (tmp_path / "box").mkdir()
    return tmp_path / "box"


def table(heading: str, **keys: Any) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join(["", f"[[{heading}]]", *lines, ""])


def hook(url: str, **keys: Any) -> str:
    return table("webhook", **{"id": "erp", "url": url, "secret": SECRET, **keys})


class Edited:
    """The file of a gateway, with other tables after it from time to time."""

    def __init__(self, alive: RunningGateway) -> None:
        self.alive = alive
        self._path = alive.configuration.path
        self._head = self._path.read_text("utf-8")

    async def load(self, *tables: str, gateway: str = "") -> str:
        """What a reload of the file with these tables, and keys of `[gateway]`, changes."""
        answer = await self._reload(tables, gateway)
        assert answer.status == 200, answer
        return str(answer.json["changed"])

    async def refused(self, *tables: str) -> str:
        """Why the file with these tables is refused."""
        answer = await self._reload(tables, "")
        assert answer.status == 409, answer
        return str(answer.json["error"]["text"])

    async def _reload(self, tables: tuple[str, ...], gateway: str) -> Any:
        head = self._head.replace("[gateway]", f"[gateway]\n{gateway}")
        self._path.write_text(head + "".join(tables), "utf-8")
        return await self.alive.call("POST", "/v1/reload")


@pytest.fixture
async def file(tmp_path: Path, peer: Peer) -> AsyncIterator[Edited]:
    async with running(tmp_path, peer) as alive:
        yield Edited(alive)
        alive.parts.outside.stop()


async def a_message(alive: RunningGateway, peer: Peer) -> str:
    """A message of ours that is acknowledged, which is one event."""
    message_id = await alive.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    await alive.until_state(message_id, "acknowledged")
    return message_id


def told(receiver: Receiver) -> list[str]:
    return [one.json["data"]["message_id"] for one in receiver.heard]


async def test_a_webhook_that_is_added_is_told_what_happens_from_then_on(file, peer, receivers):
    await a_message(file.alive, peer)
    assert await file.load(hook(receivers[0].url)) == "[[webhook]] added: erp"
    message_id = await _begun_and_a_message(file.alive, peer)
    await receivers[0].hear(1)
    assert told(receivers[0]) == [message_id]


async def _begun_and_a_message(alive: RunningGateway, peer: Peer) -> str:
    """A message after the webhook has found its place in the journal."""
    await alive.until(lambda: alive.store.snapshot().find_webhook_seq("erp") is not None)
    return await a_message(alive, peer)


async def test_a_webhook_that_moves_is_told_each_event_once_in_one_of_its_places(
    file, peer, receivers
):
    """The attempt under way ends first; what comes after it is told at the new address."""
    old, new = receivers
    await file.load(hook(old.url))
    old.may_answer.clear()
    first = await _begun_and_a_message(file.alive, peer)
    await old.hear(1)
    second = await a_message(file.alive, peer)
    assert await file.load(hook(new.url)) == "[[webhook]] changed: erp"
    assert await file.load(hook(new.url, timeout=20)) == "[[webhook]] changed: erp"
    assert told(new) == []
    old.may_answer.set()
    await new.hear(1)
    assert (told(old), told(new)) == ([first], [second])


async def test_an_attempt_that_fails_goes_on_with_the_new_secret(file, peer, receivers):
    receiver, _ = receivers
    await file.load(hook(receiver.url))
    receiver.answer("401 No")
    await _begun_and_a_message(file.alive, peer)
    await receiver.hear(1)
    await file.load(hook(receiver.url, secret=OTHER_SECRET))
    first, second = await receiver.hear(2)
    assert (first.is_signed(SECRET), second.is_signed(OTHER_SECRET)) == (True, True)
    assert first.event_id == second.event_id


async def test_what_a_webhook_that_is_taken_away_was_not_told_is_said(file, peer, receivers):
    """In the answer and the journal; put back, it is told what happened meanwhile."""
    receiver, _ = receivers
    await file.load(hook(receiver.url))
    receiver.answer("503 No")
    first = await _begun_and_a_message(file.alive, peer)
    await receiver.hear(1)
    await file.alive.until(lambda: file.alive.store.snapshot().list_deliveries("erp", 0, 9))
    changed = await file.load()
    assert (
        changed == "[[webhook]] taken away: erp; [[webhook]] erp was not told 1 event that happened"
    )
    assert file.alive.rows(Event.RECONFIGURED)[-1].reason == f"anybody: {changed}"
    second = await a_message(file.alive, peer)
    await file.load(hook(receiver.url))
    await receiver.hear(3)
    assert told(receiver) == [first, first, second]


async def test_a_file_that_cannot_be_used_changes_no_webhook(file, peer, receivers, tmp_path):
    """One of two has certificates that are none: the other one stays away, too."""
    (tmp_path / "no.pem").write_text("none", "ascii")
    bad = hook("https://erp.example/", id="crm", trusted="no.pem")
    said = await file.refused(hook(receivers[0].url), bad)
    assert f"trusted certificates {tmp_path / 'no.pem'} cannot be used" in said
    assert (await file.alive.get("/v1/webhooks"))["webhooks"] == []


def pickup(box: Path, peer: Peer, **keys: Any) -> str:
    words = {"agreement": peer.agreement, "service": "Ordering", "action": "New", "interval": 1}
    return table("pickup", **{"id": "orders", "path": str(box), **words, **keys})


async def test_a_pickup_folder_comes_changes_and_goes(file, peer, box):
    """Each document is sent once, under the words of the file of its time."""
    put(box, "a.xml")
    assert await file.load(pickup(box, peer)) == "[[pickup]] added: orders"
    first = await peer.hear("Normal")
    assert await file.load(pickup(box, peer, action="Change")) == "[[pickup]] changed: orders"
    put(box, "b.xml")
    await file.alive.until_row(Event.SUBMITTED, 2)
    assert [row.action for row in file.alive.rows(Event.SUBMITTED)] == ["New", "Change"]
    # The folder knows of the message only a moment after its row.
    async with asyncio.timeout(PATIENCE_S):
        while len(await asyncio.to_thread(results, box, "sending")) < 2:
            pass
    changed = await file.load()
    assert changed.startswith("[[pickup]] taken away: orders; [[pickup]] orders leaves in its")
    assert changed.endswith("`sending` 2 documents whose results nobody writes")
    await peer.acknowledge(first.message_id)
    second = await peer.hear("Normal")
    await peer.acknowledge(second.message_id)
    put(box, "c.xml")
    await file.load(pickup(box, peer))
    third = await peer.hear("Normal")
    assert len({first.message_id, second.message_id, third.message_id}) == 3
    assert len(file.alive.rows(Event.SUBMITTED)) == 3


async def test_documents_that_a_folder_never_submitted_are_counted_apart(file, peer, box):
    """There is no room for the second one, which is claimed already."""
    folders = file.alive.parts.outside.folders
    await file.load(pickup(box, peer), gateway="queued_max = 1")
    peer.refuse_connections()
    await file.alive.submit(ORDER, to=peer)
    put(box, "a.xml")
    async with asyncio.timeout(PATIENCE_S):
        while folders.list_shapes().folders[0].under_way != 1:
            await file.alive.parts.desk.persist(lambda txn, _: txn.last_seq())
    assert await file.load(gateway="queued_max = 1") == (
        "[[pickup]] taken away: orders; "
        "[[pickup]] orders leaves in its `sending` 1 document that is not sent"
    )


async def test_a_gateway_that_stops_ends_the_threads_of_its_folders(tmp_path, peer, box):
    async with running(tmp_path, peer) as alive:
        await Edited(alive).load(pickup(box, peer, id="ending"))
        put(box, "a.xml")
        await peer.hear("Normal")
        [thread] = [one for one in threading.enumerate() if one.name == "folder ending"]
        alive.parts.outside.stop()
    await asyncio.to_thread(thread.join, PATIENCE_S)
    assert not thread.is_alive()


@pytest.fixture
def hold(file, monkeypatch) -> Iterator[Callable[[str], "Held"]]:
    """Holds a folder's own thread where it next reaches a point, until it may go on."""
    held = []

    def at(point: str) -> Held:
        held.append(Held(point))
        monkeypatch.setattr(file.alive.parts.desk.failpoints, "reach", held[-1].reach)
        return held[-1]

    yield at
    for one in held:
        one.may_go_on.set()


class Held:
    """A point that is reached by a thread, which waits there."""

    def __init__(self, point: str) -> None:
        self._point = point
        self.may_go_on = threading.Event()
        self._is_there = threading.Event()

    def reach(self, point: str) -> None:
        if point == self._point:
            self._is_there.set()
            assert self.may_go_on.wait(PATIENCE_S)

    async def is_reached(self) -> None:
        assert await asyncio.to_thread(self._is_there.wait, PATIENCE_S)


async def test_a_document_whose_folder_and_agreement_go_together_is_not_refused(
    file, peer, other_peer, box, hold
):
    """It is being claimed then: it waits for the folder's return, as over a restart."""
    agreement = table(
        "agreement", id=other_peer.agreement, **{"with": [other_peer.party]}, send_to=other_peer.uri
    )
    held = hold("after-claim")
    put(box, "a.xml")
    await file.load(agreement, pickup(box, other_peer))
    await held.is_reached()
    [leaving] = file.alive.parts.outside.folders._all
    await file.load()
    held.may_go_on.set()
    await leaving.ended.wait()
    assert list((box / "failed").iterdir()) == []
    await file.load(agreement, pickup(box, other_peer))
    other_peer.gateway_uri = file.alive.uri
    assert (await other_peer.hear("Normal")).payloads == [b"<Order/>"]


async def test_a_document_that_is_being_submitted_when_its_agreement_goes_is_not_refused(
    file, other_peer, box, monkeypatch
):
    """The reload comes between its last byte and its transaction."""
    await file.load(
        table("agreement", id=other_peer.agreement, send_to=other_peer.uri)
        + f'with = ["{other_peer.party}"]\n'
    )
    await file.load()
    folder = await pickup_folder(file.alive, box, other_peer)
    write = Sink.write

    def write_and_stop(sink: Sink, chunk: bytes) -> None:
        write(sink, chunk)
        folder.stop()

    monkeypatch.setattr(Sink, "write", write_and_stop)
    put(box, "a.xml")
    assert not await folder.take()
    assert folder.under_way == 1
    assert list((box / "failed").iterdir()) == []


def drop(path: Path, **keys: Any) -> str:
    return table("drop", **{"id": path.name, "path": str(path), **keys})


def dropped(path: Path) -> set[str]:
    """The MessageIds that were written there."""
    return {
        json.loads((one / "header.json").read_text("utf-8"))["message_id"]
        for one in path.iterdir()
        if not one.name.startswith(".")
    }


async def test_a_message_is_in_one_drop_folder_however_they_change(file, peer, tmp_path):
    """While messages come in, the folders change their order and one comes and goes."""
    every, some = tmp_path / "every", tmp_path / "some"
    every.mkdir()
    some.mkdir()
    shapes = [
        (drop(every),),
        (drop(some, services=["Ordering"]), drop(every)),
        (drop(every), drop(some, services=["Ordering"])),
        (drop(some),),
    ]
    sent = [f"m-{number}@a.example.com" for number in range(1, 17)]
    for number, message_id in enumerate(sent, 1):
        await peer.post(peer.normal(message_id, number))
        if number % 2:
            await file.load(*shapes[number // 2 % len(shapes)])
    await file.load(drop(every))
    await file.alive.until(
        lambda: not file.alive.store.snapshot().list_unfinished(0, 99, ProcessingState.COMPLETE, 99)
    )
    assert dropped(every) | dropped(some) == set(sent)
    assert dropped(every) & dropped(some) == set()


async def test_a_message_that_is_being_written_is_in_no_other_folder(file, peer, tmp_path, hold):
    """It would go to the other one from now on, which begins when this one has ended."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    held = hold("before-drop")
    await file.load(drop(old))
    await peer.post(peer.normal("m-1@a.example.com", 1))
    await held.is_reached()
    await file.load(drop(new))
    await peer.post(peer.normal("m-2@a.example.com", 2))
    await file.alive.until_handed_over("m-1@a.example.com", "m-2@a.example.com")
    assert dropped(new) == set()
    held.may_go_on.set()
    await file.alive.until(
        lambda: not file.alive.store.snapshot().list_unfinished(0, 99, ProcessingState.COMPLETE, 99)
    )
    assert (dropped(old), dropped(new)) == ({"m-1@a.example.com"}, {"m-2@a.example.com"})


async def test_two_drop_folders_in_another_order_are_a_change(file, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = drop(tmp_path / "one"), drop(tmp_path / "two")
    await file.load(one, two)
    assert await file.load(two, one) == "[[drop]] in another order"


WRITES = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read() + b'\\n')"


def command(file: Path, **keys: Any) -> str:
    words = [sys.executable, "-c", WRITES, str(file)]
    return table("alert", **{"id": file.name, "command": words, **keys})


def alerts_in(file: Path) -> list[str]:
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [one["rule"] for line in lines for one in json.loads(line)["alerts"]]


async def test_a_way_of_alerts_is_told_what_it_was_not_told_yet(file, peer, box, tmp_path):
    """A new way hears of an alert that lasts; one that changed, and one that stayed, do not."""
    alerts = file.alive.parts.alerts
    one, two = tmp_path / "one", tmp_path / "two"
    file.alive.parts.operations.is_ready = False  # `ready` is critical then.
    assert await file.load(command(one)) == "[[alert]] added: one"
    await alerts.look()
    await alerts.tell_all()
    said = alerts_in(one)
    assert "ready" in said
    changed = await file.load(command(one, timeout=7), command(two))
    assert changed == "[[alert]] added: two; [[alert]] changed: one"
    await alerts.tell_all()
    assert (alerts_in(one), alerts_in(two)) == (said, said)
    await file.load()
    assert (await file.alive.get("/v1/alerts"))["ways"] == []


async def test_a_way_of_alerts_that_moves_tells_its_new_receiver_what_is_wrong(
    file, receivers, tmp_path
):
    """Each receiver is told once, whatever else of the way changes."""
    alerts, (hook, _) = file.alive.parts.alerts, receivers
    file.alive.parts.operations.is_ready = False
    first, second = tmp_path / "first", tmp_path / "second"
    way = {"id": "ops", "rules": ["ready"]}
    await file.load(command(first, **way))
    await alerts.look()
    await alerts.tell_all()
    await file.load(table("alert", url=hook.url, secret=SECRET, **way))
    await alerts.tell_all()
    await alerts.tell_all()
    assert [one.json["alerts"][0]["state"] for one in hook.heard] == ["begun"]
    await file.load(command(second, **way))
    await alerts.tell_all()
    await file.load(command(second, timeout=7, **way))
    await alerts.tell_all()
    assert (alerts_in(first), alerts_in(second)) == (["ready"], ["ready"])


async def test_a_way_that_changes_while_it_tells_tells_once(file, tmp_path):
    """What is being told is not told again by the one that takes its place."""
    told, go_on = tmp_path / "told", tmp_path / "go-on"
    os.mkfifo(go_on)
    script = f"cat >> {told}; read line < {go_on}"
    alerts = file.alive.parts.alerts
    file.alive.parts.operations.is_ready = False
    way = {"id": "slow", "command": ["sh", "-c", script], "rules": ["ready"]}
    await file.load(table("alert", **way))
    await alerts.look()
    telling = asyncio.create_task(alerts.tell_all())
    # Opened by the program once it has the alert.
    with await asyncio.to_thread(go_on.open, "w") as opened:
        await file.load(table("alert", **way, timeout=7))
        await alerts.tell_all()
        opened.write("on\n")
    await telling
    assert alerts_in(told) == ["ready"]
    assert (await file.alive.get("/v1/alerts"))["ways"][0]["trouble"] is None


async def test_the_limits_of_an_hour_are_taken_over(file):
    """From then on; what was used in the hour counts."""
    refusals = file.alive.parts.refusals
    await file.load("[limits]\nrefusal_rows_per_hour = 2\n")
    for _ in range(4):
        refusals.note("a stranger", "http", "no")
    await file.alive.everything_said()
    assert len(file.alive.rows(Event.SECURITY_EVENT)) == 2
    await file.load("[limits]\nrefusal_rows_per_hour = 3\n")
    for _ in range(4):
        refusals.note("a stranger", "http", "no")
    await file.alive.everything_said()
    assert len(file.alive.rows(Event.SECURITY_EVENT)) == 3


async def test_new_connections_are_held_to_the_new_limits(file):
    """One that is open goes on; there is no room for a second one."""
    await file.load("[limits]\nconnections_max = 1\n")
    async with httpx.AsyncClient() as first, httpx.AsyncClient() as second:
        told = [await one.post(file.alive.uri, content=b"x") for one in (first, second, first)]
    assert [one.status_code == 503 for one in told] == [False, True, False]


async def test_the_token_and_the_names_of_the_api_are_taken_over(file):
    """The old token opens nothing from then on, the new one does, and so does a new name."""

    async def status(token: str, host: str = "127.0.0.1") -> int:
        headers = {"Authorization": f"Bearer {token}", "Host": host}
        return (await file.alive.api.get("/v1/partners", headers=headers)).status_code

    await file.load(gateway='api_token = "one"')
    assert (await status("one"), await status("two")) == (200, 401)
    file.alive.api.headers["Authorization"] = "Bearer one"
    await file.load(gateway='api_token = "two"\napi_hosts = ["edge.example"]')
    assert (await status("one"), await status("two")) == (401, 200)
    assert await status("two", "edge.example") == 200
    assert await status("two", "other.example") == 421


async def test_publishing_goes_by_the_new_interval(file, tmp_path):
    """Of a day and then of a second; the first look sees it."""
    stop = asyncio.Event()
    living = asyncio.create_task(Life(file.alive.parts, sweep_s=0.01).live(stop))
    assert await file.load(gateway="publish_interval = 86400") == "publish_interval changed"
    assert await file.load(gateway="publish_interval = 1") == "publish_interval changed"
    async with asyncio.timeout(30):
        while not (tmp_path / "lake").exists():
            await file.alive.parts.desk.persist(lambda txn, _: txn.last_seq())
    stop.set()
    await living


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("first", "second"):
        certify(folder, name)
    return folder


def put_certificate(certificates: Path, name: str, folder: Path) -> None:
    for kind in ("pem", "key"):
        (folder / f"api.{kind}").write_bytes((certificates / f"{name}.{kind}").read_bytes())


def caller(certificates: Path, name: str) -> httpx.AsyncClient:
    trusted = ssl.create_default_context(cafile=certificates / f"{name}.pem")
    return httpx.AsyncClient(verify=trusted)


async def test_the_api_shows_its_new_certificate_and_open_connections_stay(
    tmp_path, peer, certificates
):
    put_certificate(certificates, "first", tmp_path)
    api = f"https://127.0.0.1:{free_port()}"
    tls = {"certificate": "api.pem", "key": "api.key"}
    async with (
        running(tmp_path, peer, gateway={"api": api}, api_tls=tls) as alive,
        serving_api(alive),
        caller(certificates, "first") as old,
        caller(certificates, "second") as new,
    ):
        assert (await old.get(f"{api}/healthz")).status_code == 200
        (tmp_path / "api.key").write_text("none", "ascii")
        answer = await old.post(f"{api}/v1/reload")
        assert "[api_tls] certificate" in answer.json()["error"]["text"]
        put_certificate(certificates, "second", tmp_path)
        answer = await old.post(f"{api}/v1/reload")
        assert answer.json()["changed"] == "certificates changed"
        assert (await old.get(f"{api}/healthz")).status_code == 200
        assert (await new.get(f"{api}/healthz")).status_code == 200
        async with caller(certificates, "first") as late:
            with pytest.raises(httpx.ConnectError):
                await late.get(f"{api}/healthz")


async def test_no_call_of_the_api_is_lost_while_its_certificate_changes(
    tmp_path, peer, certificates
):
    """Sixteen exchanges, each while a caller connects anew."""
    put_certificate(certificates, "first", tmp_path)
    api = f"https://127.0.0.1:{free_port()}"
    both = ssl.create_default_context(cafile=certificates / "first.pem")
    both.load_verify_locations(certificates / "second.pem")
    tls = {"certificate": "api.pem", "key": "api.key"}
    async with (
        running(tmp_path, peer, gateway={"api": api}, api_tls=tls) as alive,
        serving_api(alive),
    ):
        statuses: set[int] = set()
        is_over = False

        async def call() -> None:
            while not is_over:
                async with httpx.AsyncClient(verify=both) as client:
                    statuses.add((await client.get(f"{api}/healthz")).status_code)

        calling = [asyncio.create_task(call()) for _ in range(2)]
        for name in ("second", "first") * 8:
            put_certificate(certificates, name, tmp_path)
            answer = await alive.call("POST", "/v1/reload")
            assert answer.json["changed"] == "certificates changed"
        is_over = True
        await asyncio.gather(*calling)
        assert statuses == {200}
