"""`onceonly message|inbox|journal export`: a list as a file, however long it is."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

from onceonly import export
from onceonly.api.fields import PAGE_MAX
from onceonly.api.history import JournalQuery
from onceonly.api.inbox import InboxQuery
from onceonly.cli.criteria import timed_criteria_options
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.inbox import inbox_criteria
from onceonly.cli.journal import journal_criteria
from onceonly.cli.lists import Options, newest_option, order_of, together
from onceonly.cli.output import inert, is_terminal, put_bytes, say, waiting
from onceonly.cli.times import time_options
from onceonly.client import Client
from onceonly.export import ExportedList, Form, exporter

Fetch = Callable[[int], tuple[Sequence[Any], int | None]]

_SUFFIXES: dict[str, Form] = {
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
}

_file: Options = together(
    click.argument("file", type=click.Path(dir_okay=False, writable=True, path_type=Path)),
    click.option(
        "--format",
        "form",
        type=click.Choice(export.FORMS),
        help="What the file is.  [default: as its name ends]",
    ),
    newest_option,
)


@click.command("export")
@_file
@timed_criteria_options
@gateway_command
def export_messages(
    client: Client, file: Path, form: Form | None, *, newest: bool, **wanted: Any
) -> None:
    """Write the messages that fit everything you ask for into a new FILE; - is the output.

    \b
    onceonly message export failed.csv -c gateway.toml --state failed --since 7d
    onceonly message export messages.parquet -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def fetch(after: int) -> tuple[Sequence[Any], int | None]:
        page = client.list(**wanted, order=order_of(newest), after=after, limit=PAGE_MAX)
        return page.messages, page.next_after

    _export(fetch, export.MESSAGES, file, form)


@click.command("export")
@_file
@inbox_criteria
@time_options
@gateway_command
def export_inbox(
    client: Client, file: Path, form: Form | None, *, newest: bool, **wanted: Any
) -> None:
    """Write the received messages that fit everything you ask for into a new FILE.

    Of their payloads there is the number; `inbox take` has the payloads.

    \b
    onceonly inbox export received.ndjson -c gateway.toml --since 24h
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def fetch(after: int) -> tuple[Sequence[Any], int | None]:
        query = InboxQuery(**wanted, order=order_of(newest), after=after, limit=PAGE_MAX)
        page = client.inbox_page(query)
        return page.items, page.next_after

    _export(fetch, export.INBOX, file, form)


@click.command("export")
@_file
@journal_criteria
@time_options
@gateway_command
def export_journal(
    client: Client, file: Path, form: Form | None, *, newest: bool, **wanted: Any
) -> None:
    """Write the rows of the journal that fit everything you ask for into a new FILE.

    What goes to a partner or into the lake is published: `lake publish`.

    \b
    onceonly journal export refusals.parquet -c gateway.toml --event Rejected --since 30d
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def fetch(after: int) -> tuple[Sequence[Any], int | None]:
        query = JournalQuery(**wanted, order=order_of(newest), after=after, limit=PAGE_MAX)
        page = client.journal_page(query)
        return page.records, page.next_after

    _export(fetch, export.JOURNAL, file, form)


def _export(fetch: Fetch, listed: ExportedList, file: Path, form: Form | None) -> None:
    kind = form or _SUFFIXES.get(file.suffix.lower())
    if kind is None:
        text = f"{file} does not end in {', '.join(_SUFFIXES)}: say which --format"
        raise click.UsageError(text)
    if str(file) == "-":
        if is_terminal():
            raise click.UsageError("an export is not shown on a terminal: name a FILE, or a pipe")
        for piece in _pieces(fetch, listed, kind):
            put_bytes(piece)
        return
    part = file.with_name(f".{file.name}.part")
    try:
        if file.exists():
            raise click.BadParameter(f"{file} is there already", param_hint="FILE")
        with part.open("xb") as opened:
            _write(opened, part, _pieces(fetch, listed, kind))
        part.rename(file)
    except OSError as error:
        raise click.BadParameter(f"{file}: {error.strerror}", param_hint="FILE") from error


def _write(opened: BinaryIO, part: Path, pieces: Iterator[bytes]) -> None:
    """All of it, or nothing: what is half written goes away, whatever ends it."""
    try:
        opened.writelines(pieces)
    except BaseException:
        part.unlink()
        raise


def _pieces(fetch: Fetch, listed: ExportedList, form: Form) -> Iterator[bytes]:
    written = exporter(form, listed.row_type)
    yield written.begin()
    after: int | None = 0
    count = 0
    with waiting("reading") as status:
        while after is not None:
            rows, after = fetch(after)
            count += len(rows)
            status.update(inert(f"{count} rows"))
            yield written.rows(rows)
    yield written.end()
    say(f"{count} rows")
