"""`onceonly conversation …`: ordered conversations that wait, and what is done about them."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import print_rows, rows_option
from onceonly.client import Client

COLUMNS: Final = (
    *("conversation", "partner", "state", "number", "waiting", "message_id", "since"),
    "partner_name",
)
HELD_COLUMNS: Final = ("number", "message_id")


def _about(command: Callable[..., Any]) -> Callable[..., Any]:
    """PARTNER and CONVERSATION."""
    return click.argument("partner")(click.argument("conversation")(command))


_reason = click.option("--reason", required=True, help="Why; the journal has it.")


@click.group()
def conversation() -> None:
    """Ordered conversations that wait: list, show, reset, release, drop."""


@conversation.command("list")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@rows_option
@gateway_command
def list_conversations(client: Client, limit: int, output: str) -> None:
    """List conversations of ours that are blocked, and those of partners with a gap.

    \b
    onceonly conversation list -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_rows(client.conversations(limit=limit), COLUMNS, output)


@conversation.command("show")
@_about
@rows_option
@gateway_command
def show(client: Client, partner: str, conversation: str, output: str) -> None:
    """Show both directions of CONVERSATION with PARTNER, and what is not handed over.

    \b
    onceonly conversation show urn:duns:222222222 orders-17 -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.conversation(partner, conversation)
    print_rows(found.directions, COLUMNS, output)
    if found.held:
        print_rows(found.held, HELD_COLUMNS, output)


@conversation.command("reset")
@_about
@_reason
@click.option(
    "--anyway",
    metavar="MESSAGE_ID",
    help="The message in doubt that blocks it, and then counts as not delivered.",
)
@rows_option
@gateway_command
def reset(
    client: Client, partner: str, conversation: str, reason: str, anyway: str | None, output: str
) -> None:
    """Go on in a blocked CONVERSATION without the message that blocks it.

    The next message begins new numbers. To send the message again instead: onceonly message resend.

    \b
    onceonly conversation reset urn:duns:222222222 orders-17 --reason "sent by fax" -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    _print(client.reset_conversation(partner, conversation, reason, anyway=anyway), output)


@conversation.command("release")
@_about
@_reason
@rows_option
@gateway_command
def release(client: Client, partner: str, conversation: str, reason: str, output: str) -> None:
    """Hand over what waits in CONVERSATION, without the messages that are missing.

    Up to the next gap. A missing message that comes after this is refused.

    \b
    onceonly conversation release urn:duns:222222222 orders-17 --reason "7 was a test"
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    _print(client.release_conversation(partner, conversation, reason), output)


@conversation.command("drop")
@_about
@_reason
@rows_option
@gateway_command
def drop(client: Client, partner: str, conversation: str, reason: str, output: str) -> None:
    """Give up what waits in CONVERSATION; PARTNER is told of each message.

    \b
    onceonly conversation drop urn:duns:222222222 orders-17 --reason "they send it all again"
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    _print(client.drop_conversation(partner, conversation, reason), output)


def _print(message_ids: Sequence[str], output: str) -> None:
    print_rows([{"message_id": one} for one in message_ids], ("message_id",), output)
