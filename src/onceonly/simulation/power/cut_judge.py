"""What must be there after a power cut, and what was found: the verdict on every cut.

Knows the states that a store went through, each by the digest of its pages and of its answers,
and which of them a cut may leave: the last one whose commit returned, and while a commit is under
way the coming one as well. Must not know how the store came there.
"""

from collections import Counter
from hashlib import sha256

from onceonly.message.word import Word
from onceonly.simulation.machine.disk import Image
from onceonly.simulation.power.cut_store import (
    Harm,
    Inspection,
    lacks_a_payload,
    look_at_rows,
)


class CommittedState(Word):
    """What the store holds after a commit."""

    pages: str
    """Digest of all pages,"""
    rows: str
    """of all answers,"""
    payloads: dict[str, bytes]
    """and what the spool has kept for it, by digest."""

    def is_seen_as(self, digest: str) -> bool:
        """Whether this is its digest, of pages or of answers."""
        return digest in (self.pages, self.rows)


class Cut(Word):
    """One cut, and what may be found after it."""

    where: str
    image: Image
    is_under_way: bool
    """A commit was: its state may be found, too."""
    is_acknowledged: bool
    """The commit under way was acknowledged all the same: nothing but its state may be found."""


class CutTally:
    """Counts of a campaign."""

    def __init__(self) -> None:
        self.lives = self.commits = self.cuts = self.close_looks = self.second_cuts = 0
        self.refused = self.failed_syncs = 0
        self.harms: Counter[str] = Counter()
        self.operations: Counter[str] = Counter()
        self.first_harm = ""
        self.trace = sha256()

    def note(self, case: Cut, found: Inspection) -> None:
        """What was found after the cut."""
        self.trace.update(f"{case.where} {found.harm}\n".encode())
        if found.harm is not None:
            self.harms[found.harm] += 1
            self.first_harm = self.first_harm or f"{found.harm} {case.where}: {found.why}"


class Judge:
    """Of the cuts of one store."""

    def __init__(self, tally: CutTally, first: CommittedState, names: list[str]) -> None:
        self._tally = tally
        self._truths = [first]
        self._names = names
        self._expected = ""
        self._open: dict[tuple[str, bool, bool], list[Cut]] = {}
        """Cases that wait for the coming state, by digest, kind of digest and what is allowed."""

    def hear(self, case: Cut, found: Inspection, *, is_rows: bool) -> None:
        """A cut and what was found, in pages or `is_rows`."""
        last = self._truths[-1]
        if found.harm is None and found.digest == (last.rows if is_rows else last.pages):
            self._settle(case, _lost() if case.is_acknowledged else found, last)
        elif found.harm is None and case.is_under_way:
            key = (found.digest, is_rows, case.is_acknowledged)
            self._open.setdefault(key, []).append(case)
        elif is_rows or found.harm is not None:
            self._settle(case, self._verdict(found, {last.rows}), last)
        else:
            found = look_at_rows(case.image, self._names)
            self._settle(case, self._verdict(found, {last.rows}), last)

    def expect(self, rows: str) -> None:
        """The commit under way failed, and may be found all the same until `learn`."""
        self._expected = rows

    def forgo(self) -> None:
        """The commit under way was refused: what was there is what must be there."""
        self.learn(self._truths[-1])

    def learn(self, truth: CommittedState) -> None:
        """A commit returned: what it stored is what must be there now."""
        last = self._truths[-1]
        self._truths.append(truth)
        waiting, self._open = self._open, {}
        allowed = {last.rows, truth.rows, self._expected}
        self._expected = ""
        for (digest, is_rows, is_acknowledged), cases in waiting.items():
            found = Inspection(digest)
            if digest != (truth.rows if is_rows else truth.pages):
                if not is_rows:
                    found = look_at_rows(cases[0].image, self._names)
                found = self._verdict(found, {truth.rows} if is_acknowledged else allowed)
            for case in cases:
                self._settle(case, found, truth if truth.is_seen_as(digest) else last)

    def _verdict(self, found: Inspection, allowed: set[str]) -> Inspection:
        if found.harm is not None or found.digest in allowed:
            return found
        if any(truth.is_seen_as(found.digest) for truth in self._truths):
            return _lost()
        return Inspection(harm=Harm.ALTERED, why="a state that never was")

    def _settle(self, case: Cut, found: Inspection, truth: CommittedState) -> None:
        if found.harm is None and lacks_a_payload(case.image, truth.payloads):
            found = Inspection(harm=Harm.PAYLOAD_LOST, why="the spool lacks what a row names")
        self._tally.note(case, found)


def _lost() -> Inspection:
    return Inspection(harm=Harm.LOST, why="the store is as it was at an earlier commit")
