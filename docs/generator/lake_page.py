"""Reference: verdicts, the once-and-only-once sheet, tables and lifecycle columns of the lake."""

import importlib
import pkgutil
from collections.abc import Iterator

from generator.words import attribute_docs, code, table
from onceonly.lake import invariants, model, tables, verdicts
from onceonly.lake.reports import duplicate_causes
from onceonly.lake.schemas import KEY
from onceonly.lake.tables import delivery_ledger
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

Zstd Parquet in the lake directory.

"""

LEDGER = """
### Columns of the delivery ledger

"""

CAUSES = """
### Why duplicates came

"""

LIFECYCLE = """
## Lifecycle columns

The evidence on one message, folded from both journals: least and greatest instants, counts, and
row numbers. They fold in any order and any cut, so late, repeated and out-of-order segments need
no special case. The last column is the condition on a journal row, in Spark SQL.

"""


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
            LEDGER,
            _ledger(),
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


def definitions() -> Iterator[Definition]:
    """Every table's definition, in the order of the modules' names."""
    for module in pkgutil.iter_modules(tables.__path__, f"{tables.__name__}."):
        definition = getattr(importlib.import_module(module.name), "DEFINITION", None)
        if definition is not None:
            yield definition


def _tables() -> str:
    rows = ((f"`{one.name}`", one.grain, one.meaning) for one in definitions())
    return table(("Table", "One row is", "It answers"), rows)


def _ledger() -> str:
    meanings = {fold.name: fold.meaning for fold in model.FOLDS}
    header = [(f"`{name}`", "text", "as submitted") for name in delivery_ledger.HEADER]
    instants = [(f"`{name}`", "timestamp", meanings[name]) for name in delivery_ledger.INSTANTS]
    counts = [(f"`{name}`", "bigint", meanings[name]) for name in delivery_ledger.COUNTS]
    first = [
        *((f"`{name}`", "text", "key") for name in KEY),
        ("`verdict`", "text", "one of the verdicts above"),
        ("`standing`", "text", "its standing"),
        ("`is_two_sided`", "boolean", "both parties' journals are in the lake"),
    ]
    return table(("Column", "Type", "Meaning"), [*first, *header, *instants, *counts])


def _lifecycle() -> str:
    rows = (
        (f"`{fold.name}`", f"{fold.how.value} of `{fold.value}`", fold.meaning, f"`{fold.when}`")
        for fold in model.FOLDS
    )
    return table(("Column", "Fold", "Meaning", "Of rows where"), rows)
