"""Fuzzes the configuration file: a configuration, or a refusal that names its line."""

import tempfile
from pathlib import Path

from onceonly.gateway.config import Configuration, read_configuration

_FOLDER = tempfile.TemporaryDirectory(prefix="onceonly-fuzz-")
_FILE = Path(_FOLDER.name) / "gateway.toml"


def read(data: bytes) -> Configuration:
    """What `onceonly serve` would read at its start."""
    _FILE.write_bytes(data)
    return read_configuration(_FILE)
