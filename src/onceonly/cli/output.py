"""Data on stdout: a table for people, one JSON document for programs."""

import json
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TextIO

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

JSON = dict[str, Any]


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`-o table|json`, on every command that prints data."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(("table", "json")),
        default="table",
        show_default=True,
        envvar="ONCEONLY_OUTPUT",
        help="How to print the data on stdout.",
    )(command)


def limit_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--limit N`, on every command that prints a list."""
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        default=100,
        show_default=True,
        help="Most messages to print.",
    )(command)


def print_json(value: Any) -> None:
    """One JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_rows(rows: Sequence[JSON], columns: Sequence[str], output: str) -> None:
    """The rows: as they are for JSON, their named columns for a table."""
    if output == "json":
        print_json(list(rows))
        return
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(printable(row.get(column)) for column in columns))
        return
    table = Table(*columns, box=None, header_style="bold")
    for row in rows:
        table.add_row(*(Text(printable(row.get(column))) for column in columns))
    Console().print(table)


def print_fields(value: JSON, output: str) -> None:
    """One noun: its fields, or the JSON document."""
    if output == "json":
        print_json(value)
        return
    for name, field in value.items():
        if field is not None and not isinstance(field, list | dict):
            click.echo(f"{name:16} {printable(field)}")


def printable(value: Any) -> str:
    """The value as one line that steers no terminal, whoever wrote it (attack X16)."""
    text = "" if value is None else str(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def talk() -> Console:
    """Where talk goes; it knows what draws there how far work is, and keeps lines clear of it."""
    return _console(sys.stderr)


@lru_cache(maxsize=1)
def _console(stream: TextIO) -> Console:
    return Console(file=stream)


def say(text: str) -> None:
    """Talk: one line on stderr; names and comments in it may be a stranger's (attack X16)."""
    talk().print(Text(printable(text)), soft_wrap=True)
