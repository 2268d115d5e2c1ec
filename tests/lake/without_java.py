"""Runs commands in a process of its own, in which no Java may start: cases in, outcomes out.

`python without_java.py MARK` reads a JSON list of argument lists, and answers with
[exit code, stderr, whether MARK is there] for each. A lease that is to be held is the first member
of a case that begins with `lease:`.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

from click.testing import CliRunner

from onceonly.cli.main import cli
from onceonly.lake import lease


def outcome(case: list[str], mark: Path) -> tuple[int, str, bool]:
    with ExitStack() as held:
        if case[0].startswith("lease:"):
            held.enter_context(lease.ingesting(case[0].removeprefix("lease:")))
            case = case[1:]
        found = CliRunner().invoke(cli, case)
    was_started = mark.exists()
    mark.unlink(missing_ok=True)
    return found.exit_code, found.stderr or repr(found.exception), was_started


if __name__ == "__main__":
    cases = json.load(sys.stdin)
    json.dump([outcome(case, Path(sys.argv[1])) for case in cases], sys.stdout)
