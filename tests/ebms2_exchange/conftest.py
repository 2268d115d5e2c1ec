"""The profile ebMS 2.0, offered while a test of it runs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onceonly.wire import registry
from onceonly.wire.ebms2 import CODEC

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))
sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))


@pytest.fixture(autouse=True)
def offered() -> Iterator[None]:
    """No gateway of others has it yet."""
    registry.register(CODEC)
    yield
    registry.withdraw(CODEC)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop on which the product runs."""
    return "asyncio", {"use_uvloop": True}
