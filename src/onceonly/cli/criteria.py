"""By what outbound messages can be chosen on the command line."""

from collections.abc import Callable
from typing import Any, get_args

import click

from onceonly.api.words import ErrorWord, MessageState
from onceonly.cli.times import time_options


def criteria_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What outbound messages can be chosen by."""
    options = (
        click.option("--state", type=click.Choice(get_args(MessageState)), help="In this state."),
        click.option("--to", help="To this partner."),
        click.option("--agreement", help="Under this agreement."),
        click.option("--service", help="Of this service."),
        click.option("--action", help="With this action."),
        click.option("--conversation", help="Of this conversation."),
        click.option("--key", help="Submitted under this business key, or sent again for it."),
        click.option("--error", type=click.Choice(get_args(ErrorWord)), help="With this error."),
        click.option("--id-prefix", help="Whose MessageId begins so."),
        time_options,
    )
    for option in reversed(options):
        command = option(command)
    return command
