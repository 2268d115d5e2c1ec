"""One Spark session, and two real gateways as processes, for the tests of `format("onceonly")`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves; the gateways
# are those of the nemesis.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "nemesis"))

from nemesis_gateways import Exchange, build_exchange
from sessions import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    found = session("local[2]")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exchange]:
    """Two gateways that know each other and run."""
    pair = build_exchange(tmp_path_factory.mktemp("exchange"))
    for gateway in pair.gateways:
        gateway.configure()
    pair.start()
    yield pair
    pair.destroy()


@pytest.fixture
def out(exchange: Exchange) -> dict[str, Any]:
    """Options of a DataFrame that goes to the receiver."""
    return {
        "api": exchange.sender.site.api,
        "to": exchange.receiver.site.party,
        "service": "Ordering",
        "action": "NewOrder",
        "message_id_column": "order_id",
    }
