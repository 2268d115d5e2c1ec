"""A changed configuration file, taken over by a gateway that runs, or refused as a whole."""

import asyncio
import shlex
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from calling import refused
from packages import ORDER
from peer import Manners, Peer
from running_gateway import (
    OUR_PARTY,
    RunningGateway,
    form,
    running,
    serving_api,
    write_configuration,
)

from certificates import certify
from onceonly.cli.exits import Exit
from onceonly.gateway.config import Configuration, read_configuration
from onceonly.gateway.reload import NOT_COMPARED, RENEWED, needing_restart
from onceonly.message.event import Event
from ports import free_port
from recipes import examples_of

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
BUYER = "urn:duns:111111111"


def edit(gateway: RunningGateway, *changes: tuple[str, str]) -> None:
    """Replace text in the gateway's file."""
    path = gateway.configuration.path
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def add_agreement(gateway: RunningGateway, peer: Peer) -> str:
    """Write an agreement with the peer into the file; returns what was written."""
    text = f'\n[[agreement]]\nid = "{peer.agreement}"\nwith = ["{peer.party}"]\n'
    text += f'send_to = "{peer.uri}"\n'
    path = gateway.configuration.path
    path.write_text(path.read_text("utf-8") + text, "utf-8")
    peer.gateway_uri = gateway.uri
    return text


async def reload(gateway: RunningGateway) -> str:
    """What a reload by the API changed."""
    answer = await gateway.call("POST", "/v1/reload")
    assert answer.status == 200, answer
    return str(answer.json["changed"])


async def refusal(gateway: RunningGateway) -> str:
    """The text with which a reload is refused."""
    answer = await gateway.call("POST", "/v1/reload")
    assert refused(answer) == (409, "ConfigurationRefused")
    return str(answer.json["error"]["text"])


async def test_an_agreement_that_is_added_is_used_at_once(
    gateway: RunningGateway, peer: Peer, other_peer: Peer
) -> None:
    """Messages go out and come in under it; the journal says who asked, and what changed."""
    add_agreement(gateway, other_peer)
    assert await reload(gateway) == "[[agreement]] added: tpa-cb-1"
    sent = await gateway.submit(ORDER, to=other_peer)
    assert (await other_peer.hear("Normal")).message_id == sent
    await other_peer.post(other_peer.normal(M, 1))
    await gateway.until_handed_over(M)
    [row] = gateway.rows(Event.RECONFIGURED)
    assert row.reason == "anybody: [[agreement]] added: tpa-cb-1"


async def test_what_runs_is_shown_with_its_digest_and_who_loaded_it(
    gateway: RunningGateway, other_peer: Peer
) -> None:
    before = await gateway.get("/v1/configuration")
    assert (before["loaded_by"], before["agreements"], before["refused"]) == ("the start", 1, None)
    add_agreement(gateway, other_peer)
    await reload(gateway)
    after = await gateway.get("/v1/configuration")
    assert (after["loaded_by"], after["agreements"]) == ("anybody", 2)
    assert after["digest"] != before["digest"]
    edit(gateway, ("timeout = 1000000", "timeout = 999"))
    head = {"Onceonly-Operator": "J. Doe"}
    assert (await gateway.call("POST", "/v1/reload", headers=head)).status == 200
    after = await gateway.get("/v1/configuration")
    assert after["loaded_by"] == "J. Doe (anybody)"
    assert after["digest"] == read_configuration(gateway.configuration.path).digest


async def test_the_same_file_again_changes_nothing_and_writes_no_row(
    gateway: RunningGateway,
) -> None:
    assert await reload(gateway) == ""
    assert gateway.rows(Event.RECONFIGURED) == []


async def test_a_wrong_file_is_refused_with_its_line_and_the_old_one_runs_on(
    gateway: RunningGateway, peer: Peer, other_peer: Peer
) -> None:
    """Not even the part of it that is right is taken over."""
    add_agreement(gateway, other_peer)
    path = gateway.configuration.path
    text = path.read_text("utf-8")
    path.write_text(text + "retires = 3\n", "utf-8")
    said = await refusal(gateway)
    assert said.startswith(f"{path}:{len(text.splitlines()) + 1}: [agreement] retires is no key")
    assert (await gateway.get("/v1/configuration"))["refused"]["reason"] == said
    answer = await gateway.submitted(ORDER, to=other_peer)
    assert refused(answer) == (404, "UnknownPartner")
    assert await gateway.submit(ORDER, to=peer)
    assert gateway.rows(Event.RECONFIGURED) == []
    path.write_text(text, "utf-8")
    assert await reload(gateway)
    assert (await gateway.get("/v1/configuration"))["refused"] is None


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('store = "gateway.db"', 'store = "other.db"', "[gateway] store"),
        ("clock_rate = 50", "clock_rate = 51", "[drill]"),
        ('store = "gateway.db"', 'store = "gateway.db"\nlake = "sea"', "[gateway] lake"),
        ('store = "gateway.db"', 'store = "gateway.db"\nlog_file = "log"', "log_file"),
        ("[drill]", '[amqp]\nlisten = "amqp://127.0.0.1/v?queue=q"\n[drill]', "[amqp]"),
    ],
)
async def test_what_needs_a_restart_is_named_and_nothing_is_taken_over(
    gateway: RunningGateway, other_peer: Peer, old: str, new: str, named: str
) -> None:
    add_agreement(gateway, other_peer)
    edit(gateway, (old, new))
    assert named in await refusal(gateway)
    assert (await gateway.get("/v1/configuration"))["agreements"] == 1


def test_every_field_is_either_taken_over_or_needs_a_restart(tmp_path: Path) -> None:
    """A new key is not forgotten: it is compared unless somebody says that it is renewed."""
    names = {*Configuration.__dataclass_fields__}
    assert set(RENEWED) | NOT_COMPARED <= names
    one = read_configuration(write_configuration(tmp_path, []))
    assert list(needing_restart(one, one)) == []


async def test_an_agreement_with_a_message_in_flight_is_not_taken_away(
    gateway: RunningGateway, peer: Peer
) -> None:
    """Once the message has its verdict the same file is taken over."""
    sent = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    before = gateway.configuration.path.read_text("utf-8")
    drop_agreements(gateway)
    assert "messages without a verdict need agreements" in await refusal(gateway)
    assert "tpa-ab-1" in await refusal(gateway)
    await peer.acknowledge(sent)
    await gateway.until_state(sent, "acknowledged")
    assert await reload(gateway) == "[[agreement]] taken away: tpa-ab-1"
    assert refused(await gateway.submitted(ORDER, to=peer)) == (404, "UnknownPartner")
    assert refused(await gateway.call("POST", f"/v1/messages/{sent}/resend"))[1] == "NotResendable"
    gateway.configuration.path.write_text(before, "utf-8")
    await reload(gateway)
    assert await gateway.submit(ORDER, to=peer)


async def test_a_message_that_outlived_its_agreement_is_refused_by_name(
    gateway: RunningGateway, peer: Peer
) -> None:
    """Whatever operators ask for, it is no bug of ours: nothing is open about it any more."""
    sent = await gateway.submit(ORDER, to=peer)
    unsent = await gateway.submit(ORDER, to=peer)
    path = "/v1/messages"
    await gateway.call("POST", f"{path}/{unsent}/cancel")
    await peer.hear("Normal")
    await peer.acknowledge(sent)
    await gateway.until_state(sent, "acknowledged")
    drop_agreements(gateway)
    gateway.configuration = read_configuration(gateway.configuration.path)
    await gateway.restart()
    word = {"as": "delivered", "reason": "their clerk looked"}
    for message_id in (sent, unsent):
        settled = await gateway.call("POST", f"{path}/{message_id}/settle", json=word)
        assert refused(settled) == (409, "NotSettleable")
        for verb, body in (("cancel", {}), ("resend", {"new_version": True})):
            answer = await gateway.call("POST", f"{path}/{message_id}/{verb}", json=body)
            assert refused(answer) == (409, "NotCancellable")
    answer = await gateway.call("POST", f"{path}/{sent}/status-request")
    assert refused(answer) == (404, "UnknownAgreement")


def drop_agreements(gateway: RunningGateway) -> None:
    """Take every agreement out of the file."""
    path = gateway.configuration.path
    head, _, rest = path.read_text("utf-8").partition("[[agreement]]")
    path.write_text(head + "[drill]" + rest.partition("[drill]")[2], "utf-8")


async def test_another_profile_under_a_message_in_flight_is_refused(
    gateway: RunningGateway, peer: Peer
) -> None:
    """The bytes that are stored are of one profile."""
    await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    edit(gateway, ('id = "tpa-ab-1"', 'id = "tpa-ab-1"\nprofile = "rm-2001"'))
    assert "another profile" in await refusal(gateway)


async def test_a_message_whose_end_is_still_to_be_written_meets_no_bug(
    gateway: RunningGateway, peer: Peer
) -> None:
    """Acknowledged before its POST was answered, and its agreement is gone when that ends."""
    peer.answer(Manners.SILENCE)
    sent = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(sent)
    await gateway.until_state(sent, "acknowledged")
    drop_agreements(gateway)
    await reload(gateway)
    peer.cut()
    row = await gateway.until_row(Event.TRANSMITTED)
    assert (row.message_id, row.outcome) == (sent, "unknown")
    await gateway.everything_said()


async def test_a_package_that_is_coming_in_when_its_agreement_goes_is_not_stored(
    gateway: RunningGateway, peer: Peer
) -> None:
    """Otherwise the store would hold a message that no restart could go on with."""
    parcel = peer.normal(M, 1)
    came, go_on = asyncio.Event(), asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield parcel.body[:-20]
        came.set()
        await go_on.wait()
        yield parcel.body[-20:]

    headers = {"Content-Type": parcel.content_type, "Content-Length": str(len(parcel.body))}
    async with httpx.AsyncClient() as client:
        posting = asyncio.create_task(client.post(gateway.uri, content=pieces(), headers=headers))
        await came.wait()
        drop_agreements(gateway)
        await reload(gateway)
        go_on.set()
        answer = await posting
    assert answer.status_code == 400
    gateway.assert_nothing_stored()
    [row] = gateway.rows(Event.REJECTED)
    assert "not known here any more" in (row.reason or "")


async def test_a_submission_that_is_coming_in_when_its_agreement_goes_is_refused(
    gateway: RunningGateway, peer: Peer
) -> None:
    header = {"to": peer.party, "service": "Ordering", "action": "NewOrder"}
    request = gateway.api.build_request("POST", "/v1/messages", files=form(header, ORDER))
    body = await request.aread()
    came, go_on = asyncio.Event(), asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield body[: len(body) // 2]
        came.set()
        await go_on.wait()
        yield body[len(body) // 2 :]

    submitting = asyncio.create_task(
        gateway.call("POST", "/v1/messages", content=pieces(), headers=dict(request.headers))
    )
    await came.wait()
    drop_agreements(gateway)
    await reload(gateway)
    go_on.set()
    assert refused(await submitting)[0] == 404
    assert gateway.rows(Event.SUBMITTED) == []


async def test_new_terms_hold_from_the_next_decision_on(tmp_path: Path, peer: Peer) -> None:
    """A message that would be sent again for ever is given up when the file says so."""
    terms = {"timeout": 1, "retries": 100_000, "retry_interval": 2}
    async with running(tmp_path, peer, terms=terms) as gateway:
        sent = await gateway.submit(ORDER, to=peer)
        await peer.hear_several("Normal", 3)
        assert gateway.state_of(sent) == "sending"
        edit(gateway, ("retries = 100000", "retries = 1"))
        assert await reload(gateway) == "[[agreement]] changed: tpa-ab-1"
        await gateway.until_row(Event.EXHAUSTED)


async def test_reloads_and_submissions_side_by_side_lose_nothing(
    gateway: RunningGateway, peer: Peer, other_peer: Peer
) -> None:
    """Every message that was accepted is sent, however often the file was taken over."""
    extra = add_agreement(gateway, other_peer)
    path = gateway.configuration.path
    with_it = path.read_text("utf-8")
    accepted = []
    for count in range(20):
        path.write_text(with_it if count % 2 else with_it.replace(extra, ""), "utf-8")
        done = await asyncio.gather(
            gateway.call("POST", "/v1/reload"), *(gateway.submit(ORDER, to=peer) for _ in range(3))
        )
        accepted += done[1:]
    for _ in accepted:
        order = await peer.hear("Normal")
        await peer.acknowledge(order.message_id)
    for message_id in accepted:
        await gateway.until_state(message_id, "acknowledged")


@asynccontextmanager
async def under_tls(folder: Path, certificates: Path) -> AsyncIterator[RunningGateway]:
    """A gateway at an https address that shows the certificate `shown` of the folder."""
    for kind in ("pem", "key"):
        (folder / f"shown.{kind}").write_bytes((certificates / f"first.{kind}").read_bytes())
    path = write_configuration(
        folder, [], gateway={"listen": f"https://127.0.0.1:{free_port()}/msh"}
    )
    tls = '\n[tls]\ncertificate = "shown.pem"\nkey = "shown.key"\n'
    path.write_text(path.read_text("utf-8") + tls, "utf-8")
    gateway = RunningGateway(read_configuration(path))
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop(0.0)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("first", "second"):
        certify(folder, name)
    return folder


def believing(certificates: Path, name: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificates / f"{name}.pem")


async def answer_of(client: httpx.AsyncClient, gateway: RunningGateway) -> int:
    headers = {"Content-Type": "text/plain"}
    return (await client.post(gateway.uri, content=b"x", headers=headers)).status_code


async def test_a_new_certificate_is_shown_and_open_connections_stay(
    tmp_path: Path, certificates: Path
) -> None:
    """Who has a connection goes on on it; who comes from now on sees the new certificate."""
    async with (
        under_tls(tmp_path, certificates) as gateway,
        httpx.AsyncClient(verify=believing(certificates, "first")) as old,
        httpx.AsyncClient(verify=believing(certificates, "second")) as new,
    ):
        status = await answer_of(old, gateway)
        with pytest.raises(httpx.ConnectError):
            await answer_of(new, gateway)
        for kind in ("pem", "key"):
            content = (certificates / f"second.{kind}").read_bytes()
            (tmp_path / f"shown.{kind}").write_bytes(content)
        assert await reload(gateway) == "certificates changed"
        assert await answer_of(old, gateway) == status
        assert await answer_of(new, gateway) == status
        async with httpx.AsyncClient(verify=believing(certificates, "first")) as late:
            with pytest.raises(httpx.ConnectError):
                await answer_of(late, gateway)


async def test_a_certificate_without_its_key_is_refused_and_the_old_one_is_shown(
    tmp_path: Path, certificates: Path
) -> None:
    async with under_tls(tmp_path, certificates) as gateway:
        (tmp_path / "shown.pem").write_bytes((certificates / "second.pem").read_bytes())
        assert "shown.pem" in await refusal(gateway)
        async with httpx.AsyncClient(verify=believing(certificates, "first")) as client:
            assert await answer_of(client, gateway)


async def test_no_connection_is_lost_while_certificates_change(
    tmp_path: Path, certificates: Path
) -> None:
    """Callers who connect anew all the time, and a certificate that changes all the time."""
    both = ssl.create_default_context()
    for name in ("first", "second"):
        both.load_verify_locations(certificates / f"{name}.pem")
    async with under_tls(tmp_path, certificates) as gateway:
        statuses: set[int] = set()
        is_over = False

        async def call() -> None:
            while not is_over:
                async with httpx.AsyncClient(verify=both) as client:
                    statuses.add(await answer_of(client, gateway))

        calling = [asyncio.create_task(call()) for _ in range(4)]
        for name in ("second", "first") * 8:
            for kind in ("pem", "key"):
                content = (certificates / f"{name}.{kind}").read_bytes()
                (tmp_path / f"shown.{kind}").write_bytes(content)
            assert await reload(gateway) == "certificates changed"
        is_over = True
        await asyncio.gather(*calling)
        assert len(statuses) == 1


async def test_callers_are_held_to_the_new_anchors(tmp_path: Path, certificates: Path) -> None:
    """Whoever chains to what was trusted before is turned away at his next connection.

    Not even a ticket of the session that he had helps: the new context gave none.
    """
    async with under_tls(tmp_path, certificates) as gateway:
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes((certificates / "first.pem").read_bytes())
        edit(gateway, ('key = "shown.key"', 'key = "shown.key"\ntrusted = "trusted.pem"'))
        edit(gateway, ('trusted = "trusted.pem"', 'trusted = "trusted.pem"\nclients = true'))
        assert await reload(gateway) == "[tls] changed; certificates changed"
        context = believing(certificates, "first")
        context.load_cert_chain(certificates / "first.pem", certificates / "first.key")
        async with httpx.AsyncClient(verify=context) as client:
            assert await answer_of(client, gateway)
        trusted.write_bytes((certificates / "second.pem").read_bytes())
        assert await reload(gateway) == "certificates changed"
        async with httpx.AsyncClient(verify=context) as client:
            with pytest.raises((httpx.ConnectError, httpx.ReadError)):
                await answer_of(client, gateway)


async def test_partners_are_held_to_the_new_anchors(tmp_path: Path, certificates: Path) -> None:
    """A partner whose certificate was not believed gets its messages once it is."""
    shown = tmp_path / "seller"
    shown.mkdir()
    async with under_tls(shown, certificates) as seller:
        path = write_configuration(tmp_path, [], gateway={"party": [BUYER]})
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes((certificates / "second.pem").read_bytes())
        agreement = f'\n[[agreement]]\nid = "tpa-ab-1"\nwith = ["{OUR_PARTY}"]\n'
        agreement += f'send_to = "{seller.uri}"\ntimeout = 1\nretries = 100000\n'
        agreement += 'retry_interval = 2\n\n[tls]\ntrusted = "trusted.pem"\n'
        path.write_text(path.read_text("utf-8") + agreement, "utf-8")
        buyer = RunningGateway(read_configuration(path))
        await buyer.start()
        try:
            header = {"to": OUR_PARTY, "service": "Ordering", "action": "NewOrder"}
            answer = await buyer.call("POST", "/v1/messages", files=form(header, ORDER))
            assert (await buyer.until_row(Event.TRANSMITTED)).outcome == "refused"
            trusted.write_bytes((certificates / "first.pem").read_bytes())
            assert await reload(buyer) == "certificates changed"
            # The seller has no agreement for it, and answers so: the bytes arrived.
            await buyer.until(lambda: 400 in [row.status_code for row in buyer.rows()])
            assert answer.status == 201
        finally:
            await buyer.stop(0.0)


async def test_how_many_may_wait_is_taken_over(gateway: RunningGateway, peer: Peer) -> None:
    await gateway.submit(ORDER, to=peer)
    edit(gateway, ('store = "gateway.db"', 'store = "gateway.db"\nqueued_max = 1'))
    assert await reload(gateway) == "queued_max changed"
    assert refused(await gateway.submitted(ORDER, to=peer)) == (503, "QueueFull")


async def test_the_party_of_this_gateway_is_the_same(gateway: RunningGateway) -> None:
    edit(gateway, (OUR_PARTY, "urn:duns:999999999"))
    assert "[gateway] party" in await refusal(gateway)


async def test_the_page_goes_as_it_is_told(gateway: RunningGateway, other_peer: Peer) -> None:
    """Every command of `docs/how-to/reload.md`, over the API's real port; exit 2 if refused."""
    folder = gateway.configuration.path.parent
    path, text = gateway.configuration.path, gateway.configuration.path.read_text("utf-8")
    commands = "".join(examples_of("how-to/reload.md", "sh")).splitlines()
    add_agreement(gateway, other_peer)
    async with serving_api(gateway):
        said = [await asyncio.to_thread(onceonly, folder, one) for one in commands]
        path.write_text("nonsense\n" + path.read_text("utf-8"), "utf-8")
        answer = await gateway.call("POST", "/v1/reload")
        path.write_text(text.replace('"gateway.db"', '"other.db"'), "utf-8")
        refusal = await asyncio.to_thread(onceonly, folder, commands[1])
    assert [one.returncode for one in said] == [0, 0, 0], said
    assert said[1].stdout == "[[agreement]] added: tpa-cb-1\n"
    assert sha256((text + add_agreement(gateway, other_peer)).encode()).hexdigest() in (
        said[2].stdout
    )
    assert f"{path}:1: is not TOML" in answer.json["error"]["text"]
    assert refusal.returncode == Exit.USAGE
    assert "[gateway] store" in refusal.stderr


def onceonly(folder: Path, command: str) -> "subprocess.CompletedProcess[str]":
    """What the command of the page prints."""
    program, *words = shlex.split(command)
    assert program == "onceonly"
    return subprocess.run(
        [sys.executable, "-m", "onceonly", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
