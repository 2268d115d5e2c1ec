"""Processes stay up: nothing that a peer causes ends one (R-43).

A process ends by itself only because of its store (R-22). A conversation that met a bug of ours has
a row in the journal; in a world that is a finding, whether or not it had any effect.
"""

from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.violation import Violation

STORE_ERRORS = frozenset({"StoreFailed", "StoreFull", "StoreRefused"})
"""What a process may end with, where its disk is full or broken."""

BROKEN_CONVERSATIONS: frozenset[str] = frozenset({Event.INTERNAL_ERROR, Event.PARKED})
"""Events of the rows about conversations that ended in a bug of ours."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every end that nobody brought about, and every conversation that ended in a bug."""
    for node in case.machines:
        for end in case.happened(node, "stopped-itself"):
            trouble = [one.order for one in case.happened(node, "full", "broken")]
            is_of_the_store = (
                end.detail in STORE_ERRORS and min(trouble, default=end.order) < end.order
            )
            if not is_of_the_store:
                text = f"{node}: stopped itself ({end.detail}), and its store was well"
                yield Violation("R-43", text, end.order)
        slipped = [one.order for one in case.happened(node, "slip")]
        for row in case.rows_of[node]:
            if row.record.event in BROKEN_CONVERSATIONS and not slipped:
                text = f"{node}: a conversation ended in a bug: {row.record.reason}"
                yield Violation("R-43", text, row.order)
