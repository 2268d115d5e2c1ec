"""Webhooks of a gateway that is killed: every event is told, in order, and a repeat has its id."""

import json
import signal
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from nemesis_gateways import DEATH_S, Exchange, build_exchange, until
from nemesis_points import WEBHOOKS

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KILLS = 3
MESSAGES_PER_KILL = 8


class Heard(BaseHTTPRequestHandler):
    """Takes every event, and keeps its id and number."""

    def do_POST(self) -> None:
        """The name is the server's choice."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.heard.append((self.headers["webhook-id"], body["data"]["seq"]))
        self.send_response(HTTPStatus.NO_CONTENT)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


class Listener(ThreadingHTTPServer):
    """A receiver that lives longer than the gateway."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Heard)
        self.heard: list[tuple[str, int]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


@pytest.fixture(scope="module")
def listener():
    found = Listener()
    yield found
    found.shutdown()
    found.server_close()


@pytest.fixture(scope="module")
def told(tmp_path_factory, listener):
    """Two gateways, of which the sender tells its verdicts."""
    exchange = build_exchange(tmp_path_factory.mktemp("webhooks"))
    webhook = {"id": "erp", "url": listener.url, "secret": SECRET, "kinds": ["verdicts"]}
    exchange.sender.tables["webhook"] = webhook
    exchange.sender.configure()
    yield exchange
    exchange.destroy()


def check(exchange: Exchange, listener: Listener) -> None:
    """Every verdict of the journal was told, in order; what was repeated had the same id."""
    with exchange.clients() as (ours, _):
        until(lambda: told_all(ours, listener), "all is told")
        wanted = verdicts(ours)
    first = list(dict.fromkeys(seq for _, seq in listener.heard))
    assert first == wanted
    assert len(set(listener.heard)) == len(wanted)


def verdicts(client) -> list[int]:
    """The numbers of the events that the webhook wants."""
    page = client.events(after=0, kinds=["verdicts"], limit=1000)
    return [one.seq for one in page.events]


def told_all(client, listener: Listener) -> bool:
    return {seq for _, seq in listener.heard} >= set(verdicts(client))


@pytest.mark.parametrize("point", WEBHOOKS)
def test_a_death_at_a_post_is_survived(told, listener, point):
    """Before it, the event is told once; after it, once more, since nobody knows of the first."""
    told.start()
    before = len(listener.heard)
    told.sender.restart(f"{point}:1")
    with told.clients() as (ours, _):
        told.submit_if_up(ours, f"{point}-1")
    assert told.sender.wait_for_end(DEATH_S) == -signal.SIGKILL, told.sender.log_end()
    assert len(listener.heard) - before == (point == "after-post")
    told.sender.configure()
    told.sender.start()
    check(told, listener)
    assert len(listener.heard) - before == 1 + (point == "after-post")


def test_kills_at_any_time_lose_no_event(told, listener):
    """Messages go on, and the gateway is killed among them."""
    told.start()
    for number in range(KILLS):
        with told.clients() as (ours, _):
            for one in range(MESSAGES_PER_KILL):
                told.submit(ours, f"kill-{number}-{one}")
            before = len(listener.heard)
            until(lambda count=before: len(listener.heard) > count, "an event was told")
        told.sender.restart()
    with told.clients() as (ours, theirs):
        for message_id in told.payloads:
            told.await_complete(ours, theirs, message_id)
    check(told, listener)


def test_reloads_lose_no_event_and_tell_none_twice_for_it(told, listener):
    """The webhook changes, goes and comes back while events happen; then with a kill after each.

    Without a kill nothing is told twice: the attempt under way ends before the next one begins.
    """
    told.start()
    webhook = dict(told.sender.tables["webhook"])

    def load(**keys: object) -> None:
        """Another webhook, or none where there are no keys."""
        told.sender.tables.pop("webhook", None)
        if keys:
            told.sender.tables["webhook"] = {**webhook, **keys}
        told.sender.configure()
        with told.clients() as (ours, _):
            assert "[[webhook]]" in ours.reload().changed

    def changes(name: str) -> None:
        for number in range(KILLS):
            with told.clients() as (ours, _):
                for one in range(MESSAGES_PER_KILL):
                    told.submit(ours, f"{name}-{number}-{one}")
            load(timeout=20 + number)
            load()
            load(timeout=30 + number)
            if name == "both":
                told.sender.restart()

    before = len(listener.heard)
    changes("reload")
    check(told, listener)
    assert len({seq for _, seq in listener.heard[before:]}) == len(listener.heard) - before
    changes("both")
    with told.clients() as (ours, theirs):
        for message_id in told.payloads:
            told.await_complete(ours, theirs, message_id)
    check(told, listener)
