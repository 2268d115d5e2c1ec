"""`onceonly job …`: messages that were handed over in bulk, and what became of them."""

from collections.abc import Iterator
from itertools import islice

import click

from onceonly.api.jobs import Job
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import (
    limit_option,
    members,
    output_option,
    print_fields,
    print_json,
    print_rows,
    rows_option,
    say,
)
from onceonly.client import Client

COLUMNS = (
    "job",
    "state",
    "rows",
    "accepted",
    "rejected",
    "replayed",
    "staged",
    "queued",
    "sending",
    "acknowledged",
    "in_doubt",
    "failed",
)
PAGE = 100
"""Jobs asked for at once: each is counted, row by row."""

REJECT_COLUMNS = ("row", "message_id", "name", "text")


@click.group()
def job() -> None:
    """Jobs, the rows of a DataFrame or of another bulk submission: list, show, release, drop."""


@job.command("list")
@limit_option
@rows_option
@gateway_command
def list_jobs(client: Client, limit: int, output: str) -> None:
    """List jobs and their counts, oldest first."""
    print_rows(list(islice(_jobs(client, limit), limit)), COLUMNS, output)


def _jobs(client: Client, limit: int) -> Iterator[Job]:
    """At least so many jobs, if there are; no more are counted than are shown."""
    after: int | None = 0
    while after is not None:
        page = client.jobs(after, min(limit, PAGE))
        yield from page.jobs
        after = page.next_after


@job.command()
@click.argument("name")
@click.option("--rejects", is_flag=True, help="The rows that were rejected, and why.")
@output_option
@gateway_command
def show(
    client: Client,
    name: str,
    rejects: bool,  # noqa: FBT001 - because click passes it by name
    output: str,
) -> None:
    """Show what became of the rows of a job; the counts add up to its rows."""
    found = client.job(name)
    if not rejects:
        print_fields(found, output)
        return
    rows = list(client.rejects(name))
    if output == "json":
        print_json(rows)
        return
    print_rows([{**members(row), **members(row.error)} for row in rows], REJECT_COLUMNS, output)


@job.command()
@click.argument("name")
@output_option
@gateway_command
def release(client: Client, name: str, output: str) -> None:
    """Send what is staged in a job. Done again, it changes nothing."""
    client.release(name)
    print_fields(client.job(name), output)


@job.command()
@click.argument("name")
@gateway_command
def drop(client: Client, name: str) -> None:
    """Forget what is staged in a job and not released. What was released is sent all the same."""
    say(f"{name}: {client.drop(name)} rows dropped")
