"""By what messages can be chosen on the command line, sent ones and received ones."""

from typing import get_args

import click

from onceonly.api.words import MessageState, ProcessingState
from onceonly.cli.lists import Options, error_option, header_options, prefix_option, together
from onceonly.cli.times import When, time_options

criteria_options: Options = together(
    click.option("--state", type=click.Choice(get_args(MessageState)), help="In this state."),
    click.option("--to", help="To this partner, by its PartyId or its name."),
    header_options,
    click.option("--key", help="Submitted under this business key, or sent again for it."),
    error_option,
    prefix_option,
    click.option("--settled-since", type=When(), help="Only what ended from then on."),
    click.option("--settled-until", type=When(), help="Only what ended before then."),
)

inbox_options: Options = together(
    click.option("--from", "sender", help="From this partner, by its PartyId or its name."),
    click.option(
        "--processing", type=click.Choice(get_args(ProcessingState)), help="As far as this."
    ),
)
"""What received messages have, and sent ones have not."""

also_refused: Options = together(
    click.option(
        "--refused",
        is_flag=True,
        default=None,
        help="Of received messages also those that the application refused.",
    ),
)
"""For what is left out of a selection otherwise: its sender was told that it is not processed."""

timed_criteria_options: Options = together(criteria_options, time_options)
"""With the range of time, which every list has already."""
