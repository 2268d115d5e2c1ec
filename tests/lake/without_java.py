"""Runs commands in a process of its own, in which no Java may start: cases in, outcomes out.

`python without_java.py MARK` reads a JSON list of argument lists, and answers with
[exit code, stderr, whether MARK is there] for each. A lease that is to be held meanwhile is the
first member of a case, which begins with `lease:` or `tables:`.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

from click.testing import CliRunner

from onceonly.cli.main import cli
from onceonly.lake import lease

_LEASES = {"lease": lease.ingesting, "tables": lease.tabling}


def outcome(case: list[str], mark: Path) -> tuple[int, str, bool]:
    with ExitStack() as held:
        kind, _, folder = case[0].partition(":")
        if kind in _LEASES:
            held.enter_context(_LEASES[kind](folder))
            case = case[1:]
        found = CliRunner().invoke(cli, case)
    was_started = mark.exists()
    mark.unlink(missing_ok=True)
    return found.exit_code, found.stderr or repr(found.exception), was_started


if __name__ == "__main__":
    cases = json.load(sys.stdin)
    json.dump([outcome(case, Path(sys.argv[1])) for case in cases], sys.stdout)
