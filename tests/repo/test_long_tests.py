"""A merge asks for a quarter of the long tests; no test is left out for ever."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

SHARE = 4


def test_every_long_test_is_in_one_of_the_shares(root: Path):
    """The commit chooses which, and all together are all of them."""
    spec = importlib.util.spec_from_file_location("tests_conftest", root / "tests/conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = [f"test_{number}" for number in range(10)]
    shares = [module.share_of(names, SHARE, f"{commit:x}") for commit in range(0x1000, 0x1004)]
    assert sorted(name for share in shares for name in share) == sorted(names)


def test_only_long_tests_are_left_out(root: Path):
    """Of a file with both."""
    listed, left_out = _listed(root, "--long-share", str(SHARE))
    short, _ = _listed(root, "-m", "not long")
    assert left_out
    assert short < listed


def test_what_pages_call_tested_with_every_commit_is_never_left_out(
    root: Path, pages: dict[str, str]
):
    """A file of tests that such a line names has no long ones."""
    lines = [line for page in pages.values() for line in page.splitlines()]
    claims = [line for line in lines if "every commit" in line]
    named = {name for line in claims for name in re.findall(r"tests/[\w/]+\.py", line)}
    assert named
    assert [name for name in sorted(named) if "mark.long" in (root / name).read_text()] == []


def _listed(root: Path, *chosen: str) -> tuple[set[str], bool]:
    """The tests of a file that would be run, and whether there are others."""
    how = ["-o", "addopts=--import-mode=importlib", "-q", "--collect-only", *chosen]
    said = subprocess.run(
        [sys.executable, "-m", "pytest", *how, "tests/store/test_list_plans.py"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {line for line in said.splitlines() if "::" in line}, "deselected" in said
