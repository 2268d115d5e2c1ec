"""`onceonly errors`: what the name of an error means, and who has to do what."""

import click

from onceonly.cli.exits import Exit, Failure
from onceonly.cli.output import output_option, print_json, print_rows, put, rows_option


@click.group()
def errors() -> None:
    """Names of errors: what each means, and what to do."""


@errors.command()
@click.argument("name", metavar="CODE")
@output_option
def lookup(name: str, output: str) -> None:
    """Explain CODE, the name of an error: where it is met, what it means, what to do.

    The names are those of Error messages, of the API, of an MSH's answers (`Onceonly-Error`), of a
    mail listener, and of commands and Spark jobs. Upper and lower case are the same.

    \b
    onceonly errors lookup InvalidSequenceNumber
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    from onceonly.explain.error_names import all_names, find_names  # noqa: PLC0415 - because --help must stay quick

    found = find_names(name)
    if not found:
        close = _close_to(name, {one.name for one in all_names()})
        raise Failure(Exit.NOT_FOUND, f"no error has the name {name}; {close}")
    if output == "json":
        print_json(found)
        return
    for number, one in enumerate(found):
        if number:
            put("")
        status = "" if one.status is None else f", status {one.status}"
        put(f"{one.name}  ({one.place.value}{status})")
        put(f"  {one.meaning}")
        if one.to_do is not None:
            put(f"  what to do: {one.to_do}")


@errors.command("list")
@rows_option
def list_names(output: str) -> None:
    """List every name of an error.

    \b
    onceonly errors list -o json
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    from onceonly.explain.error_names import all_names  # noqa: PLC0415 - because --help must stay quick

    print_rows(all_names(), ("name", "place", "status", "meaning"), output)


def _close_to(name: str, names: set[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - because it is needed here alone

    lower = {one.lower(): one for one in names}
    found = [lower[one] for one in get_close_matches(name.lower(), lower, n=3)]
    return f"close to it: {', '.join(found)}" if found else "`onceonly errors list` has all"
