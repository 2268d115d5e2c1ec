"""Captures of packages of the other MSH, and a configuration under which they come in."""

import sys
from pathlib import Path

import pytest

# Packages and configurations are those of the gateway's own tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))
sys.path.insert(0, str(Path(__file__).parent))

from captures import CONFIGURATION

from onceonly.gateway.config import Configuration, read_configuration


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    """The smallest gateway, with one agreement of each profile."""
    path = tmp_path / "gateway.toml"
    path.write_text(CONFIGURATION, "utf-8")
    return read_configuration(path)
