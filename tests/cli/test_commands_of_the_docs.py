"""Every `onceonly` command in a code block of the docs exists, with these options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from onceonly.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?:sh|console|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BEFORE = frozenset({"env", "exec", "sudo", "time", "while", "until", "if", "do"})
"""Words after which a command begins."""


def commands(page: Path) -> Iterator[list[str]]:
    for block in BLOCK.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            yield from in_line(line)


def in_line(line: str) -> Iterator[list[str]]:
    """The words of each command in a line, without what the shell takes for itself."""
    try:
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
        lexer.commenters, lexer.whitespace_split = "#", True
        words = list(lexer)
    except ValueError:
        return  # The line goes on in a text that stands between quotes.
    found: list[str] | None = None
    is_begin = True
    for word in [*words, ";"]:
        if word and set(word) <= set("();<>|&"):
            if found:
                yield found
            found, is_begin = None, True
        elif found is not None:
            found.append(word)
        elif is_begin and word == "onceonly":
            found = []
        else:
            is_begin = is_begin and (word in BEFORE or "=" in word)


def parse(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """Raises `click.UsageError` where there is no such command or option."""
    context = click.Context(command, parent=parent, info_name=command.name)
    if isinstance(command, click.Group):
        _, rest, _ = command.make_parser(context).parse_args(list(words))
        if rest:
            name, found, rest = command.resolve_command(context, rest)
            assert found is not None, name
            parse(found, rest, context)
    else:
        command.make_parser(context).parse_args(list(words))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_the_docs_type_can_be_typed(page: Path):
    """A renamed option is found on the page that still has the old name."""
    for words in commands(page):
        if "…" in words or "..." in words or any(word.startswith("[") for word in words):
            continue
        try:
            parse(cli, words)
        except click.UsageError as error:
            pytest.fail(f"onceonly {shlex.join(words)}: {error.message}")


def test_the_pages_are_read():
    """The search finds commands, in a pipe and after an assignment too."""
    assert sum(len(list(commands(page))) for page in PAGES) > 100
    line = "$ TOKEN=x onceonly key list -o json | jq . && onceonly check -c a.toml > out  # said"
    assert list(in_line(line)) == [
        ["key", "list", "-o", "json"],
        ["check", "-c", "a.toml"],
    ]
    with pytest.raises(click.UsageError):
        parse(cli, ["lake", "reconcile", "lake", "--no-such-option"])
