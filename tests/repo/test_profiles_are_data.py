"""Nobody who decides asks which profile it is: a third one would be taken for one of the others.

What differs is asked for as a trait of `Profile`. Two profiles may be compared with each other.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from onceonly.message.profile import PROFILES, Profile

DECIDING = ("gateway", "steps", "protocol")
MEMBERS = {name for name, value in vars(Profile).items() if isinstance(value, Profile)}
NAMES = {profile.name for profile in PROFILES}


def members_named(source: str) -> Iterator[int]:
    """Lines that name one profile of the house, by its member or by its name.

    Whoever compares has to name one, however he spells it; what is free is a default.
    """
    tree = ast.parse(source)
    defaults = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "default"
    }
    for node in ast.walk(tree):
        is_member = isinstance(node, ast.Attribute) and node.attr in MEMBERS
        is_name = isinstance(node, ast.Constant) and node.value in NAMES
        if (is_member or is_name) and id(node) not in defaults:
            yield node.lineno


def test_nobody_asks_which_profile_it_is(root: Path) -> None:
    files = [file for ring in DECIDING for file in (root / "src" / "onceonly" / ring).rglob("*.py")]
    assert len(files) > 50
    found = {str(file): [*members_named(file.read_text("utf-8"))] for file in files}
    assert not {file: lines for file, lines in found.items() if lines}


@pytest.mark.parametrize(
    "planted",
    [
        "if agreement.profile is Profile.RM_2000: pass",
        "late = hop.profile != profile.Profile.RM_2001",
        "old = Profile.RM_2000\nif agreement.profile is old: pass",
        "if agreement.profile in (Profile.RM_2000,): pass",
        "match agreement.profile:\n    case Profile.RM_2001: pass",
        "STEPS = {Profile.RM_2000: step}",
        "if agreement.profile.name == 'rm-2000': pass",
        "if agreement.profile is profile_named('rm-2001'): pass",
    ],
)
def test_who_asks_is_found(planted: str) -> None:
    assert [*members_named(planted)]


@pytest.mark.parametrize(
    "free",
    [
        "if agreement.profile is not profile: raise refused",
        "if agreement.profile.is_numbered: pass",
        "PROFILE = Key('profile', default=Profile.RM_2000)",
    ],
)
def test_what_asks_for_no_member_is_free(free: str) -> None:
    assert not [*members_named(free)]
