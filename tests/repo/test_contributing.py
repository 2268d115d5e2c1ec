"""What editors, commits and trackers are told: it is true, and the repository keeps to it."""

import configparser
from pathlib import Path

import pytest
import yaml

BYTES = ("fuzz/corpus", "tests/golden")
"""Folders of inputs, which no editor may touch."""


def test_every_file_is_as_editors_are_told_to_write_it(root: Path, tracked: list[Path]) -> None:
    """UTF-8, LF, a line end at the end and no blank at a line's; tabs in the Makefile alone."""
    found = []
    for file in tracked:
        name = str(file.relative_to(root))
        if name.startswith(BYTES) or file.suffix == ".png":
            continue
        text = file.read_bytes().decode("utf-8")
        lines = text.split("\n")
        is_kept = (
            "\r" not in text
            and not lines[-1]
            and all(line == line.rstrip() for line in lines)
            and (name == "Makefile" or not any(line.startswith("\t") for line in lines))
        )
        if not is_kept:
            found.append(name)
    assert not found


def test_editors_are_told_what_the_tools_want(root: Path) -> None:
    """The rules for every file, the Makefile's tabs, and the folders where none holds."""
    rules = configparser.ConfigParser()
    rules.read_string("[top]\n" + (root / ".editorconfig").read_text("utf-8"))
    assert rules["*"]["indent_size"] == "4"
    assert rules["Makefile"]["indent_style"] == "tab"
    [unset] = [name for name in rules.sections() if "unset" in rules[name].values()]
    assert unset == f"{{{','.join(BYTES)}}}/**"


def test_a_commit_is_held_against_a_part_of_the_check(root: Path) -> None:
    """Every hook is a line of `make check`, run by the environment of the lock; none is fetched."""
    hooks = yaml.safe_load((root / ".pre-commit-config.yaml").read_text("utf-8"))
    [repository] = hooks["repos"]
    assert repository["repo"] == "local"
    makefile = (root / "Makefile").read_text("utf-8").replace("$(BIN)", ".venv/bin")
    lines = makefile.partition("\ncheck:")[2].partition("\n\n")[0].splitlines()
    for hook in repository["hooks"]:
        assert f"\t{hook['entry']}" in lines
        assert hook["language"] == "system"
        assert hook["pass_filenames"] is False


@pytest.mark.parametrize("name", ["bug", "wish"])
def test_a_template_has_what_trackers_ask_for(root: Path, name: str) -> None:
    """A head in YAML with a name and a sentence, then the text."""
    text = (root / ".github" / "ISSUE_TEMPLATE" / f"{name}.md").read_text("utf-8")
    _, head, body = text.split("---\n", 2)
    assert {"name", "about"} <= set(yaml.safe_load(head))
    assert "**" in body
