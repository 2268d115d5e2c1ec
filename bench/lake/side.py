"""What a case takes of the processors, in Python and in the JVM beside it."""

import os
import time
from pathlib import Path

from pyspark.sql import SparkSession


def processor_s(spark: SparkSession) -> float:
    """Processor time of this process and of its JVM: all threads, compiler and collector too."""
    runtime = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()  # noqa: SLF001 - because the JVM's own beans have no other door
    fields = Path(f"/proc/{runtime.getName().partition('@')[0]}/stat").read_text()
    user, system = fields.rpartition(")")[2].split()[11:13]
    return time.process_time() + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
