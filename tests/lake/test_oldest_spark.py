"""The lake calls nothing that the oldest Spark lacks on which it has to work: PySpark says which.

Every function of PySpark tells in its docstring since when it is there. That is compared with the
calls in the source; what stands in a piece of SQL is not seen, nor an argument of a type that is
newer. `make formats` runs whole reconciliations on that Spark.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from pyspark.sql import Catalog, Column, DataFrame, SparkSession, Window, functions
from pyspark.sql import DataFrameReader as Reader
from pyspark.sql import DataFrameWriter as Writer
from pyspark.sql import DataFrameWriterV2 as WriterV2
from pyspark.sql import GroupedData as Grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
WITH_METHODS: Final = (
    *(Catalog, Column, DataFrame, Grouped, Reader, SparkSession, Window, Writer, WriterV2),
)
FORMERLY: Final = {"instr": 2, "max_by": 2, "min_by": 2, "regexp_replace": 3}
"""How many parameters a function had, of those that were given more."""


class Call(NamedTuple):
    """A call somewhere in the source."""

    name: str
    is_of_functions: bool
    """Whether it is `F.name(…)`."""
    arguments: int
    where: str


@pytest.fixture(scope="module")
def oldest() -> tuple[int, ...]:
    """The version that tables of Delta and Iceberg need."""
    required = (ROOT / "requirements/formats.in").read_text("utf-8")
    found = re.search(r"^pyspark==(\d+)\.(\d+)\.", required, re.MULTILINE)
    assert found is not None
    return tuple(map(int, found.groups()))


def calls(text: str, where: str) -> Iterator[Call]:
    """Every call of something that has a dot before its name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            is_of_functions = isinstance(of, ast.Name) and of.id == "F"
            given = len(node.args) + len(node.keywords)
            yield Call(node.func.attr, is_of_functions, given, f"{where}:{node.lineno}")


def versions(word: str, told: str | None) -> list[tuple[int, ...]]:
    """The versions that a docstring names: in which it was added, or changed."""
    found = re.findall(rf"\.\. version{word}:: (\d+)\.(\d+)", told or "")
    return [tuple(map(int, one)) for one in found]


def members(of: object) -> dict[str, str | None]:
    """The docstrings of what it has, by name."""
    return {name: getattr(of, name).__doc__ for name in dir(of) if not name.startswith("_")}


def missing(found: Iterator[Call], oldest: tuple[int, ...]) -> list[str]:
    """The calls that the Spark of that version does not understand."""
    told = members(functions)
    methods = [one for of in WITH_METHODS for one in members(of).items()]
    former = {name for name, doc in methods if max(versions("added", doc), default=()) <= oldest}
    newer = {name for name, _ in methods} - former

    def is_missing(call: Call) -> bool:
        if not call.is_of_functions:
            return call.name in newer
        doc = told[call.name]
        if max(versions("added", doc), default=()) > oldest:
            return True
        is_changed = max(versions("changed", doc), default=()) > oldest
        return is_changed and call.arguments > FORMERLY.get(call.name, -1)

    return [f"{call.where}: {call.name}" for call in found if is_missing(call)]


def test_the_lake_calls_nothing_that_its_oldest_spark_lacks(oldest: tuple[int, ...]):
    """No function, no method of a frame, and no parameter that came later."""
    found = [
        call
        for file in sorted((ROOT / "src/onceonly/lake").rglob("*.py"))
        for call in calls(file.read_text("utf-8"), str(file.relative_to(ROOT)))
    ]
    assert len([call for call in found if call.is_of_functions]) > 1_000
    assert missing(iter(found), oldest) == []


@pytest.mark.parametrize(
    ("text", "is_missing"),
    [
        ('F.min_by("message_id", "at", 5)', True),
        ('F.min_by("message_id", "at", k=5)', True),
        ('F.min_by("message_id", "at")', False),
        ('F.regexp_replace("text", "a", "b")', False),
        ('F.time_bucket("at", "1 hour")', True),
        ("frame.zipWithIndex()", True),
        ('frame.select("a").groupBy("a").count()', False),
    ],
)
def test_what_came_later_is_found(text: str, *, is_missing: bool):
    """What Spark 4.1 has, and what it has not."""
    assert bool(missing(calls(text, "text"), (4, 1))) is is_missing
