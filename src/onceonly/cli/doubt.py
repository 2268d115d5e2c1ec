"""`onceonly doubt …`: messages whose word nobody here can know, and the word that ends a doubt."""

import sys
from collections.abc import Sequence
from typing import Any, Final, get_args

import click

from onceonly.api.doubts import Remedy, advice_for
from onceonly.api.messages import MessageDetail, OutboundMessage
from onceonly.api.words import BulkAction, Settlement
from onceonly.cli.bulk import act_on_many, is_about_many, many_options
from onceonly.cli.exits import Exit, Failure, exit_of_refusal
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.lists import list_options, most_of, order_of, page_by_page
from onceonly.cli.output import (
    JSON,
    output_option,
    print_fields,
    print_json,
    print_rows,
    put,
    rows_option,
    say,
    words_of_outcome,
)
from onceonly.client import Client
from onceonly.message.errors import LocalError

COLUMNS: Final = (
    *("message_id", "to", "service", "action", "submitted_at", "attempt", "last_outcome"),
    *("partner_said", "do", "why"),
)

_COMMANDS: Final[dict[Remedy, str]] = {
    "take-up": "onceonly message resume {on} --reason …",
    "resend": "onceonly message resend {on}",
    "new-version": "onceonly message resend {on} --new-version",
    "ask": "onceonly message status {on} --remote",
}
_DO: Final[dict[Settlement, BulkAction]] = {
    "delivered": "settle-delivered",
    "not-delivered": "settle-not-delivered",
}
_WORDS: Final = """\
If the partner has told you by other means whether it has the document, say so:
it has it:      onceonly doubt settle {on} --as delivered --reason …
it has it not:  onceonly doubt settle {on} --as not-delivered --reason …"""


@click.group()
def doubt() -> None:
    """Messages in doubt: list them, explain one, settle them by your word."""


@doubt.command("list")
@list_options
@click.option("--to", help="To this partner.")
@click.option("--agreement", help="Under this agreement.")
@rows_option
@gateway_command
def list_doubts(
    client: Client,
    output: str,
    limit: int,
    newest: bool,  # noqa: FBT001 - because click passes it by name
    everything: bool,  # noqa: FBT001 - because click passes it by name
    **wanted: Any,
) -> None:
    """List messages in doubt, oldest first, each with its evidence and the one thing to do.

    \b
    onceonly doubt list -c gateway.toml --to urn:duns:222222222
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def fetch(after: int, page_limit: int) -> tuple[Sequence[OutboundMessage], int | None]:
        order = order_of(newest)
        page = client.list(**wanted, state="in_doubt", order=order, after=after, limit=page_limit)
        return page.messages, page.next_after

    found = page_by_page(fetch, most_of(limit, everything))
    rows = [_evidence(client.get(one.message_id)) for one in found]
    print_rows(rows, COLUMNS, output)


def _evidence(found: MessageDetail) -> JSON:
    advice = advice_for(found)
    return {
        "message_id": found.message_id,
        "to": found.to_ids[0],
        "service": found.service,
        "action": found.action,
        "submitted_at": found.submitted_at,
        "attempt": found.attempt,
        "error_code": found.error_code,
        "reason": found.reason,
        "last_outcome": words_of_outcome(found),
        "partner_said": None if found.report is None else found.report.said,
        "partner_said_at": None if found.report is None else found.report.at,
        "pair": None if found.pair is None else found.pair.state,
        "known": found.known,
        "do": advice.do,
        "why": advice.why,
        "risk": advice.risk,
    }


@doubt.command()
@click.argument("message_id")
@output_option
@gateway_command
def explain(client: Client, message_id: str, output: str) -> None:
    """Say in words what is known of a message in doubt, what to do, and what that risks.

    \b
    onceonly doubt explain ID -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.get(message_id)
    if found.state != "in_doubt":
        text = f"{message_id} is {found.state}, and not in doubt: {found.known}"
        raise Failure(Exit.NOT_POSSIBLE, text)
    evidence = _evidence(found)
    if output == "json":
        print_json(evidence)
        return
    put(f"{message_id} to {evidence['to']}: in doubt; {found.known}.")
    last = evidence["last_outcome"] or "unknown"
    put(f"Tries since it was last started: {found.attempt}; how the last ended: {last}.")
    put(f"Given up since: {': '.join(filter(None, (found.error_code, found.reason)))}.")
    said = evidence["partner_said"]
    put(f"The partner said: {said}." if said else "The partner has said nothing about it.")
    put(f"{evidence['why']} {_COMMANDS[advice_for(found).do].format(on=message_id)}")
    put(f"Risk: {evidence['risk']}")
    for line in _WORDS.splitlines():
        put(line.format(on=message_id))


@click.command()
@click.argument("message_ids", nargs=-1)
@click.option(
    "--as",
    "word",
    required=True,
    type=click.Choice(get_args(Settlement)),
    help="What the partner told you by other means.",
)
@click.option("--reason", required=True, help="Who told you, and how; kept in the journal.")
@many_options
@output_option
@gateway_command
def settle(
    client: Client,
    message_ids: tuple[str, ...],
    word: Settlement,
    reason: str,
    output: str,
    **many: Any,
) -> None:
    """End a doubt by your word, or all doubts that fit what you ask for.

    For when you have asked the partner by other means. Nothing is sent, except a response that the
    partner itself asks for again, and no word leaves this gateway; a closed pair stays closed. What
    the partner's gateway says later still counts.

    After not-delivered, `message resend` sends the content as a new message. After delivered it
    does so only with --anyway. A message that is not in doubt is refused.

    \b
    onceonly doubt settle ID -c gateway.toml --as delivered --reason "they see it, INC-42"
    onceonly doubt settle -c gateway.toml --to urn:duns:222222222 --as not-delivered \\
        --reason "their disk was lost, INC-42" --dry-run
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if is_about_many(message_ids[0] if message_ids else None, many):
        many["state"] = many["state"] or "in_doubt"
        act_on_many(client, _DO[word], many, reason=reason, output=output)
        return
    if len(message_ids) == 1:
        print_fields(client.settle(message_ids[0], word, reason), output)
        return
    _settle_each(client, message_ids, word, reason, output)


def _settle_each(
    client: Client, message_ids: Sequence[str], word: Settlement, reason: str, output: str
) -> None:
    """Each of several; what is refused does not keep the others from it."""
    settled, codes = [], set()
    for message_id in message_ids:
        try:
            settled.append(client.settle(message_id, word, reason))
        except LocalError as refused:
            say(f"{message_id}: {refused.name}: {refused}")
            codes.add(exit_of_refusal(refused.name))
    print_rows(settled, ("message_id", "state", "settled_at"), output)
    if codes:
        sys.exit(Exit.PARTIAL if settled else max(codes))


doubt.add_command(settle)
