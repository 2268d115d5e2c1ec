"""What a run of the nemesis counted: lines for whoever watches, and JSON for the documentation.

As a program it makes one file of those that the runs side by side wrote:
`python nemesis_figures.py PARTS OUT`.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Say(Protocol):
    """Prints a line of summary; the figures beside it are kept."""

    def __call__(self, text: str, **figures: int) -> None: ...


class Said(NamedTuple):
    """One line of one test."""

    test: str
    text: str
    figures: dict[str, int]


def as_json(said: Iterable[Said], **run: Any) -> dict[str, Any]:
    """The document: about the run, the sums over all tests, and every line."""
    lines = [one._asdict() for one in said]
    return {**run, "sums": _sums(lines), "lines": lines}


def _sums(lines: Iterable[dict[str, Any]]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for line in lines:
        sums.update(line["figures"])
    return dict(sorted(sums.items()))


def merge(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One document of several: they ran side by side, so the longest one's time is the time."""
    parts = list(parts)
    lines = [line for part in parts for line in part["lines"]]
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part["tests"])
    return {
        "seed": parts[0]["seed"],
        "cycles": parts[0]["cycles"],
        "seconds": max(part["seconds"] for part in parts),
        "tests": dict(counts),
        "sums": _sums(lines),
        "lines": lines,
    }


def write(path: Path, document: dict[str, Any]) -> None:
    """With a folder of its own, in an order that is the same every time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    folder, out = map(Path, sys.argv[1:])
    write(out, merge(json.loads(part.read_text("utf-8")) for part in sorted(folder.glob("*.json"))))
