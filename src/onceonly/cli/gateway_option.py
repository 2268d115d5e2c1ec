"""Which gateway a command talks to, and what its refusals mean for the exit code."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from onceonly.cli.caller_option import CallsAs, caller_options
from onceonly.cli.exits import Exit, Failure, exit_of_refusal
from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError


def configuration_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`-c FILE`: the gateway's own configuration file."""
    return click.option(
        "-c",
        "--config",
        "config",
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="ONCEONLY_CONFIG",
        help="The gateway's configuration file.  [env: ONCEONLY_CONFIG]",
    )(command)


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


# The configuration reader is the gateway's; commands that talk to --api never load it.


def load_configuration(config: Path | None) -> Any:
    """The checked configuration. Ends the command with exit code 2 where it cannot be used."""
    from onceonly.gateway.config import read_configuration  # noqa: PLC0415 - because --help must stay quick

    return _read(read_configuration, config)


def load_client_settings(config: Path | None) -> Any:
    """What a client command needs of the file. Ends the command as `load_configuration` does."""
    from onceonly.gateway.config import read_client_settings  # noqa: PLC0415 - because --help must stay quick

    return _read(read_client_settings, config)


def _read(read: Callable[[Path], Any], config: Path | None) -> Any:
    from onceonly.gateway.config import ConfigurationError  # noqa: PLC0415 - because --help must stay quick

    if config is None:
        raise click.UsageError("say which gateway: -c FILE (or --api URL)")
    try:
        return read(config)
    except ConfigurationError as error:
        raise Failure(Exit.USAGE, str(error)) from error


def _translated(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except GatewayUnreachable as error:
        raise Failure(Exit.UNREACHABLE, f"the gateway cannot be reached: {error}") from error
    except LocalError as error:
        raise Failure(exit_of_refusal(error.name), f"{error.name}: {error}") from error
