"""Gateways and a raw peer in the profile ebMS 2.0."""

import sys
from pathlib import Path
from typing import Any

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))
sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop on which the product runs."""
    return "asyncio", {"use_uvloop": True}
