"""Two gateways that run in the test, and a browser that looks at one of them."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))

from tabs import opened_browser
from two_gateways import TOKEN, World, two_gateways


def pytest_addoption(parser: pytest.Parser) -> None:
    """Known only where this directory is named on the command line."""
    text = "write the pictures of docs/images from what the browser shows now"
    parser.addoption("--pictures", action="store_true", help=text)


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop on which the product runs."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="module")
async def world(
    anyio_backend: Any, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """The gateways after their morning; the tests of a module look at the same ones."""
    async with two_gateways(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture(scope="module")
async def guarded(
    anyio_backend: Any, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """The same, where the API asks for a key."""
    folder = tmp_path_factory.mktemp("guarded")
    async with two_gateways(folder, api_token=TOKEN) as made:
        yield made


@pytest.fixture(scope="module")
async def browser(anyio_backend: Any) -> AsyncIterator[Any]:
    """Headless Chromium; without one, the tests that look at pages skip."""
    async with opened_browser() as opened:
        yield opened
