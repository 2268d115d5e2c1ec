"""`onceonly doctor` collects what a bug report needs, and neither a payload nor a secret."""

import json
import stat
import zipfile

import pytest

from conftest import invoke
from onceonly.cli.exits import Exit

SECRETS = ("api-secret", "mail-secret", "broker-secret", "url-secret", "query-secret")

CONFIGURATION = """\
[gateway]
party  = ["urn:duns:222222222"]
listen = "http://127.0.0.1:8401/msh"
api    = "http://127.0.0.1:9"
api_token = "api-secret"
store  = "seller.db"
lake   = "s3://key:url-secret@bucket/lake?token=query-secret"

[smtp]
mailbox = "msh@seller.example"
relay   = "smtp://127.0.0.1:25"
user    = "us"
password = "mail-secret"

[amqp]
listen = "amqp://127.0.0.1/queue"
user   = "us"
password = "broker-secret"
"""


def parts_of(path):
    with zipfile.ZipFile(path) as found:
        return {name: found.read(name) for name in found.namelist()}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "report.zip"


@pytest.mark.anyio
async def test_a_running_gateway_is_in_it_whole(run, gateway, order, out):
    """Health, metrics, pairs, incidents, rows; the document that was sent is nowhere."""
    header = ("--to", "urn:duns:111111111", "--service", "Ordering", "--action", "New")
    order.write_bytes(b"<Order>in-the-document</Order>")
    assert (await run("send", str(order), *header)).exit_code == Exit.OK
    result = await run("doctor", "--out", str(out))
    assert result.exit_code == Exit.OK, result.output
    parts = parts_of(out)
    assert "onceonly_messages" in parts["metrics.txt"].decode()
    assert json.loads(parts["health.json"])["status"]
    assert json.loads(parts["partners.json"])[0]["partner"] == "urn:duns:111111111"
    assert "Submitted" in {row["event"] for row in json.loads(parts["journal.json"])}
    assert json.loads(parts["versions.json"])["apsw"]
    assert not any(b"in-the-document" in content for content in parts.values())
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    without = await run("doctor", "--without-journal", "--out", str(out.with_suffix(".2.zip")))
    assert without.exit_code == Exit.OK
    assert "journal.json" not in parts_of(out.with_suffix(".2.zip"))


def test_a_dead_gateway_has_a_report_too_and_no_secret_is_in_it(tmp_path, out):
    """Its configuration, its files and what `check` says; and why the rest is missing."""
    config = tmp_path / "gateway.toml"
    config.write_text(CONFIGURATION)
    assert invoke("doctor", "-c", str(config), "--out", str(out)).exit_code == Exit.OK
    parts = parts_of(out)
    for secret in SECRETS:
        assert not any(secret.encode() in content for content in parts.values()), secret
    shown = json.loads(parts["configuration.json"])
    assert shown["gateway"]["api_token"] == "(hidden)"
    assert shown["gateway"]["lake"] == "s3://(hidden)@bucket/lake?(hidden)"
    assert shown["amqp"]["user"] == "us"
    assert json.loads(parts["health.json"])["error"].startswith("GatewayUnreachable")


@pytest.mark.parametrize(
    "text", ["[gateway", 'party = ["urn:x:1"]\n', "[gateway]\nlisten = 3\napi_token = 'hush'\n"]
)
def test_a_broken_configuration_does_not_stop_it(tmp_path, out, text):
    """It may be the very thing that is wrong."""
    config = tmp_path / "gateway.toml"
    config.write_text(text)
    assert invoke("doctor", "-c", str(config), "--out", str(out)).exit_code == Exit.OK
    parts = parts_of(out)
    assert "ConfigurationError" in json.loads(parts["check.json"])["error"]
    assert not any(b"hush" in content for content in parts.values())


def test_nothing_is_written_over(tmp_path, out):
    """A report of yesterday stays."""
    out.write_text("yesterday")
    result = invoke("doctor", "-c", str(tmp_path / "gateway.toml"), "--out", str(out))
    assert result.exit_code == Exit.USAGE
    assert out.read_text() == "yesterday"
    assert invoke("doctor").exit_code == Exit.USAGE
