"""`onceonly inbox …`: received messages, for applications without code of their own."""

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from onceonly.api.inbox import InboxCriteria, InboxItem, InboxQuery
from onceonly.api.words import ProcessingState
from onceonly.cli.bulk import act_on_many, confirmed, is_about_many
from onceonly.cli.criteria import also_refused, inbox_options
from onceonly.cli.exits import Exit, Failure
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.lists import (
    Options,
    header_options,
    list_options,
    most_of,
    order_of,
    page_by_page,
    prefix_option,
    print_count,
    together,
)
from onceonly.cli.output import (
    members,
    output_option,
    print_fields,
    print_json,
    print_rows,
    put,
    rows_option,
    say,
)
from onceonly.cli.times import time_options
from onceonly.client import Client

COLUMNS = (
    *("offset", "message_id", "from", "service", "action", "processing", "size_bytes"),
    "partner_name",
)


@click.group()
def inbox() -> None:
    """Received messages: list, count, take, processing, done, refuse, redeliver."""


inbox_criteria: Options = together(inbox_options, header_options, prefix_option)


@inbox.command("list")
@click.option("--after", default=0, show_default=True, help="Offset of the last one seen.")
@inbox_criteria
@list_options
@rows_option
@gateway_command
def list_inbox(
    client: Client,
    after: int,
    limit: int,
    output: str,
    newest: bool,  # noqa: FBT001 - because click passes it by name
    everything: bool,  # noqa: FBT001 - because click passes it by name
    **wanted: Any,
) -> None:
    """List the received messages that fit everything you ask for, oldest first.

    \b
    onceonly inbox list -c gateway.toml --newest --since 2h --from urn:duns:222222222
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def fetch(after: int, page_limit: int) -> tuple[Sequence[InboxItem], int | None]:
        query = InboxQuery(**wanted, order=order_of(newest), after=after, limit=page_limit)
        page = client.inbox_page(query)
        return page.items, page.next_after

    items = page_by_page(fetch, most_of(limit, everything), after)
    rows = [{**members(item), "from": item.from_ids[0]} for item in items]
    print_rows(rows if output == "table" else items, COLUMNS, output)


@inbox.command("count")
@inbox_criteria
@time_options
@output_option
@gateway_command
def count_inbox(client: Client, output: str, **wanted: Any) -> None:
    """Count the received messages that fit everything you ask for; stops at 10,000.

    \b
    onceonly inbox count -c gateway.toml --processing not-started
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_count(client.count_inbox(InboxCriteria(**wanted)), output)


def item_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """MESSAGE_ID or `--offset N`: gives a command of the gateway's the item that is meant."""

    # As many as there are, so that it may be missing in front of another argument.
    @click.argument("message_id", nargs=-1, metavar="[MESSAGE_ID]", callback=_at_most_one)
    @click.option(
        "--offset", type=click.IntRange(min=1), help="The item's offset, of `inbox list`."
    )
    @gateway_command
    @functools.wraps(command)
    def wrapped(
        client: Client, message_id: str | None, offset: int | None, **arguments: Any
    ) -> Any:
        return command(client, _item(client, message_id, offset), **arguments)

    return wrapped


def _at_most_one(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> str | None:
    del parameter
    if len(given) > 1:
        raise click.UsageError("one MESSAGE_ID at most", context)
    return given[0] if given else None


def _item(client: Client, message_id: str | None, offset: int | None) -> InboxItem:
    """The item; MessageId and offset, where both are given, must name the same one."""
    if offset is None and message_id is None:
        raise click.UsageError("say which item: MESSAGE_ID, or --offset N")
    if offset is None:
        assert message_id is not None, "one of the two is there"
        item = client.find_inbox_item(message_id)
    else:
        item = client.find_inbox_item_at(offset)
    if item is None or message_id not in (None, item.message_id):
        named = "message" if message_id is None else f"message {message_id!r}"
        place = "" if offset is None else f" at offset {offset}"
        raise Failure(Exit.NOT_FOUND, f"no {named} in the inbox{place}")
    return item


@inbox.command()
@click.option(
    "--into",
    default=Path(),
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the payload files.  [default: here]",
)
@output_option
@item_command
def take(client: Client, item: InboxItem, into: Path, output: str) -> None:
    """Report a message in progress and write its payloads to files.

    The report goes first: if the sender has taken the message back, the report is refused, and the
    message must not be processed. If several messages have the MessageId, choose one with --offset.
    """
    if item.processing == "not-started":
        client.report(item, "in-progress")
    try:
        into.mkdir(parents=True, exist_ok=True)
        files = [_write(client, item, number, into) for number in range(len(item.payloads))]
    except OSError as error:
        text = f"{error.filename or into} cannot be written: {error.strerror}; take it again"
        raise Failure(Exit.UNEXPECTED, text) from error
    if output == "json":
        named = {"message_id": item.message_id, "offset": item.offset}
        print_json({**named, "files": [str(path) for path in files]})
        return
    for path in files:
        put(path)


@inbox.command()
@item_command
def done(client: Client, item: InboxItem) -> None:
    """Report that a message is processed completely."""
    client.report(item, "complete")
    say(f"{_named(item)}: complete")


@inbox.command()
@item_command
@click.argument("state", type=click.Choice(("not-started", "in-progress", "complete")))
def processing(client: Client, item: InboxItem, state: ProcessingState) -> None:
    """Report how far the work on a message is; partners that ask are told."""
    client.report(item, state)
    say(f"{_named(item)}: {state}")


@inbox.command()
@click.option("--reason", required=True, help="Why; the sender is told.")
@item_command
def refuse(client: Client, item: InboxItem, reason: str) -> None:
    """Say that a message will not be processed."""
    client.refuse(item, reason)
    say(f"{_named(item)}: refused")


@inbox.command()
# As many as there are, so that it may be missing.
@click.argument("message_id", nargs=-1, metavar="[MESSAGE_ID]", callback=_at_most_one)
@click.option("--offset", type=click.IntRange(min=1), help="The item's offset, of `inbox list`.")
@click.option("--reason", required=True, help="Why; kept in the journal.")
@inbox_criteria
@also_refused
@time_options
@confirmed
@output_option
@gateway_command
def redeliver(
    client: Client,
    message_id: str | None,
    offset: int | None,
    reason: str,
    output: str,
    **many: Any,
) -> None:
    """Hand a message over to the application once more, or all that fit what you ask for.

    For an application that has lost what it had. Not for one that keeps its own offset in the
    database that was restored, as onceonly.receiver and a checkpoint of Spark do: it gets the
    messages again by itself, and would do the work twice. The message is in the inbox again, at an
    offset of its own, and says which repetition it is. Nothing is sent, and what partners are told
    stays as it is. The application does the work once more for each time. If it had refused the
    message, its sender may have been told that it is not processed: many messages are selected
    without those, unless you say --refused.

    \b
    onceonly inbox redeliver ID -c gateway.toml --reason "INC-42: restored from last night"
    onceonly inbox redeliver -c gateway.toml --since 6h --reason INC-42 --dry-run
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if is_about_many(offset or message_id, many, by="--from, --since"):
        act_on_many(client, "redeliver", many, reason=reason, output=output)
        return
    seen = client.inbox_page(InboxQuery(limit=1)).last_offset
    again = client.redeliver(reason, offset=offset, message_id=message_id, after=seen)
    say(f"handed over again: {_named(again)}")
    print_fields(again, output)


def _named(item: InboxItem) -> str:
    """What a person checks: several items may have one MessageId."""
    return f"{item.message_id} (offset {item.offset})"


def _write(client: Client, item: InboxItem, number: int, into: Path) -> Path:
    """Under the payload's own digest: what a sender calls a file is never a path here (P11)."""
    payload = item.payloads[number]
    path = into / f"{item.offset:08d}-{number}-{payload.digest[:16]}"
    temporary = path.with_suffix(".part")
    digest = hashlib.sha256()
    with temporary.open("wb") as file:
        for piece in client.payload(item, number):
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != payload.digest:
        raise Failure(Exit.UNEXPECTED, f"payload {number} arrived altered; {temporary} is left")
    temporary.rename(path)
    return path
