"""`onceonly partner …`: pairs, as operators see and steer them."""

import click

from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import output_option, print_rows
from onceonly.client import Client

COLUMNS = ("partner", "role", "state", "queued", "in_flight", "sequence_number", "reason")


@click.group()
def partner() -> None:
    """Partners: list, suspend, resume."""


@partner.command("list")
@output_option
@gateway_command
def list_partners(client: Client, output: str) -> None:
    """List the pairs with every partner, both directions."""
    print_rows(client.partners(), COLUMNS, output)


@partner.command()
@click.argument("party")
@click.option("--reason", help="Why; goes into the journal.")
@output_option
@gateway_command
def suspend(client: Client, party: str, reason: str | None, output: str) -> None:
    """Stop sending to PARTY; what is submitted waits."""
    print_rows(client.suspend(party, reason), COLUMNS, output)


@partner.command()
@click.argument("party")
@output_option
@gateway_command
def resume(client: Client, party: str, output: str) -> None:
    """Go on with PARTY: the uncompleted message first, with a full retry budget."""
    print_rows(client.resume(party), COLUMNS, output)
