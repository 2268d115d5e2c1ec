"""`onceonly partner …`: pairs, as operators see and steer them."""

import sys
from collections.abc import Sequence

import click

from onceonly.api.operating import PartnerPair, Ping, Waiting
from onceonly.cli.exits import Exit
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.incident import print_incidents
from onceonly.cli.number import seconds_option
from onceonly.cli.output import (
    members,
    output_option,
    print_rows,
    rows_option,
    say,
    words_of_outcome,
)
from onceonly.client import Client

COLUMNS = (
    *("partner", "role", "state", "queued", "in_flight", "sequence_number", "reason"),
    *("last_outcome", "partner_name"),
)
LONG_COLUMNS = (
    *COLUMNS,
    *("state_since_at", "last_contact_at", "oldest_waiting_at", "first_try", "ahead"),
)
PING_COLUMNS = ("partner", "agreement", "outcome", "available", "partner_name")


@click.group()
def partner() -> None:
    """Partners: list, ping, suspend, resume, incidents."""


def _print_pairs(
    pairs: Sequence[PartnerPair], output: str, columns: Sequence[str] = COLUMNS
) -> None:
    rows = [
        {
            **members(one),
            "in_flight": ", ".join(one.in_flight),
            "ahead": ", ".join(map(_ahead, one.waiting)),
            "first_try": None if one.first_try_share is None else f"{one.first_try_share:.0%}",
            "reason": one.reason or one.trouble,
            "last_outcome": words_of_outcome(one),
        }
        for one in pairs
    ]
    print_rows(rows if output == "table" else pairs, columns, output)


def _ahead(found: Waiting) -> str:
    """`attempt 2/4, next at …`, of a message in flight."""
    most = "" if found.attempts_max is None else f"/{found.attempts_max}"
    then = "" if found.next_attempt_at is None else f", next at {found.next_attempt_at}"
    return f"attempt {found.attempt}{most}{then}"


@partner.command("list")
@click.option("--long", "is_long", is_flag=True, help="Since when, last contact, what comes next.")
@rows_option
@gateway_command
def list_partners(
    client: Client,
    is_long: bool,  # noqa: FBT001 - because click passes it by name
    output: str,
) -> None:
    """List the pairs with every partner, both directions.

    \b
    onceonly partner list -c gateway.toml --long
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    _print_pairs(client.partners(), output, LONG_COLUMNS if is_long else COLUMNS)


@partner.command()
@click.argument("party")
@seconds_option("--wait", default=10.0, words="Seconds to wait for the answer.")
@output_option
@gateway_command
def ping(client: Client, party: str, wait: float, output: str) -> None:
    """Ask PARTY whether it is running and takes messages; the exit code tells.

    0: it does; 8: it says no; 9: no answer.
    """
    pings = client.ping(party, wait)
    print_rows(pings, PING_COLUMNS, output)
    sys.exit(max(_exit_of_ping(one) for one in pings))


def _exit_of_ping(found: Ping) -> Exit:
    if found.available is None:
        return Exit.STILL_TRYING
    return Exit.OK if found.available else Exit.REFUSED


@partner.command()
@click.argument("party")
@click.option("--reason", help="Why; goes into the journal.")
@output_option
@gateway_command
def suspend(client: Client, party: str, reason: str | None, output: str) -> None:
    """Stop sending to PARTY; what is submitted waits."""
    _print_pairs(client.suspend(party, reason), output)


@partner.command()
@click.argument("party")
@click.option(
    "--unsent",
    is_flag=True,
    help="Send as new messages what failed or expired before a byte of it left.",
)
@output_option
@gateway_command
def resume(
    client: Client,
    party: str,
    unsent: bool,  # noqa: FBT001 - because click passes it by name
    output: str,
) -> None:
    """Go on with PARTY: the uncompleted message first, with a full retry budget.

    With --unsent, all messages to PARTY that ended while no byte of them had left go out as new
    ones, oldest first: none of them can arrive twice. What was sent again before is left out, and
    so is what a bug of onceonly parked.
    """
    if not unsent:
        _print_pairs(client.resume(party), output)
        return
    answer = client.resume_unsent(party)
    say(f"{answer.resent} messages go out again, as new ones")
    _print_pairs(answer.partners, output)


@partner.command()
@click.option("--all", "resolved", is_flag=True, help="Those that are over, too.")
@rows_option
@gateway_command
def incidents(
    client: Client,
    resolved: bool,  # noqa: FBT001 - because click passes it by name
    output: str,
) -> None:
    """List what an operator has to look at; `partner resume` closes a partner's.

    Trouble with a partner is over when it is heard, and says how many messages it concerns.
    """
    print_incidents(client.incidents(resolved=resolved), output)
