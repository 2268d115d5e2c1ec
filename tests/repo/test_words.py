"""Which values of the rings are tuples: those that are meant to be, and no other."""

import ast
from pathlib import Path

RINGS = (
    "message",
    "api",
    "protocol",
    "wire",
    "journal",
    "store",
    "transport",
    "steps",
    "gateway",
    "simulation",
)
MEANT = {"Pair", "MessageKey", "Key"}
"""Keys: of the store's rows, where a key is its columns, and of the configuration's file."""


def tuples_in(text: str) -> list[str]:
    """Names of the classes that are named tuples."""
    classes = (one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.ClassDef))
    return [one.name for one in classes if "NamedTuple" in map(ast.unparse, one.bases)]


def test_a_word_is_no_tuple(root: Path) -> None:
    """Two named tuples of the same fields are equal, whatever they are called."""
    files = [file for ring in RINGS for file in (root / "src/onceonly" / ring).rglob("*.py")]
    assert {name for file in files for name in tuples_in(file.read_text("utf-8"))} == MEANT


def test_a_tuple_that_is_not_meant_is_found() -> None:
    """By its base, whatever else the module has."""
    planted = "class Kept(Word):\n    at: int\n\n\nclass Planted(NamedTuple):\n    at: int\n"
    assert tuples_in(planted) == ["Planted"]
