"""What the commands that list and count have in common."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

import click

from onceonly.api.fields import PAGE_MAX
from onceonly.api.lists import Count
from onceonly.api.words import ErrorWord, Order
from onceonly.cli.output import limit_option, print_fields, put, say
from onceonly.cli.times import time_options

R = TypeVar("R")

Options = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Options) -> Options:
    """The options as one, in this order."""

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return give


header_options: Options = together(
    click.option("--agreement", help="Under this agreement."),
    click.option("--service", help="Of this service."),
    click.option("--action", help="With this action."),
    click.option("--conversation", help="Of this conversation."),
)
"""What the header of a message says."""

agreement_option: Options = click.option("--agreement", help="About messages of this agreement.")
prefix_option: Options = click.option("--id-prefix", help="Whose MessageId begins so.")
partner_option: Options = click.option(
    "--partner", help="With this partner, by its PartyId or its name."
)
error_option: Options = click.option(
    "--error", type=click.Choice(get_args(ErrorWord)), help="With this error."
)

list_limits: Options = together(
    limit_option,
    click.option("--all", "everything", is_flag=True, help="All of them, whatever --limit says."),
)
"""How many are printed."""

newest_option: Options = click.option("--newest", is_flag=True, help="The newest first.")

list_options: Options = together(
    time_options,
    newest_option,
    list_limits,
)
"""Of every list: a range of time, the order, and how many."""


def order_of(newest: bool) -> Order:  # noqa: FBT001 - because a flag of the command line is one
    """The API's word for it."""
    return "newest" if newest else "oldest"


def most_of(limit: int, everything: bool) -> int:  # noqa: FBT001 - because a flag of the command line is one
    """How many are printed at most."""
    return sys.maxsize if everything else limit


def page_by_page(
    fetch: Callable[[int, int], tuple[Sequence[R], int | None]], most: int, after: int = 0
) -> list[R]:
    """Rows of all pages, as many as `most`; `fetch` has a page after a cursor, and the next one."""
    found: list[R] = []
    next_after: int | None = after
    while next_after is not None and len(found) < most:
        rows, next_after = fetch(next_after, min(most - len(found), PAGE_MAX))
        found += rows
    return found


def print_count(found: Count, output: str) -> None:
    """The number; on stderr, where there may be more."""
    if output != "table":
        print_fields(found, output)
        return
    put(found.count)
    if found.is_more:
        say("perhaps more: the count stopped here; ask for less to know")
