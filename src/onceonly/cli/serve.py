"""`onceonly serve` and `onceonly check`: a gateway, and the file that tells it what to do."""

import sys
import time
from pathlib import Path
from typing import Any

import click

from onceonly.cli.configuration_option import configuration_option, load_configuration
from onceonly.cli.exits import Exit, Failure
from onceonly.cli.output import put, say


@click.command()
@configuration_option
def serve(config: Path | None) -> None:
    """Run the gateway until SIGTERM or Ctrl-C; then finish what is under way and stop."""
    from onceonly.gateway.supervise import serve as run  # noqa: PLC0415 - because --help must stay quick
    from onceonly.store.contract.conditions import StoreRefused  # noqa: PLC0415 - because --help must stay quick

    configuration = load_configuration(config)
    try:
        code = run(configuration)
    except StoreRefused as error:
        raise Failure(Exit.UNEXPECTED, f"{configuration.store}: {error}") from error
    except OSError as error:
        raise Failure(Exit.UNEXPECTED, str(error)) from error
    sys.exit(code)


@click.command()
@configuration_option
def check(config: Path | None) -> None:
    """Check a configuration file and what it names, and say what it amounts to.

    The store is looked at but not created, certificates are read, the lake's folder is tried.
    Partners are not called (see `partner ping`).

    The time to a verdict counts from the first transmission, for a partner who says nothing: the
    waits that were agreed, and the transports' own. The bytes of a large document take their time
    besides.
    """
    from onceonly.gateway.checkup import problems_of, store_line, warnings_of  # noqa: PLC0415 - because --help must stay quick
    from onceonly.gateway.worst_case import verdict_of  # noqa: PLC0415 - because --help must stay quick

    configuration = load_configuration(config)
    problems = [f"{configuration.path}: {problem}" for problem in problems_of(configuration)]
    if problems:
        for problem in problems[:-1]:
            say(problem)
        raise Failure(Exit.USAGE, problems[-1])
    put(f"party   {', '.join(map(str, configuration.party))}")
    put(f"listen  {configuration.listen}")
    put(f"store   {store_line(configuration)}")
    put(f"lake    {configuration.lake}")
    for one in configuration.agreements:
        put(
            f"agreement {one.id}: {one.profile.name} with {_shown(one)} at {one.send_to}; "
            f"{verdict_of(one)}"
        )
    for route in configuration.routes:
        put(
            f"route {route.id}: {route.profile.name}, {route.intermediary.value}, from "
            f"{route.pair.from_party} to {route.pair.to_party} at {route.send_to}"
        )
    for warning in warnings_of(configuration, time.time_ns() // 1000):
        say(f"warning: {warning}")
    if configuration.drill is not None:
        say("THIS IS A DRILL: times and faults are not real")


def _shown(agreement: Any) -> str:
    """The partner by its PartyId, and by its name if it has one."""
    return f"{agreement.their_party}{f' ({agreement.name})' if agreement.name else ''}"
