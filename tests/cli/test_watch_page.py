"""The commands of `docs/how-to/watch.md`, run against a gateway, as they are written there."""

import re
import shlex
from functools import partial
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner, Result
from peer import Peer
from running_gateway import RunningGateway

from onceonly.cli.exits import Exit
from onceonly.cli.main import cli

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "watch.md"


def commands() -> list[str]:
    """Every line of every block for a shell."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def invoke(words: list[str]) -> Result:
    """One command, in this process."""
    return CliRunner().invoke(cli, words)


async def test_every_command_of_the_page_runs(
    gateway: RunningGateway, peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the gateway's file, after one message that its partner has acknowledged."""
    message_id = await gateway.submit(b"<order/>", to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    await gateway.until_state(message_id, "acknowledged")
    await gateway.everything_said()
    await gateway.parts.counting.catch_up()
    monkeypatch.chdir(tmp_path)
    lines = commands()
    assert len(lines) > 12
    codes: dict[str, int] = {}
    for line in lines:
        words = shlex.split(line.replace("MESSAGE_ID", message_id))
        assert words[0] == "onceonly"
        result = await anyio.to_thread.run_sync(partial(invoke, words[1:]))
        assert not result.stderr, (line, result.stderr)
        codes[line] = result.exit_code
    # How full the disk of this machine is decides about the whole probe.
    assert {code for line, code in codes.items() if " probe" not in line} == {Exit.OK}
    assert (tmp_path / "order.xml").read_bytes() == b"<order/>"
