"""What is between Python and the JVM: how often the one asks the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import jvm

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = {
    "col": lambda: F.col("a"),
    "lit": lambda: F.lit(1),
    "sum": lambda: F.sum("a"),
    "coalesce": lambda: F.coalesce("a", "b"),
    "when": lambda: F.when(F.col("a"), F.lit(1)),
}


def asked(spark: SparkSession, work: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many questions about names the work asks."""
    client = spark.sparkContext._jvm._gateway_client
    send, found = type(client).send_command, []

    def counted(self, command, *arguments, **named):
        # "r" is py4j's word for its questions about classes, packages and their members.
        found.append(command.startswith("r\n"))
        return send(self, command, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(type(client), "send_command", counted)
        work()
    assert found, "every column is made in the JVM"
    return sum(found)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_class_is_asked_for_once_and_not_with_every_column(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, name: str
):
    """A lake's run makes ten thousand of them, and the JVM looks for a name in all its jars."""
    COLUMNS[name]()
    assert asked(spark, COLUMNS[name], monkeypatch) == 0
    for known in jvm.ASKED_FOR:
        monkeypatch.delitem(spark.sparkContext._jvm.__dict__, known)
    assert asked(spark, COLUMNS[name], monkeypatch) > 0, "PySpark would ask"
