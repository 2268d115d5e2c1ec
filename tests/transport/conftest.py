"""Each test of the transports runs on both event loops."""

import sys
from pathlib import Path

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request):
    """Both loops: the gateway runs on uvloop where it can, and the two differ at the edges."""
    return ("asyncio", {"use_uvloop": request.param})
