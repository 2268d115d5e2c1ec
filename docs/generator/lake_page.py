"""Reference: verdicts, the once-and-only-once sheet, tables and lifecycle columns of the lake."""

from collections.abc import Iterator

from generator.words import attribute_docs, code, table
from onceonly.lake import invariants, model, verdicts
from onceonly.lake.catalogue import TABLES as MADE
from onceonly.lake.reports import duplicate_causes
from onceonly.lake.reports.sla import SlaTarget
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import Definition
from onceonly.message.instant import US_PER_S

INTRODUCTION = """# Lake

What Spark makes of the journals. The ideas are told in
[The lake's verdicts](../explanation/verdicts.md), the steps in
[Reconcile with a partner](../how-to/reconcile.md).

## Verdicts

Every message gets exactly one, the first of this table that holds. `reconcile` ends with exit
code 11 when any message is in a class whose standing is *alarm* or *doubt*, or when a line of the
sheet below is broken.

"""

STANDINGS = """
What the standing asks of people:

"""

POLICY = """
### What the judge allows

"""

SHEET = """
## The once-and-only-once sheet

Each line is tried on every message that it applies to; the count of breaches must be 0.

"""

TABLES = """
## Tables

`onceonly lake reconcile` writes each into a folder of its own, as zstd Parquet, and publishes all
of a run at once ([how to query them](../how-to/query-the-tables.md)). `verdicts` has the first
columns of `delivery_ledger`, up to `settled_as`. Instants are UTC timestamps and end in
`_at`; `_us` are microseconds, `_bytes` bytes, `_share` a share from 0 to 1. A number that the
journals do not tell is null, never guessed. In Python each is a function of
`onceonly.lake.catalogue.TABLES`.

"""

TARGET = """
### The goal of a scorecard

"""

CAUSES = """
### Why duplicates came

The cause follows from the counts in both journals, for each message: more copies arrived than were
sent; the message was started again after its sender had given up; more acknowledgements left than
arrived; and the rest.

"""

LIFECYCLE = """
## Lifecycle columns

The evidence on one message, folded from both journals: least and greatest instants, counts, and row
numbers. They can be folded in any order and in any parts, so late, repeated and out-of-order
segments need no special case. The last column is the condition on a journal row, in Spark SQL.

"""

TABLES_OF_THE_LAKE = tuple(one.definition for one in MADE)


def page() -> str:
    """The whole page."""
    key = code(KEY)
    return "".join(
        [
            INTRODUCTION,
            _verdicts(),
            STANDINGS,
            _standings(),
            POLICY,
            _policy(),
            SHEET,
            _sheet(),
            TABLES,
            _tables(),
            *map(_columns, TABLES_OF_THE_LAKE),
            TARGET,
            _target(),
            CAUSES,
            table(
                ("Cause", "Counted in"), ((k, f"`{v}`") for k, v in duplicate_causes.CAUSES.items())
            ),
            LIFECYCLE,
            f"Key: {key}.\n\n",
            _lifecycle(),
        ]
    )


def _verdicts() -> str:
    rows = ((f"`{one.verdict.value}`", one.standing.value, one.meaning) for one in verdicts.CLASSES)
    return table(("Verdict", "Standing", "When"), rows)


def _standings() -> str:
    docs = attribute_docs(verdicts.Standing)
    rows = ((f"*{standing.value}*", docs[standing.name]) for standing in verdicts.Standing)
    return table(("Standing", "Meaning"), rows)


def _policy() -> str:
    docs = attribute_docs(verdicts.Policy)
    policy = verdicts.Policy()._asdict().items()
    rows = ((f"`{name}`", _default(name, value), docs[name]) for name, value in policy)
    return table(("Allowance", "Default", "Meaning"), rows)


def _default(name: str, value: int | None) -> str:
    if value is None:
        return "none"
    return f"{value // US_PER_S} s" if name.endswith("_us") else str(value)


def _sheet() -> str:
    return table(("Line", "Claim"), ((one.name, one.claim) for one in invariants.INVARIANTS))


def _tables() -> str:
    rows = (
        (f"[`{one.name}`](#{one.name})", "" if one.number is None else one.number, one.grain)
        for one in TABLES_OF_THE_LAKE
    )
    return table(("Table", "Report", "Grain"), rows)


def _columns(one: Definition) -> str:
    """A section of its own for one table."""
    number = "" if one.number is None else f"Report {one.number}. "
    heading = f"\n### {one.name}\n\n"
    words = f"{number}{_sentence(one.meaning)} {_sentence(one.grain)}\n\n"
    rows = (
        (f"`{column.name}`", column.type, column.unit, column.meaning) for column in one.columns
    )
    return heading + words + table(("Column", "Type", "Unit", "Meaning"), rows)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _target() -> str:
    docs = attribute_docs(SlaTarget)
    rows = ((f"`{name}`", _default(name, value), docs[name]) for name, value in _defaults())
    return table(("Target", "Default", "Meaning"), rows)


def _defaults() -> Iterator[tuple[str, int]]:
    yield from SlaTarget()._asdict().items()


def _lifecycle() -> str:
    rows = (
        (f"`{fold.name}`", f"{fold.how.value} of `{fold.value}`", fold.meaning, f"`{fold.when}`")
        for fold in model.FOLDS
    )
    return table(("Column", "Fold", "Meaning", "Of rows where"), rows)
