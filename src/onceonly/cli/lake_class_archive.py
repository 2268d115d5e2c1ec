"""`onceonly lake class-archive`: what lets every other command of the lake start sooner."""

import click

from onceonly.cli.lake import with_spark
from onceonly.cli.output import say


@click.command(name="class-archive")
@click.option("--remove", is_flag=True, help="Remove the archive instead.")
def class_archive(*, remove: bool) -> None:
    """Keep the classes of Spark in an archive, so that every later command starts sooner.

    Once for each user and installation of Spark, and again after another Java or Spark was
    installed: with others Java does not use the archive. It takes a minute or two and some 200 MB
    in the user's cache folder (XDG_CACHE_HOME), or at the path in ONCEONLY_CLASS_ARCHIVE.

    \b
    onceonly lake class-archive
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if remove:
        where = with_spark(lambda jobs: jobs.remove_class_archive())
        say("there is no archive" if where is None else f"removed {where}")
        return
    where = with_spark(lambda jobs: jobs.make_class_archive())
    say(f"{where}: {where.stat().st_size / 1e6:,.0f} MB, used from the next command on")
