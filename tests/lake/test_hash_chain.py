"""A journal that was touched shows it (E3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from journals import DAWN, SECOND, Ledger, upgraded

from onceonly.journal.record import SCHEMA_VERSION, Record, chain
from onceonly.lake import hash_chain
from onceonly.message.event import Event
from onceonly.message.word import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark


def ledger_of(party: str) -> list[Record]:
    ledger = Ledger(party)
    for number in range(6):
        ledger.write(
            Event.SUBMITTED, DAWN + number * SECOND, message_id=f"m{number}-é", size_bytes=number
        )
    return ledger.records


def forked(rows: list[Record]) -> list[Record]:
    """A store that was rolled back behind row 4 and went on."""
    other = changed(rows[4], message_id="another")
    return [*rows, changed(other, chain_hash=chain(rows[3].chain_hash, other))]


TOUCHED: dict[str, Callable[[list[Record]], list[Record]]] = {
    "whole": lambda rows: rows,
    "shuffled": lambda rows: [*rows[3:], *rows[:3]],
    "published-twice": lambda rows: rows + rows[2:4],
    "edited": lambda rows: [*rows[:2], changed(rows[2], size_bytes=99), *rows[3:]],
    "emptied": lambda rows: [*rows[:2], changed(rows[2], size_bytes=None), *rows[3:]],
    "removed": lambda rows: [*rows[:2], *rows[3:]],
    "beheaded": lambda rows: rows[2:],
    "swapped": lambda rows: [
        *rows[:2],
        changed(rows[2], seq=4),
        changed(rows[3], seq=3),
        *rows[4:],
    ],
    "forked": forked,
}
EXPECTED = {
    "whole": (6, 0, 0, 0, None),
    "shuffled": (6, 0, 0, 0, None),
    "published-twice": (6, 0, 0, 0, None),
    "edited": (6, 0, 1, 0, 3),
    "emptied": (6, 0, 1, 0, 3),
    "removed": (5, 1, 0, 0, 4),
    "beheaded": (4, 2, 0, 0, 3),
    "swapped": (6, 0, 3, 0, 3),
}


def test_every_touch_shows_and_order_of_files_does_not_matter(frame: Frame):
    """One party per touch: rows, missing numbers, edited rows, forks, first bad row."""
    rows: list[Record] = []
    for name, touch in TOUCHED.items():
        rows += touch(ledger_of(name))
    found = {row["party"]: tuple(row)[1:] for row in hash_chain.by_party(frame(rows)).collect()}
    assert {name: found[name] for name in EXPECTED} == EXPECTED
    count, missing, _, forks, first_bad = found["forked"]
    assert (count, missing, forks) == (7, 0, 1)
    assert first_bad == 5


def version_changed(touch: Callable[[list[Record]], list[Record]], party: str) -> list[Record]:
    """A journal whose rows from the fourth on are of a newer version, touched."""
    return touch(upgraded(Ledger(party, ledger_of(party)), behind=3).records)


EDITS: dict[str, tuple[int, dict[str, object]]] = {
    "before": (2, {"size_bytes": 99}),
    "at-the-last-of-before": (3, {"size_bytes": 99}),
    "at-the-first-of-after": (4, {"size_bytes": 99}),
    "after": (5, {"header_digest": "x"}),
    "filled-in-before": (2, {"header_digest": "x"}),
    "called-older": (5, {"schema_version": 1}),
    "called-newer": (2, {"schema_version": SCHEMA_VERSION}),
}


def test_a_journal_that_changes_its_version_is_verified_on_both_sides(frame: Frame):
    """Each row has the hash of its own columns; an edit shows wherever it is (E3)."""
    rows = version_changed(lambda rows: rows, "whole")
    for name, (seq, edit) in EDITS.items():
        rows += version_changed(
            lambda rows, seq=seq, edit=edit: [
                changed(row, **edit) if row.seq == seq else row for row in rows
            ],
            name,
        )
    found = {
        row["party"]: (row["edited"], row["first_bad_seq"])
        for row in hash_chain.by_party(frame(rows)).collect()
    }
    assert found == {"whole": (0, None)} | {name: (1, seq) for name, (seq, _) in EDITS.items()}


def test_rows_of_another_version_are_not_called_edited(frame: Frame):
    """Not all of its columns are here; a newer partner is no forger."""
    newer = [changed(row, schema_version=SCHEMA_VERSION + 1) for row in ledger_of("newer")]
    [row] = hash_chain.by_party(frame(newer)).collect()
    assert (row["rows"], row["edited"], row["forks"]) == (6, 0, 0)
