"""`onceonly journal …`: rows of the journal, of all messages."""

from collections.abc import Sequence
from typing import Any

import click

from onceonly.api.history import JournalCriteria, JournalQuery, JournalRow
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.lists import (
    Options,
    error_option,
    header_options,
    list_options,
    most_of,
    order_of,
    page_by_page,
    partner_option,
    prefix_option,
    print_count,
    together,
)
from onceonly.cli.output import output_option, print_rows, rows_option
from onceonly.cli.times import time_options
from onceonly.client import Client
from onceonly.message.event import Event

COLUMNS = (
    *("seq", "at", "event", "message_id", "from_party", "to_party", "outcome", "reason"),
    "partner_name",
)

journal_criteria: Options = together(
    click.option("--event", type=click.Choice([one.value for one in Event]), help="Of this event."),
    partner_option,
    header_options,
    error_option,
    prefix_option,
)


@click.group()
def journal() -> None:
    """What happened, row by row: list, count."""


@journal.command("list")
@journal_criteria
@list_options
@rows_option
@gateway_command
def list_journal(
    client: Client,
    output: str,
    limit: int,
    newest: bool,  # noqa: FBT001 - because click passes it by name
    everything: bool,  # noqa: FBT001 - because click passes it by name
    **wanted: Any,
) -> None:
    """List rows of the journal, oldest first; `message trace` has those of one message.

    \b
    onceonly journal list -c gateway.toml --newest --event Failed --since 2026-11-25
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def fetch(after: int, page_limit: int) -> tuple[Sequence[JournalRow], int | None]:
        query = JournalQuery(**wanted, order=order_of(newest), after=after, limit=page_limit)
        page = client.journal_page(query)
        return page.records, page.next_after

    print_rows(page_by_page(fetch, most_of(limit, everything)), COLUMNS, output)


@journal.command("count")
@journal_criteria
@time_options
@output_option
@gateway_command
def count_journal(client: Client, output: str, **wanted: Any) -> None:
    """Count rows of the journal; stops at 10,000.

    \b
    onceonly journal count -c gateway.toml --event Refused --since 24h
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_count(client.count_journal(JournalCriteria(**wanted)), output)
