"""`onceonly backup` and `onceonly restore`: a copy of the store, and the way back."""

import time
from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from onceonly.api.backups import Backup
from onceonly.cli.caller_option import CallsAs, caller_options
from onceonly.cli.configuration_option import configuration_option, load_configuration
from onceonly.cli.exits import Exit, Failure, failure_of
from onceonly.cli.output import output_option, print_json, put, say
from onceonly.cli.status_line import copied
from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError, OnceonlyError

POLL_S = 0.2


@click.command()
@configuration_option
@click.argument("name", required=False)
@caller_options
@output_option
def backup(config: Path | None, name: str | None, calls_as: CallsAs, output: str) -> None:
    """Back up the store and its large payloads, whether or not the gateway runs.

    A running gateway goes on meanwhile: it copies a piece between two of its transactions, and the
    backup has everything that was committed until its end. It is a folder below `backups` of the
    configuration, called NAME or the time. Copy that folder to another machine.

    \b
    onceonly backup -c gateway.toml
    onceonly backup -c gateway.toml before-upgrade
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    configuration = load_configuration(config)
    try:
        with calls_as.open_of(configuration) as client:
            made = _by_gateway(client, name)
    except GatewayUnreachable:
        made = _by_us(configuration, name)
    if output == "json":
        print_json(to_builtins(made))
        return
    manifest = made.manifest
    assert manifest is not None, "a backup that is done has one"
    put(f"folder   {made.folder}")
    put(f"store    {manifest.store_bytes} bytes, journal up to row {manifest.journal_seq}")
    put(f"payloads {manifest.payload_files} files, {manifest.payload_bytes} bytes")


def _by_gateway(client: Client, name: str | None) -> Backup:
    try:
        made = client.start_backup(name)
        with copied() as tell:
            while made.state == "running":
                time.sleep(POLL_S)
                made = client.backup(made.name)
                tell(made.pages_copied, made.pages)
    except LocalError as error:
        raise failure_of(error) from error
    if made.state == "failed":
        raise Failure(Exit.UNEXPECTED, f"the gateway could not make the backup: {made.reason}")
    return made


def _by_us(configuration: Any, name: str | None) -> Backup:
    """Of a gateway that does not run; the store's lock keeps it from starting meanwhile."""
    from onceonly.gateway.backups import take_closed  # noqa: PLC0415 - because --help must stay quick
    from onceonly.gateway.shapes import backup_shape  # noqa: PLC0415 - because --help must stay quick

    say(f"no gateway answers at {configuration.api}; the store is copied from outside")
    try:
        made = take_closed(configuration, name)
    except (OnceonlyError, OSError) as error:
        raise failure_of(error) from error
    return backup_shape(made)


@click.command()
@configuration_option
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option("--check", is_flag=True, help="Only verify the backup; nothing is changed.")
@click.option("--replace", is_flag=True, help="Move a store that is there aside, and put this one.")
def restore(config: Path | None, folder: Path, *, check: bool, replace: bool) -> None:
    """Put the backup in FOLDER in the place of the store of a gateway that does not run.

    Every byte is verified first. A store that is there is refused, or with --replace moved aside
    and kept. The restored store has forgotten what was sent and received since the backup: see the
    page "Back up and restore" before you start the gateway.

    \b
    onceonly restore backups/20261125T213000Z -c gateway.toml --check
    onceonly restore backups/20261125T213000Z -c gateway.toml --replace
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    from onceonly.gateway.restore import restore_store, verify_backup  # noqa: PLC0415 - because --help must stay quick

    configuration = load_configuration(config)
    try:
        if check:
            manifest = verify_backup(folder, configuration)
            put(f"whole    {folder}")
            put(f"party    {manifest.party}")
            put(f"journal  up to row {manifest.journal_seq}")
            put(f"payloads {manifest.payload_files} files")
            return
        done = restore_store(folder, configuration, is_replacing=replace)
    except (OnceonlyError, OSError) as error:
        raise failure_of(error) from error
    restored = done.restored
    put(f"store    {configuration.store}, epoch {restored.store_epoch}")
    put(f"journal  up to row {restored.manifest.journal_seq}")
    if restored.replaced is not None:
        put(f"replaced {restored.replaced}")
    if done.is_behind_lake:
        assert done.published is not None, "it is what the store is behind of"
        say(
            f"warning: {configuration.lake} has rows up to {done.published.seq}, which this store "
            "has forgotten; set `lake` to a new folder before you start, and reconcile both"
        )
