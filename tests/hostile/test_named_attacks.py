"""Every attack and every requirement of the profile `ebms-2.0` has a test that names it.

Attacks are S1 to S44, requirements IR-01 to IR-31 of the specification. A name counts in the name
of a test, in its docstring, or in an id of its parameters, not in what a module says of itself.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FOLDERS = ("ebms2_exchange", "wire", "cpa", "gateway", "hostile", "transport", "store", "interop")
ATTACKS = [f"S{number}" for number in range(1, 45)]
REQUIREMENTS = [f"IR-{number:02}" for number in range(1, 32)]

# S1-05 is a statement of an older profile, and s0 a seed of one.
_WORD = re.compile(r"\bS[1-9]\d?\b(?!-\d)|\bIR-\d\d\b")
_NAME = re.compile(r"(?:^|_)s([1-9]\d?)(?=_)")
_NAME_OF_REQUIREMENT = re.compile(r"(?:^|_)ir_(\d\d)(?=_)")


def names_in(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    about = ast.get_docstring(tree, clean=False)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (f"S{number}" for number in _NAME.findall(node.name))
            yield from (f"IR-{number}" for number in _NAME_OF_REQUIREMENT.findall(node.name))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != about:
            yield from _WORD.findall(node.value)
            yield from (f"IR-{number}" for number in re.findall(r"^ir_(\d\d) ", node.value))


@pytest.fixture(scope="module")
def named() -> set[str]:
    paths = [path for folder in FOLDERS for path in (TESTS / folder).rglob("test_*.py")]
    assert paths
    return {
        name
        for path in paths
        if path != Path(__file__)
        for name in names_in(path.read_text("utf-8"))
    }


@pytest.mark.parametrize("name", ATTACKS + REQUIREMENTS)
def test_every_attack_and_every_requirement_has_a_test(named, name):
    """Without one nobody notices when it is not met any more."""
    assert name in named
