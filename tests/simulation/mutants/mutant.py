"""What a mutant is, and how it is planted: in a copy of the product, never in the product.

A mutant is a bug that a person could write: some text of one source file replaced by another. The
text has to stand there exactly once, so that a mutant breaks loudly when the source moves on.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[3] / "src"


class Edit(NamedTuple):
    """`old` stands once in `where`, a path below the package; `new` takes its place."""

    where: str
    old: str
    new: str


class Mutant:
    """A planted bug, and the invariant that has to notice it."""

    def __init__(
        self, name: str, invariant: str, why: str, *edits: Edit, equivalent: str = ""
    ) -> None:
        self.name = name
        self.invariant = invariant
        self.why = why
        """What the bug is, in one sentence."""
        self.edits = edits
        self.is_equivalent_because = equivalent
        """Why nobody outside can tell it from the product, where that is so."""


def mutated(edit: Edit, source: str) -> str:
    """The source with the bug in it."""
    count = source.count(edit.old)
    assert count == 1, f"{edit.where} has the text {count} times, not once: {edit.old!r}"
    return source.replace(edit.old, edit.new)


def plant(planted: Mutant, under: Path) -> tuple[Path, Path]:
    """Two copies of the product below `under`: as it is, and with the bug in it.

    What Python compiled comes along. The first is for telling a bug of ours from the planted one.
    """
    clean, copy = under / "clean", under / planted.name
    shutil.copytree(SOURCE, clean)
    shutil.copytree(clean, copy)
    for edit in planted.edits:
        path = copy / "onceonly" / edit.where
        path.write_text(mutated(edit, path.read_text()))
    return clean, copy
