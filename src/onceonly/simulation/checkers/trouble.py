"""Trouble with partners: operators hear of it, once for each episode, and of its end (R-40).

Knows the incidents of a machine and the rows of its pairs. `time_and_store` judges whether a pair
that closes by itself has an incident.
"""

from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.store.contract.entries import Role

_HEARD = frozenset({Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED})
_SAYS_MORE = frozenset(
    {Event.TRANSMITTING, Event.TRANSMITTED, Event.EXHAUSTED, Event.EXPIRED, Event.FAILED}
)


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every machine whose past is its own."""
    for node in case.machines:
        if not case.is_set_back(node):
            yield from _of_machine(case, node)


def _of_machine(case: WorldCase, node: str) -> Iterator[Violation]:
    snapshot = case.world.nodes[node].snapshot()
    told = [one for one in snapshot.list_incidents(is_open=False) if one.is_trouble]
    is_open = {one.pair for one in told if one.resolved_at is None}
    for view in snapshot.list_pairs():
        if view.role is Role.SENDER and (view.trouble is not None) != (view.pair in is_open):
            text = f"{node}: trouble with {view.pair.to_party} and its incidents disagree"
            yield Violation("R-40", text, case.end_order)
    for pair, rows in _rows_of_pairs(case, node).items():
        exhausted = next((row for row in rows if _is_given_up(row)), None)
        if exhausted is not None and not any(one.pair == pair for one in told):
            text = f"{node}: a message to {pair.to_party} was given up, and no operator was told"
            yield Violation("R-40", text, exhausted.order)
        if rows[-1].record.event in _HEARD and pair in is_open:
            text = f"{node}: {pair.to_party} was heard, and its trouble is not over"
            yield Violation("R-40", text, rows[-1].order)


def _is_given_up(row: Row) -> bool:
    """Not one whose time was over: an operator may have kept it back until then."""
    return row.record.event is Event.EXHAUSTED and " passed " not in (row.record.reason or "")


def _rows_of_pairs(case: WorldCase, node: str) -> dict[Pair, list[Row]]:
    rows: dict[Pair, list[Row]] = {}
    for row in case.rows_of[node]:
        record = row.record
        if record.event in _HEARD | _SAYS_MORE and record.from_party and record.to_party:
            rows.setdefault(Pair(record.from_party, record.to_party), []).append(row)
    return rows
