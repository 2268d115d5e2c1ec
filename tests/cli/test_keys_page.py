"""The commands of `docs/how-to/keys.md`, in their order, with a gateway that runs and without."""

import shlex
import ssl
from hashlib import sha256
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner, Result
from packages import ORDER
from running_gateway import RunningGateway, running, serving_api, write_configuration

from certificates import certify
from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.gateway.config import read_configuration
from onceonly.message.event import Event
from recipes import examples_of, replaced

pytestmark = pytest.mark.anyio

PAGE = "how-to/keys.md"


def commands() -> list[str]:
    """Every command of the page, one on each line."""
    text = "".join(examples_of(PAGE, "sh")).replace("\\\n", "")
    return [line for line in text.splitlines() if line.startswith("onceonly ")]


def done(line: str) -> Result:
    """The command run here, and its output in the file that it names."""
    command, _, file = line.partition(" > ")
    result = CliRunner().invoke(cli, shlex.split(command)[1:])
    if file and result.exit_code == Exit.OK:
        Path(file).write_text(result.stdout, "utf-8")
        Path(file).chmod(0o600)
    return result


async def test_the_page_works_from_its_first_command_to_its_last(tmp_path, monkeypatch, peer):
    """The first key in the closed store; then an application that takes its inbox with its own."""
    monkeypatch.chdir(tmp_path)
    first, *others = commands()
    api = {"api_keys": True}
    path = write_configuration(tmp_path, [peer], gateway=api)
    made = await anyio.to_thread.run_sync(done, first)
    assert made.exit_code == Exit.OK, made.stderr
    assert "its store is opened from outside" in made.stderr
    gateway = RunningGateway(read_configuration(path))
    peer.gateway_uri = gateway.uri
    await gateway.start()
    try:
        async with serving_api(gateway) as address:
            await peer.post(peer.normal("m-1@a.example.com", 1))
            await gateway.until_handed_over("m-1@a.example.com")
            changes = {"http://127.0.0.1:8411": address, "urn:duns:222222222": peer.party}
            said = {}
            for line in others:
                result = await anyio.to_thread.run_sync(done, replaced(line, changes))
                assert result.exit_code == Exit.OK, (line, result.stderr)
                said[line.split()[1] + " " + line.split()[2]] = result.stdout
            assert "m-1@a.example.com" in said["inbox list"]
            assert "shop-2026" in said["key list"]
            asked = [(row.actor, row.reason) for row in gateway.rows(Event.ASKED)]
            assert asked == [
                ("command", "createKey boss"),
                ("boss", "createKey shop-2026"),
                ("boss", "revokeKey shop-2026: replaced"),
                ("Ann (boss)", f"suspendPartner {peer.party}: their store moves"),
                ("boss", "createKey erp-2026"),
            ]
            inbox = f"onceonly inbox list --api {address} --key-file shop.key"
            refused = await anyio.to_thread.run_sync(done, inbox)
            assert refused.exit_code == Exit.NOT_ALLOWED
            assert "Unauthorized" in refused.stderr
    finally:
        await gateway.stop(0.0)


async def test_keys_are_listed_and_revoked_in_a_closed_store(tmp_path, monkeypatch, peer):
    """Without a gateway, and with what it would refuse."""
    monkeypatch.chdir(tmp_path)
    write_configuration(tmp_path, [peer])

    async def run(line: str) -> Result:
        return await anyio.to_thread.run_sync(done, f"onceonly {line} -c gateway.toml")

    assert (await run("key create a --scope read -o json")).exit_code == Exit.OK
    assert "KeyExists" in (await run("key create a --scope read")).stderr
    unknown = "key create b --scope read --application b --agreement never"
    assert (await run(unknown)).exit_code == Exit.NOT_FOUND
    assert (await run("key list")).stdout.startswith("a\tread")
    assert (await run("key revoke a --operator Ann")).exit_code == Exit.OK
    assert (await run("key revoke never")).exit_code == Exit.NOT_FOUND
    certify(tmp_path, "erp")
    both = "--certificate erp.pem --fingerprint " + "AB:" * 31 + "ab"
    assert (await run(f"key create e --scope read {both}")).exit_code == Exit.USAGE
    for wrong in ("--certificate gateway.toml", "--certificate no.pem", "--fingerprint ab"):
        assert (await run(f"key create e --scope read {wrong}")).exit_code == Exit.USAGE
    assert (await run("key create e --scope read --certificate erp.pem")).exit_code == Exit.OK
    fingerprint = sha256(ssl.PEM_cert_to_DER_cert((tmp_path / "erp.pem").read_text())).hexdigest()
    assert f"e\tread\t\t\t{fingerprint}\t" in (await run("key list")).stdout
    taken = await run(f"key create f --scope read --fingerprint {fingerprint.upper()}")
    assert "stands for the key 'e'" in taken.stderr
    assert b"oo_" not in (tmp_path / "gateway.db").read_bytes()


async def test_the_key_is_read_from_the_environment_and_a_readable_file_is_named(
    tmp_path, monkeypatch, peer
):
    """`ONCEONLY_API_KEY`; a file that others may read is used, and warned of."""
    monkeypatch.chdir(tmp_path)
    async with running(tmp_path, peer) as gateway, serving_api(gateway) as api:
        await gateway.submit(ORDER, to=peer)
        key = (await gateway.call("POST", "/v1/keys", json={"name": "k", "scopes": ["admin"]})).json
        listing = f"onceonly message list --api {api}"
        assert (await anyio.to_thread.run_sync(done, listing)).exit_code == Exit.NOT_ALLOWED
        monkeypatch.setenv("ONCEONLY_API_KEY", key["key"])
        assert (await anyio.to_thread.run_sync(done, listing)).exit_code == Exit.OK
        monkeypatch.delenv("ONCEONLY_API_KEY")
        (tmp_path / "k.key").write_text(key["key"] + "\n", "utf-8")
        (tmp_path / "k.key").chmod(0o644)
        warned = await anyio.to_thread.run_sync(done, f"{listing} --key-file k.key")
        assert warned.exit_code == Exit.OK
        assert "others may read k.key" in warned.stderr
