"""What the page shows, computed from a case: frames become rows here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, Final, NamedTuple, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import activity, catalogue, runner
from onceonly.lake.catalogue import HOUR_US, Evidence
from onceonly.lake.expressions import is_event, key_hash, subject
from onceonly.lake.gold import placing, refreshing
from onceonly.lake.gold.days import KeptDays
from onceonly.lake.jobs.case import JudgedCase
from onceonly.lake.page import due, selection
from onceonly.lake.page.cards import availability, verdicts
from onceonly.lake.page.findings import Due, Extract, Findings, Judged
from onceonly.lake.reports.backlog import DEFINITION as BACKLOG
from onceonly.lake.reports.columns import ended, is_there
from onceonly.lake.reports.duplicate_causes import DEFINITION as DUPLICATES
from onceonly.lake.reports.error_pareto import DEFINITION as ERRORS
from onceonly.lake.reports.error_trend import DEFINITION as TREND
from onceonly.lake.reports.in_doubt_ages import DEFINITION as IN_DOUBT_AGES
from onceonly.lake.reports.promise import DEFINITION as PROMISE
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.reports.retries import DEFINITION as RETRIES
from onceonly.lake.reports.volume import DEFINITION as VOLUME
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import Definition
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
"""Intervals in a timeline, those that go on and the longest: about as many as its width has
dots."""
BINS_SHOWN: Final = 5_000
"""Bins, times what is told apart in them."""
BINS_WANTED: Final = 48
"""Bins in a picture: what a page is wide enough for."""
BINS_LEAST: Final = 12
"""Where there are so many hours a bin is one, as in the tables, which are then read as they are."""
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


def _due_first(table: str, order: Callable[[], Sequence[Column | str]]) -> Shape:
    """What is due comes first, so that no row to act on is cut off for one that asks nothing."""
    return lambda frame: selection.due_first(frame, due.of(table), *order())


def _over_pairs(of: Definition, *by: str) -> Shape:
    return lambda frame: selection.over_all_pairs(frame, of, by).orderBy(*by)


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
    Ask("turnaround_bins", lambda frame: frame.orderBy("bin_at"), BINS_SHOWN),
    Ask("turnaround_heat", lambda frame: frame.orderBy("weekday", "hour")),
    Ask("turnaround", lambda frame: frame),
)
"""Quantiles over all pairs, which cannot be had from those of each: asked of the lives again."""
ADDED_UP: Final = (
    Ask("promise", _over_pairs(PROMISE, "bin_at"), BINS_SHOWN),
    Ask("retries", _over_pairs(RETRIES, "transmission")),
    Ask(
        "duplicate_causes",
        lambda frame: _over_pairs(DUPLICATES, "day")(frame.where("repeats > 0")),
        BINS_SHOWN,
        (Event.DUPLICATE_ELIMINATED,),
    ),
    Ask(
        "in_doubt_ages",
        _over_pairs(IN_DOUBT_AGES, "bin_at", "age_bucket"),
        BINS_SHOWN,
        _GIVEN_UP,
    ),
    Ask("backlog", _over_pairs(BACKLOG, "bin_at"), BINS_SHOWN),
    Ask("volume", _over_pairs(VOLUME, "bin_at"), BINS_SHOWN),
    Ask(
        "error_pareto",
        lambda frame: selection.summed(frame, ERRORS, ["phase", "code"]).orderBy(
            F.desc("occurrences"), "phase", "code"
        ),
    ),
)
"""What pictures of the whole are drawn from: the tables, added up over all pairs."""

_PARTNERS: Final = _due_first("availability", lambda: [F.desc("down_us"), "party", "peer"])
_STOOD: Final = _due_first(
    "channel_intervals", lambda: [F.desc("length_us"), "seq", "party", "from_at"]
)

PER_PAIR: Final = (
    Ask(
        "in_doubt",
        _due_first("in_doubt", lambda: [F.desc("age_us"), *KEY]),
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
        _due_first(
            "failure_notices", lambda: [F.desc("missing"), F.desc("failures"), "day", *PAIR]
        ),
        needs=_ENDED,
    ),
    Ask(
        "sla",
        _due_first("sla", lambda: [F.asc_nulls_last("met_share"), "month", *PAIR, "agreement_id"]),
    ),
    Ask("open_budgets", lambda frame: frame.orderBy(F.desc("age_us"), *KEY), LIVES_SHOWN),
    Ask(
        "budgets",
        _due_first("budgets", lambda: [F.desc("longest_verdict_us"), "agreement_id", *PAIR]),
    ),
    Ask(
        "bulk_jobs",
        _due_first("bulk_jobs", lambda: [F.desc("last_at"), "job", "party"]),
        needs=(ACTOR,),
    ),
    Ask("availability", _PARTNERS),
    Ask(
        "channel_intervals",
        lambda frame: _STOOD(frame.where("state != 'open'")),
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
        # Of all pairs: the list of actions tells of more than are drawn.
        selection.farthest_first,
        BINS_SHOWN,
    ),
    Ask("sequence_gaps", lambda frame: frame.orderBy("at", "party", "seq"), LIVES_SHOWN),
    Ask(
        "late_acks",
        _due_first("late_acks", lambda: [F.asc_nulls_last("was_corrected"), "at", "party", "seq"]),
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
    Ask("journal_quality", _due_first("journal_quality", lambda: ["party"])),
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
"""What is due first, then the worst or the busiest. Of equals the names decide: every order here is
complete."""


ReadTable = Callable[[str], DataFrame | None]
"""The table of that name as this run has written it, with bins of an hour; None where it has not.
"""


def find(case: JudgedCase, judged: Judged, read_table: ReadTable = lambda _: None) -> Findings:
    """Everything that the page shows of a judged case.

    What `read_table` gives is read and not computed again; it has to be of this very case. Tables
    that several parts of the page ask for are computed once and kept until the end.
    """
    widths = _widths(case)
    with _Tables(case.evidence(widths[""]), widths, read_table) as tables:
        there = _what_is_there(case.journal)
        chosen = [*PER_PAIR, *_chosen(tables, judged)]
        return Findings(
            judged=judged,
            widths=widths,
            per_pair=_extracts(chosen, tables.of, there, case),
            overall=_extracts(OVERALL, tables.of_all, there, case)
            | _extracts(ADDED_UP, tables.of, there, case),
            evidence=rows_on_differences(tables.of("differences"), case.journal, case.kept)
            if judged.differences
            else [],
            causes=causes(case, judged),
            quarantined=[
                {"party": one.party, "fault": fault}
                for one in case.wholeness
                for fault in one.faults
            ],
            set_aside=[
                {"party": one.party, "fault": told}
                for one in case.wholeness
                for told in one.set_aside
            ],
        )


class _Tables:
    """The tables that the page is made of: those of the run where they are, and computed else."""

    def __init__(
        self, evidence: Evidence, widths: Mapping[str, int], read_table: ReadTable
    ) -> None:
        self._evidence, self._widths, self._read = evidence, widths, read_table
        self._lock = Lock()
        self._kept: dict[str, DataFrame] = {}
        self._computed: list[DataFrame] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for frame in self._computed:
            frame.unpersist()

    def of(self, name: str) -> DataFrame:
        """The table, in bins of the page's width."""
        with self._lock:
            if name not in self._kept:
                self._kept[name] = self._found(name)
            return self._kept[name]

    def of_all(self, name: str) -> DataFrame:
        """The table as if all pairs were one, from the lives."""
        whole = selection.as_one_pair(self._evidence.judged)
        return self._made(name, self._evidence._replace(judged=whole))

    def _found(self, name: str) -> DataFrame:
        width_us = self._widths.get(name, self._evidence.width_us)
        written = self._read(name)
        is_as_wide = width_us == HOUR_US
        if written is not None and not is_as_wide and _has_bins(name):
            is_sum = name in REBINNED and width_us % HOUR_US == 0
            written = REBINNED[name](written, width_us) if is_sum else None
        if written is not None:
            return written
        made = self._made(name, self._evidence)
        if name not in ASKED_TWICE:
            return made
        self._computed.append(made.persist())
        return self._computed[-1]

    def _made(self, name: str, evidence: Evidence) -> DataFrame:
        width_us = self._widths.get(name, evidence.width_us)
        return catalogue.find(name).make(evidence._replace(width_us=width_us))


def _has_bins(name: str) -> bool:
    return "bin_at" in catalogue.find(name).definition.names


ASKED_TWICE: Final = ("volume", "duplicate_causes", "error_pareto", "availability", "differences")
"""Tables of which the page has two parts: worth being kept where they have to be computed."""
REBINNED: Final[Mapping[str, Callable[[DataFrame, int], DataFrame]]] = {
    "promise": lambda frame, width_us: selection.rebinned(frame, PROMISE, width_us),
    "volume": lambda frame, width_us: selection.rebinned(frame, VOLUME, width_us),
    "error_trend": lambda frame, width_us: selection.rebinned(frame, TREND, width_us),
}
"""Tables whose wider bins are sums of their hours. Those that tell of the end of a bin are not."""


def causes(case: JudgedCase, judged: Judged) -> list[dict[str, Any]]:
    """What differs or is not proven, by its cause: `Findings.causes`."""
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


DAYS: Final = _due_first("reconciliation", lambda: [F.desc("day"), *PAIR, "verdict"])
"""Days on which something differs, then the latest."""
_KINDS: Final = ("from_party", "to_party", "service", "action")
_VOLUME_BY_KIND: Final = Ask(
    "volume",
    lambda frame: selection.summed(frame, VOLUME, _KINDS).orderBy(F.desc("messages"), *_KINDS),
)


def _chosen(tables: _Tables, judged: Judged) -> list[Ask]:
    """What shows only the lines that other findings choose."""
    worst = verdicts.pairs_of(judged)[: verdicts.LINES_DRAWN]
    seen = _PARTNERS(tables.of("availability")).limit(availability.LINES_DRAWN)
    chosen = [
        _VOLUME_BY_KIND,
        Ask(
            "reconciliation",
            lambda frame: DAYS(selection.of_pairs(frame, worst)),
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


def _extracts(
    asks: Iterable[Ask], table: Callable[[str], DataFrame], there: set[str], case: JudgedCase
) -> dict[str, Extract]:
    wanted = [ask for ask in asks if not ask.needs or not there.isdisjoint(ask.needs)]

    def extract(ask: Ask) -> Extract:
        with activity.step(case.journal.sparkSession, ask.table):
            frame = selection.plain(ask.shape(table(ask.table)))
            return extract_of(frame, ask.most, due.of(ask.table))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(extract, wanted))
    return {ask.table: one for ask, one in zip(wanted, found, strict=True)}


def extract_of(frame: DataFrame, most: int, due_in_it: Sequence[Due] = ()) -> Extract:
    """The first rows of a frame; where it has more, how many, and how many of them are due.

    Of a frame that is not cut its rows tell that, and nothing is asked again.
    """
    rows = runner.rows(frame, most + 1)
    if len(rows) <= most:
        return Extract(rows, len(rows))
    sums = [selection.counted(one).alias(f"due_{at}") for at, one in enumerate(due_in_it)]
    [told] = runner.rows(frame.agg(F.count("*").alias("rows"), *sums), 1)
    counted = {one: told[f"due_{at}"] for at, one in enumerate(due_in_it)}
    return Extract(rows[:most], told["rows"], counted)


def rows_on_differences(
    differences: DataFrame, journal: DataFrame, kept: KeptDays | None
) -> list[dict[str, Any]]:
    """What the journals say of the gravest differences, a message after the other, in order.

    Where days are `kept`, only the time in which these messages have rows is looked at.
    """
    differing = selection.gravest_first(differences)
    shown = differing.limit(DIFFERENCES_SHOWN)
    wanted = shown.select(*[F.col(name).alias(f"of_{name}") for name in KEY])
    rows = runner.rows(shown.select(key_hash().alias("hash")), DIFFERENCES_SHOWN)
    hashes = [row["hash"] for row in rows]
    if kept is not None:
        journal = refreshing.rows_about(journal, kept, hashes)
    # One number is compared sooner than the names of a message, each of which may be null.
    journal = journal.where(placing.row_hash().isin(hashes))
    columns = (
        *("party", "seq", "at", "event", "attempt", "outcome", "error_code"),
        *("digest", "header_digest"),
    )
    # An orphan acknowledgement names no receiver, and no message but by what it refers to.
    told = journal.withColumns(
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
    if BINS_LEAST * HOUR_US <= length_us <= BINS_WANTED * HOUR_US:
        return HOUR_US
    nice = [width for width in _NICE_WIDTHS_S if length_us <= width * 1_000_000 * BINS_WANTED]
    return int((nice[0] if nice else _NICE_WIDTHS_S[-1]) * 1_000_000)
