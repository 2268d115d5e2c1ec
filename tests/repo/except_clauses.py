"""Lists the except clauses that no test has entered: `python except_clauses.py DATA SOURCES`.

DATA is a folder of what coverage.py wrote, one file per process, SOURCES one of Python files. An
error path that never ran is an error path that nobody knows; the promise of this product is made
of them. A clause that no test can enter says why on its own line: `# pragma: no cover because …`.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from coverage import CoverageData
from coverage.exceptions import CoverageException

EXCUSE = re.compile(r"# pragma: no cover because \S+")


class Clause(NamedTuple):
    """One `except` of a file; it was entered if the first line of its body was executed.

    Its own line says nothing: that runs whenever an error passes by, whether it fits or not.
    """

    line: int
    text: str
    body_line: int

    @property
    def is_excused(self) -> bool:
        """Whether its line says why no test can enter it."""
        return EXCUSE.search(self.text) is not None


def clauses(source: str) -> Iterator[Clause]:
    """Every except clause of a file, in the order of a walk over its tree."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            yield Clause(node.lineno, lines[node.lineno - 1].strip(), node.body[0].lineno)


def never_entered(source: str, executed: set[int]) -> list[Clause]:
    """The clauses of a file that neither ran, by the lines that did, nor say why not."""
    return [
        clause
        for clause in clauses(source)
        if clause.body_line not in executed and not clause.is_excused
    ]


def executed_lines(data_files: Iterable[Path], sources: Iterable[Path]) -> Mapping[Path, set[int]]:
    """The lines of each source that ran in any process.

    A process that was forked while it was traced can tell lines of one file as another's. One that
    tells of lines which a file does not have is not believed at all. One that was killed while it
    wrote has told nothing.
    """
    lengths = {file: len(file.read_text("utf-8").splitlines()) for file in sources}
    executed: dict[Path, set[int]] = defaultdict(set)
    for data_file in data_files:
        data = CoverageData(basename=str(data_file))
        try:
            data.read()
        except CoverageException:
            continue
        lines = {file: set(data.lines(str(file.resolve())) or ()) for file in lengths}
        if all(max(found, default=0) <= lengths[file] for file, found in lines.items()):
            for file, found in lines.items():
                executed[file] |= found
    return executed


def report(executed: Mapping[Path, set[int]], sources: Iterable[Path]) -> int:
    """Prints what was never entered; returns how many that are."""
    total = missed = excused = 0
    for file in sources:
        source = file.read_text("utf-8")
        for clause in never_entered(source, executed.get(file, set())):
            print(f"{file}:{clause.line}: {clause.text}")  # noqa: T201 - because this is a command
            missed += 1
        found = list(clauses(source))
        total += len(found)
        excused += sum(clause.is_excused for clause in found)
    says = f"{total} except clauses: {excused} excused, {missed} of the others never entered"
    print(says)  # noqa: T201 - because this is a command
    return missed


def main() -> int:
    """Exit code 1 if a clause was never entered."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("sources", type=Path)
    given = arguments.parse_args()
    sources = sorted(given.sources.rglob("*.py"))
    executed = executed_lines(sorted(given.data.iterdir()), sources)
    return int(report(executed, sources) > 0)


if __name__ == "__main__":
    sys.exit(main())
