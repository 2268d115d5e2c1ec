"""`onceonly webhook …`: who is told what happens, and what became of it."""

from typing import Any, get_args

import click

from onceonly.api.webhooks import DeliveryState
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import print_rows, rows_option
from onceonly.client import Client

COLUMNS = ("id", "url", "seq", "behind", "attempts", "has_dead", "trouble")
DELIVERY_COLUMNS = (*("seq", "state", "attempts", "first_at", "last_at", "status_code", "reason"),)


@click.group()
def webhook() -> None:
    """Webhooks: list, deliveries, replay."""


@webhook.command("list")
@rows_option
@gateway_command
def list_webhooks(client: Client, output: str) -> None:
    """How every webhook stands: up to which event it was told, and why not further.

    \b
    onceonly webhook list -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_rows(client.webhooks(), COLUMNS, output)


@webhook.command("deliveries")
@click.argument("webhook_id", metavar="WEBHOOK")
@click.option("--state", type=click.Choice(get_args(DeliveryState)), help="Only these.")
@click.option("--after", type=click.IntRange(min=0), default=0, help="Only events above this seq.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@rows_option
@gateway_command
def deliveries(
    client: Client, webhook_id: str, state: Any, after: int, limit: int, output: str
) -> None:
    """What WEBHOOK was told, in the order of events, and what became of it.

    \b
    onceonly webhook deliveries erp -c gateway.toml --state dead
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    page = client.deliveries(webhook_id, state=state, after=after, limit=limit)
    print_rows(page.deliveries, DELIVERY_COLUMNS, output)


@webhook.command("replay")
@click.argument("webhook_id", metavar="WEBHOOK")
@click.argument("seqs", metavar="SEQ...", type=int, nargs=-1, required=True)
@rows_option
@gateway_command
def replay(client: Client, webhook_id: str, seqs: tuple[int, ...], output: str) -> None:
    """Tell WEBHOOK the events SEQ once more, under the ids that they had.

    \b
    onceonly webhook replay erp 4711 4712 -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    asked = [client.replay_delivery(webhook_id, seq) for seq in seqs]
    print_rows(asked, DELIVERY_COLUMNS, output)
