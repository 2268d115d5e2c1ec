"""Under `--conformance`: what each statement's tests said, as a table, as JSON, and as a page."""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from generator.conformance import (
    PAGE,
    ROOT,
    Mark,
    Statement,
    page,
    read_marks,
    read_statements,
    rulings_of,
)

SHOWN_MAX = 5
"""Tests that a complaint names: enough to see which."""

RESULTS = ROOT / "build" / "conformance.json"


class ConformanceRun:
    """Gathers the markers of the collected tests and what became of those tests."""

    def __init__(self) -> None:
        self._marks: set[Mark] = set()
        self._outcomes: dict[str, set[str]] = defaultdict(set)
        self._is_whole = False
        self._trouble: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take down who says to show what."""
        for item in session.items:
            for marker in item.iter_markers("statement"):
                ruling = marker.kwargs.get("ruling") or ""
                for id_ in marker.args:
                    self._marks.add(Mark(id_, _test(item.nodeid), ruling))
        written = set(read_marks())
        self._is_whole = self._marks == written
        if not self._is_whole:
            apart = sorted({mark.test for mark in self._marks ^ written})
            shown = ", ".join(apart[:SHOWN_MAX])
            self._trouble.append(f"{len(apart)} marked tests are not in this run: {shown}")
        unknown = {mark.id for mark in self._marks} - set(read_statements())
        if unknown:
            self._trouble.append(f"no statements: {sorted(unknown)}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take down what a test said, in any of its phases."""
        if report.when == "call" or report.outcome != "passed":
            self._outcomes[_test(report.nodeid)].add(report.outcome)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the JSON and the page; a failed or untested statement fails the run."""
        if session.config.option.collectonly:
            return
        marks = sorted(self._marks)
        self._results = {id_: self._result_of(id_) for id_ in read_statements()}
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(self._summary(marks), indent=1) + "\n", "utf-8")
        if self._is_whole:
            PAGE.parent.mkdir(exist_ok=True)
            PAGE.write_text(page(self._results, marks), "utf-8")
        bad = [id_ for id_, result in self._results.items() if result in ("failed", "untested")]
        if bad or self._trouble:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def _tests_of(self, id_: str) -> list[str]:
        return sorted({mark.test for mark in self._marks if mark.id == id_})

    def _outcome_of(self, test: str) -> str:
        outcomes = self._outcomes[test] or {"failed"}  # not reached: the run was cut short
        if "failed" in outcomes:
            return "failed"
        return "passed" if "passed" in outcomes else "skipped"

    def _result_of(self, id_: str) -> str:
        outcomes = {self._outcome_of(test) for test in self._tests_of(id_)}
        for outcome in ("failed", "passed", "skipped"):
            if outcome in outcomes:
                return outcome
        return "not built" if read_statements()[id_].not_built else "untested"

    def _summary(self, marks: list[Mark]) -> dict[str, Any]:
        statements = [self._entry(one, marks) for one in read_statements().values()]
        results = [one["result"] for one in statements]
        counts = {word: results.count(word) for word in ("passed", "failed", "untested")}
        return {"statements": statements, **counts}

    def _entry(self, statement: Statement, marks: list[Mark]) -> dict[str, Any]:
        result = self._results[statement.id]
        is_run = result in ("passed", "failed")
        reason = {} if is_run else {"reason": statement.not_built or result}
        return {
            "id": statement.id,
            "tests": self._tests_of(statement.id),
            "result": result if is_run else "untested",
            "ruling": rulings_of(statement, marks) or None,
            **reason,
        }

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, and what is wrong with the run as a whole."""
        if terminalreporter.config.option.collectonly:
            return
        write = terminalreporter.write_line
        write("")
        for statement in read_statements().values():
            head = f"{statement.id:<7}{statement.level:<8}{statement.profile:<28}"
            tests = self._tests_of(statement.id) or [statement.not_built or "no test"]
            for n, test in enumerate(tests):
                outcome = self._outcome_of(test) if "::" in test else self._results[statement.id]
                write(f"{head if n == 0 else ' ' * len(head)}{test}  {outcome}")
        counts = list(self._results.values())
        write(", ".join(f"{counts.count(word)} {word}" for word in sorted(set(counts))))
        write(f"{RESULTS.relative_to(ROOT)} and {PAGE.relative_to(ROOT)} are written")
        for trouble in self._trouble:
            write(f"NOT IN ORDER: {trouble}")


def _test(nodeid: str) -> str:
    """The test without its parameters, which may have brackets in them."""
    return nodeid.partition("[")[0]
