"""`onceonly simulate`: worlds of real gateways under faults, judged. Nothing real is touched."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from onceonly.cli.exits import Exit, Failure, failure_of
from onceonly.cli.output import output_option, print_json, put, put_lines, say
from onceonly.cli.status_line import counted
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from onceonly.simulation.campaign.report import Summary
    from onceonly.simulation.campaign.worlds import Result
    from onceonly.simulation.plan import Plan

DEFAULT_SEEDS = (0, 1000)
DEFAULT_LEDGER = "simulation"


class SeedRange(click.ParamType[tuple[int, int]]):
    """`A:B`, the seeds from A up to and without B."""

    name = "A:B"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Two numbers, the second greater than the first."""
        if isinstance(value, tuple):
            return value
        first, colon, last = str(value).replace("_", "").partition(":")
        if not (colon and first.isdecimal() and last.isdecimal() and int(first) < int(last)):
            self.fail(f"{value!r} is not A:B with 0 <= A < B", param, ctx)
        return int(first), int(last)


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say where and by whom seeds are run."""
    for option in (
        click.option(
            "--master", help="Spark master, given to Spark as it is.  [default: local[*]]"
        ),
        click.option(
            "--ledger",
            help="Folder (or URL, with --spark) for what has been run, to go on from there.  "
            f"[default: {DEFAULT_LEDGER} with --spark]",
        ),
        click.option("--spark", "is_spark", is_flag=True, help="Run the seeds as a Spark job."),
        click.option(
            "--jobs",
            default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
            show_default="all cores",
            type=click.IntRange(min=1),
            help="Processes, where it is no Spark job.",
        ),
    ):
        command = option(command)
    return command


def _one_world(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that look at one world."""
    for option in (
        click.option(
            "--out",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Where the shrunk plan goes.  [default: stdout]",
        ),
        click.option("--invariant", help="Shrink by this one.  [default: the first violation]"),
        click.option(
            "--shrink", "shrunk", metavar="SEED|FILE", help="Find a small plan that still fails."
        ),
        click.option(
            "--trace", is_flag=True, help="With --replay: print everything that happened."
        ),
        click.option(
            "--replay",
            "replayed",
            metavar="SEED|FILE",
            help="Run one world, by seed or from a plan.",
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.option("--seeds", type=SeedRange(), help="Run these seeds.  [default: 0:1000]")
@click.option(
    "--fresh",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run N seeds from where the commit says: each commit tries others.",
)
@click.option("--exhaustive", is_flag=True, help="Run every execution of the small worlds.")
@click.option(
    "--power-cuts",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cut the power N times below the store on disk.",
)
@_one_world
@_where
@output_option
def simulate(**options: Any) -> None:
    """Try the gateway in simulated worlds: loss, crashes, power cuts, wrong clocks.

    Every seed is a world of two or more real gateways on virtual time, under faults that the seed
    decides. Every invariant is checked in every world. The same seed gives the same world, on any
    machine. Exit code 11 where an invariant was violated, or where 20,000 worlds or more never
    came by a state that they should have tried.

    \b
    onceonly simulate --seeds 0:10000
    onceonly simulate --replay 51977 --trace
    onceonly simulate --shrink 51977 --out small.json
    onceonly simulate --replay small.json
    onceonly simulate --spark --seeds 0:1000000 --ledger soak
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    if options["shrunk"] is not None:
        _shrink(options["shrunk"], options["invariant"], options["out"])
    elif options["replayed"] is not None:
        _replay(options["replayed"], options["output"], is_traced=options["trace"])
    else:
        _campaign(options)


def _plan(what: str) -> "Plan":
    """The plan of a seed, or from a file. Raises `Failure`."""
    from onceonly.simulation.generator.workload import plan_of  # noqa: PLC0415 - because --help must stay quick
    from onceonly.simulation.plan import Plan  # noqa: PLC0415 - because --help must stay quick

    if what.isdecimal():
        return plan_of(int(what))
    try:
        return Plan.from_json(Path(what).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Failure(Exit.USAGE, f"{what}: {error}") from error


def _replay(what: str, output: str, *, is_traced: bool) -> None:
    from onceonly.simulation.campaign.worlds import replay  # noqa: PLC0415 - because --help must stay quick

    result, trace = replay(_plan(what), keeps_trace=is_traced)
    if output == "json":
        print_json(_result_json(result) | ({"trace": trace} if is_traced else {}))
    else:
        for line in trace:
            put(line)
        put(f"seed {result.seed}: {result.events} events, trace {result.trace_hash}")
        for violation in result.violations:
            say(f"VIOLATED {violation.invariant}: {violation.text}")
    sys.exit(Exit.DIFFERENCES if result.violations else Exit.OK)


def _result_json(result: "Result") -> dict[str, Any]:
    fields = asdict(result)
    fields["violations"] = [asdict(violation) for violation in result.violations]
    fields["sometimes"] = sorted(result.sometimes)
    return fields


def _shrink(what: str, invariant: str | None, out: Path | None) -> None:
    from onceonly.simulation.campaign import shrink  # noqa: PLC0415 - because --help must stay quick
    from onceonly.simulation.campaign.worlds import run_plan  # noqa: PLC0415 - because --help must stay quick

    plan = _plan(what)
    if invariant is None:
        violations = run_plan(plan).violations
        if not violations:
            say(f"{what} violates nothing")
            sys.exit(Exit.OK)
        invariant = violations[0].invariant
    try:
        shrunk = shrink.shrink_counted(plan, invariant)
    except shrink.Unbroken as error:
        raise Failure(Exit.NOT_FOUND, str(error)) from error
    small = shrunk.plan
    before, after = shrink.size_of(plan), shrink.size_of(small)
    say(f"{invariant}: {after} events left in {shrunk.runs} runs; the plan had {before} and chance")
    if out is None:
        put_lines(small.to_json())
    else:
        out.write_text(small.to_json(), "utf-8")
    sys.exit(Exit.DIFFERENCES)


def _campaign(options: dict[str, Any]) -> None:
    """Every part that was asked for; the seeds, if nothing else was."""
    from onceonly.simulation.campaign import report  # noqa: PLC0415 - because --help must stay quick

    others: dict[str, dict[str, Any]] = {}
    if options["exhaustive"]:
        others["exhaustive"] = _exhaustive(options["jobs"], options["ledger"])
    if options["power_cuts"] is not None:
        others["power_cuts"] = _power_cuts(options["power_cuts"])
    seeds = _wanted_seeds(options, is_alone=not others)
    summary = report.Summary() if seeds is None else _run(seeds, options)
    if options["output"] == "json":
        print_json(report.as_json(summary) | others)
    elif seeds is not None:
        put_lines(report.as_text(summary))
    holds = summary.holds
    for line in report.complaints(summary):
        say(line)
    for found in others.values():
        holds = holds and found["holds"]
        say(found["text"])
    sys.exit(Exit.OK if holds else Exit.DIFFERENCES)


def _wanted_seeds(options: dict[str, Any], *, is_alone: bool) -> tuple[int, int] | None:
    if options["fresh"] is not None:
        from onceonly.simulation.campaign.code import fresh_seed  # noqa: PLC0415 - because --help must stay quick

        lo = fresh_seed()
        say(f"seeds {lo}:{lo + options['fresh']}")
        return lo, lo + options["fresh"]
    seeds: tuple[int, int] | None = options["seeds"]
    return seeds or (DEFAULT_SEEDS if is_alone else None)


def _run(seeds: tuple[int, int], options: dict[str, Any]) -> "Summary":
    lo, hi = seeds
    with counted("worlds", hi - lo) as tell:
        if options["is_spark"]:
            return _run_on_spark(lo, hi, options, tell)
        from onceonly.simulation.campaign import local  # noqa: PLC0415 - because --help must stay quick

        return local.run(lo, hi, jobs=options["jobs"], progress=lambda total: tell(total.seeds))


def _run_on_spark(
    lo: int, hi: int, options: dict[str, Any], tell: Callable[[int], None]
) -> "Summary":
    try:
        from onceonly.simulation.campaign import spark_job  # noqa: PLC0415 - because only this needs Spark
    except ImportError as error:
        text = f"--spark needs Spark: pip install 'onceonly[spark]' ({error})"
        raise Failure(Exit.USAGE, text) from error
    try:
        campaign = spark_job.run(
            lo,
            hi,
            ledger=options["ledger"] or DEFAULT_LEDGER,
            master=options["master"],
            progress=lambda ran, wanted: tell(hi - lo - wanted + ran),
        )
    except LocalError as error:
        raise failure_of(error) from error
    quickest_s, slowest_s = campaign.tasks_s
    say(
        f"{campaign.ran} worlds run now, {campaign.summary.seeds - campaign.ran} before; "
        f"a range took {quickest_s:.1f} to {slowest_s:.1f} s"
    )
    return campaign.summary


def _exhaustive(jobs: int, ledger: str | None) -> dict[str, Any]:
    from onceonly.simulation.campaign import exhaustive  # noqa: PLC0415 - because --help must stay quick

    with counted("exhaustive", exhaustive.SHARDS) as tell:
        kept = None if ledger is None else Path(ledger)
        found = exhaustive.run_on(jobs, kept=kept, progress=tell)
    return {
        "holds": found.is_complete and not found.violations,
        "executions": dict(found.executed),
        "violations": [
            {"invariant": one.violation.invariant, "text": one.violation.text, "story": one.story}
            for one in found.violations
        ],
        "seconds": round(found.seconds, 1),
        "digest": found.digest,
        "text": f"{found.executed.total():,} of {found.stated.total():,} executions of the small "
        f"worlds in {found.seconds:.0f} s of all processes, {len(found.violations)} violations",
    }


def _power_cuts(cuts: int) -> dict[str, Any]:
    from onceonly.simulation.power import power_cuts  # noqa: PLC0415 - because --help must stay quick

    with counted("power cuts", cuts) as tell:
        found = power_cuts.run(cuts=cuts, on_progress=tell)
    first = f"; first: {found.first_harm}" if found.first_harm else ""
    return {
        "holds": found.is_safe,
        "cuts": found.cuts,
        "commits": found.commits,
        "close_looks": found.close_looks,
        "harms": found.harms,
        "text": f"{found.cuts:,} power cuts, {sum(found.harms.values())} did harm{first}",
    }
