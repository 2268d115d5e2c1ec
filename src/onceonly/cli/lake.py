"""`onceonly lake …`: from journals to proof. Spark is loaded only when a job runs."""

import sys
from pathlib import Path

import click

from onceonly.cli.exits import Exit, Failure
from onceonly.cli.gateway_option import configuration_option, load_configuration
from onceonly.cli.output import output_option, print_json, say
from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError


@click.group()
def lake() -> None:
    """The lake: publish journals, ingest, reconcile and report them with Spark."""


@lake.command()
@configuration_option
def publish(config: Path | None) -> None:
    """Publish a gateway's journal, through the gateway if it runs, else from its store."""
    configuration = load_configuration(config)
    try:
        with Client(configuration.api, token=configuration.api_token) as client:
            count = client.publish()
    except GatewayUnreachable:
        count = _publish_from_store(configuration)
    except LocalError as error:
        raise Failure(Exit.UNEXPECTED, f"{error.name}: {error}") from error
    say(f"{count} rows published to {configuration.lake}")


def _publish_from_store(configuration: object) -> int:
    from onceonly.gateway.wiring import publish_offline  # noqa: PLC0415 - because --help must stay quick
    from onceonly.store.store import StoreRefused  # noqa: PLC0415 - because --help must stay quick

    try:
        return publish_offline(configuration)  # type: ignore[arg-type]  # because load_configuration is lazy
    except StoreRefused as error:
        raise Failure(Exit.UNEXPECTED, str(error)) from error
