"""`onceonly migrate`: what a newer program does to a store, told before it is done."""

import sys
from pathlib import Path
from typing import Any

import click

from onceonly.cli.configuration_option import configuration_option, load_configuration
from onceonly.cli.exits import Exit, failure_of
from onceonly.cli.output import put, say
from onceonly.message.errors import OnceonlyError


@click.command()
@configuration_option
@click.option("--check", is_flag=True, help="Only say what would be done; exit 11 if something.")
@click.option("--rehearse", is_flag=True, help="Do it to a copy, beside the backups, and say how.")
def migrate(config: Path | None, *, check: bool, rehearse: bool) -> None:
    """Bring the store of a gateway that does not run to this program's schema.

    A start does the same. With --check nothing is changed, and the exit code is 0 if there is
    nothing to do, 11 if there is, and 1 if this program cannot use the store: above all, if a newer
    one has used it. --rehearse also works while the gateway runs, and needs space for the copy.

    \b
    onceonly migrate -c gateway.toml --check
    onceonly migrate -c gateway.toml --check --rehearse
    onceonly backup -c gateway.toml before-upgrade && onceonly migrate -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    from onceonly.gateway import upkeep  # noqa: PLC0415 - because --help must stay quick

    configuration = load_configuration(config)
    try:
        upgrade = upkeep.upgrade_of(configuration)
        _print_upgrade(upgrade, configuration.store)
        if rehearse and upgrade.steps:
            done = upkeep.rehearse(configuration)
            put(f"took    {done.took_s:.1f} s on a copy, which grew by {done.grown_bytes} bytes")
        if check or not upgrade.steps:
            sys.exit(Exit.DIFFERENCES if upgrade.steps else Exit.OK)
        upkeep.migrate(configuration)
        put(f"done    schema {upgrade.found.version + len(upgrade.steps)}")
    except (OnceonlyError, OSError) as error:
        raise failure_of(error) from error


def _print_upgrade(upgrade: Any, store: Path) -> None:
    if not upgrade.found.is_there:
        put(f"store   {store}, which is made at the first start")
        return
    put(f"store   {store}, {upgrade.store_bytes} bytes, schema {upgrade.found.version}")
    for name in upgrade.steps:
        put(f"step    {name}")
    if not upgrade.steps:
        put("steps   none: nothing to do")
        return
    put(f"disk    at most {upgrade.needed_bytes} bytes more; {upgrade.free_bytes} are free")
    if upgrade.needed_bytes > upgrade.free_bytes:
        say("warning: the disk may be too small; then nothing is changed, and the start is refused")
