"""`onceonly agreement …`: what was agreed, what it means, and what a reload would change."""

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onceonly.api.agreements import (
    AgreementDetail,
    AgreementHistory,
    AgreementSummary,
    FileDifference,
)
from onceonly.api.fields import PAGE_MAX
from onceonly.cli.agreement_import import import_agreement, refuse_weaker
from onceonly.cli.configuration_option import configuration_option, load_configuration
from onceonly.cli.exits import Exit, Failure
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.lists import list_limits, most_of, partner_option
from onceonly.cli.output import print_json, print_rows, put, rows_option, say
from onceonly.client import Client

if TYPE_CHECKING:
    from onceonly.gateway.config.file import Table
    from onceonly.gateway.cpa.weaker import Weaker

COLUMNS = (
    *("agreement", "partner", "profile", "send_to", "within_s", "not_settled", "findings"),
    *("in_force_since", "partner_name"),
)
TERM_COLUMNS = ("key", "value", "unit", "place")
DIFFERENCE_COLUMNS = ("agreement", "change", "key", "was", "now", "is_blocked")
HISTORY_COLUMNS = ("number", "at", "change", "by", "key", "was", "now", "digest")
CHECK_COLUMNS = ("agreement", "partner", "verdict", "finding", "place", "partner_name")


@click.group()
def agreement() -> None:
    """Agreements: list, show, diff, check, history, import."""


agreement.add_command(import_agreement)


@agreement.command("list")
@partner_option
@list_limits
@rows_option
@gateway_command
def list_agreements(
    client: Client,
    partner: str | None,
    output: str,
    limit: int,
    everything: bool,  # noqa: FBT001 - because click passes it by name
) -> None:
    """List the agreements: with whom, how long a message takes at most, what is not settled.

    \b
    onceonly agreement list -c gateway.toml
    onceonly agreement list -c gateway.toml --partner "Smith & Co" -o json
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found: list[AgreementSummary] = []
    most, after = most_of(limit, everything), None
    while True:
        page = client.agreements(
            partner=partner, after=after, limit=min(most - len(found), PAGE_MAX)
        )
        found += page.agreements
        after = page.next_after
        if after is None or len(found) >= most:
            break
    if output != "table":
        print_rows(found, COLUMNS, output)
        return
    rows = [
        {
            **{name: getattr(one, name, None) for name in COLUMNS},
            "not_settled": sum(one.unsettled.values()),
        }
        for one in found
    ]
    print_rows(rows, COLUMNS, output)


@agreement.command()
@click.argument("agreement_id", metavar="ID")
@click.option("--terms", is_flag=True, help="Every key with its value, and where it is from.")
@rows_option
@gateway_command
def show(
    client: Client,
    agreement_id: str,
    terms: bool,  # noqa: FBT001 - because click passes it by name
    output: str,
) -> None:
    """Say what the agreement ID means, in words; or with --terms key by key.

    The terms are those in effect. A line of a file stands beside each that is written there; the
    others are defaults.

    \b
    onceonly agreement show orders-2026 -c gateway.toml
    onceonly agreement show orders-2026 -c gateway.toml --terms
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.agreement(agreement_id)
    if terms or output in ("jsonl", "csv"):
        print_rows(found.terms, TERM_COLUMNS, output)
    elif output == "json":
        print_json(found)
    else:
        for line in _told(found):
            put(line)


def _told(found: AgreementDetail) -> Iterator[str]:
    yield f"agreement  {found.agreement}, {found.profile}, {found.semantics}"
    yield f"partner    {found.partner}{f' ({found.partner_name})' if found.partner_name else ''}"
    if found.is_configured:
        yield f"in force   since {found.in_force_since}, from {found.place}"
    else:
        yield "in force   no more: it is not in the configuration"
    unsettled = ", ".join(
        f"{count} {state.replace('_', ' ')}" for state, count in found.unsettled.items() if count
    )
    yield f"messages   {unsettled or 'none without an end'}"
    for address in found.addresses:
        yield f"{'sends to' if address.direction == 'out' else 'called at':10} {address.address}"
    for one in found.certificates:
        end = f"ends {one.valid_until}" if one.valid_until else "not seen yet"
        yield f"shows      {one.subject or one.fingerprint}: {end}"
    if found.words:
        yield ""
    yield from (f"* {sentence}" for sentence in found.words)
    if found.worst_case is not None:
        yield ""
        yield f"longest    {found.worst_case.words}"
    yield from (f"check      {finding}" for finding in found.checks)


@agreement.command()
@click.argument("agreement_id", metavar="[ID]", required=False)
@rows_option
@gateway_command
def diff(client: Client, agreement_id: str | None, output: str) -> None:
    """Say what a reload would change now, of the agreement ID or of all; nothing is changed.

    The exit code is 0 if the file says what runs, 11 if it says something else, and 2 if the file
    cannot be used. What would make a reload refuse the file is said on stderr.

    \b
    onceonly agreement diff -c gateway.toml && echo nothing to reload
    onceonly agreement diff orders-2026 -c gateway.toml -o json
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.difference(agreement_id)
    if output == "json":
        print_json(found)
    elif found.problem is None:
        print_rows([*_different(found)], DIFFERENCE_COLUMNS, output)
    if found.problem is not None:
        raise Failure(Exit.USAGE, found.problem)
    if found.changed:
        say(f"a reload would change: {found.changed}")
    for key in found.needs_restart:
        say(f"a reload would be refused: {key} needs a restart")
    for name in found.blocked:
        say(f"a reload would be refused: messages without a verdict need {name}")
    sys.exit(Exit.DIFFERENCES if found.is_different else Exit.OK)


def _different(found: FileDifference) -> Iterator[dict[str, object]]:
    for one in found.agreements:
        known = {
            "agreement": one.agreement,
            "change": one.change,
            "is_blocked": one.is_blocked or None,
        }
        for term in one.terms:
            yield {**known, "key": term.key, "was": term.was, "now": term.now}
        if not one.terms:
            yield {**known, "key": None, "was": None, "now": None}


@agreement.command()
@click.argument("agreement_id", metavar="[ID]", required=False)
@configuration_option
@click.option(
    "--new",
    "new",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="A file of `agreement import`: also say where it protects less than the agreements.",
)
@click.option("--accept-weaker", is_flag=True, help="Exit with 0 although --new protects less.")
@rows_option
def check(
    *,
    agreement_id: str | None,
    config: Path | None,
    new: Path | None,
    accept_weaker: bool,
    output: str,
) -> None:
    """Check the agreements of a file, one line each and one more for each further finding.

    No gateway is asked: the file is read as `onceonly check` does. It says how long a message takes
    at most, and what an operator probably does not want.

    \b
    onceonly agreement check -c gateway.toml
    onceonly agreement check -c gateway.toml --new agreements.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    from onceonly.gateway.agreement_findings import (  # noqa: PLC0415 - because --help must stay quick
        findings_in_time,
        findings_of,
    )
    from onceonly.gateway.worst_case import verdict_of  # noqa: PLC0415 - because --help must stay quick

    configuration, now_at = load_configuration(config), time.time_ns() // 1000
    wanted = [one for one in configuration.agreements if agreement_id in (None, one.id)]
    if agreement_id is not None and not wanted:
        raise Failure(Exit.NOT_FOUND, f"{configuration.path}: no agreement {agreement_id!r}")
    rows = [
        {
            "agreement": one.id,
            "partner": one.their_party,
            "verdict": verdict_of(one),
            "finding": finding,
            "place": configuration.agreement_tables[one.id].place_of(None),
            "partner_name": one.name,
        }
        for one in wanted
        for finding in (*findings_of(configuration, one), *findings_in_time(one, now_at)) or (None,)
    ]
    print_rows(rows, CHECK_COLUMNS, output)
    if new is not None:
        refuse_weaker(
            _weaker_in(configuration.agreement_tables.values(), new), is_accepted=accept_weaker
        )


def _weaker_in(in_force: "Iterable[Table]", new: Path) -> "list[Weaker]":
    from onceonly.gateway.config import ConfigurationError  # noqa: PLC0415 - because --help must stay quick
    from onceonly.gateway.cpa.weaker import read_tables, weaker_than  # noqa: PLC0415 - because --help must stay quick

    try:
        return list(weaker_than(in_force, read_tables(new)))
    except ConfigurationError as error:
        raise Failure(Exit.USAGE, str(error)) from error


@agreement.command()
@click.argument("agreement_id", metavar="ID")
@click.option("--limit", default=50, show_default=True, help="Most changes to print.")
@rows_option
@gateway_command
def history(client: Client, agreement_id: str, limit: int, output: str) -> None:
    """Say when a start or a reload changed the agreement ID, and what, the latest first.

    \b
    onceonly agreement history orders-2026 -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.agreement_history(agreement_id, limit=limit)
    if output == "json":
        print_json(found)
        return
    print_rows([*_past(found)], HISTORY_COLUMNS, output)


def _past(found: AgreementHistory) -> Iterator[dict[str, object]]:
    for one in found.history:
        known = {
            "number": one.number,
            "at": one.at,
            "change": one.change,
            "by": one.by,
            "digest": one.digest[:12],
        }
        for term in one.terms:
            yield {**known, "key": term.key, "was": term.was, "now": term.now}
        if not one.terms:
            yield {**known, "key": None, "was": None, "now": None}
