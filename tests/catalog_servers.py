"""Servers of catalogs, on loopback: Hive's metastore and Iceberg's REST catalog.

Each is its project's own, from Spark's jars or Maven's; the programs that start them are in `java`.
"""

import select
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from ports import free_port

JAVA = Path(__file__).parent / "java"
REST_JARS = Path(__file__).parents[1] / "build" / "formats" / "rest"
START_S = 120.0


@contextmanager
def metastore(folder: Path) -> Iterator[str]:
    """The address of a metastore with its database in this folder."""
    with _serving("Metastore", Path(pyspark.__file__).parent / "jars", folder) as port:
        yield f"thrift://127.0.0.1:{port}"


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """The address of a catalog with its database and its tables in this folder."""
    if not list(REST_JARS.glob("*.jar")):
        pytest.skip(
            "the jars of Iceberg's REST catalog are not here: make formats, which asks Maven"
        )
    with _serving("RestCatalog", REST_JARS, folder) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _serving(program: str, jars: Path, folder: Path) -> Iterator[int]:
    java = shutil.which("java")
    if java is None or shutil.which("javac") is None:
        pytest.skip("no Java here that compiles: default-jdk-headless")
    port, log = free_port(), folder / "log"
    words = [str(JAVA / f"{program}.java"), str(port), str(folder)]
    with log.open("wb") as file:
        server = subprocess.Popen(
            [java, "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", *words],
            cwd=folder,
            stdout=file,
            stderr=file,
        )
    try:
        until = time.monotonic() + START_S
        while not _takes(port):
            said = log.read_text("utf-8", "replace")[-4_000:]
            assert server.poll() is None, said
            assert time.monotonic() < until, said
        yield port
    finally:
        server.kill()
        server.wait()


def _takes(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=START_S).close()
    except OSError:
        # Nothing else to wait for: it tells nobody when it listens.
        select.select([], [], [], 0.1)
        return False
    return True
