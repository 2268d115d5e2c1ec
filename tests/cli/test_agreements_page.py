"""The commands of `docs/how-to/agreements.md`, run against a gateway; and what they say."""

import csv
import json
import shlex
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from running_gateway import RunningGateway, serving_api, write_configuration

from certificates import certify
from onceonly.api.certificates import UsedCertificate
from onceonly.api.looks import Thresholds
from onceonly.cli.certificate import _is_bad
from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.gateway.config import read_configuration
from onceonly.gateway.shapes import text_of
from onceonly.message.instant import from_datetime
from recipes import examples_of

pytestmark = pytest.mark.anyio

PAGE = "how-to/agreements.md"
NAME = "Smith & Co"


@pytest.fixture
def terms() -> dict[str, Any]:
    return {"timeout": 30, "retries": 3, "retry_interval": 1200, "name": NAME}


def edit(gateway: RunningGateway, old: str, new: str) -> None:
    path = gateway.configuration.path
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


async def test_every_command_of_the_page_runs(tmp_path, peer, terms, monkeypatch):
    """Nothing differs, no certificate is used, and each prints what there is."""
    path = write_configuration(tmp_path, [peer], terms)
    monkeypatch.chdir(tmp_path)
    alive = RunningGateway(read_configuration(path))
    await alive.start()
    try:
        async with serving_api(alive):
            for line in "".join(examples_of(PAGE, "sh")).splitlines():
                words = shlex.split(line)[1:]
                result = await anyio.to_thread.run_sync(partial(CliRunner().invoke, cli, words))
                assert result.exit_code == Exit.OK, (line, result.stderr)
                is_empty = words[0] in ("certificate", "message", "inbox") or words[1] == "diff"
                assert bool(result.stdout) is not is_empty, line
    finally:
        await alive.stop(1.0)


async def test_an_agreement_is_shown_in_words(run, gateway, peer):
    """What a person of the business asks: how often, how long, and what then."""
    said = (await run("agreement", "show", "tpa-ab-1")).stdout
    assert f"partner    {peer.party} ({NAME})" in said
    assert (
        "* A message that is not acknowledged is sent again up to 3 times: the first time " in said
    )
    assert "after 30 s, then every 20 min." in said
    assert "* If the tries are used up, later messages wait, so that the order is kept" in said
    assert "longest    at most 1 h 2 min: 1 x 30 s timeout, 3 x 20 min retry_interval, 4 x " in said
    assert "messages   none without an end" in said
    result = await run("agreement", "show", "nothing")
    assert (result.exit_code, result.stdout) == (Exit.NOT_FOUND, "")


async def test_the_terms_say_where_they_are_from(run, gateway):
    """A line of the file, or nothing for a default."""
    rows = csv.DictReader(
        (await run("agreement", "show", "tpa-ab-1", "--terms", "-o", "csv")).stdout.splitlines()
    )
    found = {row["key"]: row for row in rows}
    assert found["retry_interval"]["place"].startswith(f"{gateway.configuration.path}:")
    assert (found["transient_retries"]["value"], found["transient_retries"]["place"]) == ("100", "")


async def test_a_difference_has_an_exit_code_of_its_own(run, gateway):
    """11, and after the reload 0; a file that cannot be used is 2."""
    edit(gateway, "retries = 3", "retries = 4")
    result = await run("agreement", "diff")
    assert result.exit_code == Exit.DIFFERENCES
    assert result.stdout == "tpa-ab-1\tchanged\tretries\t3\t4\t\n"
    assert "a reload would change: [[agreement]] changed: tpa-ab-1" in result.stderr
    assert (await run("reload")).exit_code == Exit.OK
    assert (await run("agreement", "diff", "tpa-ab-1")).exit_code == Exit.OK
    history = await run("agreement", "history", "tpa-ab-1")
    assert "\tchanged\tanybody\tretries\t3\t4\t" in history.stdout
    edit(gateway, "[gateway]\n", "[gateway]\nqueued_maximum = 1\n")
    broken = await run("agreement", "diff", "--api", gateway.configuration.api)
    assert broken.exit_code == Exit.USAGE
    assert "queued_maximum is no key" in broken.stderr


async def test_what_would_refuse_a_reload_is_said(run, gateway):
    """A key that takes a restart is a difference too."""
    edit(gateway, "[gateway]\n", "[gateway]\nbackups = 'elsewhere'\n")
    result = await run("agreement", "diff")
    assert result.exit_code == Exit.DIFFERENCES
    assert "refused: [gateway] backups needs a restart" in result.stderr


async def test_a_file_is_checked_without_a_gateway(tmp_path, peer):
    """A line for each finding, with the line of the agreement."""
    terms = {"timeout": 10, "retries": 2, "retry_interval": 10, "time_to_live": "PT30S"}
    path = write_configuration(tmp_path, [peer], terms)
    words = ["agreement", "check", "-c", str(path), "-o", "json"]
    result = await anyio.to_thread.run_sync(partial(CliRunner().invoke, cli, words))
    [row] = json.loads(result.stdout)
    assert row["verdict"] == "a verdict within 30 s, when its time has passed"
    assert row["finding"].startswith("time_to_live (30 s) ends a message before")
    assert row["place"].startswith(f"{path}:")
    words = ["agreement", "check", "nothing", "-c", str(path)]
    result = await anyio.to_thread.run_sync(partial(CliRunner().invoke, cli, words))
    assert result.exit_code == Exit.NOT_FOUND


async def test_certificates_that_end_have_an_exit_code(tmp_path: Path, peer):
    """One that ends in two days is a finding of 30, and none of one."""
    certify(tmp_path, "api")
    path = write_configuration(tmp_path, [peer])
    text = path.read_text("utf-8")
    path.write_text(text + '\n[tls]\ncertificate = "api.pem"\nkey = "api.key"\n', "utf-8")
    alive = RunningGateway(read_configuration(path))
    await alive.start()
    try:
        async with serving_api(alive):
            codes = {}
            for days in ("30", "1"):
                words = ["certificate", "check", "--days", days, "-c", str(path)]
                result = await anyio.to_thread.run_sync(partial(CliRunner().invoke, cli, words))
                codes[days] = (result.exit_code, "CN=api" in result.stdout)
            assert codes == {"30": (Exit.UNEXPECTED, True), "1": (Exit.OK, False)}
    finally:
        await alive.stop(1.0)


@pytest.mark.parametrize(
    ("begins", "ends", "is_finding"),
    [(-1, 90, False), (1, 90, True), (-90, 31, False), (-90, 29, True), (-90, -1, True)],
)
def test_a_certificate_is_judged_as_a_probe_does(begins: int, ends: int, is_finding: bool) -> None:
    """One that is not valid yet is a finding, too."""
    now = datetime.now(UTC)
    from_, until = (text_of(from_datetime(now + timedelta(days=n))) for n in (begins, ends))
    one = UsedCertificate(
        kind="own",
        level="unknown",
        fingerprint="ab" * 32,
        subject="CN=api",
        issuer="CN=api",
        valid_from=from_,
        valid_until=until,
        days_left=ends,
        seen_at=None,
        file="api.pem",
        uses=(),
    )
    assert _is_bad(one, Thresholds(certificate_warning_days=30)) is is_finding


async def test_the_partners_name_is_in_the_tables(run, gateway, peer, order):
    """In the last column; and finds what it is beside."""
    header = ("--to", peer.party, "--service", "Ordering", "--action", "NewOrder")
    await run("send", order, *header)
    for words in (
        ("message", "list", "--to", NAME.upper()),
        ("journal", "list", "--partner", NAME),
    ):
        lines = (await run(*words)).stdout.splitlines()
        assert lines
        assert all(line.endswith(f"\t{NAME}") for line in lines)
