"""Tests of the transports run in one asyncio loop each."""

import sys
from pathlib import Path

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def anyio_backend():
    return "asyncio"
