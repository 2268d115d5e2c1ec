"""`onceonly migrate`: what a newer program does to a store, told before it is done."""

import sys
from pathlib import Path
from typing import Any

import click

from onceonly.cli.exits import Exit, Failure
from onceonly.cli.gateway_option import configuration_option, load_configuration
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
    from onceonly.store.sqlite.upgrade import plan_of  # noqa: PLC0415 - because --help must stay quick

    configuration = load_configuration(config)
    store, party = configuration.store, str(configuration.party[0])
    try:
        plan = plan_of(store, party)
        _print_plan(plan, store)
        if rehearse and plan.steps:
            _rehearse(configuration, party)
        if check or not plan.steps:
            sys.exit(Exit.DIFFERENCES if plan.steps else Exit.OK)
        _migrate(configuration, plan)
    except (OnceonlyError, OSError) as error:
        raise Failure(Exit.UNEXPECTED, str(error)) from error


def _print_plan(plan: Any, store: Path) -> None:
    if not plan.found.is_there:
        put(f"store   {store}, which is made at the first start")
        return
    put(f"store   {store}, {plan.store_bytes} bytes, schema {plan.found.version}")
    for name in plan.steps:
        put(f"step    {name}")
    if not plan.steps:
        put("steps   none: nothing to do")
        return
    put(f"disk    at most {plan.needed_bytes} bytes more; {plan.free_bytes} are free")
    if plan.needed_bytes > plan.free_bytes:
        say("warning: the disk may be too small; then nothing is changed, and the start is refused")


def _rehearse(configuration: Any, party: str) -> None:
    from onceonly.gateway.clock import Clock  # noqa: PLC0415 - because --help must stay quick
    from onceonly.store.files import make_parents  # noqa: PLC0415 - because --help must stay quick
    from onceonly.store.sqlite.upgrade import rehearse  # noqa: PLC0415 - because --help must stay quick

    make_parents(configuration.backups / "rehearsal")
    done = rehearse(configuration.store, party, configuration.backups, Clock().at)
    put(f"took    {done.took_s:.1f} s on a copy, which grew by {done.grown_bytes} bytes")


def _migrate(configuration: Any, plan: Any) -> None:
    from onceonly.gateway.wiring import clock_of, open_store  # noqa: PLC0415 - because --help must stay quick

    open_store(configuration, clock_of(configuration)).close()
    put(f"done    schema {plan.found.version + len(plan.steps)}")
