"""What the commands that list and count have in common."""

from collections.abc import Callable
from typing import Any

import click

from onceonly.api.lists import Count
from onceonly.cli.output import print_fields, put, say


def newest_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--newest`, of every list."""
    return click.option("--newest", is_flag=True, help="The newest first.")(command)


def all_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--all`, of every list."""
    help_text = "All of them, whatever --limit says."
    return click.option("--all", "everything", is_flag=True, help=help_text)(command)


def print_count(found: Count, output: str) -> None:
    """The number; on stderr, where there may be more."""
    if output != "table":
        print_fields(found, output)
        return
    put(found.count)
    if found.is_more:
        say("perhaps more: the count stopped here; ask for less to know")
