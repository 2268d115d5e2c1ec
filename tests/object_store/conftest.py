"""A server of S3 on this machine, and a Spark that reads it; `make formats` gets both."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from onceonly.lake import java, runner

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(Path(__file__).parents[1] / "lake"))

JARS = Path(__file__).parents[2] / "build" / "formats" / "s3"


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of the server."""
    moto = pytest.importorskip("moto.server", reason="no server of S3 here: make formats")
    pytest.importorskip("obstore", reason="no client for conditional puts here: make formats")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    started = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    address = f"http://{host}:{port}"
    told = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    yield address
    started.stop()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture
def bucket(server: str) -> str:
    """The URL of an empty bucket."""
    import boto3  # noqa: PLC0415 - because it comes with the server

    name = f"lake-{uuid4().hex[:12]}"
    boto3.client("s3").create_bucket(Bucket=name)
    return f"s3://{name}"


@pytest.fixture(scope="session")
def spark(server: str) -> Iterator[SparkSession]:
    """A session that reads `s3://` there."""
    jars = sorted(JARS.glob("*.jar"))
    if not jars:
        pytest.skip("the jars of Hadoop's S3 are not here: make formats, which asks Maven")
    home = java.prepare()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        **runner.SETTINGS,
        **runner.TINY,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": runner.LITTLE_JAVA,
        "spark.jars": ",".join(map(str, jars)),
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": server,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": "tests",
        "spark.hadoop.fs.s3a.secret.key": "tests",
        "spark.hadoop.fs.s3a.attempts.maximum": "2",
    }
    builder = SparkSession.builder.master("local[2]").appName("object store")
    for key, setting in settings.items():
        builder = builder.config(key, setting)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
