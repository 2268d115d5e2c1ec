"""The table and the commands of `docs/how-to/alerts.md`, run against a gateway."""

import json
import shlex
import sys
from functools import partial

import anyio
import pytest
from click.testing import CliRunner
from running_gateway import RunningGateway, serving_api, write_configuration

from onceonly.api.looks import RULES
from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.gateway.config import read_configuration
from recipes import DOCS, examples_of, put

pytestmark = pytest.mark.anyio

PAGE = "how-to/alerts.md"
WRITES = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"


async def test_every_command_of_the_page_runs(tmp_path, peer, monkeypatch):
    """With its table, whose program gets JSON with the members that the page shows."""
    [table] = examples_of(PAGE, "toml")
    told = tmp_path / "told"
    program = json.dumps([sys.executable, "-c", WRITES, str(told)])
    table = put(table, {'["/usr/local/bin/page-somebody", "onceonly"]': program})
    path = write_configuration(tmp_path, [peer])
    path.write_text(path.read_text("utf-8") + table, "utf-8")
    monkeypatch.chdir(tmp_path)
    alive = RunningGateway(read_configuration(path))
    await alive.start()
    try:
        async with serving_api(alive):
            await alive.parts.alerts.look()
            printed = {}
            for line in "".join(examples_of(PAGE, "sh")).splitlines():
                words = shlex.split(line)[1:]
                result = await anyio.to_thread.run_sync(partial(CliRunner().invoke, cli, words))
                assert result.exit_code == Exit.OK, (line, result.stderr)
                printed[words[1]] = result.stdout
    finally:
        await alive.stop(1.0)
    assert set(printed) == {"test", "ways", "list", "mute", "mutes", "unmute", "history"}
    assert "they move house" in printed["mutes"]
    assert printed["unmute"] == ""
    heard = json.loads(told.read_text("utf-8"))
    [shown] = examples_of(PAGE, "json")
    assert heard.keys() == json.loads(shown).keys()
    assert heard["alerts"][0].keys() == json.loads(shown)["alerts"][0].keys()


def test_every_rule_is_on_the_page():
    """In its table of rules."""
    text = (DOCS / PAGE).read_text("utf-8")
    assert [rule for rule in RULES if f"`{rule}`" not in text] == []


async def test_a_test_that_fails_has_an_exit_code(tmp_path, peer, run):
    """And a time that is none is refused before anything is asked."""
    assert (await run("alert", "mute", "disk", "--for", "soon", "--reason", "x")).exit_code == 2
    assert (await run("alert", "mute", "disk", "--for", "400d", "--reason", "x")).exit_code == 2
    assert (await run("alert", "test", "nobody")).exit_code != Exit.OK
