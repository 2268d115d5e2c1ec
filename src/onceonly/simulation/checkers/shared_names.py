"""Which agreement a name on the wire means, where several agreements have the same one (R-35).

Journals and packages say the CPAId, and the Action of a message tells its agreement. Must not
judge.
"""

import re

from onceonly.journal.record import Record
from onceonly.message.word import changed
from onceonly.simulation.cast import line_id
from onceonly.simulation.checkers.course import Key
from onceonly.simulation.checkers.letter import Letter, LetterKind
from onceonly.simulation.history import Row
from onceonly.simulation.plan import Line, Plan

_ACTION = re.compile(rb"<(?:eb:)?Action>([^<]*)<")


class SharedNames:
    """The shared names of one world; what has another name is returned as it is."""

    def __init__(self, plan: Plan) -> None:
        self.first: dict[str, Line] = {}
        """By name: one of the agreements, for what says no Action."""
        self._by_action: dict[tuple[str, str], str] = {}
        for line in plan.lines:
            if line.cpa_id:
                self.first.setdefault(line.cpa_id, line)
                self._by_action[line.cpa_id, line.action] = line_id(line)
        self._of_message: dict[Key, str] = {}

    def row(self, row: Row) -> Row:
        """The row with the agreement's own id, as rows of other agreements have it."""
        record = row.record
        if record.agreement_id not in self.first:
            return row
        return changed(row, record=self._record(record, record.agreement_id))

    def _record(self, record: Record, name: str) -> Record:
        key = (record.from_party or "", record.to_party or "", record.message_id or "")
        if record.action is not None:
            said = self._by_action.get((name, record.action))
            if said is not None:
                self._of_message.setdefault(key, said)
        agreement_id = self._of_message.get(key) or line_id(self.first[name])
        return changed(record, agreement_id=agreement_id)

    def letter(self, letter: Letter) -> Letter:
        """The same of a package; a signal is of any of the agreements."""
        if letter.agreement_id not in self.first:
            return letter
        agreement_id = line_id(self.first[letter.agreement_id])
        if letter.kind is LetterKind.MESSAGE:
            found = _ACTION.search(letter.header)
            action = "" if found is None else found.group(1).decode(errors="replace")
            agreement_id = self._by_action.get((letter.agreement_id, action), agreement_id)
        return changed(letter, agreement_id=agreement_id)
