"""Views in Spark's catalog: the tables of a run by name, for SQL and for `spark.table`."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import SparkSession

from onceonly.lake import activity, catalogue, runner
from onceonly.lake.jobs.reading import LEDGER, VERDICT_COLUMNS, VERDICTS, names, run
from onceonly.lake.runs import LakeRun
from onceonly.lake.tables import delivery_ledger
from onceonly.lake.tables.definition import Column
from onceonly.message.errors import LocalError

DATABASE: Final = "onceonly"
RUN: Final = "run"
"""The view of one row that says of which run the others are."""
OURS: Final = "onceonly.run"
"""Property of every view that was made here."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def register(
    spark: SparkSession, lake: str, *, database: str = DATABASE, run_id: str | None = None
) -> Mapping[str, str]:
    """Give the tables of the current run, or of the one of that id, as views of a database.

    The database is made where there is none. Views that an earlier run left there are replaced, or
    dropped where this run did not write their table. Returns each view's full name by the table's.

    What catalog that is, and how long it lasts, is a matter of the session: one in memory ends
    with it. Raises `LocalError`: NotEmpty, before anything is changed, where another's table or
    view has such a name; BadTarget for a database whose name is no plain word; NoRun, NoTable.
    """
    require_name(database)
    found = run(lake, run_id)
    made = {name: _select(found, name) for name in names(found)}
    made[RUN] = _told(found)
    with activity.step(spark, f"views of {database}"):
        require_ours(spark, database)
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {runner.quoted(database)}")
        for name, select in made.items():
            spark.sql(
                _view(f"{runner.quoted(database)}.{runner.quoted(name)}", name, found, select)
            )
        for name in _known(spark, database, _all()):
            if name not in made:
                spark.sql(f"DROP VIEW {runner.quoted(database)}.{runner.quoted(name)}")
    return {name: f"{database}.{name}" for name in made}


def require_name(database: str) -> None:
    """Raises `LocalError` (BadTarget) for a database whose name is no plain word."""
    if not _NAME.fullmatch(database):
        raise LocalError("BadTarget", f"{database!r} is no name of a database: a plain word is")


def require_ours(spark: SparkSession, database: str) -> None:
    """Raises `LocalError` where `register` would replace what it did not make."""
    for name in _known(spark, database, _all()):
        shown = spark.sql(f"SHOW TBLPROPERTIES {_full(database, name)}").collect()
        told = {row["key"] for row in shown}
        if OURS not in told:
            text = f"{database}.{name} was not made by onceonly: name another database"
            raise LocalError("NotEmpty", text)


def _full(database: str, name: str) -> str:
    return f"{runner.quoted(database)}.{runner.quoted(name)}"


def _all() -> list[str]:
    return [*catalogue.NAMES, VERDICTS, RUN]


def _known(spark: SparkSession, database: str, wanted: Iterable[str]) -> list[str]:
    """Which of these names the database has."""
    if not spark.catalog.databaseExists(database):
        return []
    shown = spark.sql(f"SHOW TABLES IN {runner.quoted(database)}").collect()
    there = {row["tableName"] for row in shown if not row["isTemporary"]}
    return [name for name in wanted if name in there]


def _select(found: LakeRun, name: str) -> str:
    if name != VERDICTS or name in found.tables:
        return runner.relation(found, found.table(name))
    ledger = found.table(LEDGER)
    narrow = tuple(one for one in ledger.columns if one[0] in VERDICT_COLUMNS)
    return runner.relation(found, ledger._replace(columns=narrow))


def _told(found: LakeRun) -> str:
    at, published = (f"timestamp_micros({us})" for us in (found.as_of, found.published_at))
    told = f"'{found.id}' AS run, {at} AS as_of, {published} AS published_at"
    return f"SELECT {told}, {found.differences}L AS differences"


def _view(full: str, name: str, found: LakeRun, select: str) -> str:
    at = datetime.fromtimestamp(found.as_of / 1e6, UTC).isoformat(timespec="seconds")
    says, columns = _definition(name)
    listed = ", ".join(
        f"{runner.quoted(one.name)} COMMENT {_text(_meaning(one))}" for one in columns
    )
    return (
        f"CREATE OR REPLACE VIEW {full} {f'({listed})' if listed else ''} "
        f"COMMENT {_text(f'{says}; as of {at}, run {found.id}')} "
        f"TBLPROPERTIES ({_text(OURS)} = {_text(found.id)}) AS {select}"
    )


def _definition(name: str) -> tuple[str, tuple[Column, ...]]:
    if name == RUN:
        return "the run that the views of this database are of", ()
    if name == VERDICTS:
        of = delivery_ledger.DEFINITION
        narrow = tuple(one for one in of.columns if one.name in VERDICT_COLUMNS)
        return "one row per message, with its verdict", narrow
    definition = catalogue.find(name).definition
    return definition.grain, definition.columns


def _meaning(column: Column) -> str:
    return f"{column.meaning} ({column.unit})" if column.unit else column.meaning


def _text(words: str) -> str:
    escaped = words.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
