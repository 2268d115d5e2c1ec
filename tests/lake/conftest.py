"""One Spark session for all of the lake's tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from onceonly.journal.segment import to_table
from onceonly.lake import class_archive, java, jvm, schemas
from onceonly.lake.runner import LITTLE_JAVA, SETTINGS, TINY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path[:0] = [str(Path(__file__).parent / part) for part in ("", "gold", "page")]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    home = java.prepare()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("onceonly tests")
    settings = {
        **SETTINGS,
        **TINY,
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join([LITTLE_JAVA, *class_archive.options()]),
        # Not one as in tiny journals: rows of several tasks meet in no order.
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    jvm.know_classes(session.sparkContext)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def frame(spark: SparkSession) -> Callable[[Sequence[Record]], DataFrame]:
    """Journal rows as a DataFrame of the declared schema."""

    def of(records: Sequence[Record]) -> DataFrame:
        return spark.createDataFrame(to_table(records), schemas.JOURNAL)

    return of
