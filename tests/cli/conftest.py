"""The command line against a gateway that runs in the test, over its real API port."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner, Result

# The gateway and its peer are those of the gateway's own tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))
sys.path.insert(0, str(Path(__file__).parent))
# So that what the reference says of the commands is what they have.
sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from peer import Peer
from running_gateway import RunningGateway, running, serving_api

from onceonly.cli.main import cli

Run = Callable[..., Awaitable[Result]]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop on which the product runs."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    """The partner of agreement tpa-ab-1, listening."""
    partner = Peer("urn:duns:111111111")
    await partner.listen()
    yield partner
    await partner.close()


@pytest.fixture
def terms() -> dict[str, Any]:
    """Delivery terms of the agreement, where a test wants others than patient ones."""
    return {}


@pytest.fixture
async def gateway(
    tmp_path: Path, peer: Peer, terms: dict[str, Any]
) -> AsyncIterator[RunningGateway]:
    """A gateway with its API on a port."""
    async with running(tmp_path, peer, terms=terms) as alive, serving_api(alive):
        yield alive


def invoke(*words: str, typed: str | None = None) -> Result:
    """One command, in this process; `typed` is its standard input."""
    return CliRunner().invoke(cli, words, input=typed)


@pytest.fixture
def run(gateway: RunningGateway) -> Run:
    """`run(words…)`: a command with `-c` of the gateway, in a thread beside its loop."""

    async def run_beside(*words: str | Path, typed: str | None = None) -> Result:
        config = ("-c", str(gateway.configuration.path))
        return await anyio.to_thread.run_sync(
            lambda: invoke(*map(str, words), *config, typed=typed)
        )

    return run_beside


@pytest.fixture
def order(tmp_path: Path) -> Path:
    """A document to send."""
    path = tmp_path / "order.xml"
    path.write_bytes(b"<Order/>")
    return path
