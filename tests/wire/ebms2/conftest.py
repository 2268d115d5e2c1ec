"""The profile, known to the wire while a test of it runs: no gateway offers it yet."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onceonly.wire import ebms2, registry

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(autouse=True)
def profile() -> Iterator[None]:
    """Registered, as a folder with a profile asks for."""
    registry.register(ebms2.CODEC)
    yield
    registry.withdraw(ebms2.CODEC)
