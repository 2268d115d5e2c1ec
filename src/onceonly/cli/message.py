"""`onceonly send` and `onceonly message …`: outbound messages."""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from onceonly.api.events import EventKind
from onceonly.api.messages import MessageDetail, OutboundMessage, Receipt, is_over
from onceonly.api.words import BulkAction
from onceonly.cli.bulk import act_on_many, is_about_many, many_options
from onceonly.cli.criteria import criteria_options, timed_criteria_options
from onceonly.cli.events import KINDS, kinds_of, print_event
from onceonly.cli.exits import Exit, Failure, exit_of_message
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.lists import (
    list_options,
    most_of,
    order_of,
    page_by_page,
    print_count,
)
from onceonly.cli.number import seconds_option
from onceonly.cli.output import (
    JSON,
    inert,
    members,
    output_option,
    print_fields,
    print_json,
    print_rows,
    print_trace,
    put,
    rows_option,
    say,
    waiting,
    words_of_outcome,
)
from onceonly.client import Client
from onceonly.documents import UNKNOWN_TYPE, Document

POLL_S = 0.3
"""Seconds between two looks at what the gateway cannot wait for."""

WAIT_S = 10.0
"""Longest wait of one call; then the line that says what is waited for is drawn again."""

ANSWER_S = 30.0
"""How long a command waits for a partner's answer, unless told otherwise."""

COLUMNS = (
    *("message_id", "state", "to", "service", "action", "attempt", "submitted_at"),
    "partner_name",
)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--to", required=True, help="PartyId of the partner.")
@click.option("--service", required=True, help="What the message is for.")
@click.option("--action", required=True, help="What the partner should do.")
@click.option("--agreement", help="TPAId, where several agreements are with the partner.")
@click.option("--key", help="Business key: the same again returns the first submission.")
@click.option("--ref", help="MessageId that this message answers.")
@click.option("--conversation", help="ConversationId to join; if absent, a new one.")
@click.option("--wait", is_flag=True, help="Wait for the verdict; the exit code tells it.")
@seconds_option("--wait-timeout", default=300.0, words="Seconds to wait.")
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
    if sum(map(_is_stdin, files)) > 1:
        raise click.BadParameter("standard input can be read once", param_hint="FILES")
    documents = [_document(path) for path in files]
    receipt = client.submit(documents, **header)  # type: ignore[arg-type]  # because click has required what must be
    if receipt.replayed:
        say(f"submitted before, and it is {receipt.state}; nothing was added")
    if not wait:
        _print_receipt(receipt, output)
        return
    _print_receipt(receipt, output if output == "table" else "none")
    fate = _wait(client, [receipt.message_id], wait_timeout)
    if output == "json":
        print_json(fate[0])
    _exit_with(fate)


def _is_stdin(path: Path) -> bool:
    return str(path) == "-"


def _document(path: Path) -> Document:
    return Document(_read_stdin(), UNKNOWN_TYPE, "stdin") if _is_stdin(path) else _file(path)


def _file(path: Path) -> Document:
    """The file as a document; checked now, and again while it is read."""
    try:
        is_file = path.is_file()
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}", param_hint="FILES") from error
    if not is_file:
        raise click.BadParameter(f"{path} is no file", param_hint="FILES")
    return Document.from_file(path)


def _read_stdin() -> bytes:
    if sys.stdin is None:  # Where the shell closed it.
        raise click.BadParameter("standard input is closed", param_hint="FILES")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        text = f"standard input cannot be read: {error.strerror}"
        raise click.BadParameter(text, param_hint="FILES") from error


def _print_receipt(receipt: Receipt, output: str) -> None:
    if output == "json":
        print_json(receipt)
    elif output == "table":
        put(receipt.message_id)


@click.group()
def message() -> None:
    """Outbound messages: find them, look at them, wait for them, act on them."""


@message.command("list")
@criteria_options
@list_options
@rows_option
@gateway_command
def list_messages(
    client: Client,
    output: str,
    limit: int,
    newest: bool,  # noqa: FBT001 - because click passes it by name
    everything: bool,  # noqa: FBT001 - because click passes it by name
    **wanted: Any,
) -> None:
    """List the messages that fit everything you ask for, oldest first.

    \b
    onceonly message list -c gateway.toml --newest --since 2h --state failed
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart

    def fetch(after: int, page_limit: int) -> tuple[Sequence[OutboundMessage], int | None]:
        page = client.list(**wanted, order=order_of(newest), after=after, limit=page_limit)
        return page.messages, page.next_after

    found = page_by_page(fetch, most_of(limit, everything))
    rows = [{**members(one), "to": one.to_ids[0]} for one in found]
    print_rows(rows if output == "table" else found, COLUMNS, output)


@message.command("count")
@timed_criteria_options
@output_option
@gateway_command
def count_messages(client: Client, output: str, **wanted: Any) -> None:
    """Count the messages that fit everything you ask for; stops at 10,000.

    \b
    onceonly message count -c gateway.toml --to urn:duns:222222222 --since 7d
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    print_count(client.count(**wanted), output)


@message.command()
@click.argument("message_id")
@output_option
@gateway_command
def show(client: Client, message_id: str, output: str) -> None:
    """Show a message: its header, its state, what is known."""
    found = client.get(message_id)
    if output != "table":
        print_json(found)
        return
    fields = {
        **members(found),
        "from": found.from_ids[0],
        "to": found.to_ids[0],
        "last_outcome": words_of_outcome(found),
        "payloads": "; ".join(
            f"{one.n} {one.name or '-'}, {one.content_type}, {one.size_bytes} bytes"
            for one in found.payloads
        ),
    }
    print_fields(fields, output)


@message.command()
@click.argument("message_id")
@rows_option
@gateway_command
def trace(client: Client, message_id: str, output: str) -> None:
    """Show what happened to a message, row by row of the journal.

    Received messages and those that only pass through have rows as well.
    """
    timeline = client.journal_of(message_id)
    if not timeline:
        raise Failure(Exit.NOT_FOUND, f"NotFound: the journal has nothing about {message_id!r}")
    print_trace(timeline, output)


@message.command()
@click.argument("message_ids", nargs=-1, required=True)
@seconds_option("--timeout", default=300.0, words="Seconds to wait.")
@output_option
@gateway_command
def wait(client: Client, message_ids: tuple[str, ...], timeout: float, output: str) -> None:
    """Wait for verdicts; the exit code tells the fate (the worst one of several)."""
    fates = _wait(client, list(message_ids), timeout)
    print_rows(fates, ("message_id", "state", "error_code"), output)
    _exit_with(fates)


@message.command()
@click.option(
    "--from",
    "start",
    type=click.Choice(["now", "beginning"]),
    default="now",
    show_default=True,
    help="Where to begin; --after says it exactly.",
)
@click.option("--after", type=click.IntRange(min=0), help="seq of the last event that is known.")
@click.option("--kinds", callback=kinds_of, help="Some of: " + ", ".join(KINDS) + ".")
@click.option("--partner", help="Only what is about this partner.")
@output_option
@gateway_command
def tail(
    client: Client,
    start: str,
    after: int | None,
    kinds: tuple[EventKind, ...] | None,
    partner: str | None,
    output: str,
) -> None:
    """Show what happens, line by line, until you end it (Ctrl-C).

    Each line has a number; --after with the last one goes on without a gap, also after a restart of
    the gateway, which this command outlives. All kinds are shown but traffic, which has several
    lines for each message.

    \b
    onceonly message tail -c gateway.toml
    onceonly message tail -c gateway.toml --from beginning --kinds verdicts -o json
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if after is None and start == "beginning":
        after = 0
    try:
        for event in client.follow(after, kinds, partner):
            print_event(event, output)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


@message.command()
@click.argument("message_id")
@click.option("--remote", is_flag=True, help="Ask the partner, and wait for its answer.")
@seconds_option("--timeout", default=ANSWER_S, words="Seconds to wait for it.")
@output_option
@gateway_command
def status(
    client: Client,
    message_id: str,
    remote: bool,  # noqa: FBT001 - because click passes it by name
    timeout: float,
    output: str,
) -> None:
    """Show where a message stands; the exit code tells its fate.

    With --remote the partner's gateway is asked what it knows of the message, and how far its
    application is. Asking changes nothing there; an answer that it has the message ends a doubt
    here.
    """
    found = client.get(message_id)
    if remote:
        before = _reported_at(found)
        client.request_status(message_id)
        found = _until(client, message_id, timeout, lambda it: _reported_since(it, before))
    print_fields(_status_of(found), output)
    if remote and not _reported_since(found, before):
        say(f"{message_id}: the partner has not answered within {timeout:g} s")
        sys.exit(Exit.STILL_TRYING)
    _exit_with([found])


def _reported_at(found: MessageDetail) -> str | None:
    return None if found.recovery is None else found.recovery.reported_at


def _reported_since(found: MessageDetail, before: str | None) -> bool:
    return _reported_at(found) != before


def _status_of(found: MessageDetail) -> JSON:
    """What our side knows, then what the partner's side knows."""
    pair, recovery, response = found.pair, found.recovery, found.response
    assert pair is not None, "a message that is asked for has its pair"
    assert recovery is not None, "and its recovery"
    assert response is not None, "and its response"
    acknowledgment = found.acknowledgment
    return {
        "message_id": found.message_id,
        "state": found.state,
        "is_final": found.is_final,
        "attempt": found.attempt,
        "error_code": found.error_code,
        "reason": found.reason,
        "last_outcome": words_of_outcome(found),
        "pair": pair.state,
        "acknowledged_at": None if acknowledgment is None else acknowledgment.at,
        "acknowledgment": None if acknowledgment is None else acknowledgment.said,
        "received_by_application": ", ".join(found.receipts) or None,
        "recovery": recovery.phase,
        "replaced_by": recovery.replaced_by,
        "partner_says": recovery.status,
        "processing": recovery.processing,
        "reported_at": recovery.reported_at,
        "response": response.state,
        "response_due_at": response.due_at,
    }


@message.command()
@click.argument("message_id", required=False)
@click.option("--new-version", is_flag=True, help="Cancel it and send it under a new MessageId.")
@click.option("--anyway", is_flag=True, help="As a new message, though it may arrive twice.")
@click.option("--reason", help="Why; kept in the journal. --anyway needs one, and so do many.")
@many_options
@output_option
@gateway_command
def resend(
    client: Client,
    message_id: str | None,
    new_version: bool,  # noqa: FBT001 - because click passes it by name
    anyway: bool,  # noqa: FBT001 - because click passes it by name
    reason: str | None,
    output: str,
    **many: Any,
) -> None:
    """Send a message again that was given up, or all that fit what you ask for.

    A message in doubt goes out as the same bytes under the same MessageId, which its receiver
    recognises. A message that failed or expired, and was certainly not delivered (is_certain), goes
    out as a new message; resent_as names it. Neither can arrive twice.

    A new version goes out once the partner has confirmed that the old one is cancelled; its
    MessageId is then in the field replaced_by of the old one.

    A message that may have been delivered goes out as a new one only with --anyway: then two
    documents may arrive, and you take the responsibility for that.

    \b
    onceonly message resend ID -c gateway.toml
    onceonly message resend -c gateway.toml --state failed --since 2h --reason INC-42 --dry-run
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if is_about_many(message_id, many):
        if new_version:
            raise click.BadParameter("it is for one message", param_hint="--new-version")
        do: BulkAction = "resend-anyway" if anyway else "resend"
        act_on_many(client, do, many, reason=reason, output=output)
        return
    assert message_id is not None, "otherwise it is about many"
    if anyway and (new_version or not (reason or "").strip()):
        text = "it needs a --reason, and goes without --new-version"
        raise click.BadParameter(text, param_hint="--anyway")
    found = client.resend(message_id, new_version=new_version, anyway=anyway, reason=reason)
    if found.resent_as is not None:
        say(f"sent again as {found.resent_as}")
    print_fields(found, output)


@message.command()
@click.argument("message_id")
@click.option("--reason", required=True, help="Why it may go on now; kept in the journal.")
@output_option
@gateway_command
def resume(client: Client, message_id: str, reason: str, output: str) -> None:
    """Let a message go on that a bug of onceonly parked: sent, forwarded or received.

    An incident names each of them. A received message that is stored and was never handed over is
    acknowledged again and handed over, also where no bug was: with the lake's verdict
    NOT_DELIVERED_TO_APP this is the command to give at the receiver. What may have left goes out
    under the same MessageId; of what surely had not, the content goes out as a new message, whose
    id is in resent_as.
    """
    print_fields(client.resume_message(message_id, reason), output)


@message.command()
@click.argument("message_id", required=False)
@seconds_option("--timeout", default=ANSWER_S, words="Seconds to wait.")
@click.option("--reason", help="Why; only many messages need one.")
@many_options
@output_option
@gateway_command
def cancel(
    client: Client,
    message_id: str | None,
    timeout: float,
    reason: str | None,
    output: str,
    **many: Any,
) -> None:
    """Take a message back, or all that fit what you ask for.

    Where no byte has left, it is cancelled at once. Otherwise the partner is asked, and only its
    confirmation is final; it refuses once work on the message has begun.

    \b
    onceonly message cancel ID -c gateway.toml
    onceonly message cancel -c gateway.toml --state queued --to urn:duns:222222222 --reason INC-42
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if is_about_many(message_id, many):
        act_on_many(client, "cancel", many, reason=reason, output=output)
        return
    assert message_id is not None, "otherwise it is about many"
    client.cancel(message_id)
    found = _until(client, message_id, timeout, lambda it: not _is_cancelling(it))
    print_fields(found, output)
    if found.state == "cancelled":
        return
    if _is_cancelling(found):
        say(f"{message_id}: the partner has not answered within {timeout:g} s; it is asked on")
        sys.exit(Exit.STILL_TRYING)
    said = "the partner does not answer" if found.report is None else found.report.said or ""
    say(f"{message_id}: not cancelled: {said}")
    sys.exit(Exit.REFUSED if "refused" in said else Exit.STILL_TRYING)


def _is_cancelling(found: MessageDetail) -> bool:
    is_asked = found.recovery is not None and found.recovery.phase == "cancelling"
    return is_asked and found.state != "cancelled"


def _until(
    client: Client, message_id: str, timeout_s: float, ends: Callable[[MessageDetail], bool]
) -> MessageDetail:
    """The message once `ends` says so, or as it is when the time is over."""
    until = time.monotonic() + timeout_s
    with waiting("waiting for the partner's answer"):
        while True:
            found = client.get(message_id)
            if ends(found) or time.monotonic() >= until:
                return found
            time.sleep(POLL_S)


def _wait(client: Client, message_ids: list[str], timeout_s: float) -> list[MessageDetail]:
    """The messages once each has a verdict, its pair is closed, or the time is over.

    Ctrl-C ends the wait and not the message.
    """
    try:
        return _until_over(client, message_ids, time.monotonic() + timeout_s)
    except KeyboardInterrupt:
        say(f"still on its way; follow it with: onceonly message wait {' '.join(message_ids)}")
        sys.exit(Exit.INTERRUPTED)


def _until_over(client: Client, message_ids: list[str], until: float) -> list[MessageDetail]:
    fates: dict[str, MessageDetail] = {}
    with waiting("waiting for the acknowledgement") as status:
        while True:
            for message_id in message_ids:
                if message_id not in fates or not is_over(fates[message_id]):
                    fates[message_id] = client.get(message_id)
            open_ids = [name for name in message_ids if not is_over(fates[name])]
            left_s = until - time.monotonic()
            if not open_ids or left_s <= 0:
                return [fates[message_id] for message_id in message_ids]
            first = open_ids[0]
            status.update(inert(f"waiting for {len(open_ids)} (attempt {fates[first].attempt})"))
            fates[first] = client.get(first, min(left_s, WAIT_S))


def _exit_with(fates: list[MessageDetail]) -> None:
    codes = [exit_of_message(fate) for fate in fates]
    for fate, code in zip(fates, codes, strict=True):
        if code is not Exit.OK:
            say(f"{fate.message_id}: {fate.state} ({_why(fate)}); see: onceonly message trace")
    sys.exit(max(codes))


def _why(fate: MessageDetail) -> str:
    """What is known of the cause: of its end, else of its pair, else of its last transmission."""
    if fate.error_code is not None:
        return ": ".join(filter(None, (fate.error_code, fate.reason)))
    if fate.pair is not None and fate.pair.reason:
        return fate.pair.reason
    last = words_of_outcome(fate)
    return f"no answer yet; last outcome: {last}" if last else "no answer yet"
