"""`onceonly lake take-over`: a lake of an older version, in the layout of this one."""

import click

from onceonly.cli.lake import master_option, with_spark
from onceonly.cli.output import output_option, print_rows, say


@click.command(name="take-over")
@click.argument("lake_directory", metavar="LAKE")
@master_option
@output_option
def take_over(lake_directory: str, master: str | None, output: str) -> None:
    """Bring a lake that an older version made into the layout of this one.

    No segment is asked for: rows stay where they are, and what this version keeps in another way is
    made of them. It may be killed and run again at any time; a lake that was taken over stays as it
    is. Tables of before are removed where nothing but their Parquet is in their folders;
    `reconcile` writes them again.

    \b
    onceonly lake take-over lake
    onceonly lake reconcile lake
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    done = with_spark(lambda jobs: jobs.take_over(lake_directory, master=master, tell=say))
    rows = [
        {"journal": name, "rows": taken.rows, "segments": taken.segments, "retired": taken.retired}
        for name, taken in sorted(done.parties.items())
    ]
    print_rows(rows, ("journal", "rows", "segments", "retired"), output)
    if not rows:
        say("nothing to take over: every journal in it is of this layout")
    for name in done.tables:
        say(f"removed the table {name} of before: reconcile writes it again")
