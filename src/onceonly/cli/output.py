"""Data on stdout, a table for people, one JSON document for programs; talk on stderr.

Every text of a command goes to the terminal from here, and a test says so: much of it was written
by partners, and nothing in it may steer a terminal or be taken for markup (attack X16).
"""

import io
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, TextIO

import click
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from onceonly.message.printable import printable, printable_json, printable_lines

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
    click.echo(printable_json(json.dumps(value, indent=2, ensure_ascii=False)))


def put(text: Any) -> None:
    """Data: one line on stdout."""
    click.echo(printable(str(text)))


def put_lines(text: str) -> None:
    """Data of our own that has lines."""
    click.echo(printable_lines(text.removesuffix("\n")))


def put_bytes(data: bytes) -> None:
    """Data that is a partner's, as it is: never on a terminal, which it could steer (X16)."""
    assert not is_terminal(), "who asks for bytes is told to send them elsewhere"
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def is_terminal() -> bool:
    """Whether data goes to a terminal."""
    return sys.stdout.isatty()


def print_rows(rows: Sequence[JSON], columns: Sequence[str], output: str) -> None:
    """The rows: unchanged in JSON; the named columns in a table."""
    if output == "json":
        print_json(list(rows))
        return
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(_cell(row.get(column)) for column in columns))
        return
    # On a terminal nothing is cut: what is too long is folded, and last of all an instant.
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    columns = [name for name in columns if any(_cell(row.get(name)) for row in rows)]
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in _INSTANTS)
    for row in rows:
        table.add_row(*(Text(_cell(row.get(column))) for column in columns))
    Console().print(table)


_INSTANTS = ("at", "submitted_at", "received_at", "opened_at", "resolved_at", "released_at")

_TRACE_COLUMNS = ("at", "event", "attempt", "outcome", "status_code", "error_code", "reason")
_SAID = _TRACE_COLUMNS[3:]


def print_trace(timeline: Sequence[JSON], output: str) -> None:
    """The rows of a journal; on a terminal, all that was said in one column, which has the room."""
    if output == "json" or not sys.stdout.isatty():
        print_rows(timeline, _TRACE_COLUMNS, output)
        return
    rows = [{**row, "#": row.get("attempt"), "said": _said_in(row)} for row in timeline]
    print_rows(rows, ("at", "event", "#", "said"), output)


def _said_in(row: JSON) -> str:
    """`refused 404 Not Found`: a status that its phrase begins with is not said twice."""
    cells = [_cell(row.get(column)) for column in _SAID]
    status, reason = _cell(row.get("status_code")), _cell(row.get("reason"))
    if status and reason.startswith(f"{status} "):
        cells.remove(status)
    return " ".join(filter(None, cells))


def words_of_outcome(found: JSON) -> str | None:
    """The last outcome of a message or a pair in words."""
    last: JSON | None = found.get("last_outcome")
    return None if last is None else last["words"]


def print_fields(value: JSON, output: str) -> None:
    """One noun: its fields, or the JSON document."""
    if output == "json":
        print_json(value)
        return
    for name, field in value.items():
        if field is not None and not isinstance(field, list | dict):
            click.echo(f"{name:16} {_cell(field)}")


def _cell(value: Any) -> str:
    return "" if value is None else printable(str(value))


def talk() -> Console:
    """Where talk goes; it knows what draws there how far work is, and keeps lines clear of it."""
    return _console(sys.stderr)


@lru_cache(maxsize=1)
def _console(stream: TextIO) -> Console:
    return Console(file=stream)


def say(text: str) -> None:
    """Talk: one line on stderr; names and comments in it may be a stranger's (attack X16)."""
    talk().print(Text(printable(text)), soft_wrap=True)


def inert(text: str) -> Text:
    """The text for rich: what looks like markup in it is none."""
    return Text(printable(text))


def waiting(text: str) -> Status:
    """A spinner with the text while the `with` lasts; nothing where there is no terminal."""
    return talk().status(inert(text))


def complain(error: click.ClickException) -> None:
    """What ended the command, on stderr: one line, or several where click explains the usage."""
    said = io.StringIO()
    if isinstance(error, click.UsageError):
        error.show(said)
        click.echo(printable_lines(said.getvalue()), err=True, nl=False)
    else:
        click.echo(f"Error: {printable(error.format_message())}", err=True)


def complain_of_bug(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """`sys.excepthook`: a traceback ends in a text that a partner may have written."""
    lines = "".join(traceback.format_exception(kind, error, trace))
    click.echo(printable_lines(lines), err=True, nl=False)
