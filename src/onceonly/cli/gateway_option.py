"""Which gateway a command talks to, and what its refusals mean for the exit code."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from onceonly.cli.caller_option import CallsAs, caller_options
from onceonly.cli.configuration_option import configuration_option, load_client_settings
from onceonly.cli.exits import Exit, Failure, failure_of
from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError


def gateway_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """`-c FILE` or `--api URL`: gives the command an open `Client` as its first argument."""

    @configuration_option
    @api_option
    @click.option("--token", envvar="ONCEONLY_TOKEN", help="The key itself, or the API token.")
    @caller_options
    @functools.wraps(command)
    def wrapped(
        config: Path | None,
        api: str | None,
        token: str | None,
        calls_as: CallsAs,
        **arguments: Any,
    ) -> Any:
        calls_as = calls_as if token is None else calls_as._replace(key=token)
        with _translated(functools.partial(open_client, config, api, calls_as)) as client:
            return _translated(functools.partial(command, client, **arguments))

    return wrapped


def api_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--api URL`."""
    return click.option("--api", envvar="ONCEONLY_API", help="API address, instead of -c.")(command)


def open_client(config: Path | None, api: str | None, calls_as: CallsAs) -> Client:
    """A client of the API at the address, or of the gateway of the configuration."""
    if api is not None:
        return calls_as.open(api)
    return calls_as.open_of(load_client_settings(config))


def _translated(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except GatewayUnreachable as error:
        raise Failure(Exit.UNREACHABLE, f"the gateway cannot be reached: {error}") from error
    except LocalError as error:
        raise failure_of(error) from error
