"""Brings gold up to the evidence: folds what is new, and judges what time or rows have changed.

Whatever is killed when: new folders have names that nobody knows until gold's file names them, and
what it does not name is removed by a later run. The file is replaced under a lock, so two runs in
one lake follow each other. On an object store without locks the later one wins; either is right.
"""

import datetime as dt
import errno
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import activity, code, invariants, lease, model, runner, storage, verdicts
from onceonly.lake.compaction import KEEP_S
from onceonly.lake.expressions import key_hash
from onceonly.lake.gold import days, placing, stretching, sums
from onceonly.lake.gold.days import (
    ASTRAY,
    BY_DAY,
    INDEX,
    LIVES,
    STAGING,
    SUMS,
    TERMS,
    Day,
    Gold,
    Included,
    KeptDays,
    RowsOfDay,
)
from onceonly.lake.runner import Holdings
from onceonly.lake.stretches import STRETCH
from onceonly.lake.verdicts import Policy

FOLDERS_MAX: Final = 16
"""More folders than these, of the index, of those astray or of terms, are written as one."""

ASTRAY_EVERYWHERE_BYTES: Final = 48 << 20
"""Below this size, of some four million keys, those astray are sent to every task as a whole."""
HASHES_EVERYWHERE: Final = 1_000_000
"""So many hashes are sent to every task, so that only their entries travel."""

_END_OF_TIME: Final = 2**62


FOLDS_MARK: Final = code.mark(
    *("model", "header_terms", "marks", "expressions", "schemas", "stretches"),
    *("gold/placing", "gold/stretching"),
)
RULES_MARK: Final = code.mark(
    *("verdicts", "marks", "expressions", "invariants", "gold/sums"),
    *("reports/reconciliation", "reports/columns"),
)


class Refresh(NamedTuple):
    """One bringing up to date."""

    spark: SparkSession
    lakes: Sequence[str]
    held: Holdings
    coverage: DataFrame
    as_of: int
    policy: Policy

    @property
    def where(self) -> str:
        """Gold's own folder."""
        return days.place(self.lakes)

    @property
    def basis(self) -> str:
        """Mark of the rules and the policy."""
        return sha256(repr([RULES_MARK, self.policy]).encode()).hexdigest()[:12]


@contextmanager
def turn(lakes: Sequence[str]) -> Iterator[bool]:
    """Hold gold of these lakes, and wait for whoever does; False where nothing can be written."""
    with ExitStack() as held:
        try:
            held.enter_context(lease.changing(days.place(lakes)))
        except OSError as error:
            if error.errno not in _READ_ONLY:
                raise
            yield False
        else:
            yield True


_READ_ONLY: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


def refresh(asked: Refresh) -> KeptDays:
    """Bring gold up to date; returns what is kept of each day.

    A folder never holds other lives, or the same ones judged otherwise, than it did. To be called
    in a `turn` that began before the holdings were read.
    """
    before = known = days.load(asked.where)
    now = time.time_ns() // 1_000
    included = _included(asked.lakes, asked.held)
    if known.folds != FOLDS_MARK or _is_behind(known.included, included):
        known = known.all_retired(now)
    touched = _touched(asked, known) if known.included != included else []
    if sum(row["rows"] for row in touched) != _rows_of(included) - _rows_of(known.included):
        # A manifest was set back, as by a restore, and its batches have the numbers of others.
        known = known.all_retired(now)
        touched = _touched(asked, known)
    known = known.by_rules(asked.policy, now)
    witnesses = {
        row["holder"]: row["journal"] for row in verdicts.witnesses(asked.coverage).collect()
    }
    stale = _stale(asked, known, witnesses)
    if known.included != included:
        known = _fold(asked, _with_stretches(known, touched), stale, now)
    elif stale:
        folder = _write(asked, known, _old(asked, known, stale))
        known = known.with_days(_days(asked, folder), now)
    known = replace(
        known, folds=FOLDS_MARK, included=included, policy=asked.policy, witnesses=witnesses
    )
    if known != before:
        kept = days.sweep(asked.where, known, now - int(KEEP_S * 1_000_000))
        days.publish(asked.where, kept)
    return KeptDays(
        {name: f"{asked.where}/{day.folder}" for name, day in known.days.items()},
        {name: f"{asked.where}/{day.sums}" for name, day in known.days.items()},
        known.rows,
        _paths(asked, known.index),
        _paths(asked, known.astray),
        known.stretches,
        sum(day.lives for day in known.days.values()),
    )


def lives(spark: SparkSession, folders: Collection[str]) -> DataFrame:
    """The judged lives in these folders, with the day under which each is kept."""
    return runner.folders_of(spark, runner.JUDGED, list(folders))


def rows(journal: DataFrame, kept: KeptDays, wanted: Mapping[str, RowsOfDay]) -> DataFrame:
    """The journal rows of these days, with the day of each (`BY_DAY`)."""
    if not kept.astray_folders:
        return placing.rows_of(journal, None, wanted)
    astray = runner.folders_of(journal.sparkSession, placing.INDEX, kept.astray_folders)
    if astray_bytes(kept) <= ASTRAY_EVERYWHERE_BYTES:
        # Spark guesses that it is larger, and would sort all rows of the journal by the hash.
        return placing.rows_of(journal, F.broadcast(astray.coalesce(1).distinct()), wanted)
    return placing.rows_of(journal, astray.distinct(), wanted)


def astray_bytes(kept: KeptDays) -> int:
    """The size of what says which messages have rows of several days, as it is stored."""
    return sum(map(storage.size, kept.astray_folders))


def rows_about(journal: DataFrame, kept: KeptDays, hashes: Collection[int]) -> DataFrame:
    """Journal rows among which all about messages with these hashes (`key_hash`) are."""
    index = runner.folders_of(journal.sparkSession, placing.INDEX, kept.index_folders)
    found = index.where(placing.is_one_of(hashes)).select(BY_DAY).distinct().collect()
    return journal.where(placing.is_within([kept.rows[str(row[BY_DAY])] for row in found]))


def pending(lakes: Sequence[str], held: Holdings) -> tuple[int, Policy]:
    """How many rows gold of these lakes has not folded yet, and by which policy it was judged."""
    known = days.load(days.place(lakes))
    return _rows_of(_included(lakes, held)) - _rows_of(known.included), known.policy


def _included(lakes: Sequence[str], held: Holdings) -> dict[str, Included]:
    return {
        days.journal_name(lakes, shelf): Included(known.lineage, known.batches, known.rows)
        for copies in held.copies.values()
        for shelf, known in copies
        if known.rows
    }


def _is_behind(known: Mapping[str, Included], now: Mapping[str, Included]) -> bool:
    """Whether something is folded in that does not count any more."""
    return any(
        name not in now or now[name].lineage != one.lineage or now[name].batch < one.batch
        for name, one in known.items()
    )


def _rows_of(included: Mapping[str, Included]) -> int:
    return sum(one.rows for one in included.values())


PARTIES_MAX: Final = 1_000
"""If the journals of more parties than these came or went, every day is judged again."""


def _stale(asked: Refresh, known: Gold, witnesses: Mapping[str, str]) -> set[str]:
    """Days whose verdicts may not hold any more: time, rules, or whose journals are there."""
    basis = asked.basis
    stale = {name for name, day in known.days.items() if not day.holds(asked.as_of, basis)}
    parties = known.witnesses.keys() | witnesses.keys()
    moved = [one for one in parties if known.witnesses.get(one) != witnesses.get(one)]
    if len(moved) > PARTIES_MAX:
        return set(known.days)
    if moved and stale < known.days.keys():
        lives = _read(asked.spark, asked.where, known.folders)
        theirs = lives.where(F.col("from_party").isin(moved) | F.col("to_party").isin(moved))
        stale |= {str(row[BY_DAY]) for row in theirs.select(BY_DAY).distinct().collect()}
    return stale


def _fold(asked: Refresh, known: Gold, stale: set[str], now: int) -> Gold:
    """With the rows of new batches in the days that they touch."""
    rows = _new_rows(asked, known)
    fresh = model.partial(rows)
    known = _with_terms(asked, known, model.terms(rows), now)
    today = dt.datetime.fromtimestamp(now / 1_000_000, dt.UTC).date()
    if not known.index:
        by_first = placing.day_of(F.col("first_at"), today)
        folder = _write(asked, known, fresh.withColumn(BY_DAY, by_first))
        folder = _mended(asked, known, folder)
        written = _read(asked.spark, asked.where, [folder])
        _write_index(asked, index := days.fresh(INDEX), _index_of(written))
        known = known.with_days(_days(asked, folder), now).with_index(index, (), now)
        return _with_rows(asked, known, rows, written.withColumn(placing.HASH, key_hash()), now)
    staged = days.fresh(STAGING)
    at = f"{asked.where}/{staged}"
    runner.write(fresh.withColumn(placing.HASH, key_hash()), at)
    new = asked.spark.read.parquet(storage.literal(at))
    told = _told(asked, known, new)
    places = placing.placed(new.select(placing.HASH, "first_at"), told, today).persist()
    touched = {str(row[BY_DAY]) for row in places.select(BY_DAY).distinct().collect()}
    moved = new.join(places.select(placing.HASH, BY_DAY), placing.HASH)
    there = _old(asked, known, touched & known.days.keys())
    both = there.unionByName(moved.drop(placing.HASH))
    merged = model.merge(both, F.min(BY_DAY).alias(BY_DAY))
    rest = _old(asked, known, stale - touched)
    folder = _write(asked, known, merged.unionByName(rest))
    index = days.fresh(INDEX)
    _write_index(asked, index, places.where("is_new").select(placing.HASH, BY_DAY))
    known = known.with_days(_days(asked, folder), now).with_index(index, (), now)
    known = known.without_others(touched, now)
    known = _with_rows(asked, known, rows, moved, now)
    places.unpersist()
    storage.remove(at)
    return _with_few_folders(asked, known, now)


def _with_rows(asked: Refresh, known: Gold, rows: DataFrame, lives: DataFrame, now: int) -> Gold:
    """With the days of new rows: those that `lives` are folded from, and those that no life has.

    `lives` have `placing.HASH`, `BY_DAY`, and the first and the last instant of their rows.
    """
    with activity.step(asked.spark, "days of new rows"):
        today = dt.datetime.fromtimestamp(now / 1_000_000, dt.UTC).date()
        others = placing.others(rows).persist()
        about_one = others.where(F.col(placing.HASH).isNotNull())
        places = placing.placed(about_one, _told(asked, known, about_one), today).persist()
        days_of_others = others.join(places, placing.HASH, "left")
        placed = days_of_others.withColumn(BY_DAY, F.coalesce(BY_DAY, "own"))
        known = _with_spans(asked, known, lives, placed, now)
        if not places.where("is_new").isEmpty():
            _write_index(
                asked,
                index := days.fresh(INDEX),
                places.where("is_new").select(placing.HASH, BY_DAY),
            )
            known = known.with_index(index, (), now)
        places.unpersist()
        others.unpersist()
    return known


def _with_spans(asked: Refresh, known: Gold, lives: DataFrame, others: DataFrame, now: int) -> Gold:
    """With the instants of the rows of each day, and the hashes that have rows of another day."""
    needed = (placing.HASH, BY_DAY, "first_at", "last_at")
    placed = lives.select(*needed).unionByName(others.select(*needed))
    placed = placed.withColumn("is_astray", placing.is_astray())
    first, last = F.min("first_at").alias("first"), F.max("last_at").alias("last")
    found = placed.groupBy(BY_DAY).agg(first, last, F.max("is_astray").alias("some")).collect()
    if any(row["some"] for row in found):
        entries = placed.where("is_astray").select(placing.HASH, BY_DAY)
        known = known.with_astray(_write_astray(asked, entries), (), now)
    spans = {str(row[BY_DAY]): (row["first"], row["last"]) for row in found}
    return known.with_rows(spans, days.fresh("rows"))


def _touched(asked: Refresh, known: Gold) -> list[Row]:
    """What `stretching.touched` gives of new rows."""
    with activity.step(asked.spark, "stretches of new rows"):
        return stretching.touched(_new_rows(asked, known)).collect()


def _with_stretches(known: Gold, touched: Iterable[Row]) -> Gold:
    """With new marks for the stretches of new rows."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row in touched:
        found[row["party"]].append(row[STRETCH])
    marked = stretching.with_touched(known.stretches, found, days.fresh("stretches"))
    return replace(known, stretches=marked)


def _new_rows(asked: Refresh, known: Gold) -> DataFrame:
    """Journal rows that are not folded in."""
    return asked.held.after(_last_batches(asked, known))


def _last_batches(asked: Refresh, known: Gold) -> dict[str, int]:
    """By the place of a journal in the lakes: the last batch that is folded in."""
    return {
        shelf.root: known.included[name].batch
        for copies in asked.held.copies.values()
        for shelf, _ in copies
        if (name := days.journal_name(asked.lakes, shelf)) in known.included
    }


def _old(asked: Refresh, known: Gold, names: Collection[str]) -> DataFrame:
    """The lives of these days as they are kept, without their verdicts."""
    found = _read(asked.spark, asked.where, [known.days[name].folder for name in sorted(names)])
    return found.select(*runner.LIFECYCLE.names, BY_DAY)


def _write(asked: Refresh, known: Gold, placed: DataFrame) -> str:
    """Judge lives and write them by day; returns the folder that holds the days' folders."""
    judged = verdicts.verdict(placed, asked.coverage, as_of=asked.as_of, policy=asked.policy)
    judged = model.with_terms(judged, _terms(asked, known)).withColumn("day", F.col(BY_DAY))
    folder = days.fresh(LIVES)
    place = f"{asked.where}/{folder}"
    runner.write_by(judged.hint("rebalance", F.col("day")), place, "day")
    storage.keep([place])
    return folder


def _mended(asked: Refresh, known: Gold, folder: str) -> str:
    """The folder, or another one where lives with one hash lay under several days."""
    written = _read(asked.spark, asked.where, [folder])
    told = written.withColumn(placing.HASH, key_hash())
    apart = placing.torn(told.select(placing.HASH, BY_DAY))
    if not apart.take(1):
        return folder
    met = told.join(F.broadcast(apart), placing.HASH, "left")
    whole = met.withColumn(BY_DAY, F.coalesce("least", BY_DAY))
    return _write(asked, known, whole.select(*runner.LIFECYCLE.names, BY_DAY))


def _days(asked: Refresh, folder: str) -> dict[str, Day]:
    """The days that were written into a folder, by what Parquet has of a few columns.

    What is counted of them is written beside it.
    """
    written = _read(asked.spark, asked.where, [folder])
    place = f"{asked.where}/{SUMS}/{folder.rpartition('/')[2]}"
    sums.write(written, place, as_of=asked.as_of, policy=asked.policy)
    turns = (*verdicts.turns(asked.policy), *invariants.turns(asked.policy))
    basis = asked.basis
    at = F.lit(asked.as_of)
    # As instants in an array: `least` and `greatest` would need a case for each that is none.
    each = written.select(BY_DAY, F.array(*turns).alias("turns"))
    counted = each.groupBy(BY_DAY).agg(
        F.count("*").alias("lives"),
        F.max(F.array_max(F.filter("turns", lambda one: one < at))).alias("turned_at"),
        F.min(F.array_min(F.filter("turns", lambda one: one >= at))).alias("turns_at"),
    )
    return {
        str(row[BY_DAY]): Day(
            f"{folder}/day={row[BY_DAY]}",
            row["lives"],
            basis,
            row["turned_at"] or 0,
            row["turns_at"] or _END_OF_TIME,
        )
        for row in counted.collect()
    }


def _told(asked: Refresh, known: Gold, new: DataFrame) -> DataFrame:
    """What the index tells of the hashes of `new` (column `placing.HASH`), and perhaps more."""
    index = _index(asked, known)
    hashes = new.select(placing.HASH).distinct()
    few = hashes.take(placing.LOOKED_UP_MAX + 1)
    if len(few) <= placing.LOOKED_UP_MAX:
        return index.where(placing.is_one_of([row[placing.HASH] for row in few]))
    if hashes.count() <= HASHES_EVERYWHERE:
        return index.join(F.broadcast(hashes), placing.HASH, "left_semi")
    return index


def _index(asked: Refresh, known: Gold) -> DataFrame:
    return runner.folders_of(asked.spark, placing.INDEX, _paths(asked, known.index))


def _index_of(lives: DataFrame) -> DataFrame:
    return lives.select(key_hash().alias(placing.HASH), BY_DAY).distinct()


def _terms(asked: Refresh, known: Gold) -> DataFrame:
    return runner.folders_of(asked.spark, runner.TERMS, _paths(asked, known.terms))


def _with_terms(asked: Refresh, known: Gold, terms: DataFrame, now: int) -> Gold:
    """With the terms of new rows, and those of before if they are in too many folders."""
    old = known.terms if len(known.terms) >= FOLDERS_MAX else ()
    if old:
        terms = terms.unionByName(_terms(asked, known)).distinct()
    folder = days.fresh(TERMS)
    runner.write(terms.coalesce(1), f"{asked.where}/{folder}")
    storage.keep([f"{asked.where}/{folder}"])
    return known.with_terms(folder, old, now)


def _with_few_folders(asked: Refresh, known: Gold, now: int) -> Gold:
    if len(known.index) > FOLDERS_MAX:
        _write_index(asked, folder := days.fresh(INDEX), _index(asked, known))
        known = known.with_index(folder, known.index, now)
    if len(known.astray) > FOLDERS_MAX:
        every = runner.folders_of(asked.spark, placing.INDEX, _paths(asked, known.astray))
        folder = _write_astray(asked, every.distinct())
        known = known.with_astray(folder, known.astray, now)
    return known


def _write_index(asked: Refresh, folder: str, entries: DataFrame) -> None:
    with activity.step(asked.spark, "index of days"):
        runner.write(placing.in_order(entries), f"{asked.where}/{folder}")
        storage.keep([f"{asked.where}/{folder}"])


def _write_astray(asked: Refresh, entries: DataFrame) -> str:
    folder = days.fresh(ASTRAY)
    runner.write(entries.hint("rebalance"), f"{asked.where}/{folder}")
    storage.keep([f"{asked.where}/{folder}"])
    return folder


def _paths(asked: Refresh, folders: Sequence[str]) -> list[str]:
    return [f"{asked.where}/{one}" for one in folders]


def _read(spark: SparkSession, where: str, folders: Sequence[str]) -> DataFrame:
    return runner.folders_of(spark, runner.JUDGED, [f"{where}/{one}" for one in folders])
