"""The JVM of a session of our own, and what it prints.

Java warns of its modules, Spark of the machine's name, a worker of a pipe that was closed: nothing
of it is for whoever waits for a result, and it comes between the lines that are. So what the JVM
and its Python workers print is kept, the last lines of it, and told where a job of Spark's fails.
Whoever wants all of it says so: `ONCEONLY_SPARK_OUTPUT=show`, or a `SPARK_CONF_DIR` of his own.
"""

import logging
import os
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Final

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

OUTPUT: Final = "ONCEONLY_SPARK_OUTPUT"
"""`show` for all that the JVM prints, on stderr."""
SHOW: Final = "show"

LINES_KEPT: Final = 40
"""A stack trace of Java's with its cause is about as long."""
_LINE_MAX: Final = 2_000
_LAST_WORDS_S: Final = 5.0
"""What a JVM that ended has printed is there to be read; a child of its may hold the pipe."""

ASKED_FOR: Final = (
    "functions",
    "org.apache.spark.sql.functions",
    "PythonUtils",
    "PythonSQLUtils",
)
"""The classes by which PySpark makes columns, under the names that it uses."""

_said: Final[deque[str]] = deque(maxlen=LINES_KEPT)


def is_shown(environment: Mapping[str, str]) -> bool:
    """Whether somebody wants to see what the JVM prints."""
    return environment.get(OUTPUT) == SHOW or "SPARK_CONF_DIR" in environment


def launch(conf: SparkConf) -> None:
    """Start a quiet JVM with a context of these settings, unless this process has one already.

    What it prints is to be shown where `is_shown`; then Spark starts it as usual.
    """
    is_running = SparkContext._gateway is not None  # noqa: SLF001 - because Spark has no public way to ask
    if is_running or is_shown(os.environ):
        return
    source, sink = os.pipe()
    reader = Thread(target=_keep, args=(source,), name="what the JVM prints", daemon=True)
    reader.start()
    try:
        gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]  # because Spark does not type it
    except PySparkException as error:
        os.close(sink)
        reader.join(_LAST_WORDS_S)
        _note(error)
        raise
    os.close(sink)
    # What fails between Python and the JVM is raised as well.
    talk = logging.getLogger("py4j")
    talk.addHandler(_Keeper())
    talk.propagate = False
    SparkContext(conf=conf, gateway=gateway)


def know_classes(context: SparkContext) -> None:
    """Ask the JVM once for what PySpark asks it for again with every column that it makes.

    Each time the JVM looks for a class of the short name in all its jars, then in the packages that
    are imported, then for the method: a third of the calls of a small lake's run.
    """
    view = context._jvm  # noqa: SLF001 - because Spark has no public way to it
    for name in ASKED_FOR:
        found = getattr(view, name)
        setattr(view, name, _Known(found._fqn, found._gateway_client))  # noqa: SLF001 - because py4j has no public names for them


class _Known(JavaClass):  # type: ignore[misc]  # because py4j is not typed
    """A class of Java's that keeps the methods that it was asked for."""

    def __getattr__(self, name: str) -> object:
        member = super().__getattr__(name)
        self.__dict__[name] = member
        return member


@contextmanager
def told_why() -> Iterator[None]:
    """What Spark raises in here has what the JVM printed last as a note."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        _note(error)
        raise


def last_lines() -> list[str]:
    """What the JVM of a session of our own has printed last, except its warnings."""
    return [line for line in _said if "[warning]" not in line]


def _note(error: Exception) -> None:
    if _said and not getattr(error, "__notes__", ()):
        error.add_note("\n".join(["What Spark's JVM printed last:", *_said]))


class _Keeper(logging.Handler):
    """Keeps what is logged together with what the JVM prints."""

    def emit(self, record: logging.LogRecord) -> None:
        _said.extend(self.format(record).splitlines())


def _keep(source: int) -> None:
    with open(source, encoding="utf-8", errors="replace") as lines:
        while line := lines.readline(_LINE_MAX):
            _said.append(line.rstrip("\n"))
