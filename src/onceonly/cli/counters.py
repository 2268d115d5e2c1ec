"""`onceonly counters`, `exceptions`, `duplicates` and `security`: what happened, and how often."""

from collections.abc import Iterator
from typing import get_args

import click

from onceonly.api.counters import CounterStep, ExceptionName, Happened, ListedException
from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import JSON, limit_option, members, output_option, print_json, print_rows
from onceonly.client import Client

PAGE = 1_000
"""Most rows that the gateway lists at once."""

COLUMNS = (
    *("begins_at", "submitted", "acknowledged", "first_try", "in_doubt", "failed", "expired"),
    *("received", "duplicates", "collisions", "refused", "security"),
    *("latency_p50_s", "latency_p95_s", "latency_p99_s"),
)
EXCEPTION_COLUMNS = (
    *("at", "event", "partner", "message_id", "error_code", "reason"),
    "partner_name",
)
DUPLICATE_COLUMNS = (
    *("at", "partner", "message_id", "first_at", "delay_s", "answer"),
    "partner_name",
)


@click.command()
@click.option(
    "--step",
    type=click.Choice(get_args(CounterStep)),
    default="minute",
    show_default=True,
    help="Minutes are kept for a day, hours for 31 days.",
)
@click.option("--from", "since", help="First instant, such as 2026-11-25T21:00:00Z.")
@click.option("--to", "until", help="Instant after the last.  [default: now]")
@click.option("--agreement", help="Only what happened under this agreement.")
@output_option
@gateway_command
def counters(
    client: Client,
    step: CounterStep,
    since: str | None,
    until: str | None,
    agreement: str | None,
    output: str,
) -> None:
    """Show what happened over time, and how long acknowledgements took.

    The last hour by the minute, or with --step hour the last day. Steps in which nothing happened
    are left out; the last row is all of them together.

    \b
    onceonly counters -c gateway.toml
    onceonly counters -c gateway.toml --step hour --agreement tpa-ab-1
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = client.counters(step=step, since=since, until=until, agreement=agreement)
    if output == "json":
        print_json(found)
        return
    rows = [_row(one, one.begins_at) for one in found.counters]
    print_rows([*rows, _row(found.together, "together")], COLUMNS, output)


def _row(happened: Happened, begins_at: str) -> JSON:
    known = members(happened)
    seconds = {name: known[name] for name in COLUMNS if name.endswith("_s")}
    shown = {name: None if value is None else f"{value:.3g}" for name, value in seconds.items()}
    return {**known, **shown, "begins_at": begins_at}


def _listed(
    client: Client, event: ExceptionName | None, limit: int, **wanted: str | None
) -> Iterator[ListedException]:
    before: int | None = None
    while limit > 0:
        page = client.exceptions(event, before=before, limit=min(limit, PAGE), **wanted)
        yield from page.exceptions
        limit, before = limit - len(page.exceptions), page.next_before
        if before is None:
            return


def _print_exceptions(
    found: Iterator[ListedException], columns: tuple[str, ...], output: str
) -> None:
    listed = list(found)
    rows = [_flat(one) for one in listed]
    print_rows(rows if output == "table" else listed, columns, output)


def _flat(listed: ListedException) -> JSON:
    row, repeats = listed.row, listed.repeats
    return {
        **members(row),
        "partner": row.to_party if row.direction == "out" else row.from_party,
        **({} if repeats is None else members(repeats)),
    }


@click.command()
@click.option("--event", type=click.Choice(get_args(ExceptionName)), help="Only this one.")
@click.option("--partner", help="Only those with this partner.")
@click.option("--since", help="From this instant on, such as 2026-11-25T21:00:00Z.")
@click.option("--until", help="Before this instant.")
@limit_option
@output_option
@gateway_command
def exceptions(
    client: Client, event: ExceptionName | None, limit: int, output: str, **wanted: str | None
) -> None:
    """List what is rare and worth a look, newest first: duplicates, refusals, collisions, bugs.

    \b
    onceonly exceptions -c gateway.toml --event CollisionDetected
    onceonly exceptions -c gateway.toml --partner urn:duns:222222222 --since 2026-11-25T00:00:00Z
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    _print_exceptions(_listed(client, event, limit, **wanted), EXCEPTION_COLUMNS, output)


@click.command()
@click.option("--partner", help="Only those of this partner.")
@click.option("--since", help="From this instant on, such as 2026-11-25T21:00:00Z.")
@click.option("--until", help="Before this instant.")
@limit_option
@output_option
@gateway_command
def duplicates(client: Client, limit: int, output: str, **wanted: str | None) -> None:
    """List repeats of messages that were stored before, newest first.

    Each says when the first copy was stored, how long before, and which answer the repeat got.

    \b
    onceonly duplicates -c gateway.toml --partner urn:duns:111111111
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = _listed(client, "DuplicateEliminated", limit, **wanted)
    _print_exceptions(found, DUPLICATE_COLUMNS, output)


@click.command()
@click.option("--since", help="From this instant on, such as 2026-11-25T21:00:00Z.")
@click.option("--until", help="Before this instant.")
@limit_option
@output_option
@gateway_command
def security(client: Client, limit: int, output: str, **wanted: str | None) -> None:
    """List what somebody tried that is not allowed, newest first.

    \b
    onceonly security -c gateway.toml --since 2026-11-25T00:00:00Z
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    found = _listed(client, "SecurityEvent", limit, **wanted)
    _print_exceptions(found, EXCEPTION_COLUMNS, output)
