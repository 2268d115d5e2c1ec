"""`onceonly bulk …`: actions on many messages, and how other commands begin one."""

import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Any, Final, get_args

import click

from onceonly.api.bulk import Bulk, BulkDetail, Where, WhereInInbox
from onceonly.api.words import BulkAction
from onceonly.cli.criteria import also_refused, inbox_options, timed_criteria_options
from onceonly.cli.exits import Exit, Failure
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.lists import Options, newest_option, order_of, together
from onceonly.cli.output import (
    inert,
    limit_option,
    members,
    output_option,
    print_fields,
    print_json,
    print_rows,
    rows_option,
    say,
    waiting,
)
from onceonly.client import Client

POLL_S = 0.3
"""Seconds between two looks at an action that is waited for."""

COLUMNS = ("number", "do", "state", "items", "done", "skipped", "failed", "left", "prepared_at")
ITEM_COLUMNS = ("item", "message_id", "offset", "outcome", "error", "text", "at")
SAMPLE_COLUMNS = (
    *("message_id", "state", "to", "service", "action", "submitted_at"),
    "partner_name",
)
INBOX_COLUMNS = (
    *("offset", "message_id", "processing", "from", "service", "action", "received_at"),
    "partner_name",
)

WORDS: dict[BulkAction, str] = {
    "resend": "send again, where no document can arrive twice",
    "resend-anyway": "send again as new messages, though documents may arrive twice",
    "cancel": "take back",
    "resume": "let go on what a bug parked",
    "ask": "ask partners how it stands",
    "settle-delivered": "settle the doubt: delivered, on your word",
    "settle-not-delivered": "settle the doubt: not delivered, on your word",
    "redeliver": "hand over to the application once more",
}


def many_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a command reads that can act on one message, or on all that fit."""
    return timed_criteria_options(confirmed(command))


confirmed: Options = together(
    click.option("--yes", is_flag=True, help="Begin without asking for the number."),
    click.option("--dry-run", is_flag=True, help="Show which messages, and do nothing."),
    click.option("--everything", is_flag=True, help="All of them, where no criterion is given."),
)
"""How a command that acts on many is confirmed. With `--everything` no criterion is meant."""

_NO_CRITERIA: Final = ("yes", "dry_run", "everything")


def is_about_many(message_id: object, many: dict[str, Any], *, by: str = "--state, --to") -> bool:
    """Whether a command names no message, but criteria or --everything.

    Raises a usage error for both, for none, and for a flag that is only for many: whoever says
    --dry-run with one message must not see it done.
    """
    is_some = any(value is not None for value in criteria_of(many).values())
    if is_some and many["everything"]:
        raise click.UsageError("--everything goes without criteria: say one of them")
    is_many = is_some or many["everything"]
    if is_many == (message_id is not None):
        text = f"name one MESSAGE_ID, or say which messages by {by}, …, or --everything"
        raise click.UsageError(text)
    if not is_many and (many["yes"] or many["dry_run"]):
        raise click.UsageError("--yes and --dry-run are for many messages")
    return is_many


def criteria_of(many: dict[str, Any]) -> dict[str, Any]:
    """What says which messages are meant, of all that `many_options` read."""
    return {name: value for name, value in many.items() if name not in _NO_CRITERIA}


def act_on_many(
    client: Client, do: BulkAction, many: dict[str, Any], *, reason: str | None, output: str
) -> None:
    """Select, show how many and which, ask for the number, begin, and wait for the end.

    `many` is what `many_options` read. Exits with 12 where some were skipped or failed.
    """
    yes, dry_run = many["yes"], many["dry_run"]
    if not (reason or "").strip():
        raise click.BadParameter("many messages need one", param_hint="--reason")
    if not (yes or dry_run or is_asked()):
        raise click.UsageError("nobody can be asked here: say --dry-run or --yes")
    prepared = client.prepare_bulk(do, reason or "", _where(do, criteria_of(many)))
    if output == "table" or dry_run:
        _show_selection(prepared, output)
    if not prepared.items:
        say("no message fits; nothing to do")
        return
    if dry_run:
        _say_how_to_begin(prepared)
        return
    if not yes:
        _ask_for_number(client, prepared)
    client.start_bulk(prepared.number, prepared.items)
    _wait(client, prepared.number, output)


def _where(do: BulkAction, given: dict[str, Any]) -> Where | WhereInInbox:
    """Which messages: of the inbox for `redeliver`, sent ones for every other action."""
    which = WhereInInbox if do == "redeliver" else Where
    where = {name: value for name, value in given.items() if value is not None}
    names = {"sender": "--from", "id_prefix": "--id-prefix"}
    if foreign := [name for name in where if name not in which.__struct_fields__]:
        text = f"{do} is about {'received' if which is WhereInInbox else 'sent'} messages"
        raise click.BadParameter(text, param_hint=names.get(foreign[0], f"--{foreign[0]}"))
    return which(**where)


def is_asked() -> bool:
    """Whether somebody sits there who can type a number."""
    return sys.stdin is not None and sys.stdin.isatty()


def _show_selection(prepared: BulkDetail, output: str) -> None:
    if output == "json":
        print_json(prepared)
        return
    say(f"bulk action {prepared.number}: {WORDS[prepared.do]}: {prepared.items} messages")
    sent = [{**members(one), "to": one.to_ids[0]} for one in prepared.samples]
    items = [{**members(one), "from": one.from_ids[0]} for one in prepared.items_of_inbox]
    if sent or items:
        print_rows(sent or items, SAMPLE_COLUMNS if sent else INBOX_COLUMNS, output)
    if prepared.items > len(sent or items):
        say(f"and {prepared.items - len(sent or items)} more")


def _say_how_to_begin(prepared: BulkDetail) -> None:
    command = f"onceonly bulk start {prepared.number} --count {prepared.items}"
    say(f"nothing was done; begin with: {command}")


def _ask_for_number(client: Client, prepared: BulkDetail) -> None:
    typed = click.prompt("Type the number of messages to begin", err=True, default="", type=str)
    if typed.strip() != str(prepared.items):
        client.stop_bulk(prepared.number)
        raise Failure(Exit.USAGE, f"that is not {prepared.items}; nothing was done")


def _wait(client: Client, number: int, output: str) -> None:
    """Until it is over; Ctrl-C ends the wait and not the action."""
    try:
        with waiting("acting") as status:
            found: Bulk = client.bulk(number)
            while found.state == "running":
                status.update(inert(f"{found.items - found.left} of {found.items}"))
                time.sleep(POLL_S)
                found = client.bulk(number)
    except KeyboardInterrupt:
        say(f"it goes on; follow it with: onceonly bulk show {number}")
        sys.exit(Exit.INTERRUPTED)
    _print(found, output)
    _exit_with(found)


def _exit_with(found: Bulk) -> None:
    if found.skipped or found.failed:
        say(f"not done with each; see: onceonly bulk results {found.number} --not-done")
        sys.exit(Exit.PARTIAL)


def _print(found: Bulk, output: str) -> None:
    print_fields(found, output)


@click.group()
def bulk() -> None:
    """Actions on many messages: list, prepare, show, start, stop, results."""


@bulk.command("list")
@newest_option
@limit_option
@rows_option
@gateway_command
def list_bulks(client: Client, limit: int, output: str, *, newest: bool) -> None:
    """List actions on many messages, oldest first.

    \b
    onceonly bulk list -c gateway.toml --newest
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.all_bulks(order=order_of(newest))
    print_rows(list(islice(found, limit)), COLUMNS, output)


@bulk.command()
@click.argument("do", type=click.Choice(get_args(BulkAction)))
@click.option("--reason", required=True, help="Why; kept with each message.")
@timed_criteria_options
@inbox_options
@also_refused
@output_option
@gateway_command
def prepare(
    client: Client,
    do: BulkAction,
    reason: str,
    output: str,
    **where: Any,
) -> None:
    """Select the messages that fit, and show how many and the first; does nothing yet.

    The selection is frozen, and can be started within a day. For redeliver it is of the inbox
    (--from, --processing), for every other action of sent messages (--to, --state, --key, --error).

    \b
    onceonly bulk prepare ask -c gateway.toml --state in_doubt --reason "INC-42"
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    prepared = client.prepare_bulk(do, reason, _where(do, where))
    _show_selection(prepared, output)
    if output == "table":
        _say_how_to_begin(prepared)


@bulk.command()
@click.argument("number", type=int)
@output_option
@gateway_command
def show(client: Client, number: int, output: str) -> None:
    """Show how far an action is.

    \b
    onceonly bulk show 7 -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    _print(client.bulk(number), output)


@bulk.command()
@click.argument("number", type=int)
@click.option("--count", type=int, required=True, help="How many messages it has, as you saw.")
@click.option("--wait", is_flag=True, help="Wait for its end; the exit code tells it.")
@output_option
@gateway_command
def start(
    client: Client,
    number: int,
    count: int,
    wait: bool,  # noqa: FBT001 - because click passes it by name
    output: str,
) -> None:
    """Begin what is prepared, or go on with what was stopped.

    Messages that do not fit any more are skipped, and never forced.

    \b
    onceonly bulk start 7 -c gateway.toml --count 1204 --wait
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    started = client.start_bulk(number, count)
    if wait:
        _wait(client, number, output)
    else:
        _print(started, output)


@bulk.command()
@click.argument("number", type=int)
@output_option
@gateway_command
def stop(client: Client, number: int, output: str) -> None:
    """Do no more of it. What is done stays done; `bulk start` goes on.

    \b
    onceonly bulk stop 7 -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    _print(client.stop_bulk(number), output)


@bulk.command()
@click.argument("number", type=int)
@click.option("--not-done", is_flag=True, help="Only what was skipped or failed.")
@rows_option
@gateway_command
def results(
    client: Client,
    number: int,
    not_done: bool,  # noqa: FBT001 - because click passes it by name
    output: str,
) -> None:
    """Show what became of each message.

    \b
    onceonly bulk results 7 -c gateway.toml --not-done
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = [
        one
        for one in client.bulk_results(number)
        if not not_done or one.outcome in ("skipped", "failed")
    ]
    print_rows(found, ITEM_COLUMNS, output)
