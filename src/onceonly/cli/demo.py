"""`onceonly demo`: the promise, seen to be kept."""

import sys
from pathlib import Path

import click

from onceonly.cli.number import FiniteNumber, seconds_option
from onceonly.message.profile import PROFILES, Profile, profile_named


@click.command()
@click.option("--messages", default=60, show_default=True, help="Messages each way.")
@click.option(
    "--profile",
    type=click.Choice([profile.name for profile in PROFILES]),
    default=Profile.RM_2000.name,
    show_default=True,
    callback=lambda _context, _option, name: profile_named(name),
    help="One numbered message at a time, in order (rm-2000), or a window of them (the others).",
)
@click.option(
    "--unsigned", is_flag=True, help="Sign nothing, where the profile has signatures (ebms-2.0)."
)
@click.option(
    "--loss",
    type=FiniteNumber(min=0),
    default=0.15,
    show_default=True,
    help="Share of requests that go wrong.",
)
@click.option("--seed", type=int, help="Seed of every fault; printed, random unless given.")
@seconds_option("--kill-every", default=4.0, words="Seconds between kills.")
@click.option(
    "--documents",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Send every file of this directory instead of sample orders.",
)
@click.option(
    "--out",
    default=Path("demo"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where report, journals and stores go.",
)
@click.option("--keep", is_flag=True, help="Keep the stores of both gateways.")
def demo(**options: object) -> None:
    """Two gateways, a faulty link, hard kills; then Spark's verdict on every message.

    The promise is the same in all profiles, except for the order of delivery, which rm-2000 alone
    promises here. ebms-2.0 is signed, with keys made for this run, and every message ends with
    evidence of receipt, which is verified at the end; --unsigned leaves that out.
    """
    from onceonly.demo.drive import run_demo  # noqa: PLC0415 - because --help must stay quick
    from onceonly.demo.options import DemoOptions  # noqa: PLC0415 - because --help must stay quick

    sys.exit(run_demo(DemoOptions(**options)))  # type: ignore[arg-type]  # because click has typed them
