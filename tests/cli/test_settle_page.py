"""The commands of `docs/how-to/settle.md`, run as they stand."""

import shlex
from typing import Any

import pytest
from packages import ORDER
from peer import UNAVAILABLE
from running_gateway import BRIEF
from test_many_pages import check, commands_of

from onceonly.cli.exits import Exit

pytestmark = pytest.mark.anyio

PAGE = "how-to/settle.md"


@pytest.fixture
def terms() -> dict[str, Any]:
    """It soon gives up, and goes on with the pair."""
    return {**BRIEF, "on_exhausted": "fail"}


async def test_doubts_are_settled_as_the_page_says(run, gateway, peer):
    """Four messages in doubt: listed, explained, one settled, two together, one in bulk."""
    peer.answer_always = UNAVAILABLE
    for number in range(4711, 4715):
        name = f"PO-{number}@buyer.example"
        await gateway.submit(ORDER, to=peer, message_id=name)
        await gateway.until_state(name, "in_doubt")
    commands = commands_of(PAGE)
    assert len(commands) == 5
    for command, shown in commands:
        _, *words = shlex.split(command)
        result = await run(*(word for word in words if word not in ("-c", "gateway.toml")))
        assert result.exit_code == Exit.OK, result.stderr
        check(result.stdout, shown)
    states = [gateway.state_of(f"PO-{number}@buyer.example") for number in range(4711, 4715)]
    assert states == ["settled_delivered", *["settled_not_delivered"] * 3]
