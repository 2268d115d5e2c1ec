"""Lets the tables use the peers of the gateway's and the transports' tests."""

import sys
from pathlib import Path
from typing import Any

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "gateway"), str(HERE.parent / "transport")]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop on which the product runs."""
    return "asyncio", {"use_uvloop": True}
