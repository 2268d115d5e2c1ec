"""`onceonly notice …`: what the application was told about its messages."""

from collections.abc import Sequence
from typing import Any, get_args

import click

from onceonly.api.operating import Notice, NoticeCriteria, NoticesQuery
from onceonly.api.words import NoticeKind
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.lists import (
    Options,
    agreement_option,
    error_option,
    list_options,
    most_of,
    order_of,
    page_by_page,
    prefix_option,
    print_count,
    together,
)
from onceonly.cli.output import output_option, print_rows, rows_option
from onceonly.cli.times import time_options
from onceonly.client import Client

COLUMNS = (
    *("number", "at", "message_id", "kind", "severity", "error_code", "reason"),
    *("partner", "partner_name"),
)

_criteria: Options = together(
    click.option("--kind", type=click.Choice(get_args(NoticeKind)), help="Of this kind."),
    error_option,
    agreement_option,
    prefix_option,
)


@click.group()
def notice() -> None:
    """Notices for the application, of failures and late answers: list, count."""


@notice.command("list")
@_criteria
@list_options
@rows_option
@gateway_command
def list_notices(
    client: Client,
    output: str,
    limit: int,
    newest: bool,  # noqa: FBT001 - because click passes it by name
    everything: bool,  # noqa: FBT001 - because click passes it by name
    **wanted: Any,
) -> None:
    """List notices, oldest first.

    \b
    onceonly notice list -c gateway.toml --newest --kind DeliveryFailure
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def fetch(after: int, page_limit: int) -> tuple[Sequence[Notice], int | None]:
        query = NoticesQuery(**wanted, order=order_of(newest), after=after, limit=page_limit)
        page = client.notice_page(query)
        return page.notices, page.next_after

    print_rows(page_by_page(fetch, most_of(limit, everything)), COLUMNS, output)


@notice.command("count")
@_criteria
@time_options
@output_option
@gateway_command
def count_notices(client: Client, output: str, **wanted: Any) -> None:
    """Count notices; stops at 10,000.

    \b
    onceonly notice count -c gateway.toml --since 24h
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_count(client.count_notices(NoticeCriteria(**wanted)), output)
