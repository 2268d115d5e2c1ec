"""What a run keeps of the one before: tables and partials whose rows are of a day, or a stretch.

Only days and stretches with other rows, or other verdicts, are made; files of all other days are
linked, and the few rows of other stretches are read again.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import StructType

from onceonly.journal.record import SCHEMA_VERSION
from onceonly.lake import activity, catalogue, code, runner, runs, storage
from onceonly.lake.catalogue import CatalogueEntry, Evidence, Partial
from onceonly.lake.formats import TableFormat
from onceonly.lake.gold import placing, refreshing, stretching
from onceonly.lake.gold.days import BY_DAY, KeptDays, Stretches
from onceonly.lake.gold.stretching import ByParty
from onceonly.lake.runs import LakeRun, Written
from onceonly.message.event import Event

_AT_ONCE: Final = 2
_MANY_ASTRAY_BYTES: Final = 4 << 20
"""Some hundred thousand keys, which take a part of the heap that shows."""
_ALL_NEED: Final = ("expressions", "marks", "schemas")
_TABLES_NEED: Final = (
    *(f"tables/{one.name}" for one in catalogue.TABLES if one.of_lives or one.of_rows),
    *("tables/definition", *_ALL_NEED),
)
"""Modules that the rows of tables by day are made by: other code makes all of them again."""
_PARTIALS_NEED: Final = (
    *("reports/columns", "reports/backlog", "reports/error_pareto", "reports/hop_waterfall"),
    *("reports/journal_quality", "reports/outages"),
    *("tables/attempts", "tables/hops", "verdicts", "stretches", "catalogue", *_ALL_NEED),
)
"""As `_TABLES_NEED`, of partials."""


def at_once(kept: KeptDays | None) -> int:
    """Tables to write at the same time: one is planned while the other's rows are made.

    One where many messages are astray, which go to every task with each table by day: millions of
    keys for two tables were once more than a heap of 2 GB has room for.
    """
    are_many = kept is not None and refreshing.astray_bytes(kept) > _MANY_ASTRAY_BYTES
    return 1 if are_many else _AT_ONCE


class Former(NamedTuple):
    """What a run before has of a table or partial."""

    place: str
    days: Mapping[str, str]
    """As `Written.days`."""


class Days(NamedTuple):
    """What has rows of one day each."""

    made_of: Mapping[str, str]
    """What the rows of each day are made of: with an equal text they are the same."""
    of_days: Callable[[list[str]], DataFrame]
    """The rows of these days, with the day of each."""


def days_of(entry: CatalogueEntry | Partial, evidence: Evidence, lake: str) -> Days | None:
    """How a table or partial is made by day; None where it is not."""
    kept = evidence.kept
    if kept is None:
        return None
    journal = evidence.journal
    made_by = code.mark(*(_PARTIALS_NEED if isinstance(entry, Partial) else _TABLES_NEED))
    if (of_lives := entry.of_lives) is not None:

        def of_their_lives(days: list[str]) -> DataFrame:
            lives = refreshing.lives(journal.sparkSession, [kept.lives[day] for day in days])
            is_theirs = placing.is_within([kept.rows[day] for day in days])
            return of_lives(lives, journal.where(is_theirs))

        made_of = {
            day: f"{made_by} {place.removeprefix(lake)}" for day, place in kept.lives.items()
        }
        if isinstance(entry, Partial) and entry.with_others:
            made_of = {day: f"{text} {kept.rows[day].mark}" for day, text in made_of.items()}
        return Days(made_of, of_their_lives)
    if (of_rows := entry.of_rows) is not None:

        def of_their_rows(days: list[str]) -> DataFrame:
            return of_rows(refreshing.rows(journal, kept, {day: kept.rows[day] for day in days}))

        marks = {day: f"{made_by} {one.mark}" for day, one in kept.rows.items()}
        return Days(marks, of_their_rows)
    return None


def write_days(
    written: Written, days: Days, whole: DataFrame, lake: str, known: Sequence[LakeRun]
) -> Written:
    """Write the days that are made of others than in the `known` runs, and link the rest.

    `whole` has the columns of what is `written`, whose days are returned with it.
    """
    made_of, [folder] = dict(days.made_of), written.folders
    before = _before(written.name, lake, known)
    same = [day for day in made_of if before and before.days.get(day) == made_of[day]]
    place = f"{lake}/{folder}"
    fresh = sorted(made_of.keys() - set(same))
    if fresh:
        frame = days.of_days(fresh)
        runner.write_by(frame.hint("rebalance", F.col(BY_DAY)), place, BY_DAY)
        storage.lay_flat(place)
    if before and same:
        storage.link_files(before.place, place, same)
    if not storage.listed(place):
        # A file tells its columns to readers who have no other source for them.
        runner.write(whole.limit(0), place)
    return written._replace(days=made_of)


def write_partials(
    evidence: Evidence, names: Sequence[str], lake: str, same: Mapping[str, Written]
) -> list[Written]:
    """Write the partials that these tables are summed up from, and say where they are.

    Those that are the `same` as a run before wrote them stay where they are. None where nothing is
    kept by day, since some rows do not count then.
    """
    if evidence.kept is None:
        return []
    known = runs.standing(lake)
    wanted = dict.fromkeys(one for name in names for one in catalogue.find(name).partials)

    def write(partial: Partial) -> Written:
        found = same.get(partial.name)
        return _write_partial(partial, evidence, lake, known) if found is None else found

    with ThreadPoolExecutor(at_once(evidence.kept)) as pool:
        return list(pool.map(write, wanted))


def _write_partial(
    partial: Partial, evidence: Evidence, lake: str, known: Sequence[LakeRun]
) -> Written:
    spark, made = evidence.journal.sparkSession, partial.make(evidence)
    folder = runs.fresh_folder(partial.name, runs.PARTIALS_FOLDER)
    written = Written(partial.name, TableFormat.PLAIN, tuple(made.dtypes), (folder,))
    with activity.step(spark, partial.name):
        if days := days_of(partial, evidence, lake):
            written = write_days(written, days, made, lake, known)
        else:
            before = _before(partial.name, lake, known)
            parts = _write_stretches(partial, evidence, made.schema, f"{lake}/{folder}", before)
            written = written._replace(days=parts)
    return written


def _write_stretches(
    partial: Partial, evidence: Evidence, schema: StructType, place: str, before: Former | None
) -> dict[str, str]:
    """Write what is made of stretches with other rows, beside what a run before has of the rest.

    Returns the marks of all stretches.
    """
    assert partial.of_stretches is not None, f"{partial.name} has parts of days or of stretches"
    assert evidence.kept is not None, "parts are of what is kept"
    spark, made_by = evidence.journal.sparkSession, _made_by(evidence)
    now = {
        party: tuple(one._replace(mark=f"{made_by} {one.mark}") for one in spans)
        for party, spans in evidence.kept.stretches.items()
    }
    same = {} if before is None else stretching.same(now, _as_spans(before.days))
    fresh = stretching.others(now, same)
    rows = stretching.rows_of(evidence.journal, fresh)
    whole = stretching.within(partial.of_stretches(rows, evidence.policy), fresh)
    if before is not None and same:
        kept = runner.folder(spark, before.place, schema)
        whole = whole.unionByName(stretching.within(kept, same)) if fresh else kept
    runner.write(whole.hint("rebalance"), place)
    return _as_texts(now)


def _made_by(evidence: Evidence) -> str:
    """Mark of the code and the rules by which stretches are counted."""
    words = [[one.value for one in Event], SCHEMA_VERSION, evidence.policy]
    return f"{code.mark(*_PARTIALS_NEED)}-{sha256(repr(words).encode()).hexdigest()[:12]}"


def _as_texts(spans: ByParty) -> dict[str, str]:
    every = ((party, one) for party, some in spans.items() for one in some)
    return {f"{one.first}-{one.last} {party}": one.mark for party, one in every}


def _as_spans(texts: Mapping[str, str]) -> ByParty:
    found: defaultdict[str, list[Stretches]] = defaultdict(list)
    for text, mark in texts.items():
        numbers, _, party = text.partition(" ")
        first, _, last = numbers.rpartition("-")
        found[party].append(Stretches(int(first), int(last), mark))
    return found


def _before(name: str, lake: str, known: Sequence[LakeRun]) -> Former | None:
    """The latest whose files are there and are of parts; the run before may have written others."""
    for run in known:
        found = run.tables.get(name, run.partials.get(name))
        if found is not None and found.days and storage.is_folder(f"{lake}/{found.folders[0]}"):
            return Former(f"{lake}/{found.folders[0]}", found.days)
    return None
