"""The session of these tests, for the tests and for the programs that they start."""

from __future__ import annotations

from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from onceonly.lake import runner

BUILD = Path(__file__).parents[2] / "build" / "formats"
SPARK = BUILD / "spark"
JARS = BUILD / "jars"


def why_not() -> str:
    """Why these tests cannot run here; empty where they can."""
    if not Path(pyspark.__file__).is_relative_to(SPARK):
        return f"Delta and Iceberg have no jars for Spark {pyspark.__version__}: make formats"
    if not list(JARS.glob("*.jar")):
        return "the jars of Delta and Iceberg are not here: make formats, which asks Maven"
    return ""


def with_jars(warehouse: Path) -> SparkSession:
    """A session with Delta as its catalog's format, and two catalogs of Iceberg's.

    `lake` is a folder, `database` a database, as the one of an organization would be.
    """
    settings = {
        **runner.SETTINGS,
        # The product's own for so few rows.
        **runner.TINY,
        "spark.driver.extraJavaOptions": runner.LITTLE_JAVA,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(warehouse / "spark"),
        "spark.jars": ",".join(map(str, sorted(JARS.glob("*.jar")))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(warehouse / "iceberg"),
        "spark.sql.catalog.database": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.database.type": "jdbc",
        "spark.sql.catalog.database.uri": f"jdbc:sqlite:{warehouse / 'catalog.db'}",
        "spark.sql.catalog.database.warehouse": str(warehouse / "beside-a-database"),
    }
    builder = SparkSession.builder.master("local[2]").appName("formats")
    for key, setting in settings.items():
        builder = builder.config(key, setting)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
