"""`onceonly lake …`: from journals to proof. Spark is loaded only when a job runs."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from onceonly.cli.caller_option import CallsAs, caller_options
from onceonly.cli.configuration_option import (
    configuration_option,
    load_client_settings,
    load_configuration,
)
from onceonly.cli.exits import Exit, Failure, failure_of
from onceonly.cli.number import FiniteNumber
from onceonly.cli.output import output_option, print_json, print_rows, put, say
from onceonly.cli.status_line import of_spark
from onceonly.client import GatewayUnreachable
from onceonly.message.errors import LocalError
from onceonly.message.terms import DeliveryTerms


@click.group()
def lake() -> None:
    """The lake: publish journals, ingest, reconcile and report them with Spark."""


@lake.command()
@configuration_option
@caller_options
def publish(config: Path | None, calls_as: CallsAs) -> None:
    """Publish a gateway's journal, through the gateway if it runs, else from its store."""
    settings = load_client_settings(config)
    try:
        with calls_as.open_of(settings) as client:
            count = client.publish()
    except GatewayUnreachable:
        count = _publish_from_store(load_configuration(config))
    except LocalError as error:
        raise failure_of(error) from error
    say(f"{count} rows published to {settings.lake}")


def _publish_from_store(configuration: object) -> int:
    from onceonly.gateway.wiring import publish_offline  # noqa: PLC0415 - because --help must stay quick
    from onceonly.store.contract.conditions import StoreRefused  # noqa: PLC0415 - because --help must stay quick

    try:
        return publish_offline(configuration)  # type: ignore[arg-type]  # because load_configuration is lazy
    except (StoreRefused, LocalError, OSError) as error:
        raise failure_of(error) from error


def _give_settings(_: click.Context, __: click.Parameter, settings: tuple[str, ...]) -> None:
    if not settings:
        return
    from onceonly.lake.jobs import spark_settings  # noqa: PLC0415 - because --help must stay quick

    try:
        spark_settings.give(settings)
    except LocalError as error:
        raise click.BadParameter(str(error)) from error


def master_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """What Spark is told: its master, and settings, both passed on as given."""
    for option in (
        click.option(
            "--conf",
            multiple=True,
            expose_value=False,
            callback=_give_settings,
            metavar="KEY=VALUE",
            help="Setting of Spark, such as spark.jars.packages; may be repeated.",
        ),
        click.option(
            "--master", help="Spark master, given to Spark as it is.  [default: local[*]]"
        ),
    ):
        command = option(command)
    return command


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every Spark job takes: the lakes, and what Spark is told."""
    return click.argument("lakes", nargs=-1, required=True, metavar="LAKE…")(master_option(command))


US_PER_MIN = 60_000_000
US_PER_H = 60 * US_PER_MIN

as_of_option = click.option(
    "--as-of",
    type=int,
    help="Instant of judgement, microseconds UTC; later rows do not count.  [default: now]",
)


evidence_option = click.option(
    "--evidence",
    metavar="RUN",
    help="Count the rows that this run of the first lake had, and no others; its instant and "
    "rules too, where none are given.",
)


def judging_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options for what no journal tells: how late journals come, and the agreed terms."""
    for option in (
        click.option(
            "--verdict-within",
            "verdict_within_h",
            type=FiniteNumber(min=0, min_open=True),
            default=24.0,
            show_default=True,
            metavar="HOURS",
            help="Longest life of a message without a verdict; longer where the terms say so.",
        ),
        click.option(
            "--grace",
            "grace_min",
            type=FiniteNumber(min=0),
            default=5.0,
            show_default=True,
            metavar="MINUTES",
            help="How late journals may come: what is absent for longer counts as absent.",
        ),
        click.option(
            "--terms",
            "configurations",
            multiple=True,
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="A gateway's configuration, for what its agreements say; may be repeated.",
        ),
    ):
        command = option(command)
    return command


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The target of the scorecard, which no journal tells either."""
    for option in (
        click.option(
            "--sla-share",
            type=FiniteNumber(0, 1),
            default=0.99,
            show_default=True,
            help="Share of the messages that have to be acknowledged in that time.",
        ),
        click.option(
            "--sla-within",
            "sla_within_h",
            type=FiniteNumber(min=0, min_open=True),
            default=24.0,
            show_default=True,
            metavar="HOURS",
            help="Longest time from submission to acknowledgement, for the scorecard.",
        ),
    ):
        command = option(command)
    return command


def with_spark(job: Callable[[Any], Any]) -> Any:
    """Run a job of `onceonly.lake.jobs`; a missing Spark or lake is one line and an exit code."""
    try:
        from onceonly.lake import jobs  # noqa: PLC0415 - because only these verbs need Spark
    except ImportError as error:
        text = f"the lake needs Spark: pip install 'onceonly[spark]' ({error})"
        raise Failure(Exit.USAGE, text) from error
    context = click.get_current_context(silent=True)
    verb = (context and context.info_name) or "lake"
    try:
        with of_spark(verb, jobs.activity.now), jobs.told_why():
            return job(jobs)
    except LocalError as error:
        if error.name in jobs.NOT_THE_CALLERS:
            raise Failure(Exit.UNEXPECTED, f"{error.name}: {error}") from error
        raise failure_of(error) from error
    except OSError as error:
        # No permission to write, a missing mount, a full disk.
        raise failure_of(error) from error


@lake.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@master_option
@click.option("--into", metavar="LAKE", help="Where the rows go.  [default: the source itself]")
@click.option(
    "--trigger",
    default="available-now",
    show_default=True,
    help="available-now, or an interval such as 30s or 5m (runs until stopped).",
)
@output_option
def ingest(
    sources: tuple[str, ...], master: str | None, into: str | None, trigger: str, output: str
) -> None:
    """Take in newly published segments. A second run changes nothing.

    Every segment is looked at first. One that is damaged, edited, misnamed or no journal is
    quarantined: it is named on stderr, none of its rows count, and it is looked at again when it
    has changed. Exit code 11 while there is one.

    \b
    onceonly lake ingest buyer/lake
    onceonly lake ingest sftp://partner.example/lake --into lake
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    told = []

    def tell(line: str) -> None:
        told.append(line)
        say(line)

    done = with_spark(
        lambda jobs: jobs.ingest(sources, into=into, master=master, trigger=trigger, tell=tell)
    )
    rows = [
        {"journal": name, "batches": count, "last_seq": done.last_seq[name]}
        for name, count in sorted(done.batches.items())
    ]
    print_rows(rows, ("journal", "batches", "last_seq"), output)
    if not rows:
        # A wrong folder, or one that is not mounted, would look like a partner who is silent.
        say(f"no journal in {', '.join(sources)}: a gateway publishes into LAKE/journal/party=…")
    for line in done.complaints:
        if line not in told:
            say(line)
    sys.exit(Exit.OK if done.is_trusted else Exit.DIFFERENCES)


@lake.command()
@click.argument("lake_directory", metavar="LAKE")
@click.argument("segment")
@master_option
@click.option("--reason", required=True, help="Why; it stays in the lake and on every report.")
def distrust(lake_directory: str, segment: str, master: str | None, reason: str) -> None:
    """Set aside the rows that were taken in from a SEGMENT, named as `ingest` names it.

    If two contents came under one name, the first one counts, and the other one is quarantined
    ("it holds other rows"). Only people know which one is true. The file that is there now is taken
    in its place, if it is another one and whole, and so are the segments that follow it. Exit code
    11 while any segment is quarantined.

    \b
    onceonly lake distrust lake journal/party=urn%3Aduns%3A2/segment-….parquet \\
        --reason "not what 222222222 published; they sent it again, signed, on 2026-11-25"
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    done = with_spark(
        lambda jobs: jobs.distrust(lake_directory, segment, reason=reason, master=master)
    )
    for line in done.complaints:
        say(line)
    sys.exit(Exit.OK if done.is_trusted else Exit.DIFFERENCES)


@lake.command()
@spark_options
@click.option(
    "--keep",
    "keep_hours",
    type=FiniteNumber(min=0),
    default=24.0,
    show_default=True,
    help="Hours for which folders stay that a running job may still read.",
)
@output_option
def compact(lakes: tuple[str, ...], master: str | None, keep_hours: float, output: str) -> None:
    """Fold the small folders of many ingests into few; no verdict changes."""
    done = with_spark(lambda jobs: jobs.compact(lakes, master=master, keep_s=keep_hours * 3_600.0))
    rows = [
        {"journal": name, "folders": sum(map(len, found.products.values()))}
        for name, found in sorted(done.manifests.items())
    ]
    print_rows(rows, ("journal", "folders"), output)


@lake.command()
@spark_options
@as_of_option
@evidence_option
@click.option("--out", help="Another folder for the delivery ledger.  [default: in the first lake]")
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME",
    help="A table to write into the first lake; may be repeated.  [default: every one]",
)
@click.option("--ledger-only", is_flag=True, help="Write the delivery ledger and no other table.")
@click.option(
    "--report",
    "report_to",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the page of `lake report` too, from the tables of this run.",
)
@judging_options
@target_options
@click.option(
    "--table-format",
    type=click.Choice(["plain", "delta", "iceberg"]),
    default="plain",
    show_default=True,
    help="What ledger and tables are written as; Delta and Iceberg need their jars in Spark.",
)
@click.option("--catalog", metavar="NAME", help="For iceberg: such as lake.onceonly.")
@click.option(
    "--register", is_flag=True, help="Make views of ledger and tables, in Spark's catalog."
)
@click.option(
    "--database",
    default="onceonly",
    show_default=True,
    metavar="NAME",
    help="The database of these views; made where there is none.",
)
@output_option
def reconcile(  # noqa: PLR0913 - because each is one of the command's options
    *,
    lakes: tuple[str, ...],
    master: str | None,
    as_of: int | None,
    evidence: str | None,
    out: str | None,
    tables: tuple[str, ...],
    ledger_only: bool,
    report_to: Path | None,
    configurations: tuple[Path, ...],
    grace_min: float,
    verdict_within_h: float,
    sla_within_h: float,
    sla_share: float,
    table_format: str,
    catalog: str | None,
    register: bool,
    database: str,
    output: str,
) -> None:
    """Match the journals of both parties, judge every message, and write the tables.

    All that it writes is published at once, as a run (`onceonly lake runs`): readers have the
    tables of the run before, or all of this one. Exit code 11 where anything differs or an
    invariant is broken. The folder of `--out` has to be new, empty, or a table's: it is replaced.

    \b
    onceonly lake ingest buyer/lake seller/lake
    onceonly lake reconcile buyer/lake seller/lake
    onceonly lake reconcile buyer/lake seller/lake --table in_doubt --terms buyer.toml
    onceonly lake reconcile buyer/lake seller/lake --report report.html --terms buyer.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if ledger_only and tables:
        raise Failure(Exit.USAGE, "--ledger-only and --table: one of the two")
    if _are_given("database") and not register:
        raise click.UsageError("--database is of the views: give --register, too")
    terms = read_terms(configurations)
    is_as_before = evidence is not None and not _are_given("grace_min", "verdict_within_h")
    found = with_spark(
        lambda jobs: jobs.reconcile(
            lakes,
            master=master,
            as_of=as_of,
            evidence=evidence,
            policy=None if is_as_before else make_policy(jobs, grace_min, verdict_within_h, terms),
            out=out,
            tables=() if ledger_only else tables or None,
            terms=terms,
            sla=jobs.SlaTarget(round(sla_within_h * US_PER_H), sla_share),
            target=jobs.target(table_format, catalog),
            register=database if register else None,
            report_to=report_to,
        )
    )
    for line in found.cautions:
        say(line)
    if output == "json":
        print_json(
            {
                "verdicts": found.verdicts,
                "differences": found.differences,
                "header_unproven": found.header_unproven,
                "content_unproven": found.unproven,
                "invariants": {line.name: line.breaches for line in found.invariants},
                "ledger": found.ledger,
                "tables": found.tables,
                "run": found.run,
            }
        )
    else:
        counts = [{"verdict": k, "messages": n} for k, n in found.verdicts.items() if n]
        print_rows(counts, ("verdict", "messages"), output)
        for line in found.broken:
            say(f"BROKEN {line.name}: {line.claim} {line.breaches}: {', '.join(line.examples)}")
        if found.header_unproven:
            say(f"header unproven: {found.header_unproven}, a side has no digest of it")
        if found.unproven:
            say(
                f"content unproven: {found.unproven}; one journal lacks the digests of what matched"
            )
        say(f"{found.differences} differences; ledger: {found.ledger}")
        if report_to is not None:
            say(f"page: {report_to}")
        if found.tables:
            say(f"tables beside it: {', '.join(sorted(found.tables))}")
    sys.exit(Exit.OK if found.holds else Exit.DIFFERENCES)


def _are_given(*names: str) -> bool:
    """Whether somebody gave one of these options."""
    context = click.get_current_context()
    return any(context.get_parameter_source(name) is not ParameterSource.DEFAULT for name in names)


def read_terms(configurations: tuple[Path, ...]) -> dict[str, DeliveryTerms]:
    """The terms of the gateways' agreements, by agreement id; a later file wins."""
    return {
        agreement.id: agreement.terms
        for path in configurations
        for agreement in load_configuration(path).agreements
    }


def make_policy(
    jobs: Any, grace_min: float, verdict_within_h: float, terms: dict[str, DeliveryTerms]
) -> Any:
    """The rules by which the jobs judge."""
    given = jobs.Policy(
        grace_us=round(grace_min * US_PER_MIN), verdict_within_us=round(verdict_within_h * US_PER_H)
    )
    return given.under(terms.values())


@lake.command()
@spark_options
@as_of_option
@evidence_option
@judging_options
@target_options
@click.option(
    "--out",
    default=Path("report.html"),
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the page goes.",
)
def report(  # noqa: PLR0913 - because each is one of the command's options
    *,
    lakes: tuple[str, ...],
    master: str | None,
    as_of: int | None,
    evidence: str | None,
    configurations: tuple[Path, ...],
    grace_min: float,
    verdict_within_h: float,
    sla_within_h: float,
    sla_share: float,
    out: Path,
) -> None:
    """Write one static HTML page: verdicts, invariants, plots; no network needed to read it.

    Without `--terms` the page cannot tell whether the agreements' budgets were kept. What a run of
    `reconcile` wrote and is still true is read and not computed again.

    \b
    onceonly lake report buyer/lake seller/lake --terms buyer.toml --sla-within 2
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    terms = read_terms(configurations)
    is_as_before = evidence is not None and not _are_given("grace_min", "verdict_within_h")
    page = with_spark(
        lambda jobs: jobs.report(
            lakes,
            master=master,
            out=out,
            as_of=as_of,
            evidence=evidence,
            policy=None if is_as_before else make_policy(jobs, grace_min, verdict_within_h, terms),
            terms=terms,
            sla=jobs.SlaTarget(round(sla_within_h * US_PER_H), sla_share),
        )
    )
    put(page)
