"""`onceonly incident …`: what an operator has to look at, and what is over."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import click

from onceonly.api.operating import Incident, IncidentCriteria, IncidentsQuery
from onceonly.api.words import MessageState, Role
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.lists import (
    Options,
    agreement_option,
    list_options,
    most_of,
    order_of,
    page_by_page,
    partner_option,
    prefix_option,
    print_count,
    together,
)
from onceonly.cli.output import members, output_option, print_rows
from onceonly.cli.times import time_options
from onceonly.client import Client

COLUMNS = (
    *("incident_id", "role", "from", "to", "reason", "messages", "opened_at", "resolved_at"),
)

_criteria: Options = together(
    click.option("--resolved", is_flag=True, help="Those that are over, too."),
    click.option("--role", type=click.Choice(get_args(Role)), help="Of our side as this."),
    partner_option,
    agreement_option,
    prefix_option,
)


@click.group()
def incident() -> None:
    """What an operator has to look at: list, count."""


@incident.command("list")
@_criteria
@list_options
@output_option
@gateway_command
def list_incidents(
    client: Client,
    output: str,
    limit: int,
    newest: bool,  # noqa: FBT001 - because click passes it by name
    everything: bool,  # noqa: FBT001 - because click passes it by name
    resolved: bool,  # noqa: FBT001 - because click passes it by name
    **wanted: Any,
) -> None:
    """List open incidents, oldest first.

    \b
    onceonly incident list -c gateway.toml --resolved --newest --since 7d
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    wanted |= {"is_all": _all(resolved), "order": order_of(newest)}

    def fetch(after: int, page_limit: int) -> tuple[Sequence[Incident], int | None]:
        page = client.incident_page(IncidentsQuery(**wanted, after=after, limit=page_limit))
        return page.incidents, page.next_after

    print_incidents(page_by_page(fetch, most_of(limit, everything)), output)


@incident.command("count")
@_criteria
@time_options
@output_option
@gateway_command
def count_incidents(
    client: Client,
    output: str,
    resolved: bool,  # noqa: FBT001 - because click passes it by name
    **wanted: Any,
) -> None:
    """Count open incidents; stops at 10,000.

    \b
    onceonly incident count -c gateway.toml --partner urn:duns:222222222
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    criteria = IncidentCriteria(**wanted, is_all=_all(resolved))
    print_count(client.count_incidents(criteria), output)


def _all(resolved: bool) -> str | None:  # noqa: FBT001 - because a flag of the command line is one
    return "yes" if resolved else None


def print_incidents(found: Sequence[Incident], output: str) -> None:
    """The incidents, those of trouble with how many messages they concern."""
    rows = [{**members(one), "messages": _counts(one.messages or {})} for one in found]
    print_rows(rows if output == "table" else found, COLUMNS, output)


def _counts(messages: Mapping[MessageState, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in messages.items())
