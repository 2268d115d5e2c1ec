"""`onceonly job …`: messages that were handed over in bulk, and what became of them."""

from collections.abc import Sequence
from typing import Any

import click

from onceonly.api.jobs import Job, JobCriteria, JobsQuery
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.lists import (
    Options,
    list_options,
    most_of,
    order_of,
    page_by_page,
    print_count,
)
from onceonly.cli.output import (
    members,
    output_option,
    print_fields,
    print_json,
    print_rows,
    rows_option,
    say,
)
from onceonly.cli.times import time_options
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
    """Jobs, the rows of a DataFrame or of another bulk submission."""


_criteria: Options = click.option("--id-prefix", help="Whose name begins so.")


@job.command("list")
@_criteria
@list_options
@rows_option
@gateway_command
def list_jobs(
    client: Client,
    output: str,
    limit: int,
    newest: bool,  # noqa: FBT001 - because click passes it by name
    everything: bool,  # noqa: FBT001 - because click passes it by name
    **wanted: Any,
) -> None:
    """List jobs and their counts, oldest first.

    \b
    onceonly job list -c gateway.toml --newest --since 7d
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def fetch(after: int, page_limit: int) -> tuple[Sequence[Job], int | None]:
        limit = min(page_limit, PAGE)
        query = JobsQuery(**wanted, order=order_of(newest), after=after, limit=limit)
        page = client.job_page(query)
        return page.jobs, page.next_after

    print_rows(page_by_page(fetch, most_of(limit, everything)), COLUMNS, output)


@job.command("count")
@_criteria
@time_options
@output_option
@gateway_command
def count_jobs(client: Client, output: str, **wanted: Any) -> None:
    """Count jobs; stops at 10,000.

    \b
    onceonly job count -c gateway.toml --since 24h
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_count(client.count_jobs(JobCriteria(**wanted)), output)


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
