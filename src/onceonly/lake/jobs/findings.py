"""What the page shows, computed from a case: frames become rows here."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import activity, catalogue, runner
from onceonly.lake.catalogue import Evidence
from onceonly.lake.expressions import is_event, subject
from onceonly.lake.jobs.case import JudgedCase
from onceonly.lake.page import selection
from onceonly.lake.page.cards import availability, clocks, verdicts
from onceonly.lake.page.findings import Extract, Findings, Judged
from onceonly.lake.reports.columns import ended, is_there
from onceonly.lake.reports.error_pareto import DEFINITION as ERRORS
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.reports.volume import DEFINITION as VOLUME
from onceonly.lake.schemas import KEY
from onceonly.lake.verdicts import Verdict
from onceonly.message.event import Event

DIFFERENCES_SHOWN: Final = 48
"""Differences on the page; all of them are in the table."""
EVIDENCE_SHOWN: Final = 200
"""Journal rows on the page, for the first few differences."""
PAIRS_SHOWN: Final = 200
"""Rows of a table on the page."""
LIVES_SHOWN: Final = 100
"""Rows of a table that has one for each message."""
INTERVALS_SHOWN: Final = 600
"""Intervals in a timeline, the longest: about as many as there are dots in its width."""
BINS_SHOWN: Final = 5_000
"""Bins, times what is told apart in them."""
BINS_WANTED: Final = 48
"""Bins in a picture: what a page is wide enough for."""
ERRORS_DRAWN: Final = 12
"""Phases and codes over time."""
CAUSES_OF_A_CLASS: Final = 12
"""More than a class has: differs and settled_as are words of ours."""
AT_ONCE: Final = 4
"""Tables that are computed at the same time: most of a small one is planning, on one core."""
_NICE_WIDTHS_S: Final = (
    *(0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600),
    *(7_200, 21_600, 43_200, 86_400, 604_800, 2_592_000, 31_536_000),
)

ACTOR: Final = "actor"
HOP: Final = "hop"
_ROWS: Final = (ACTOR, HOP)

Shape = Callable[[DataFrame], DataFrame]
"""What the page takes of a table, in the order in which it shows it."""


class Ask(NamedTuple):
    """One table of the catalogue as the page wants it."""

    table: str
    shape: Shape
    most: int = PAIRS_SHOWN
    needs: tuple[str, ...] = ()
    """The table is empty unless the journal has one of these events, or a row with `ACTOR` or
    `HOP`; without any it is always asked."""


_GIVEN_UP: Final = (Event.EXHAUSTED, Event.NOTIFIED)
_BY_OPERATORS: Final = (
    Event.PAIR_SUSPENDED,
    Event.PAIR_RESUMED,
    Event.REQUEUED,
    Event.RESENT,
    Event.CANCELLED,
    Event.SETTLED,
)
_ENDED: Final = (*_GIVEN_UP, Event.FAILED, Event.EXPIRED)

OVERALL: Final = (
    Ask("promise", lambda frame: frame.orderBy("bin_at"), BINS_SHOWN),
    Ask("turnaround_bins", lambda frame: frame.orderBy("bin_at"), BINS_SHOWN),
    Ask("turnaround_heat", lambda frame: frame.orderBy("weekday", "hour")),
    Ask("turnaround", lambda frame: frame),
    Ask("retries", lambda frame: frame.orderBy("transmission")),
    Ask(
        "duplicate_causes",
        lambda frame: frame.where("repeats > 0").orderBy("day"),
        BINS_SHOWN,
        (Event.DUPLICATE_ELIMINATED,),
    ),
    Ask(
        "in_doubt_ages",
        lambda frame: frame.orderBy("bin_at", "age_bucket"),
        BINS_SHOWN,
        _GIVEN_UP,
    ),
    Ask("backlog", lambda frame: frame.orderBy("bin_at"), BINS_SHOWN),
)
"""What pictures of the whole are drawn from: all pairs taken as one."""

PER_PAIR: Final = (
    Ask(
        "in_doubt",
        lambda frame: frame.orderBy(F.desc("age_us"), *KEY),
        LIVES_SHOWN,
        _GIVEN_UP,
    ),
    Ask("turnaround", lambda frame: frame.orderBy(F.desc("messages"), "from_party", "to_party")),
    Ask(
        "duplicate_causes",
        lambda frame: frame.where("repeats > 0").orderBy(F.desc("repeats"), "day", *PAIR),
        needs=(Event.DUPLICATE_ELIMINATED,),
    ),
    Ask(
        "failure_notices",
        lambda frame: frame.orderBy(F.desc("missing"), F.desc("failures"), "day", *PAIR),
        needs=_ENDED,
    ),
    Ask(
        "sla",
        lambda frame: frame.orderBy(F.asc_nulls_last("met_share"), "month", *PAIR, "agreement_id"),
    ),
    Ask("open_budgets", lambda frame: frame.orderBy(F.desc("age_us"), *KEY), LIVES_SHOWN),
    Ask(
        "budgets",
        lambda frame: frame.orderBy(F.desc("longest_verdict_us"), "agreement_id", *PAIR),
    ),
    Ask(
        "bulk_jobs", lambda frame: frame.orderBy(F.desc("last_at"), "job", "party"), needs=(ACTOR,)
    ),
    Ask("availability", lambda frame: frame.orderBy(F.desc("down_us"), "party", "peer")),
    Ask(
        "channel_intervals",
        lambda frame: frame.where("state != 'open'").orderBy(
            F.desc("length_us"), "seq", "party", "from_at"
        ),
        INTERVALS_SHOWN,
        (Event.PAIR_SUSPENDED, Event.PAIR_QUARANTINED),
    ),
    Ask(
        "error_pareto",
        lambda frame: frame.orderBy(
            F.desc("occurrences"), "phase", "code", "party", "peer", "transport"
        ),
    ),
    Ask(
        "error_trend",
        lambda frame: selection.most_frequent(frame, ERRORS_DRAWN).orderBy(
            "bin_at", "phase", "code"
        ),
        BINS_SHOWN,
    ),
    Ask(
        "hop_waterfall",
        lambda frame: frame.orderBy(*PAIR, "step", "stage", "place"),
        needs=(HOP,),
    ),
    Ask(
        "clock_skew",
        lambda frame: selection.farthest(frame, clocks.PAIRS_DRAWN).orderBy("bin_at", *PAIR),
        BINS_SHOWN,
    ),
    Ask("sequence_gaps", lambda frame: frame.orderBy("at", "party", "seq"), LIVES_SHOWN),
    Ask(
        "late_acks",
        lambda frame: frame.orderBy(F.asc_nulls_last("was_corrected"), "at", "party", "seq"),
        LIVES_SHOWN,
        (Event.LATE_ACK_RECEIVED, Event.ORPHAN_ACK_RECEIVED),
    ),
    Ask(
        "profiles",
        lambda frame: frame.orderBy(
            F.desc("evidence_missing"),
            F.desc("evidence_asked"),
            F.desc("messages"),
            *("profile", "agreement_id", *PAIR),
        ),
    ),
    Ask("journal_quality", lambda frame: frame.orderBy("party")),
    Ask(
        "operator_effects",
        lambda frame: frame.orderBy(
            F.desc("last_at"), "action", "party", "actor", "reason", "verdict"
        ),
        needs=(ACTOR, *_BY_OPERATORS),
    ),
    Ask(
        "job_rejects",
        lambda frame: frame.orderBy(F.desc("rejected"), "job", "party", "error_code", "reason"),
        LIVES_SHOWN,
        (ACTOR,),
    ),
    Ask("retention", lambda frame: frame.orderBy("party", "role", "state", "age_bucket")),
    Ask(
        "purges",
        lambda frame: frame.orderBy(F.desc("day"), "party", "what"),
        LIVES_SHOWN,
        (Event.PURGED,),
    ),
)
"""The worst or the busiest first. Of equals the names decide: every order here is complete."""


def find(case: JudgedCase, judged: Judged) -> Findings:
    """Everything that the page shows of a judged case."""
    widths = _widths(case)
    evidence = case.evidence(widths[""])
    whole = evidence._replace(judged=selection.as_one_pair(case.judged))
    there = _what_is_there(case.journal)
    return Findings(
        judged=judged,
        widths=widths,
        per_pair=_extracts([*PER_PAIR, *_chosen(evidence, judged)], evidence, widths, there),
        overall=_extracts([*OVERALL, _VOLUME_IN_BINS, _ERRORS_BY_KIND], whole, widths, there),
        evidence=rows_on_differences(evidence) if judged.differences else [],
        causes=_causes(case, judged),
        quarantined=[
            {"party": one.party, "fault": fault} for one in case.wholeness for fault in one.faults
        ],
        set_aside=[
            {"party": one.party, "fault": told} for one in case.wholeness for told in one.set_aside
        ],
    )


def _causes(case: JudgedCase, judged: Judged) -> list[dict[str, Any]]:
    if not (judged.differences or judged.unproven or judged.header_unproven):
        return []
    with activity.step(case.judged.sparkSession, "causes"):
        found = selection.causes(case.judged)
        ordered = found.orderBy("cause", "differs", "settled_as")
        return runner.rows(ordered, len(Verdict) * CAUSES_OF_A_CLASS)


def _what_is_there(journal: DataFrame) -> set[str]:
    """Events of this version, and columns that some row with one of them has."""
    has = [F.max(F.col(name).isNotNull()).alias(name) for name in _ROWS]
    # A stranger's journal may have any number of other words.
    known = journal.where(is_event(*Event))
    rows = runner.rows(known.groupBy("event").agg(*has), len(Event))
    return {row["event"] for row in rows} | {
        name for name in _ROWS if any(row[name] for row in rows)
    }


_KINDS: Final = ("from_party", "to_party", "service", "action")
_VOLUME_IN_BINS: Final = Ask(
    "volume",
    lambda frame: selection.summed(frame, VOLUME, ["bin_at"]).orderBy("bin_at"),
    BINS_SHOWN,
)
_ERRORS_BY_KIND: Final = Ask(
    "error_pareto",
    lambda frame: selection.summed(frame, ERRORS, ["phase", "code"]).orderBy(
        F.desc("occurrences"), "phase", "code"
    ),
)
_VOLUME_BY_KIND: Final = Ask(
    "volume",
    lambda frame: selection.summed(frame, VOLUME, _KINDS).orderBy(F.desc("messages"), *_KINDS),
)


def _chosen(evidence: Evidence, judged: Judged) -> list[Ask]:
    """What shows only the lines that other findings choose."""
    worst = verdicts.pairs_of(judged)[: verdicts.LINES_DRAWN]
    partners = _made("availability", evidence).orderBy(F.desc("down_us"), "party", "peer")
    seen = partners.limit(availability.LINES_DRAWN)
    chosen = [
        _VOLUME_BY_KIND,
        Ask(
            "reconciliation",
            lambda frame: selection.of_pairs(frame, worst).orderBy(F.desc("day"), *PAIR, "verdict"),
            BINS_SHOWN,
        ),
        Ask(
            "outages",
            lambda frame: selection.of_those(frame, seen, ["party", "peer"]).orderBy(
                F.desc("length_us"), "from_at", "party", "peer"
            ),
            INTERVALS_SHOWN,
        ),
    ]
    if judged.differences:
        chosen.append(Ask("differences", selection.gravest_first, DIFFERENCES_SHOWN))
    return chosen


def _made(table: str, evidence: Evidence) -> DataFrame:
    return catalogue.find(table).make(evidence)


def _extracts(
    asks: Iterable[Ask], evidence: Evidence, widths: Mapping[str, int], there: set[str]
) -> dict[str, Extract]:
    wanted = [ask for ask in asks if not ask.needs or not there.isdisjoint(ask.needs)]

    def extract(ask: Ask) -> Extract:
        width_us = widths.get(ask.table, evidence.width_us)
        with activity.step(evidence.journal.sparkSession, ask.table):
            return _extract(ask, evidence._replace(width_us=width_us))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(extract, wanted))
    return {ask.table: one for ask, one in zip(wanted, found, strict=True)}


def _extract(ask: Ask, evidence: Evidence) -> Extract:
    frame = selection.plain(ask.shape(_made(ask.table, evidence)))
    rows = runner.rows(frame, ask.most + 1)
    if len(rows) <= ask.most:
        return Extract(rows, len(rows))
    [counted] = runner.rows(frame.agg(F.count("*").alias("rows")), 1)
    return Extract(rows[: ask.most], counted["rows"])


def rows_on_differences(evidence: Evidence) -> list[dict[str, Any]]:
    """What the journals say of the gravest differences, a message after the other, in order."""
    differing = selection.gravest_first(_made("differences", evidence))
    shown = differing.limit(DIFFERENCES_SHOWN)
    wanted = shown.select(*[F.col(name).alias(f"of_{name}") for name in KEY])
    columns = (
        *("party", "seq", "at", "event", "attempt", "outcome", "error_code"),
        *("digest", "header_digest"),
    )
    # An orphan acknowledgement names no receiver, and no message but by what it refers to.
    told = evidence.journal.withColumns(
        {"from_party": F.coalesce("from_party", "party"), "message_id": subject()}
    )
    is_same = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in KEY]
    found = told.join(F.broadcast(wanted), is_same, "left_semi")
    ordered = found.select(*KEY, *columns, "reason").orderBy(*KEY, "at", "party", "seq")
    return runner.rows(ordered, EVIDENCE_SHOWN)


def _widths(case: JudgedCase) -> dict[str, int]:
    """Width of the bins of time; by name of a table where it reaches farther than what was sent."""
    is_open = is_there("submitted_at") & ended().isNull()
    ends = [F.min("first_sent_at").alias("first"), F.max("first_sent_at").alias("last")]
    [sent] = runner.rows(case.judged.agg(*ends, F.max(is_open).alias("is_open")), 1)
    ends = [F.min("first_at").alias("first"), F.max("last_at").alias("last")]
    [told] = runner.rows(case.coverage.agg(*ends), 1)
    first = told["first"] or case.as_of
    # A queue with something in it lasts until the judgement, however long nothing has moved.
    last = told["last"] or first
    moves = case.as_of if sent["is_open"] else last
    return {
        "": _width_us((sent["last"] or 0) - (sent["first"] or 0)),
        "backlog": _width_us(moves - first),
        "error_trend": _width_us(last - first),
        "in_doubt_ages": _width_us(case.as_of - first),
        "volume": _width_us(last - first),
    }


def _width_us(length_us: int) -> int:
    nice = [width for width in _NICE_WIDTHS_S if length_us <= width * 1_000_000 * BINS_WANTED]
    return int((nice[0] if nice else _NICE_WIDTHS_S[-1]) * 1_000_000)
