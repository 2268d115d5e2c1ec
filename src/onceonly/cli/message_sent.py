"""`onceonly message header` and `message payload`: what was sent, as it left."""

import hashlib
from pathlib import Path

import click

from onceonly.cli.exits import Exit, Failure
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import (
    is_terminal,
    output_option,
    print_json,
    print_rows,
    put_bytes,
    put_lines,
)
from onceonly.client import Client

COLUMNS = ("path", "value")


@click.command()
@click.argument("message_id")
@click.option("--raw", is_flag=True, help="The document itself, as it left.")
@output_option
@gateway_command
def header(
    client: Client,
    message_id: str,
    raw: bool,  # noqa: FBT001 - because click passes it by name
    output: str,
) -> None:
    """Show the header document of a message: every element and attribute, or with --raw itself.

    Every transmission of a message has the same one. Before the first there is none.

    \b
    onceonly message header 4711@a.example.com -c gateway.toml
    onceonly message header 4711@a.example.com -c gateway.toml --raw
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.sent_header(message_id)
    if output == "json":
        print_json(found)
    elif raw:
        put_lines(found.raw.replace("\r\n", "\n"))
    else:
        print_rows(found.elements, COLUMNS, output)


@click.command()
@click.argument("message_id")
@click.option(
    "--number",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Which one, counted from 0.",
)
@click.option(
    "--to",
    "into",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; never one that is there.  [default: standard output]",
)
@gateway_command
def payload(client: Client, message_id: str, number: int, into: Path | None) -> None:
    """Write one payload of a message, as it was submitted.

    \b
    onceonly message payload 4711@a.example.com -c gateway.toml --to order.xml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.get(message_id).payloads
    if number >= len(found):
        text = f"NotFound: message {message_id!r} has {len(found)} payloads"
        raise Failure(Exit.NOT_FOUND, text)
    if into is None and is_terminal():
        raise click.UsageError("a payload is not shown on a terminal: say --to FILE, or a pipe")
    pieces = client.sent_payload(message_id, number)
    if into is None:
        for piece in pieces:
            put_bytes(piece)
        return
    digest = hashlib.sha256()
    try:
        with into.open("xb") as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
    except OSError as error:
        raise click.BadParameter(f"{into}: {error.strerror}", param_hint="--to") from error
    if digest.hexdigest() != found[number].digest:
        raise Failure(Exit.UNEXPECTED, f"payload {number} arrived altered in {into}")
