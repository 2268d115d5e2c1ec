"""Alerts: somebody is told that a partner is silent, once, also after a restart, and of the end."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from listening import SECRET, Receiver
from mailing import MailSystem
from peer import Peer
from prometheus_client.parser import text_string_to_metric_families
from running_gateway import RunningGateway, write_configuration

from onceonly.api.looks import RULES
from onceonly.gateway.alerts.alerts import Teller
from onceonly.gateway.alerts.ways import CommandWay
from onceonly.gateway.checkup import problems_of, warnings_of
from onceonly.gateway.config import AlertWay, read_configuration
from onceonly.store.contract.alerts import AlertLevel

pytestmark = pytest.mark.anyio

WRITES = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read() + b'\\n')"
LATER_S = 1_200_000
"""More than half of the time in which the agreement of these tests gives a message up."""

Start = Callable[[str], Any]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    await found.start()
    yield found
    await found.close()


@pytest.fixture
async def mails() -> AsyncIterator[MailSystem]:
    found = MailSystem()
    await found.open()
    yield found
    await found.close()


@pytest.fixture
async def start(tmp_path: Path, peer: Peer) -> AsyncIterator[Start]:
    """Starts a gateway with these tables; its wall clock stands in a file."""
    started: list[RunningGateway] = []

    async def begin(tables: str) -> RunningGateway:
        path = write_configuration(tmp_path, [peer], drill={"clock_offset_file": "offset"})
        path.write_text(path.read_text("utf-8") + tables, "utf-8")
        configuration = read_configuration(path)
        peer.gateway_uri = configuration.uri
        alive = RunningGateway(configuration)
        await alive.start()
        started.append(alive)
        return alive

    yield begin
    for alive in started:
        await alive.stop(1.0)


def command_table(file: Path, **keys: Any) -> str:
    table = {"id": "ops", "command": [sys.executable, "-c", WRITES, str(file)], **keys}
    table.setdefault("rules", ["silence"])
    return "\n".join(["[[alert]]", *(f"{key} = {json.dumps(table[key])}" for key in table), ""])


def said(file: Path) -> list[tuple[str, str]]:
    """State and rule of all that the program was told."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [(one["state"], one["rule"]) for line in lines for one in json.loads(line)["alerts"]]


async def round_of(alive: RunningGateway) -> None:
    """What the task does every 30 seconds."""
    await alive.parts.alerts.look()
    await alive.parts.alerts.tell_all()


async def make_silent(alive: RunningGateway, peer: Peer, directory: Path) -> str:
    """A message that nobody acknowledges, until long after."""
    message_id = await alive.submit(b"<Order/>", to=peer)
    await peer.hear("Normal")
    (directory / "offset").write_text(str(LATER_S), "ascii")
    return message_id


async def test_a_silent_partner_is_told_once_and_its_end_too(start, peer, tmp_path):
    """Not again in the next look, nor after a restart; the end when the partner is heard."""
    told = tmp_path / "told"
    alive = await start(command_table(told))
    await round_of(alive)
    assert said(told) == []
    message_id = await make_silent(alive, peer, tmp_path)
    await round_of(alive)
    await round_of(alive)
    assert said(told) == [("begun", "silence")]
    await alive.restart()
    await round_of(alive)
    assert said(told) == [("begun", "silence")]
    await peer.acknowledge(message_id)
    await alive.until_state(message_id, "acknowledged")
    await round_of(alive)
    await round_of(alive)
    assert said(told) == [("begun", "silence"), ("ended", "silence")]
    history = (await alive.get("/v1/alerts/history"))["changes"]
    assert [one["level"] for one in history if one["rule"] == "silence"] == [None, "warning"]
    page = await alive.get("/v1/alerts/history?limit=1")
    assert page["next_before"] == page["changes"][0]["number"]


async def test_mail_and_a_webhook_are_told(start, peer, tmp_path, receiver, mails):
    """A mail that no program answers, and a signed post."""
    tables = f"""
[smtp]
mailbox = "msh@seller.example"
relay = "smtp://127.0.0.1:{mails.port}"
starttls = "never"
[[alert]]
id = "mail"
mail = "ops@our.example"
rules = ["silence"]
[[alert]]
id = "hook"
url = "{receiver.url}"
secret = "{SECRET}"
rules = ["silence"]
"""
    mails.connect("ops@our.example", receiver.port)
    alive = await start(tables)
    await make_silent(alive, peer, tmp_path)
    await round_of(alive)
    (mail,) = mails.mails
    assert b"Subject: onceonly TROUBLE: silence" in mail
    assert b"Auto-Submitted: auto-generated" in mail
    (post,) = receiver.heard
    assert post.is_signed()
    assert post.json["alerts"][0]["subject"] == peer.party
    ways = (await alive.get("/v1/alerts"))["ways"]
    assert [(one["kind"], one["trouble"]) for one in ways] == [("mail", None), ("webhook", None)]


async def test_a_way_that_fails_is_shown_and_tried_again(start, peer, tmp_path, receiver):
    """Not before its pause; then what it is owed is told."""
    receiver.answer("503 Busy")
    table = f'[[alert]]\nid = "hook"\nurl = "{receiver.url}"\nsecret = "{SECRET}"\n'
    alive = await start(table + 'rules = ["silence"]\n')
    await make_silent(alive, peer, tmp_path)
    await round_of(alive)
    await round_of(alive)
    assert len(receiver.heard) == 1
    (way,) = (await alive.get("/v1/alerts"))["ways"]
    assert (way["attempts"], way["trouble"]) == (1, "it answered 503")
    await alive.restart()
    await round_of(alive)
    assert len(receiver.heard) == 2


async def test_a_muted_rule_is_noted_but_not_told(start, peer, tmp_path):
    """With who and why; when it is not muted any more, what lasts is told."""
    told = tmp_path / "told"
    alive = await start(command_table(told))
    body = {"for_s": 10 * LATER_S, "reason": "they move house"}
    answer = await alive.call("POST", "/v1/alerts/silence/mute", json=body)
    assert answer.json["mutes"][0]["reason"] == "they move house"
    await make_silent(alive, peer, tmp_path)
    await round_of(alive)
    assert said(told) == []
    (alert,) = [
        one for one in (await alive.get("/v1/alerts"))["alerts"] if one["rule"] == "silence"
    ]
    assert alert["muted_until"] is not None
    assert (await alive.call("POST", "/v1/alerts/silence/unmute")).json["mutes"] == []
    await round_of(alive)
    assert said(told) == [("begun", "silence")]
    assert (await alive.call("POST", "/v1/alerts/weather/mute", json=body)).status == 404
    assert (await alive.call("POST", "/v1/alerts/weather/unmute")).status == 404


async def test_what_lasts_is_repeated_if_the_table_says_so(start, peer, tmp_path):
    """After `repeat`, and not before."""
    told = tmp_path / "told"
    alive = await start(command_table(told, repeat="PT4H"))
    await make_silent(alive, peer, tmp_path)
    for passed_s in (0, 4 * 3600 - 60, 4 * 3600 + 60):
        (tmp_path / "offset").write_text(str(LATER_S + passed_s), "ascii")
        await round_of(alive)
    assert said(told) == [("begun", "silence"), ("lasts", "silence")]


async def test_a_full_disk_is_told_although_nothing_can_be_noted(start, tmp_path):
    """By the look after the one whose write failed; the history has it afterwards."""
    told = tmp_path / "told"
    alive = await start(command_table(told, rules=["store"], severity="critical"))
    alive.store.is_full = True
    await round_of(alive)
    await round_of(alive)
    assert said(told) == [("begun", "store")]
    alive.store.is_full = False
    await round_of(alive)
    await round_of(alive)
    assert said(told) == [("begun", "store"), ("ended", "store")]


async def test_a_test_tells_at_once_and_says_why_it_failed(start, tmp_path):
    """The same way, whatever its rules are."""
    told = tmp_path / "told"
    broken = '[[alert]]\nid = "broken"\ncommand = ["false"]\n'
    lacking = '[[alert]]\nid = "lacking"\ncommand = ["/nowhere/at-all"]\n'
    alive = await start(command_table(told) + broken + lacking)
    assert (await alive.call("POST", "/v1/alerts/ops/test")).json["trouble"] is None
    assert said(told) == [("test", "test")]
    failed = (await alive.call("POST", "/v1/alerts/broken/test")).json["trouble"]
    assert failed == "it ended with exit code 1"
    missing = (await alive.call("POST", "/v1/alerts/lacking/test")).json["trouble"]
    assert missing.startswith("it cannot be started")
    assert (await alive.call("POST", "/v1/alerts/nobody/test")).status == 404


async def test_a_program_that_hangs_is_killed(start):
    """After its time, with what it started."""
    alive = await start("")
    wanted = AlertWay(
        id="slow",
        mail=None,
        url=None,
        command=("sh", "-c", "cat & wait; cat /dev/zero > /dev/null"),
        secrets=(),
        trusted=None,
        rules=tuple(RULES),
        severity=AlertLevel.WARNING,
        repeat_s=None,
        timeout_s=1,
    )
    teller = Teller(wanted, CommandWay(wanted))
    body = alive.parts.alerts.list_shapes()
    trouble = await teller.way.tell(body, 0)  # type: ignore[arg-type]  # because any JSON will do
    assert trouble == "it did not end within 1 s, and was killed"


async def test_a_check_finds_what_cannot_work(start, tmp_path):
    """Certificates that are none; a program that is missing, and plain http to elsewhere."""
    (tmp_path / "no.pem").write_text("none", "ascii")
    url = "http://ops.example/"
    tables = f"""
[[alert]]
id = "hook"
url = "{url}"
secret = "{SECRET}"
[[alert]]
id = "lacking"
command = ["/nowhere/at-all"]
"""
    path = (await start(tables)).configuration.path
    found = list(warnings_of(read_configuration(path)))
    assert [one for one in found if one.startswith("alert hook: ")]
    assert [one for one in found if one.startswith("alert lacking: ")]
    text = path.read_text("utf-8").replace(f'url = "{url}"', f'url = "{url}"\ntrusted = "no.pem"')
    path.write_text(text, "utf-8")
    problems = list(problems_of(read_configuration(path)))
    assert [one for one in problems if one.startswith("alert hook: ")]


async def test_the_metrics_have_every_rule_and_who_was_told(start, peer, tmp_path):
    """Firing and muted by the store, told and failed since the start; as many samples as rules."""
    told = tmp_path / "told"
    alive = await start(command_table(told) + table_that_fails())
    before = await alerts_measured(alive)
    await round_of(alive)
    await make_silent(alive, peer, tmp_path)
    await round_of(alive)
    found = await alerts_measured(alive)
    assert set(before) == set(found)
    assert found["firing silence warning"] == 1
    assert (found["told_total silence"], found["failed_total silence"]) == (1, 1)
    assert (found["told_total test"], found["muted silence"]) == (0, 0)
    await alive.call("POST", "/v1/alerts/ops/test")
    await alive.call("POST", "/v1/alerts/silence/mute", json={"for_s": 60, "reason": "it moves"})
    found = await alerts_measured(alive)
    assert (found["told_total test"], found["muted silence"]) == (1, 1)
    assert found["looked_timestamp_seconds"] > 0


def table_that_fails() -> str:
    return '\n[[alert]]\nid = "lost"\ncommand = ["false"]\nrules = ["silence"]\n'


async def alerts_measured(alive: RunningGateway) -> dict[str, float]:
    """The samples about alerts, by the end of their name and their labels."""
    text = (await alive.api.get("/metrics")).text
    found = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            name = one.name.removeprefix("onceonly_alerts_")
            if name != one.name:
                labels = [one.labels[label] for label in ("rule", "level") if label in one.labels]
                found[" ".join([name, *labels])] = one.value
    return found
