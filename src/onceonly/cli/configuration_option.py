"""`-c FILE`, and what is read from that file.

The reader is the gateway's, and takes its time; commands that talk to --api never load it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from onceonly.cli.exits import Exit, Failure


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
