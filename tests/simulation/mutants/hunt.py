"""Runs worlds of the product that it finds on its path until one of them shows a violation.

Called as a process of its own, `hunt.py FIRST LAST`, with the path of a mutant's copy. Prints one
JSON object: how many seeds it ran, and what it found at which one.
"""

import json
import sys
from typing import Any

from onceonly.simulation.campaign.worlds import run_range


def hunt(first: int, last: int) -> dict[str, Any]:
    """The first seed of the range that shows the bug, and by which invariant."""
    seed = first
    try:
        for result in run_range(first, last):
            seed = result.seed
            if result.violations:
                found = result.violations[0]
                by = sorted({one.invariant for one in result.violations})
                return {"seed": seed, "killed_by": by, "text": found.text}
            seed += 1
    except Exception as error:  # noqa: BLE001 - because every exception of a mutant shows it
        # An exception out of a world is as good as a violation: the code cannot go on.
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return {"seed": seed, "killed_by": [type(error).__name__], "text": str(error)}
    return {"seed": None, "killed_by": [], "text": ""}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(hunt(int(sys.argv[1]), int(sys.argv[2]))) + "\n")
