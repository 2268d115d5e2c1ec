"""What `docs/how-to/console.md` shows: its pages exist, its lines are read, its command runs."""

import re
import shlex
from pathlib import Path

import click
import pytest

from onceonly.cli.main import cli
from onceonly.console.application import NAVIGATION
from onceonly.console.exports import EXPORT_MAX
from onceonly.console.pages.messages import KEYS, query_of
from onceonly.console.query_line import read_line
from onceonly.console.rendering import ROOT
from onceonly.console.sessions import IDLE_S, LIFETIME_S

ROOT_FOLDER = Path(__file__).parents[2]
PAGE = (ROOT_FOLDER / "docs/how-to/console.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
ADDRESS, LINES = (text for kind, text in BLOCKS if kind == "text")
[COMMAND] = (text for kind, text in BLOCKS if kind == "sh")


def test_the_pages_are_those_of_the_navigation():
    """In their order."""
    table = PAGE[PAGE.index("## The pages") : PAGE.index("## Find messages")]
    named = re.findall(r"^\| (\w[\w ]*) \|", table, re.MULTILINE)
    assert named[1:] == [title for _, title in NAVIGATION]


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_each_line_is_read(line):
    """By the console, and into a question that the API takes."""
    assert query_of(read_line(line, KEYS), after=0, limit=10).order == "newest"


def test_the_address_is_the_consoles():
    """At the API's default port."""
    assert ADDRESS.strip() == f"http://127.0.0.1:8411{ROOT}/"


def test_the_command_is_read():
    """By the command line."""
    program, *arguments = shlex.split(COMMAND)
    assert program == "onceonly"
    group: click.Command = cli
    while isinstance(group, click.Group):
        found = group.get_command(click.Context(group), arguments[0])
        assert found is not None
        group, arguments = found, arguments[1:]
    _, rest, _ = group.make_parser(click.Context(group)).parse_args(arguments)
    assert rest == []


def test_the_numbers_are_those_of_the_code():
    """An hour, twelve hours, a million rows."""
    assert (IDLE_S, LIFETIME_S) == (3_600, 12 * 3_600)
    assert f"{EXPORT_MAX:,}" in PAGE


def test_the_pictures_are_there():
    """Made by `pytest tests/console --pictures`."""
    for picture in re.findall(r"\]\(\.\./(images/[^)]+)\)", PAGE):
        assert (ROOT_FOLDER / "docs" / picture).stat().st_size > 10_000
