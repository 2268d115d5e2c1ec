"""`onceonly purge`: what is over, forgotten now, and its space given back."""

import time
from pathlib import Path

import click

from onceonly.api.purge import PurgePreview
from onceonly.cli.caller_option import CallsAs, caller_options
from onceonly.cli.configuration_option import (
    configuration_option,
    load_client_settings,
    load_configuration,
)
from onceonly.cli.exits import Exit, Failure, failure_of
from onceonly.cli.output import output_option, print_json, put
from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError, OnceonlyError

POLL_S = 0.2


@click.command()
@configuration_option
@click.option("--preview", "what", flag_value="preview", help="Only say what is over.")
@click.option("--now", "what", flag_value="now", help="Forget it now, and wait for the end.")
@click.option("--compact", "what", flag_value="compact", help="Give free space back to the disk.")
@caller_options
@output_option
def purge(config: Path | None, what: str | None, calls_as: CallsAs, output: str) -> None:
    """Forget what no rule needs any more; a gateway does so itself every `purge_interval`.

    --preview and --now ask a gateway that runs. What is forgotten leaves space in the store's file,
    which later messages use. --compact writes the file again without that space: it is for a
    gateway that does not run, and needs as much free space as the file will have then.

    \b
    onceonly purge -c gateway.toml --preview
    onceonly purge -c gateway.toml --now
    onceonly purge -c gateway.toml --compact
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if what is None:
        raise click.UsageError("say one of --preview, --now and --compact")
    if what == "compact":
        _compact(config)
        return
    settings = load_client_settings(config)
    try:
        with calls_as.open_of(settings) as client:
            seen = client.preview_purge() if what == "preview" else _purge(client)
    except GatewayUnreachable as error:
        raise Failure(Exit.UNREACHABLE, f"the gateway cannot be reached: {error}") from error
    except LocalError as error:
        raise failure_of(error) from error
    if output == "json":
        print_json(seen)
        return
    _print(seen, what)


def _purge(client: Client) -> PurgePreview:
    """Begin a purge and wait for its end; one that ran already counts as this one."""
    before = client.preview_purge().last
    client.start_purge()
    while True:
        seen = client.preview_purge()
        if seen.is_running:
            time.sleep(POLL_S)
        elif seen.last != before:
            return seen
        else:
            text = "the purge did not come to its end, as on a full disk; the log says why"
            raise Failure(Exit.UNEXPECTED, text)


def _print(seen: PurgePreview, what: str) -> None:
    if what == "now" and seen.last is not None:
        last = seen.last
        put(f"forgot  {last.inbound} received, {last.outbound} sent, {last.jobs} rows of jobs")
        put(f"        {last.pairs} counters of pairs, {last.files} files of payloads")
    for one in seen.forgettable:
        many = f"more than {one.count}" if one.is_more else str(one.count)
        put(f"over    {many} {one.kind}, since {one.oldest_at or '-'}, {one.bytes} bytes")
    if not seen.forgettable:
        put("over    nothing")
    put(f"store   {seen.store_bytes} bytes, of which {seen.free_bytes} are free for further rows")


def _compact(config: Path | None) -> None:
    from onceonly.gateway import upkeep  # noqa: PLC0415 - because --help must stay quick

    try:
        done = upkeep.compact(load_configuration(config))
    except (OnceonlyError, OSError) as error:
        raise failure_of(error) from error
    put(f"store   {done.bytes_after} bytes, before {done.bytes_before}")
