"""Jobs in a process of their own that kill themselves; nothing in the product knows of this."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITHIN_S = 900

_DIES = """
import importlib, os, signal, sys

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

gateway = launch_gateway()
running = gateway.jvm.SparkSession.getDefaultSession().get().sparkContext()
java = gateway.jvm.JavaSparkContext.fromSparkContext(running)
spark = SparkSession(SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf())))

*given, place, when, count = sys.argv[1:]
module, _, name = place.rpartition(".")
module = importlib.import_module(f"onceonly.lake.{module}")
original, calls = getattr(module, name), 0

def dying(*arguments, **named):
    global calls
    calls += 1
    is_last = calls == int(count)
    if is_last and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = original(*arguments, **named)
    if is_last and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(module, name, dying)
"""


def died(spark: SparkSession, job: str, *given: str, place: str, when: str, count: int) -> None:
    """Do the job with what it is `given` in a process that dies at a call, and see it dead.

    The place is a module within `onceonly.lake` and a function; it dies `before` or `after` the
    `count`-th call. The process is a driver of its own that uses the test's JVM, which is warm and
    outlives it: what another thread of the driver had begun there comes to its end.
    """
    asked = [sys.executable, "-c", _DIES + job, *given, place, when, str(count)]
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    at = gateway.java_parameters
    where = {"PYSPARK_GATEWAY_PORT": str(at.port), "PYSPARK_GATEWAY_SECRET": at.auth_token}
    dead = subprocess.run(
        asked, env=os.environ | where, timeout=WITHIN_S, check=False, capture_output=True
    )
    assert dead.returncode == -signal.SIGKILL, (place, dead.stderr.decode()[-2_000:])
    # What it had cached would otherwise be found by whoever reads the same.
    spark.catalog.clearCache()
