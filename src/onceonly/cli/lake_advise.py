"""`onceonly lake advise`: better times for agreements, from their own journals."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from onceonly.cli.configuration_option import configuration_option, load_configuration
from onceonly.cli.lake import spark_options, with_spark
from onceonly.cli.number import FiniteNumber
from onceonly.cli.output import output_option, print_json, print_rows, say


@click.command()
@spark_options
@configuration_option
@click.option(
    "--needless",
    type=FiniteNumber(0, 1),
    default=0.001,
    show_default=True,
    help="Most needless resends per message.",
)
@click.option(
    "--failures",
    type=FiniteNumber(0, 1),
    default=0.00001,
    show_default=True,
    help="Most failure verdicts per message.",
)
@output_option
def advise(
    lakes: tuple[str, ...],
    master: str | None,
    config: Path | None,
    needless: float,
    failures: float,
    output: str,
) -> None:
    """Propose timeout, retries, retry_interval, time_to_live and persist_duration.

    From the round trips and losses that the journals tell, per agreement and direction, with what
    the proposed terms are expected to lead to; and the same for today's terms, where -c FILE names
    a gateway's configuration (the journal does not say what was agreed).

    \b
    onceonly lake ingest buyer/lake seller/lake
    onceonly lake advise buyer/lake seller/lake -c buyer.toml
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    agreements = () if config is None else load_configuration(config).agreements
    found: Sequence[Mapping[str, Any]] = with_spark(
        lambda jobs: jobs.advise(
            lakes,
            master=master,
            today=_agreed(jobs, agreements),
            goal=_goal(jobs, needless, failures, agreements),
        )
    )
    if not found:
        # An empty list alone would look like terms that are good as they are.
        say(f"no round trip under an agreement in {', '.join(lakes)}: nothing can be proposed")
    if output == "json":
        print_json(list(found))
        return
    print_rows([line for entry in found for line in _lines(entry)], _COLUMNS, output)
    for entry in found:
        _comment(entry)


_COLUMNS = (
    *("agreement", "from", "terms", "timeout", "retries", "retry_interval", "time_to_live"),
    *("persist_duration", "needless", "failures", "false", "longest_s"),
)


def _goal(jobs: Any, needless: float, failures: float, agreements: Sequence[Any]) -> Any:
    """The goal; clocks may differ by as much as the agreements allow."""
    goal = jobs.Goal(needless_resends=needless, failures=failures)
    accuracies = [agreement.terms.msh_time_accuracy_s for agreement in agreements]
    return goal._replace(clock_accuracy_s=max(accuracies, default=goal.clock_accuracy_s))


def _agreed(jobs: Any, agreements: Sequence[Any]) -> dict[str, Any]:
    """Today's terms of the agreements that are acknowledged and give up some time."""
    return {
        agreement.id: jobs.TodaysTerms(
            agreement.terms.timeout_s,
            agreement.terms.retries,
            agreement.terms.retry_interval_s,
            agreement.terms.time_to_live_s,
            agreement.terms.persist_duration_s,
        )
        for agreement in agreements
        if agreement.terms.is_acknowledged and agreement.terms.retries is not None
    }


def _lines(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_line(entry, name) for name in ("today", "proposed") if entry[name] is not None]


def _line(entry: Mapping[str, Any], name: str) -> dict[str, Any]:
    terms = entry[name]
    expected = terms["expected"]
    return {
        "agreement": entry["agreement_id"],
        "from": entry["from_party"],
        "terms": name,
        "timeout": terms["timeout_s"],
        "retries": terms["retries"],
        "retry_interval": terms["retry_interval_s"],
        "time_to_live": _duration(terms["time_to_live_s"]),
        "persist_duration": _duration(terms["persist_duration_s"]),
        "needless": f"{expected['needless_resends']:.2g}",
        "failures": f"{expected['failures']:.2g}",
        "false": f"{expected['false_failures']:.2g}",
        "longest_s": expected["longest_s"],
    }


def _duration(seconds: int | None) -> str:
    """As the configuration file has it."""
    if seconds is None:
        return ""
    days, rest = divmod(seconds, 86_400)
    return f"P{days}D" if not rest else f"PT{seconds // 60}M" if not rest % 60 else f"PT{seconds}S"


def _comment(entry: Mapping[str, Any]) -> None:
    name = f"{entry['agreement_id']} from {entry['from_party']}"
    if entry["proposed"] is None:
        timed = entry["measured"]["timed"]
        say(f"{name}: {timed} measured round trips are too few to propose anything")
    elif not entry["keeps_goal"]:
        say(f"{name}: no terms keep the goal; those proposed come nearest")
