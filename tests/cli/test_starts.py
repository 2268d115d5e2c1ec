"""A command loads what it needs, and nothing of the other commands."""

import subprocess
import sys

import click
import pytest

from onceonly.cli.main import BELOW, COMMANDS, cli

LOADED = "import sys; from onceonly.cli import main\ntry: main()\nfinally: print(*sys.modules)"
CALLS = "onceonly.client"
PROVES = "onceonly.evidence"
SERVES = "onceonly.gateway"


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        (["--version"], {CALLS, PROVES, SERVES}),
        (["version"], {CALLS, PROVES, SERVES}),
        (["serve", "--help"], {CALLS, PROVES, SERVES}),
        (["simulate", "--help"], {CALLS, PROVES, SERVES}),
        (["message", "list", "--help"], {PROVES, SERVES}),
        (["--help"], {SERVES}),
    ],
    ids=" ".join,
)
def test_a_start_loads_nothing_of_other_commands(words: list[str], unneeded: set[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True
    )
    assert unneeded.isdisjoint(result.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("group", "names"), [((), COMMANDS), *(((name,), below) for name, below in BELOW.items())]
)
def test_a_command_is_called_as_the_table_says(group: tuple[str, ...], names: dict[str, str]):
    found: click.Command = cli
    for name in group:
        assert isinstance(found, click.Group)
        found = found.commands[name]
    assert isinstance(found, click.Group)
    assert {name: found.commands[name].name for name in names} == {name: name for name in names}
