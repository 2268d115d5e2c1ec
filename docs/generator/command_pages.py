"""Reference: the command line as it describes itself, and its exit codes."""

from collections.abc import Iterator

import click

from generator.words import table
from onceonly.cli.exits import MEANINGS
from onceonly.cli.main import cli

WIDTH = 100

INTRODUCTION = """# Command line

Data goes to stdout and messages to stderr, so a pipe gets only data. `-o json` prints one JSON
document. Where the text of a command names them, `-o jsonl` prints a JSON object per line, and
`-o csv` rows for a spreadsheet. On a terminal, tables have headings; in a pipe they are
tab-separated rows. Commands that talk to a gateway find it by `-c FILE`, its own configuration
file, or by `--api URL`.

What the [exit codes](exit-codes.md) mean is the same for every command.
"""

EXIT_CODES = """# Exit codes

What a script can read from `$?`. If a command waits for several messages, the greatest code counts.

"""


def command_line() -> str:
    """One section per command, with the text that `--help` prints."""
    sections = [
        f"## `{path}`\n\n```text\n{text}\n```\n" for path, text in _helps(cli, "onceonly", None)
    ]
    return "\n".join([INTRODUCTION, *sections])


def exit_codes() -> str:
    """The table of exit codes."""
    rows = ((f"`{code.value}`", meaning) for code, meaning in MEANINGS.items())
    return EXIT_CODES + table(("Code", "Meaning"), rows)


def _helps(
    command: click.Command, path: str, parent: click.Context | None
) -> Iterator[tuple[str, str]]:
    settings = dict(command.context_settings)
    settings.update(terminal_width=WIDTH, max_content_width=WIDTH)
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent, **settings)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None, f"{name} is listed"
            yield from _helps(child, f"{path} {name}", context)
