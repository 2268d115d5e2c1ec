"""The commands and the program of `docs/how-to/hand-over-again.md`, run as they stand."""

import contextlib
import io
import shlex

import anyio
import pytest

from onceonly.message.event import Event
from recipes import examples_of, replaced

pytestmark = pytest.mark.anyio

PAGE = "how-to/hand-over-again.md"
NAMES = [f"m-{number}@a.example.com" for number in (1, 2, 3)]


@pytest.fixture
async def three(gateway, peer):
    """Three messages came, and the application is done with the second."""
    for number, name in enumerate(NAMES, 1):
        await peer.send(name, number)
        await gateway.until_handed_over(*NAMES[:number])
    done = {"processing": "complete"}
    await gateway.call("POST", "/v1/inbox/items/2/processing", json=done)


async def test_the_commands_run_as_the_page_says(run, gateway, three):
    """One message, a dry run, its start and its results: each prints what is shown, in order."""
    for block in examples_of(PAGE, "console"):
        said, at = "", 0
        for line in block.splitlines():
            if line.startswith("$ "):
                _, *words = shlex.split(line.removeprefix("$ "))
                here = [word for word in words if word not in ("-c", "gateway.toml")]
                result = await run(*here)
                assert result.exit_code == 0, result.output
                said, at = result.stdout, 0
            else:
                at = said.find(line.strip(), at)
                assert at >= 0, f"{line!r} is not in\n{said}"
    asked = [row.message_id for row in gateway.rows(Event.HANDED_OVER_AGAIN)]
    assert asked == NAMES[:2]


async def test_the_program_runs(gateway, three):
    """The third message comes once more; of the inbox only the first one is not started."""
    [example] = examples_of(PAGE, "python")
    api, printed = gateway.configuration.api, io.StringIO()

    def run() -> None:
        with contextlib.redirect_stdout(printed):
            program = replaced(example, {"http://127.0.0.1:8411": api})
            exec(compile(program, PAGE, "exec"), {})

    await anyio.to_thread.run_sync(run)
    assert printed.getvalue().splitlines() == ["1 3", "2 [1, 4]"]
