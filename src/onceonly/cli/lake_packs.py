"""`onceonly lake pack|verify`: evidence about two parties, made by one, verified by either."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from onceonly.cli.exits import Exit
from onceonly.cli.lake import (
    as_of_option,
    judging_options,
    make_policy,
    master_option,
    read_terms,
    spark_options,
    with_spark,
)
from onceonly.cli.output import output_option, print_rows, put, say


@click.command()
@spark_options
@click.option("--between", nargs=2, required=True, metavar="PARTY PARTY", help="The two parties.")
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the pack; new or empty.",
)
@click.option(
    "--day",
    type=click.DateTime(formats=["%Y-%m-%d"]),
    help="Only messages that began on this day (UTC).",
)
@as_of_option
@judging_options
@click.option("--by", metavar="NAME", help="Who signs the pack off.")
@click.option("--comment", metavar="TEXT", help="What they have to say about it.")
@click.option(
    "--sign",
    "key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="KEY.pem",
    help="Private key to sign the digests with.",
)
def pack(
    lakes: tuple[str, ...],
    master: str | None,
    between: tuple[str, str],
    out: Path,
    **how: Any,
) -> None:
    """Write an evidence pack: what the lakes know of two parties' messages, and of nobody else.

    The partner verifies it with `onceonly lake verify`.

    \b
    onceonly lake pack buyer/lake seller/lake --between urn:duns:111111111 urn:duns:222222222 \\
        --out evidence --by "A. Auditor" --comment "Third quarter"
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if how["comment"] is not None and how["by"] is None:
        raise click.UsageError("--comment is of whoever signs off: give --by, too")
    day = how["day"].date() if how["day"] else None
    terms = read_terms(how["configurations"])
    made = with_spark(
        lambda jobs: jobs.pack(
            lakes,
            jobs.PackScope(*between, day),
            out=out,
            as_of=how["as_of"],
            policy=make_policy(jobs, how["grace_min"], how["verdict_within_h"], terms),
            signing=jobs.Signing(how["by"], how["comment"], how["key"]),
            master=master,
        )
    )
    counts = made.counts.verdicts
    say(f"{sum(counts.values())} messages, {made.differences} differences")
    put(out)


@click.command()
@click.argument(
    "where", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="PACK"
)
@master_option
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PUB.pem",
    help="Public key or certificate of whoever is to have signed the pack.",
)
@click.option(
    "--allow-unchained",
    is_flag=True,
    help="Take rows on the maker's word whose hashes cannot be computed from the pack.",
)
@output_option
def verify(
    where: Path, master: str | None, key: Path | None, *, allow_unchained: bool, output: str
) -> None:
    """Compute an evidence pack again, and name everything that does not agree.

    Digests, signature, the hash of every journal row, the life of every message and its verdict.
    Exit code 11 where anything does not agree.
    """
    found = with_spark(
        lambda jobs: jobs.verify(where, key=key, allow_unchained=allow_unchained, master=master)
    )
    rows = [one._asdict() for one in found.disagreements]
    print_rows(rows, ("place", "what"), output)
    _say_what_is_claimed(found.summary)
    _say_who_signed(found)
    if found.unchained:
        say(f"{found.unchained} rows whose hashes cannot be computed, as the pack says")
    say("the pack agrees" if found.holds else f"{len(rows)} things do not agree")
    if not found.holds and found.other_maker:
        say(
            f"{found.other_maker} made the pack: lives, verdicts and counts may follow from its "
            "rows by other rules than ours. Verify it with that version too"
        )
    sys.exit(Exit.OK if found.holds else Exit.DIFFERENCES)


def _say_what_is_claimed(summary: Any) -> None:
    """What no row of the pack proves, and the verdicts are judged by."""
    if summary is None:
        return
    at = datetime.fromtimestamp(summary.as_of / 1e6, UTC).isoformat(timespec="seconds")
    rules = ", ".join(f"{name} {value}" for name, value in summary.policy._asdict().items())
    say("not computed again, but as the maker of the pack says:")
    say(f"  made by {summary.made_by}")
    say(f"  between {summary.pair.one} and {summary.pair.other}, {summary.pair.day or 'every day'}")
    say(f"  judged as of {summary.as_of} ({at}) by {rules}")
    say(f"  journals that were there: {', '.join(summary.holders)}")
    for party, wrong in sorted(summary.wholeness.items()):
        what = "whole" if wrong == 0 else f"{wrong} rows or segments missing, forked or kept apart"
        say(f"  journal of {party}: {what}")


def _say_who_signed(found: Any) -> None:
    off = None if found.summary is None else found.summary.signed_off
    if off is None:
        say("nobody signed the pack off")
    else:
        said = f": {off.comment}" if off.comment else ""
        say(f"signed off by {off.by} at {off.at}{said}")
    if found.signed is None:
        say("the signature was not checked: no --key")
