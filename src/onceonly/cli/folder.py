"""`onceonly folder …`: folders that files are sent from and messages are written to."""

import click

from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import print_rows, rows_option
from onceonly.client import Client

COLUMNS = (*("id", "kind", "waiting", "under_way", "done", "failed", "last_at", "path", "trouble"),)


@click.group()
def folder() -> None:
    """Folders of the configuration: files that are sent, and messages that become files."""


@folder.command("list")
@rows_option
@gateway_command
def list_folders(client: Client, output: str) -> None:
    """How every folder stands: what waits, what is done, and what keeps it from working.

    Counts are since the start of the gateway.

    \b
    onceonly folder list -c gateway.toml
    onceonly folder list -c gateway.toml -o json
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_rows(client.folders(), COLUMNS, output)
