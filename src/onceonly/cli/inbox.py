"""`onceonly inbox …`: received messages, for applications without code of their own."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import click

from onceonly.cli.exits import Exit, Failure
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import JSON, limit_option, output_option, print_json, print_rows, put, say
from onceonly.client import Client

PAGE = 1_000
"""As many as the gateway lists at once."""
COLUMNS = ("offset", "message_id", "from", "service", "action", "processing", "size_bytes")


@click.group()
def inbox() -> None:
    """Received messages: list, take, processing, done, refuse."""


@inbox.command("list")
@click.option("--after", default=0, show_default=True, help="Offset of the last one seen.")
@limit_option
@output_option
@gateway_command
def list_inbox(client: Client, after: int, limit: int, output: str) -> None:
    """List received messages in order."""
    items = list(_items(client, after, limit))
    rows = [{**item, "from": item["from"][0]} if output == "table" else item for item in items]
    print_rows(rows, COLUMNS, output)


def _items(client: Client, after: int, limit: int) -> Iterator[JSON]:
    while limit > 0 and (page := client.inbox(after, min(limit, PAGE))):
        yield from page
        after, limit = page[-1]["offset"], limit - len(page)


@inbox.command()
@click.argument("message_id")
@click.option(
    "--into",
    default=Path(),
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the payload files.  [default: here]",
)
@output_option
@gateway_command
def take(client: Client, message_id: str, into: Path, output: str) -> None:
    """Report a message in progress and write its payloads to files.

    The report goes first: a message that its sender took back is refused by it, and is not to be
    processed.
    """
    item = _item(client, message_id)
    if item["processing"] == "not-started":
        client.report(item, "in-progress")
    into.mkdir(parents=True, exist_ok=True)
    files = [_write(client, item, number, into) for number in range(len(item["payloads"]))]
    if output == "json":
        print_json({"message_id": message_id, "files": [str(path) for path in files]})
        return
    for path in files:
        put(path)


@inbox.command()
@click.argument("message_id")
@gateway_command
def done(client: Client, message_id: str) -> None:
    """Report that a message is processed completely."""
    client.report(_item(client, message_id), "complete")
    say(f"{message_id}: complete")


@inbox.command()
@click.argument("message_id")
@click.argument("state", type=click.Choice(("not-started", "in-progress", "complete")))
@gateway_command
def processing(client: Client, message_id: str, state: str) -> None:
    """Report how far the work on a message is; partners that ask are told."""
    client.report(_item(client, message_id), state)
    say(f"{message_id}: {state}")


@inbox.command()
@click.argument("message_id")
@click.option("--reason", required=True, help="Why; the sender is told.")
@gateway_command
def refuse(client: Client, message_id: str, reason: str) -> None:
    """Say that a message will not be processed."""
    client.refuse(_item(client, message_id), reason)
    say(f"{message_id}: refused")


def _item(client: Client, message_id: str) -> JSON:
    item = client.find_inbox_item(message_id)
    if item is None:
        raise Failure(Exit.NOT_FOUND, f"no message {message_id!r} in the inbox")
    return item


def _write(client: Client, item: JSON, number: int, into: Path) -> Path:
    """Under the payload's own digest: what a sender calls a file is never a path here (P11)."""
    payload = item["payloads"][number]
    path = into / f"{item['offset']:08d}-{number}-{payload['digest'][:16]}"
    temporary = path.with_suffix(".part")
    digest = hashlib.sha256()
    with temporary.open("wb") as file:
        for piece in client.payload(item, number):
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != payload["digest"]:
        raise Failure(Exit.UNEXPECTED, f"payload {number} arrived altered; {temporary} is left")
    temporary.rename(path)
    return path
