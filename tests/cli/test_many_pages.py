"""The commands and programs of `docs/how-to/act-on-many.md` and `follow.md`, run as they stand."""

import asyncio
import contextlib
import io
import shlex

import anyio
import pytest
from packages import ORDER

from onceonly.api.events import KIND_OF
from onceonly.api.words import BulkAction
from onceonly.cli.bulk import WORDS
from recipes import DOCS, examples_of, replaced

pytestmark = pytest.mark.anyio

MANY, FOLLOW = "how-to/act-on-many.md", "how-to/follow.md"
THEIR_API = "http://127.0.0.1:8411"


def commands_of(page: str) -> list[tuple[str, list[str]]]:
    """Each command, and the lines that it prints, of which the page may show a part."""
    found: list[tuple[str, list[str]]] = []
    for block in examples_of(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            else:
                found[-1][1].append(line.strip())
    return found


def check(said: str, shown: list[str]) -> None:
    at = 0
    for line in shown:
        found = said.find(line, at)
        assert found >= 0, f"{line!r} is not in\n{said}"
        at = found


@pytest.fixture
async def queued(gateway, peer):
    for number in range(8):
        await gateway.submit(ORDER, to=peer, message_id=f"m-{number}")
    await peer.hear("Normal")


async def python(page: str, api: str) -> str:
    """What the page's program prints."""
    [example] = examples_of(page, "python")
    printed = io.StringIO()

    def run() -> None:
        with contextlib.redirect_stdout(printed):
            exec(compile(replaced(example, {THEIR_API: api}), page, "exec"), {})

    await anyio.to_thread.run_sync(run)
    return printed.getvalue()


async def test_many_are_acted_on_as_the_page_says(run, gateway, peer, queued):
    """A dry run, its start, and results; then the short way with the same messages again."""
    commands = commands_of(MANY)
    assert len(commands) == 5
    for command, shown in commands:
        if "--yes" in command:
            for number in range(1, 8):
                await gateway.submit(ORDER, to=peer, message_id=f"again-{number}")
        _, *words = shlex.split(command)
        here = [word for word in words if word not in ("-c", "gateway.toml")]
        check((await run(*here)).stdout, shown)


async def test_the_program_for_many_runs(gateway, queued):
    """None is in doubt, so nothing is printed but the number."""
    assert await python(MANY, gateway.configuration.api) == "0 []\n"


def test_the_page_names_every_action_and_kind():
    """Also what is added later."""
    many, follow = ((DOCS / page).read_text("utf-8") for page in (MANY, FOLLOW))
    assert set(WORDS) == set(BulkAction.__args__)
    assert all(f"| `{word}` |" in many for word in WORDS)
    assert all(f"| `{kind}` |" in follow for kind in KIND_OF.values())


async def test_events_are_followed_as_the_page_says(gateway, peer, queued):
    """With curl as a stream and as a poll, and in Python."""
    await peer.acknowledge("m-0")
    await gateway.until_state("m-0", "acknowledged")
    api = gateway.configuration.api
    assert (await python(FOLLOW, api)).split()[1:] == ["AckReceived", "m-0"]
    for command, shown in commands_of(FOLLOW):
        words = shlex.split(command.replace(THEIR_API, api))
        assert words[0] == "curl"
        process = await asyncio.create_subprocess_exec(
            *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        assert process.stdout is not None
        said = ""
        async with asyncio.timeout(20):
            while not all(line in said for line in shown):
                piece = await process.stdout.read(4_096)
                assert piece, f"the answer ended with {said!r}"
                said += piece.decode()
        check(said, shown)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.communicate()
