"""`make mutants`: plants every bug of the catalogue and hunts it with seeds until it shows.

    mutant_run.py [--seeds N] [--from SEED] [--processes N] [--out FILE] [NAME ...]

Prints a table and writes build/mutants.json. Exit code 1 where a mutant survived, or where one that
was argued to be equivalent did not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from mutant import Mutant, plant
from mutant_catalogue import MUTANTS

ROOT = Path(__file__).parents[3]
SEEDS = 10_000
EQUIVALENT_SEEDS = 300
"""Enough to catch an argument that is plainly wrong; a proof is in words."""

HUNT_S = 3_600.0
"""Longest hunt; a mutant that hangs a world is no killed mutant."""


class Outcome(NamedTuple):
    """What became of one mutant."""

    planted: Mutant
    killed_by: tuple[str, ...]
    """The invariants that the killing world violated."""
    seeds: int
    """Worlds that it took, the killing one among them."""
    seconds: float
    text: str

    @property
    def word(self) -> str:
        """Killed, survived or equivalent."""
        if self.killed_by:
            return "killed"
        return "equivalent" if self.planted.is_equivalent_because else "survived"

    @property
    def is_surprise(self) -> bool:
        """Whether somebody has to look at it."""
        return bool(self.killed_by) == bool(self.planted.is_equivalent_because)


def hunt(source: Path, first: int, last: int) -> dict[str, Any]:
    """Run worlds of the product under `source` in a process of their own."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
    command = [sys.executable, str(Path(__file__).parent / "hunt.py"), str(first), str(last)]
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=HUNT_S
    )
    if ended.returncode != 0:
        last_words = ended.stderr.strip().splitlines() or ["no word"]
        return {"seed": first, "killed_by": ["crash"], "text": last_words[-1]}
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def try_one(planted: Mutant, first: int, seeds: int) -> Outcome:
    """Plant it and hunt it. A seed at which the product itself is in trouble kills nothing."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as under:
        clean, copy = plant(planted, Path(under))
        at, last = first, first + (EQUIVALENT_SEEDS if planted.is_equivalent_because else seeds)
        while at < last:
            found = hunt(copy, at, last)
            seed = found["seed"]
            if seed is None:
                break
            if not hunt(clean, seed, seed + 1)["killed_by"]:
                seconds = time.monotonic() - began
                by = tuple(found["killed_by"])
                return Outcome(planted, by, seed - first + 1, seconds, found["text"])
            at = seed + 1
    return Outcome(planted, (), last - first, time.monotonic() - began, "")


def table(outcomes: Sequence[Outcome]) -> str:
    """A line per mutant, and what they come to."""
    lines = [f"{'mutant':32} {'must':6} {'fate':10} {'by':22} {'seeds':>6} {'s':>6}"]
    for one in outcomes:
        by = ",".join(one.killed_by)[:22]
        lines.append(
            f"{one.planted.name:32} {one.planted.invariant:6} {one.word:10} {by:22}"
            f" {one.seeds:6} {one.seconds:6.1f}"
        )
    killed = [one.seeds for one in outcomes if one.killed_by]
    words = [one.word for one in outcomes]
    lines.append(
        f"{len(outcomes)} mutants: {words.count('killed')} killed, {words.count('survived')} "
        f"survived, {words.count('equivalent')} equivalent; median "
        f"{median(killed) if killed else 0:g} seeds, most {max(killed, default=0)}"
    )
    return "\n".join(lines)


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The result file."""
    words = [one.word for one in outcomes]
    killed = [one.seeds for one in outcomes if one.killed_by]
    return {
        "mutants": [
            {
                "name": one.planted.name,
                "invariant": one.planted.invariant,
                "killed": bool(one.killed_by),
                "seeds": one.seeds,
                "killed_by": list(one.killed_by),
                "seconds": round(one.seconds, 1),
                "where": [edit.where for edit in one.planted.edits],
                "why": one.planted.why,
                "equivalent_because": one.planted.is_equivalent_because or None,
                "text": one.text,
            }
            for one in outcomes
        ],
        "killed": words.count("killed"),
        "survived": words.count("survived"),
        "equivalent": words.count("equivalent"),
        "median_seeds": median(killed) if killed else None,
    }


def _show(outcome: Outcome) -> Outcome:
    mark = "!" if outcome.is_surprise else " "
    by = ",".join(outcome.killed_by)
    sys.stderr.write(f"{mark} {outcome.planted.name}: {outcome.word} {by} after {outcome.seeds}\n")
    return outcome


def main(words: Sequence[str]) -> int:
    """Run the mutants that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.json")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args(words)
    wanted = [one for one in MUTANTS if not chosen.names or one.name in chosen.names]
    task = partial(try_one, first=chosen.first, seeds=chosen.seeds)
    with ThreadPoolExecutor(chosen.processes) as pool:
        outcomes = [_show(one) for one in pool.map(task, wanted)]
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(as_json(outcomes), indent=1) + "\n")
    sys.stdout.write(table(outcomes) + "\n")
    return int(any(one.is_surprise for one in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
