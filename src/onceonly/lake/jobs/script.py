"""The jobs as a script: arguments in, one JSON object out.

python -m onceonly.lake.jobs reconcile --lake DIR [--lake DIR …] [--master URL]
spark-submit --master … …/onceonly/lake/jobs/__main__.py reconcile --lake DIR

It knows no gateway's configuration: where agreements are to be told (`--terms`), the command line
itself is given to spark-submit, `…/onceonly/__main__.py lake reconcile DIR --terms FILE`.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from onceonly.lake import formats
from onceonly.lake.expressions import US_PER_S
from onceonly.lake.formats import TableFormat
from onceonly.lake.jobs import spark_settings
from onceonly.lake.jobs.compaction import compact
from onceonly.lake.jobs.ingestion import AVAILABLE_NOW, ingest
from onceonly.lake.jobs.page import report
from onceonly.lake.jobs.reconciliation import reconcile
from onceonly.lake.jobs.registration import DATABASE
from onceonly.lake.jobs.session import NOT_THE_CALLERS
from onceonly.lake.jobs.taking_over import take_over
from onceonly.lake.jvm import told_why
from onceonly.lake.verdicts import Policy
from onceonly.message.errors import LocalError, OnceonlyError
from onceonly.message.printable import printable

_UNEXPECTED: Final = 1
_USAGE: Final = 2
_DIFFERENCES_FOUND: Final = 11
"""The exit codes of the command line (`cli.exits`); this script works without it."""
_MINUTE_US: Final = 60 * US_PER_S
_HOUR_US: Final = 60 * _MINUTE_US
_SPAN_MAX: Final = 10**9
"""So many hours in microseconds fit in 64 bits; `nan` and `inf` are no spans, either."""


_JUDGING: Final = ("reconcile", "report")
_ONLY_OF: Final = {
    **dict.fromkeys(("into", "trigger"), ("ingest",)),
    **dict.fromkeys(("as_of", "grace", "verdict_within", "out"), _JUDGING),
    **dict.fromkeys(("table", "table_format", "register", "database", "catalog"), _JUDGING[:1]),
}
"""The jobs that an option is for, where it is not for every one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The jobs as a script; the result is one JSON object on stdout."""
    parser = argparse.ArgumentParser(prog="python -m onceonly.lake.jobs", description=__doc__)
    parser.add_argument("job", choices=("ingest", "compact", "take-over", "reconcile", "report"))
    parser.add_argument("--lake", action="append", required=True, help="may be given repeatedly")
    parser.add_argument("--into", help="lake that the segments are ingested into")
    parser.add_argument("--master", help="given to Spark as it is")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="setting of Spark"
    )
    parser.add_argument("--trigger", default=AVAILABLE_NOW)
    parser.add_argument("--as-of", type=int, help="instant of judgement, microseconds UTC")
    parser.add_argument(
        "--grace",
        type=_span,
        metavar="MINUTES",
        default=Policy().grace_us / _MINUTE_US,
        help="how late journals may come",
    )
    parser.add_argument(
        "--verdict-within",
        type=_span,
        metavar="HOURS",
        default=Policy().verdict_within_us / _HOUR_US,
        help="longest life of a message without a verdict",
    )
    parser.add_argument("--out", help="folder of the ledger, or file of the report")
    parser.add_argument(
        "--table",
        action="append",
        help="a table that reconcile writes beside the ledger; by default every one",
    )
    parser.add_argument("--table-format", choices=list(TableFormat), default=TableFormat.PLAIN)
    parser.add_argument("--register", action="store_true", help="make views of ledger and tables")
    parser.add_argument("--database", help=f"that has the views, by default {DATABASE}")
    parser.add_argument("--catalog", help="of the tables, such as lake.onceonly; for iceberg")
    given = parser.parse_args(arguments)
    for name, value in vars(given).items():
        if value != parser.get_default(name) and given.job not in _ONLY_OF.get(name, (given.job,)):
            parser.error(f"--{name.replace('_', '-')} is not for {given.job}")
    if given.database is not None and not given.register:
        parser.error("--database is of the views: give --register, too")
    try:
        with told_why():
            spark_settings.give(given.conf)
            code, found = _run(given)
    except OnceonlyError as error:
        _tell(str(error))
        is_callers = isinstance(error, LocalError) and error.name not in NOT_THE_CALLERS
        return _USAGE if is_callers else _UNEXPECTED
    except OSError as error:
        # No permission to write, a missing mount, a full disk.
        _tell(str(error))
        return _UNEXPECTED
    sys.stdout.write(json.dumps(found) + "\n")
    return code


def _run(given: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    if given.job == "take-over":
        lakes = [take_over(lake, master=given.master, tell=_tell) for lake in given.lake]
        return 0, {
            "taken_over": {
                name: one._asdict() for lake in lakes for name, one in lake.parties.items()
            },
            "tables_removed": [name for lake in lakes for name in lake.tables],
        }
    if given.job in ("ingest", "compact"):
        done = (
            ingest(
                given.lake,
                into=given.into,
                master=given.master,
                trigger=given.trigger,
                tell=_tell,
            )
            if given.job == "ingest"
            else compact(given.lake, master=given.master)
        )
        is_found = given.job == "ingest" and not done.is_trusted
        return _DIFFERENCES_FOUND if is_found else 0, {
            "batches": done.batches,
            "last_seq": done.last_seq,
            "missing": done.missing,
            "quarantined": [one._asdict() for one in done.quarantined],
        }
    policy = Policy(
        grace_us=round(given.grace * _MINUTE_US),
        verdict_within_us=round(given.verdict_within * _HOUR_US),
    )
    if given.job == "report":
        path = report(
            given.lake,
            master=given.master,
            out=Path(given.out or "report.html"),
            as_of=given.as_of,
            policy=policy,
        )
        return 0, {"report": str(path)}
    found = reconcile(
        given.lake,
        master=given.master,
        as_of=given.as_of,
        policy=policy,
        out=given.out,
        tables=given.table,
        target=formats.target(given.table_format, given.catalog),
        register=given.database or DATABASE if given.register else None,
    )
    for line in found.cautions:
        _tell(line)
    return (
        0 if found.holds else _DIFFERENCES_FOUND,
        {
            "verdicts": found.verdicts,
            "differences": found.differences,
            "header_unproven": found.header_unproven,
            "breaches": {line.name: line.breaches for line in found.invariants},
            "ledger": found.ledger,
            "tables": found.tables,
            "run": found.run,
        },
    )


def _span(text: str) -> float:
    span = float(text)
    if not 0 <= span <= _SPAN_MAX:
        raise argparse.ArgumentTypeError(f"{text} is no span of time")
    return span


def _tell(line: str) -> None:
    # Names and faults in it are strangers' (attack X16).
    sys.stderr.write(f"{printable(line)}\n")
