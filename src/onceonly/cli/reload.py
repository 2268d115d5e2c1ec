"""`onceonly reload`: a changed configuration file, taken over by a gateway that runs."""

import click

from onceonly.cli.gateway_option import gateway_command
from onceonly.cli.output import output_option, print_json, put, say
from onceonly.client import Client


@click.command()
@click.option("--show", is_flag=True, help="Only say which configuration runs, and since when.")
@output_option
@gateway_command
def reload(client: Client, output: str, *, show: bool) -> None:
    """Have a running gateway read its configuration file and certificates again.

    Agreements, routes, certificates, passwords, limits, folders, webhooks, alerts, and how long
    things are kept are taken over while messages go on. A file with an error, or with a change that
    needs a restart, is refused as a whole with exit code 2, and the gateway goes on as it was.
    SIGHUP does the same, and the log says how it ended.

    \b
    onceonly check -c gateway.toml && onceonly reload -c gateway.toml
    onceonly reload --show -c gateway.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if show:
        running = client.configuration()
        if output == "json":
            print_json(running)
            return
        put(f"file    {running.path}")
        put(f"digest  {running.digest}")
        put(f"since   {running.loaded_at}, by {running.loaded_by}")
        put(f"has     {running.agreements} agreements, {running.routes} routes")
        if running.refused is not None:
            say(f"refused {running.refused.at}, by {running.refused.by}: {running.refused.reason}")
        return
    done = client.reload()
    if output == "json":
        print_json(done)
        return
    put(done.changed or "nothing changed")
