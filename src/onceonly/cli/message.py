"""`onceonly send` and `onceonly message …`: outbound messages."""

import sys
import time
from pathlib import Path

import click
from rich.console import Console

from onceonly.cli.exits import Exit, exit_of_message
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import JSON, output_option, print_fields, print_json, print_rows, say
from onceonly.client import Client, Document

POLL_S = 0.3
"""Between looks at a message that is waited for."""

_SETTLED = {"acknowledged", "failed", "expired", "cancelled", "in_doubt"}
COLUMNS = ("message_id", "state", "to", "service", "action", "attempt", "submitted_at")


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--to", required=True, help="PartyId of the partner.")
@click.option("--service", required=True, help="What the message is for.")
@click.option("--action", required=True, help="What the partner should do.")
@click.option("--agreement", help="TPAId, where several agreements are with the partner.")
@click.option("--key", help="Business key: the same again returns the first submission.")
@click.option("--ref", help="MessageId that this message answers.")
@click.option("--conversation", help="ConversationId to join.")
@click.option("--wait", is_flag=True, help="Wait for the verdict; the exit code tells it.")
@click.option("--wait-timeout", default=300.0, show_default=True, help="Seconds to wait.")
@output_option
@gateway_command
def send(
    client: Client,
    files: tuple[Path, ...],
    wait: bool,  # noqa: FBT001 - because click passes it by name
    wait_timeout: float,
    output: str,
    **header: str | None,
) -> None:
    """Send FILES as the payloads of one message, once and only once.

    \b
    onceonly send order.xml -c gateway.toml --to urn:duns:222222222 \\
        --service Ordering --action NewOrder --key PO-4711 --wait
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    documents = [_document(path) for path in files]
    receipt = client.submit(documents, **header)  # type: ignore[arg-type]  # because click has required what must be
    if receipt["replayed"]:
        say("submitted before; nothing was added")
    if not wait:
        _print_receipt(receipt, output)
        return
    _print_receipt(receipt, output if output == "table" else "none")
    fate = _wait(client, [receipt["message_id"]], wait_timeout)
    if output == "json":
        print_json(fate[0])
    _exit_with(fate)


def _document(path: Path) -> Document:
    if str(path) == "-":
        return Document(sys.stdin.buffer.read(), "application/octet-stream", "stdin")
    if not path.is_file():
        raise click.BadParameter(f"{path} is no file", param_hint="FILES")
    return Document.from_file(path)


def _print_receipt(receipt: JSON, output: str) -> None:
    if output == "json":
        print_json(receipt)
    elif output == "table":
        click.echo(receipt["message_id"])


@click.group()
def message() -> None:
    """Outbound messages: list, show, trace, wait, cancel."""


@message.command("list")
@click.option("--state", help="Only messages in this state.")
@click.option("--to", help="Only messages to this partner.")
@click.option("--conversation", help="Only messages of this conversation.")
@click.option("--limit", default=100, show_default=True, help="Most messages to print.")
@output_option
@gateway_command
def list_messages(client: Client, output: str, limit: int, **wanted: str | None) -> None:
    """List messages, oldest first."""
    query: dict[str, str | int] = {k: v for k, v in wanted.items() if v is not None}
    rows: list[JSON] = []
    after = 0
    while len(rows) < limit:
        page = client.list(**query, after=after, limit=min(limit - len(rows), 1000))
        rows += page["messages"]
        if page["next_after"] is None:
            break
        after = page["next_after"]
    print_rows(
        [{**row, "to": row["to"][0]} if output == "table" else row for row in rows], COLUMNS, output
    )


@message.command()
@click.argument("message_id")
@output_option
@gateway_command
def show(client: Client, message_id: str, output: str) -> None:
    """Show a message: its header, its state, what is known."""
    found = client.get(message_id)
    if output == "table":
        found = {**found, "from": found["from"][0], "to": found["to"][0]}
    print_fields(found, output)


@message.command()
@click.argument("message_id")
@output_option
@gateway_command
def trace(client: Client, message_id: str, output: str) -> None:
    """Show what happened to a message, row by row of the journal."""
    timeline = client.get(message_id)["timeline"]
    print_rows(timeline, ("at", "event", "attempt", "outcome", "error_code", "reason"), output)


@message.command()
@click.argument("message_ids", nargs=-1, required=True)
@click.option("--timeout", default=300.0, show_default=True, help="Seconds to wait.")
@output_option
@gateway_command
def wait(client: Client, message_ids: tuple[str, ...], timeout: float, output: str) -> None:
    """Wait for verdicts; the exit code tells the fate (the worst one of several)."""
    fates = _wait(client, list(message_ids), timeout)
    print_rows(fates, ("message_id", "state", "error_code"), output)
    _exit_with(fates)


@message.command()
@click.argument("message_id")
@output_option
@gateway_command
def cancel(client: Client, message_id: str, output: str) -> None:
    """Take back a message of which no byte has left."""
    print_fields(client.cancel(message_id), output)


def _wait(client: Client, message_ids: list[str], timeout_s: float) -> list[JSON]:
    """The messages once each has a verdict, its pair is closed, or the time is over."""
    until = time.monotonic() + timeout_s
    fates: dict[str, JSON] = {}
    with Console(stderr=True).status("waiting for the acknowledgement") as status:
        while True:
            for message_id in message_ids:
                if message_id not in fates or not _is_over(fates[message_id]):
                    fates[message_id] = client.get(message_id)
            open_ids = [name for name in message_ids if not _is_over(fates[name])]
            if not open_ids or time.monotonic() >= until:
                return [fates[message_id] for message_id in message_ids]
            status.update(f"waiting for {len(open_ids)} (attempt {fates[open_ids[0]]['attempt']})")
            try:
                time.sleep(POLL_S)
            except KeyboardInterrupt:
                say(f"still on its way; follow it with: onceonly message wait {open_ids[0]}")
                sys.exit(Exit.INTERRUPTED)


def _is_over(found: JSON) -> bool:
    pair = found["pair"]
    return found["state"] in _SETTLED or (pair is not None and pair["state"] != "open")


def _exit_with(fates: list[JSON]) -> None:
    codes = [exit_of_message(fate) for fate in fates]
    for fate, code in zip(fates, codes, strict=True):
        if code is not Exit.OK:
            pair = fate["pair"] or {}
            reason = fate["error_code"] or pair.get("reason") or "no answer yet"
            say(f"{fate['message_id']}: {fate['state']} ({reason}); see: onceonly message trace")
    sys.exit(max(codes))
