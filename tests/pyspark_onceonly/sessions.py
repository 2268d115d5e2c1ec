"""Spark sessions of these tests, in the test's process and in children of it."""

import os
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import class_archive, java
from onceonly.lake.runner import LITTLE_JAVA, SETTINGS


def session(master: str, **settings: str) -> SparkSession:
    home = java.prepare()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("onceonly tests")
    usual = {
        **SETTINGS,
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join([LITTLE_JAVA, *class_archive.options()]),
        "spark.sql.shuffle.partitions": "2",
    }
    for key, value in {**usual, **settings}.items():
        builder = builder.config(key, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def orders(spark: SparkSession, prefix: str, count: int, partitions: int = 3) -> DataFrame:
    """`count` orders, each with an id and a document of its own."""
    ids = F.concat(F.lit(f"{prefix}-"), F.format_string("%06d", "id"))
    payload = F.concat(F.lit("<Order id='"), ids, F.lit("'/>"))
    frame = spark.range(0, count, 1, partitions)
    return frame.select("id", ids.alias("order_id"), payload.alias("payload"))


def document(order_id: str) -> str:
    """The document of the order with this id."""
    return f"<Order id='{order_id}'/>"
