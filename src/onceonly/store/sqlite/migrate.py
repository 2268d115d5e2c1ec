"""The schema, as the sum of its numbered steps `sql/NNNN_name.sql`.

The steps are the only definition: a second file with the whole schema could contradict them.
`PRAGMA user_version` says how many of them were applied to a database.
"""

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
    for step in read_migrations()[get_version(connection) :]:
        connection.execute(step.statements)
        connection.execute(f"PRAGMA user_version = {step.number}")


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
