"""Data on stdout, a table for people, one JSON document for programs; talk on stderr.

Every text of a command goes to the terminal from here, and a test says so: much of it was written
by partners, and nothing in it may steer a terminal or be taken for markup (attack X16).
"""

import csv
import io
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, TextIO

import click
from msgspec import to_builtins
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from onceonly.api.history import JournalRow
from onceonly.api.messages import MessageDetail
from onceonly.api.operating import PartnerPair
from onceonly.export import csv_cell
from onceonly.message.printable import printable, printable_json, printable_lines
from onceonly.message.word import Word

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


def rows_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`-o table|json|jsonl|csv`, on most commands that print a list."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(("table", "json", "jsonl", "csv")),
        default="table",
        show_default=True,
        envvar="ONCEONLY_OUTPUT",
        help="How to print the rows on stdout; csv has a head line, and every column.",
    )(command)


def limit_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--limit N`, on every command that prints a list."""
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        default=100,
        show_default=True,
        help="Most of them to print.",
    )(command)


def members(value: Word) -> JSON:
    """The members that a value of the API has in JSON, in their order."""
    found: JSON = to_builtins(value)
    return found


def print_json(value: Any) -> None:
    """One JSON document."""
    click.echo(printable_json(json.dumps(to_builtins(value), indent=2, ensure_ascii=False)))


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


def print_rows(given: Sequence[JSON | Word], columns: Sequence[str], output: str) -> None:
    """The rows: unchanged in JSON; the named columns in a table."""
    if output == "json":
        print_json(list(given))
        return
    rows: list[JSON] = to_builtins(list(given))
    if output == "jsonl":
        for row in rows:
            click.echo(printable_json(json.dumps(row, ensure_ascii=False)))
        return
    if output == "csv":
        print_csv(rows, columns)
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


def print_csv(rows: Sequence[JSON], columns: Sequence[str]) -> None:
    """The rows as RFC 4180 has them: a head line, then all their members, the named ones first.

    A list or an object is JSON in its cell. A text that a spreadsheet would take for a formula
    begins with an apostrophe, since partners write texts (attack R15).
    """
    members_of_rows = dict.fromkeys(name for row in rows for name in row)
    known = [name for name in columns if name in members_of_rows or not rows]
    heads = list(dict.fromkeys([*known, *members_of_rows]))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([[_csv_cell(row.get(name)) for name in heads] for row in rows])
    click.echo(written.getvalue(), nl=False)


def _csv_cell(value: Any) -> str:
    if isinstance(value, bool | list | dict):
        return printable_json(json.dumps(value, ensure_ascii=False))
    return csv_cell(value)


_INSTANTS = ("at", "submitted_at", "received_at", "opened_at", "resolved_at", "released_at")

_TRACE_COLUMNS = ("at", "event", "attempt", "outcome", "status_code", "error_code", "reason")
_SAID = _TRACE_COLUMNS[3:]


def print_trace(timeline: Sequence[JournalRow], output: str) -> None:
    """The rows of a journal; on a terminal, all that was said in one column, which has the room."""
    if output != "table" or not sys.stdout.isatty():
        print_rows(timeline, _TRACE_COLUMNS, output)
        return
    found = map(members, timeline)
    rows = [{**row, "#": row.get("attempt"), "said": _said_in(row)} for row in found]
    print_rows(rows, ("at", "event", "#", "said"), output)


def _said_in(row: JSON) -> str:
    """`refused 404 Not Found`: a status that its phrase begins with is not said twice."""
    cells = [_cell(row.get(column)) for column in _SAID]
    status, reason = _cell(row.get("status_code")), _cell(row.get("reason"))
    if status and reason.startswith(f"{status} "):
        cells.remove(status)
    return " ".join(filter(None, cells))


def words_of_outcome(found: MessageDetail | PartnerPair) -> str | None:
    """The last outcome of a message or a pair in words."""
    return None if found.last_outcome is None else found.last_outcome.words


def print_fields(value: JSON | Word, output: str) -> None:
    """One noun: its fields, or the JSON document."""
    if output == "json":
        print_json(value)
        return
    fields: JSON = to_builtins(value)
    for name, field in fields.items():
        if field is not None and not isinstance(field, list | tuple | dict):
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


def alarm(text: str) -> None:
    """Like `say`, in red on a terminal: something that nobody may overlook."""
    talk().print(Text(printable(text), style="bold red"), soft_wrap=True)


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
