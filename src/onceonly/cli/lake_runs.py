"""`onceonly lake runs`: which sets of tables a lake has, and where they are; without Spark."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from onceonly.cli.exits import Exit, Failure, failure_of
from onceonly.cli.output import output_option, print_json, print_rows, put
from onceonly.message.errors import LocalError


@click.command()
@click.argument("lake_directory", metavar="LAKE")
@click.option("--table", metavar="NAME", help="Print the folders of this table instead.")
@click.option(
    "--run", "run_id", metavar="ID", help="Whose table that is.  [default: the current run's]"
)
@output_option
def runs(lake_directory: str, run_id: str | None, table: str | None, output: str) -> None:
    """List the runs of `reconcile` that wrote tables into a lake, the latest first.

    The one that is current has the tables that count now. Those of the others stay for a day after
    a newer run, and their lines for longer. With `--table` the folders of one plain table are
    printed, for whatever reads Parquet.

    \b
    onceonly lake runs lake
    onceonly lake runs lake --table delivery_ledger
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if run_id is not None and table is None:
        raise click.UsageError("--run says whose table is meant: give --table, too")
    try:
        from onceonly.lake import runs as sets  # noqa: PLC0415 - because --help must stay quick
    except ImportError as error:
        text = f"the lake needs Spark: pip install 'onceonly[spark]' ({error})"
        raise Failure(Exit.USAGE, text) from error
    try:
        if table is not None:
            _print_paths(sets.find(lake_directory, run_id).paths(table), output)
            return
        known = sets.listed(lake_directory)
        counts = sets.current_id(lake_directory)
    except (LocalError, OSError) as error:
        raise failure_of(error) from error
    is_json = output == "json"
    rows = [_row(one, is_current=one.id == counts, is_json=is_json) for one in known]
    print_rows(rows, ("run", "is_current", "as_of", "tables", "differences"), output)


def _print_paths(paths: Sequence[str], output: str) -> None:
    if output == "json":
        print_json(paths)
        return
    for path in paths:
        put(path)


def _row(run: Any, *, is_current: bool, is_json: bool) -> dict[str, Any]:
    row = {
        "run": run.id,
        "is_current": is_current,
        "as_of": run.as_of,
        "tables": sorted(run.tables),
        "differences": run.differences,
    }
    if not is_json:
        at = datetime.fromtimestamp(run.as_of / 1e6, UTC)
        return {**row, "as_of": at.isoformat(timespec="seconds"), "tables": len(run.tables)}
    return {
        **row,
        "published_at": run.published_at,
        "lakes": run.lakes,
        "verdicts": dict(run.verdicts),
        "broken": run.broken,
        "places": {name: run.place(name) for name in sorted(run.tables)},
    }
