"""The root command and the commands that stand alone: serve, send, check, demo, version."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from onceonly import __version__
from onceonly.cli.agreement import agreement
from onceonly.cli.alert import alert
from onceonly.cli.backup import backup, restore
from onceonly.cli.bulk import bulk
from onceonly.cli.certificate import certificate
from onceonly.cli.completing import offer_names
from onceonly.cli.completion import completion
from onceonly.cli.conversation import conversation
from onceonly.cli.counters import counters, duplicates, exceptions, security
from onceonly.cli.doctor import doctor
from onceonly.cli.doubt import doubt, settle
from onceonly.cli.errors import errors
from onceonly.cli.exits import MEANINGS, Exit, Failure
from onceonly.cli.export import export_inbox, export_journal, export_messages
from onceonly.cli.folder import folder
from onceonly.cli.gateway_option import configuration_option, load_configuration
from onceonly.cli.inbox import inbox
from onceonly.cli.incident import incident
from onceonly.cli.job import job
from onceonly.cli.journal import journal
from onceonly.cli.key import key
from onceonly.cli.lake import lake
from onceonly.cli.lake_advise import advise
from onceonly.cli.lake_class_archive import class_archive
from onceonly.cli.lake_packs import pack, verify
from onceonly.cli.lake_runs import runs
from onceonly.cli.lake_take_over import take_over
from onceonly.cli.message import message, send
from onceonly.cli.message_evidence import evidence
from onceonly.cli.message_sent import header, payload
from onceonly.cli.migrate import migrate
from onceonly.cli.notice import notice
from onceonly.cli.output import complain, complain_of_bug, put, say
from onceonly.cli.package import package
from onceonly.cli.partner import partner
from onceonly.cli.probe import probe
from onceonly.cli.purge import purge
from onceonly.cli.reload import reload
from onceonly.cli.report import report
from onceonly.cli.simulate import simulate
from onceonly.cli.webhook import webhook
from onceonly.message.profile import PROFILES, Profile, profile_named

_EXIT_CODES = "  ".join(f"{code.value} {meaning}\n" for code, meaning in MEANINGS.items())


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"\b\nExit codes:\n  {_EXIT_CODES}",
)
@click.version_option(__version__, message="%(version)s", help="Print the version and exit.")
def cli() -> None:
    """Deliver business documents once and only once, and prove it.

    \b
    onceonly demo                                  see it work
    onceonly serve -c gateway.toml                 run a gateway
    onceonly send order.xml -c gateway.toml --to urn:duns:222222222 --service Ordering --action New
    onceonly lake reconcile buyer/lake seller/lake find every difference
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart


@cli.command()
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


@cli.command()
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


@cli.command()
def version() -> None:
    """Print the version."""
    put(__version__)


@cli.command()
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
@click.option("--loss", default=0.15, show_default=True, help="Share of requests that go wrong.")
@click.option("--seed", type=int, help="Seed of every fault; printed, random unless given.")
@click.option("--kill-every", default=4.0, show_default=True, help="Seconds between kills.")
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


for command in (advise, class_archive, pack, runs, take_over, verify):
    lake.add_command(command)
for command in (send, message, doubt, bulk, inbox, job, partner, lake, backup, restore):
    cli.add_command(command)
for command in (folder, webhook, alert, report, conversation):
    cli.add_command(command)
for command in (errors, package, doctor, completion, simulate):
    cli.add_command(command)
for command in (notice, incident, journal, key):
    cli.add_command(command)
for command in (reload, migrate, purge, agreement, certificate):
    cli.add_command(command)
for command in (header, payload, evidence, settle):
    message.add_command(command)
for group, command in (
    (message, export_messages),
    (inbox, export_inbox),
    (journal, export_journal),
):
    group.add_command(command)
for command in (counters, exceptions, duplicates, security, probe):
    cli.add_command(command)
offer_names(cli)


CLOSED_TO_OTHERS = 0o027
"""Of the umask: documents, journals, evidence and reports are nobody else's, whatever the shell
allows. Spark, its Java and its workers have it from us."""


def main() -> None:
    """Entry point: the root command, with a documented exit code for Ctrl-C."""
    os.umask(os.umask(CLOSED_TO_OTHERS) | CLOSED_TO_OTHERS)
    sys.excepthook = complain_of_bug
    try:
        cli(standalone_mode=False, prog_name="onceonly")
    except click.Abort:
        sys.exit(Exit.INTERRUPTED)
    except click.ClickException as error:
        complain(error)
        sys.exit(error.exit_code)
