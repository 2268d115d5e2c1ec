"""The schema, as the sum of its numbered steps `sql/NNNN_name.sql`.

The steps are the definition. What they come to is written in `sql/schema.sql`, to be read, and for
new stores: a tenth of the time that all steps take. It is made by `python -m
onceonly.store.sqlite.migrate`, and `tests/store/test_migration.py` compares both. `PRAGMA
user_version` says how many steps were applied to a database.
"""

from collections.abc import Iterable

import apsw

from onceonly.message.word import Word
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.sqlite.queries import SQL_FILES


class Migration(Word):
    """One step; `number` counts from 1 without gaps."""

    number: int
    name: str
    statements: str


def read_migrations() -> tuple[Migration, ...]:
    """Every step, in order."""
    names = sorted(entry.name for entry in SQL_FILES.iterdir() if entry.name[:4].isdecimal())
    migrations = tuple(
        Migration(int(name[:4]), name, (SQL_FILES / name).read_text(encoding="utf-8"))
        for name in names
    )
    assert [step.number for step in migrations] == list(range(1, len(migrations) + 1))
    return migrations


def migrate(connection: apsw.Connection) -> None:
    """Bring the database to the newest schema; called inside a write transaction.

    Raises `StoreRefused` as `get_version` does.
    """
    version = get_version(connection)
    if version:
        apply(connection, read_migrations()[version:])
    else:
        connection.execute((SQL_FILES / "schema.sql").read_text(encoding="utf-8"))


def apply(connection: apsw.Connection, steps: Iterable[Migration]) -> None:
    """Apply steps to a database that has those before them."""
    for step in steps:
        connection.execute(step.statements)
        connection.execute(f"PRAGMA user_version = {step.number}")


def whole_schema() -> str:
    """What all steps together make of an empty database, as statements."""
    database = apsw.Connection(":memory:")
    steps = read_migrations()
    apply(database, steps)
    made = database.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' "
        "ORDER BY rowid"
    )
    statements = [
        "-- The sum of the numbered steps, made by python -m onceonly.store.sqlite.migrate\n",
        *[f"{sql};\n" for (sql,) in made],
        # The rows that there are from the beginning.
        "INSERT INTO counted VALUES (1, 0);\n",
        f"PRAGMA user_version = {len(steps)};\n",
    ]
    return "".join(statements)


def get_version(connection: apsw.Connection) -> int:
    """How many steps were applied to the database; 0 for a new one.

    Raises `StoreRefused` if there were more steps than we know: a newer program made the database,
    and an older one must not guess what its rows mean.
    """
    version, known = connection.pragma("user_version"), len(read_migrations())
    assert isinstance(version, int)
    if version > known:
        raise StoreRefused(
            f"the store has schema version {version}; this program knows up to {known}"
        )
    return version


if __name__ == "__main__":
    print(whole_schema(), end="")  # noqa: T201 - because this is what it is run for
