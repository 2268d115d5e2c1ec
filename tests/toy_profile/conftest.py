"""The toy, known to the house while a test of it runs; whole gateways are the other tests' own."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onceonly.wire import registry

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))
sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))

from toy import CODEC


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    """The only step that a folder with a profile asks for."""
    registry.register(CODEC)
    yield
    registry.withdraw(CODEC)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop on which the product runs."""
    return "asyncio", {"use_uvloop": True}
