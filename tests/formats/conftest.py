"""A Spark that Delta and Iceberg have jars for; `make formats` puts it and them under `build`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Under --import-mode=importlib a test's neighbours are not importable by themselves. Journals made
# to measure are those of the tests of the lake.
sys.path.insert(0, str(Path(__file__).parents[1] / "lake"))
sys.path.insert(0, str(Path(__file__).parent))

from formats_session import why_not, with_jars


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with the jars, and an Iceberg catalog `lake`."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = with_jars(tmp_path_factory.mktemp("warehouse"))
    yield session
    session.stop()
