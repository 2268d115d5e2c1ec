"""Runs that are recorded for the documentation, and compared with what was recorded before."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves; the gateway
# that runs in a test is that of the gateway's own tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))
sys.path.insert(0, str(Path(__file__).parent))

from typed_pages import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    yield made
    made.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Known only where this directory is named on the command line."""
    text = "write docs/runs from what is seen now"
    parser.addoption("--record", action="store_true", help=text)


@pytest.fixture
def is_recording(request: pytest.FixtureRequest) -> bool:
    """Whether the committed runs are to be replaced."""
    return bool(request.config.getoption("--record", default=False))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop on which the product runs."""
    return "asyncio", {"use_uvloop": True}
