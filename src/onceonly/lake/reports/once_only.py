"""Report 4, the once-and-only-once sheet as a table."""

from typing import Final

from onceonly.lake.tables.definition import (
    Column,
    Definition,
    count,
    flag,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "once_only",
    4,
    "one row per invariant",
    "how many messages each was tried on and how many break it, which must be 0",
    (
        ordinal("line", "place on the sheet"),
        text("name", "the invariant's name"),
        text("claim", "what must hold"),
        count("messages", "messages", "that it was tried on"),
        count("breaches", "messages", "that break it"),
        flag("holds", "none does"),
        Column("examples", "array<string>", "", "MessageIds that break it, the least first"),
    ),
)
