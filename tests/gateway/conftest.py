"""A gateway that runs in the test, and peers on raw sockets."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))

from folder_parts import close_all
from peer import Peer
from running_gateway import RunningGateway, running


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
async def other_peer() -> AsyncIterator[Peer]:
    """A second partner, of agreement tpa-cb-1."""
    partner = Peer("urn:duns:333333333", "tpa-cb-1")
    await partner.listen()
    yield partner
    await partner.close()


@pytest.fixture
async def gateway(tmp_path: Path, peer: Peer) -> AsyncIterator[RunningGateway]:
    """A gateway that never sends anything twice by itself."""
    async with running(tmp_path, peer) as alive:
        yield alive
    close_all()
