"""`onceonly report …`: reports in the gateway's folder of reports."""

from pathlib import Path
from typing import Any

import click

from onceonly.api.reports import PublishedJournal, Report
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import (
    is_terminal,
    members,
    print_json,
    print_rows,
    put_bytes,
    rows_option,
    say,
)
from onceonly.client import Client

COLUMNS = ("written_at", "kind", "path", "messages", "differences", "broken", "size_bytes")


@click.group()
def report() -> None:
    """Reports in the gateway's folder of reports: list, get. `lake report` writes one."""


@report.command("list")
@rows_option
@gateway_command
def list_reports(client: Client, output: str) -> None:
    """List the reports, the last one first, and say how far the journal is published.

    \b
    onceonly report list -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.reports()
    if output == "json":
        print_json(found)
        return
    print_rows([_row(one) for one in found.reports], COLUMNS, output)
    if found.trouble is not None:
        say(f"no reports: {found.trouble}")
    if found.is_cut:
        say(f"there are more in {found.folder}")
    say(_words_of(found.journal))


def _row(one: Report) -> dict[str, Any]:
    row = members(one)
    numbers = row.pop("summary") or {}
    del row["files"]
    return {**row, **numbers}


def _words_of(journal: PublishedJournal) -> str:
    published = journal.published_seq or 0
    words = f"published to {journal.lake}: up to row {published} of {journal.last_seq}"
    if journal.segments is None:
        return f"{words}; the segments there are not listed"
    return f"{words}, in {journal.segments} segments"


@report.command()
@click.argument("path")
@click.option(
    "--to",
    "into",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A new file.  [default: the output]",
)
@gateway_command
def get(client: Client, path: str, into: Path | None) -> None:
    """Get one file of a report, by its PATH in the list.

    \b
    onceonly report get 2026-11.html --to november.html -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if into is None and is_terminal():
        raise click.UsageError("a report is not shown on a terminal: say --to FILE, or a pipe")
    pieces = client.report_file(path)
    if into is None:
        for piece in pieces:
            put_bytes(piece)
        return
    # Asked before the file is made, so that none is left where there is no such report.
    first = next(pieces, b"")
    try:
        with into.open("xb") as file:
            file.write(first)
            file.writelines(pieces)
    except OSError as error:
        raise click.BadParameter(f"{into}: {error.strerror}", param_hint="--to") from error
