"""Takes a batch of segments into a lake: checks them, compares them with the lake, writes rows.

A batch's rows become two folders of Parquet (journal rows, coverage), and what was found in its
segments goes into the register. All of it counts once the party's manifest names it,
at once; a job may die anywhere before that, and nothing has happened.

A segment that cannot be trusted is quarantined: none of its rows count, the manifest names it with
its fault, and it is looked at again when it has changed. Of a look that was disturbed nothing is
kept: the next ingest looks again.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.segment import party_folder
from onceonly.lake import compaction, hash_chain, manifest, model, runner, schemas, storage
from onceonly.lake.ingest import neighbours, register, remainder, seams, segments
from onceonly.lake.ingest.change import Change, decide
from onceonly.lake.ingest.intake import Intake, url
from onceonly.lake.ingest.register import GONE, KnownSegments, RegisterEntry
from onceonly.lake.ingest.segments import Look
from onceonly.lake.manifest import Distrusted, Manifest, Quarantined, Range, Shelf
from onceonly.message.errors import LocalError

SEGMENTS_PER_TASK: Final = 8
"""With fewer, starting a task would cost more than the check."""
TRIES_MAX: Final = 3
"""How often a batch is read again because its files, or the lake, changed meanwhile."""

RESTLESS: Final = "Restless"
"""Name of the error for segments that keep changing: they are taken when they do not change."""
DISTURBED: Final = "Disturbed"
"""Name of the error for checks that the storage or the machine stopped: the next ingest repeats
them."""

_OF_A_FILE: Final = "[FAILED_READ_FILE"
"""What Spark says where a task read a file and could not. A job that was cancelled, a disk that is
full and an executor that is gone say other things, and are no fault of any segment's."""

# What workers run is sent to them by value: they need Arrow, and nothing of this package.
for _module in (segments, storage):
    cloudpickle.register_pickle_by_value(_module)  # type: ignore[no-untyped-call]  # because Spark's copy of it has no types


class WrittenRows(NamedTuple):
    """The rows of a batch, written, before any manifest names them."""

    batch: str
    """Name of its folders under every product; empty where there are no rows."""
    number: int
    ranges: tuple[Range, ...]
    first_fork: int | None
    unknown_columns: dict[str, int]


def take(
    spark: SparkSession,
    intake: Intake,
    files: Sequence[str],
    tell: Callable[[Quarantined], None] = lambda _: None,
    tries: int = TRIES_MAX,
) -> None:
    """Take these files of an intake in; `tell` is called for those that are quarantined by it.

    Raises `LocalError`: Restless where files go on changing while they are read, Disturbed where
    nobody could look at some of them. All others are in then, unless the lake itself changed.
    """
    before = _known(spark, intake.shelf)
    there = storage.look_up(intake.journal, files)
    listed = register.unlike(before, intake.prefix, there)
    if not listed:
        return
    asked = [Look(intake.name(one.name), one.length, one.modified_at) for one in listed]
    looks = look_at(spark, intake.shelf, asked)
    # A file that never rests, such as somebody's log, is to keep no other out.
    now = _as_now(intake.shelf, looks)
    still = [one for one, is_now in zip(looks, now, strict=True) if _named(one) == is_now]
    found = [one for one in still if not one.is_disturbed]
    is_in = not found or _take_in(spark, before, found, tell)
    if is_in and len(still) == len(looks):
        _require_undisturbed(still)
    elif tries == 1:
        text = f"segments in {intake.journal}, or their lake, change while they are read"
        raise LocalError(RESTLESS, text)
    else:
        take(spark, intake, files, tell, tries - 1)


def set_aside(
    spark: SparkSession,
    shelf: Shelf,
    segment: str,
    reason: str,
    tell: Callable[[Quarantined], None] = lambda _: None,
) -> None:
    """Stop counting the content of a segment, because a person says so.

    The present file of that name is checked, and taken in if it is whole and has another content.
    So are segments that were refused because they did not follow. Raises `LocalError` (NotCounted,
    Restless, Disturbed).
    """
    before = _known(spark, shelf)
    here = register.named(before, [segment]).values()
    if not neighbours.accepted(before, list(here)):
        raise LocalError("NotCounted", f"no row of {segment} counts in {shelf.lake}")
    [counted] = here
    aside = Distrusted(segment, counted.mark, reason, time.time_ns() // 1_000)
    [there] = _as_now(shelf, [counted])
    is_gone = not (there.length or there.modified_at)
    looks = [there._replace(fault=GONE)] if is_gone else look_at(spark, shelf, [there])
    _require_undisturbed(looks)
    if not _take_in(spark, before, looks, tell, aside):
        raise LocalError(RESTLESS, f"{segment}, or its lake, changes while it is read")


def _known(spark: SparkSession, shelf: Shelf) -> KnownSegments:
    """What the lake holds of a party, folded by the folds of this version."""
    before = register.known(shelf)
    if not runner.is_outdated(before.manifest):
        return before
    compaction.refold(spark, shelf)
    return register.known(shelf)


def _take_in(
    spark: SparkSession,
    before: KnownSegments,
    looks: Sequence[Look],
    tell: Callable[[Quarantined], None],
    aside: Distrusted | None = None,
) -> bool:
    """Take the batch in; False, and nothing happened, if files or lake changed meanwhile."""
    change, found, rows = _decide_and_write(spark, before, looks, aside)
    entry = register.write(before, change.looks)
    if not _is_as_now(before.shelf, found):
        return False
    now = time.time_ns() // 1_000
    after = manifest.change(
        before.shelf,
        lambda known: _published(known, change, entry, rows, now) if before.holds(known) else known,
    )
    if entry.file not in after.products.get(register.PRODUCT, ()):
        return False
    for one in after.quarantined:
        if one not in before.manifest.quarantined:
            tell(one)
    return True


def _require_undisturbed(looks: Sequence[Look]) -> None:
    for one in looks:
        if one.is_disturbed:
            raise LocalError(DISTURBED, f"{one.segment} could not be looked at: {one.fault}")


def _is_as_now(shelf: Shelf, looks: Sequence[Look]) -> bool:
    return _as_now(shelf, looks) == [_named(one) for one in looks]


def _as_now(shelf: Shelf, looks: Iterable[Look]) -> list[Look]:
    """Size and age of the files now, before the check; a missing file has no length."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    places = {one.segment: url(shelf.lake, one.segment) for one in looks}
    for place in places.values():
        folder, _, name = place.rpartition("/")
        names[folder].append(name)
    there = {
        f"{folder}/{one.name}": (one.length, one.modified_at)
        for folder in names
        for one in storage.look_up(folder, names[folder])
    }
    return [Look(segment, *there.get(place, ())) for segment, place in places.items()]


def _named(one: Look) -> Look:
    return Look(one.segment, one.length, one.modified_at)


def _decided(
    spark: SparkSession, before: KnownSegments, found: Sequence[Look], aside: Distrusted | None
) -> tuple[Change, Sequence[Look]]:
    """The change that follows from these looks, and from new ones at refused segments.

    Such a segment counts now, for its neighbour's sake; its file may have changed since.
    """
    change = decide(neighbours.around(before, found, aside), found, aside)
    fresh = {one.segment for one in found}
    old = [one for one in change.rows_of if one.segment not in fresh]
    if not old:
        return change, found
    again = look_at(spark, before.shelf, _as_now(before.shelf, old))
    _require_undisturbed(again)
    return _decided(spark, before, [*found, *again], aside)


def _decide_and_write(
    spark: SparkSession,
    before: KnownSegments,
    looks: Sequence[Look],
    aside: Distrusted | None = None,
) -> tuple[Change, Sequence[Look], WrittenRows]:
    """The rows of a batch, without those of segments that Arrow reads and Spark does not."""
    change, found = _decided(spark, before, looks, aside)
    try:
        return change, found, _write_rows(spark, before, change)
    except (PySparkException, Py4JError) as error:
        if not _is_of_a_file(error):
            raise
        lake = before.shelf.lake
        bad = {one.segment for one in change.rows_of if not _can_read(spark, lake, one)}
        if not bad & {one.segment for one in found}:
            raise
    # A storage that failed Spark fails this look too, and nothing is held against the segment.
    again = look_at(spark, before.shelf, [_named(one) for one in found if one.segment in bad])
    _require_undisturbed(again)
    faulty = [
        one
        if one.fault is not None
        else one._replace(fault="unreadable: Spark cannot", bad_seq=one.first_seq)
        for one in again
    ]
    others = [one for one in found if one.segment not in bad]
    change, found = _decided(spark, before, [*others, *faulty], aside)
    return change, found, _write_rows(spark, before, change)


def _can_read(spark: SparkSession, lake: str, one: Look) -> bool:
    rows = _read(spark, [url(lake, one.segment)])
    try:
        rows.write.format("noop").mode("overwrite").save()
    except (PySparkException, Py4JError) as error:
        if not _is_of_a_file(error):
            raise
        return False
    return True


def _is_of_a_file(error: Exception) -> bool:
    return _OF_A_FILE in str(error)


def forget(intake: Intake, before: KnownSegments) -> None:
    """Segments that do not exist any more are not quarantined any more: their rows are missing."""
    names = [
        one.segment.removeprefix(intake.prefix)
        for one in before.manifest.quarantined
        if one.segment.startswith(intake.prefix)
    ]
    there = {one.name for one in storage.look_up(intake.journal, names)} if names else set()
    gone = {intake.name(name) for name in names if name not in there}
    if not gone:
        return
    # One that changed after it was taken in has rows here, and its look goes on telling of them.
    refused = seams.fit(neighbours.around(before, []).looks.values()).contradicted
    tombs = [refused[name]._replace(fault=register.GONE) for name in gone if name in refused]
    entry = register.write(before, tombs)
    rest = tuple(one for one in before.manifest.quarantined if one.segment not in gone)
    now = time.time_ns() // 1_000
    manifest.change(
        intake.shelf,
        lambda known: (
            replace(_registered(known, entry, now), quarantined=rest)
            if before.holds(known)
            else known
        ),
    )


def look_at(spark: SparkSession, shelf: Shelf, asked: Sequence[Look]) -> list[Look]:
    """One look at each segment, taken by Spark's workers; what is `asked` says what it is like."""
    urls = pa.array([url(shelf.lake, one.segment) for one in asked], pa.utf8())
    frame = spark.createDataFrame(segments.to_table(list(asked)).append_column("url", urls))
    tasks = 1 + (len(asked) - 1) // SEGMENTS_PER_TASK
    looked = frame.repartition(tasks).mapInArrow(segments.look_at_all, segments.ROW)
    found = [Look(**row) for row in looked.toArrow().to_pylist()]
    return [_placed(shelf, one) for one in sorted(found, key=lambda one: one.segment)]


def _placed(shelf: Shelf, found: Look) -> Look:
    right = party_folder(found.party or "")
    if found.fault is not None or right == shelf.folder:
        return found
    return found._replace(
        fault=f"foreign: its folder would be {right}, for its rows are of {found.party!r}"[
            : segments.FAULT_CHARS_MAX
        ],
        bad_seq=found.first_seq,
    )


def _write_rows(spark: SparkSession, before: KnownSegments, change: Change) -> WrittenRows:
    if not change.kept and not change.rows_of:
        return WrittenRows("", 0, (), None, {})
    name = manifest.batch_name(before.manifest.batches + 1)
    try:
        return _write_batch(spark, before, change, name)
    except (PySparkException, Py4JError, OSError):
        # On a full disk every try would leave more there than the one before. What stays all the
        # same, a compaction removes.
        for product in runner.OF_ROWS:
            with suppress(OSError):
                storage.remove(f"{before.shelf.root}/{product}/{name}")
        raise


def _write_batch(
    spark: SparkSession, before: KnownSegments, change: Change, name: str
) -> WrittenRows:
    root, looks = before.shelf.root, [*change.kept, *change.rows_of]
    known = Manifest() if change.is_rebuilt else before.manifest
    ranges = [(one.first_seq, one.last_seq) for one in looks]
    rows = _rows(spark, before, change)
    written = manifest.count(ranges)
    fork = None
    # Of rows that are kept, others may stand under the same numbers (`remainder`).
    together = manifest.count(manifest.joined((*known.ranges, *ranges)))
    if change.is_rebuilt or together < known.numbers + written:
        published = runner.folders(spark, "journal", before.shelf.paths(known, "journal"))
        rows = _unseen(rows, published, ranges)
        runner.write(_as_bronze(rows, before, written), f"{root}/journal/{name}")
        batch = runner.folders(spark, "journal", [f"{root}/journal/{name}"])
        written, fork = batch.count(), _first_fork(batch, published, ranges)
        if not written:
            storage.remove(f"{root}/journal/{name}")
            return WrittenRows("", 0, (), None, {})
    else:
        runner.write(_as_bronze(rows, before, written), f"{root}/journal/{name}")
        batch = runner.folders(spark, "journal", [f"{root}/journal/{name}"])
    runner.write(model.coverage(batch).coalesce(1), f"{root}/coverage/{name}")
    storage.keep(f"{root}/{product}/{name}" for product in runner.OF_ROWS)
    return WrittenRows(name, written, manifest.joined(ranges), fork, _unknown(looks))


ROWS_PER_FILE: Final = 1_000_000
"""Of a lake's own copy of a journal, about 60 MB; a batch of fewer rows is one file."""


def _as_bronze(rows: DataFrame, before: KnownSegments, number: int) -> DataFrame:
    """The rows as the lake keeps them: with their batch, and those of one event side by side.

    So whoever asks for rare events reads little of a file, by the statistics that Parquet keeps.
    """
    files = 1 + (number - 1) // ROWS_PER_FILE
    return (
        rows.withColumn(schemas.BATCH, F.lit(before.manifest.batches + 1).cast("bigint"))
        .coalesce(files)
        .sortWithinPartitions("event", "seq")
    )


def _rows(spark: SparkSession, before: KnownSegments, change: Change) -> DataFrame:
    """The rows to be written: those in files that were looked at just now, and those kept."""
    fresh = [url(before.shelf.lake, one.segment) for one in change.rows_of]
    if not change.kept:
        return _read(spark, fresh)
    journal = runner.folders(spark, "journal", before.shelf.paths(before.manifest, "journal"))
    stay = remainder.rows(journal, change.kept, change.dropped)
    return stay.unionByName(_read(spark, fresh)) if fresh else stay


def _read(spark: SparkSession, places: Sequence[str]) -> DataFrame:
    """The rows of segments that were looked at.

    Without the `.crc` files that Hadoop's copies leave beside them: those may be of other bytes,
    and whether a segment is whole its own hashes have told already.
    """
    options = runner.unchecked(places[0]) if all(map(storage.is_here, places)) else {}
    paths = map(storage.literal, places)
    return spark.read.schema(schemas.JOURNAL).options(**options).parquet(*paths)


def _unseen(rows: DataFrame, published: DataFrame, ranges: Sequence[Range]) -> DataFrame:
    """The rows that no batch has yet: a publisher that died may publish a row in two segments."""
    same = list(hash_chain.LINK_AND_CONTENT)
    seen = hash_chain.with_content(_within(published, ranges)).select(*same)
    fresh = hash_chain.with_content(rows).dropDuplicates(same).join(seen, same, "left_anti")
    return fresh.select(*rows.columns)


def _first_fork(rows: DataFrame, published: DataFrame, ranges: Sequence[Range]) -> int | None:
    """The first row number that two rows with different content have."""
    numbers = rows.select("seq").union(_within(published, ranges).select("seq"))
    doubled = numbers.groupBy("seq").count().where(F.col("count") > F.lit(1))
    [first] = doubled.agg(F.min("seq").alias("seq")).collect()
    return None if first["seq"] is None else int(first["seq"])


def _within(rows: DataFrame, ranges: Sequence[Range]) -> DataFrame:
    first, last = min(low for low, _ in ranges), max(high for _, high in ranges)
    return rows.where(F.col("seq").between(first, last))


def _unknown(looks: Iterable[Look]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in looks:
        for name in filter(None, one.unknown_columns.split(",")):
            found[name] = found.get(name, 0) + one.rows
    return found


def _registered(found: Manifest, entry: RegisterEntry, now: int) -> Manifest:
    return found.with_folders(register.PRODUCT, entry.instead_of, entry.file, now)


def _published(
    found: Manifest, change: Change, entry: RegisterEntry, rows: WrittenRows, now: int
) -> Manifest:
    """The manifest with the batch in it."""
    found = replace(found, quarantined=change.quarantined, distrusted=change.distrusted)
    found = _registered(found, entry, now)
    if change.is_rebuilt:
        found = found.without_rows(list(runner.OF_ROWS), now)
        found = replace(found, lineage="")
    if not rows.batch:
        return found
    for product in runner.OF_ROWS:
        found = found.with_folders(product, (), f"{product}/{rows.batch}", now)
    forks = [fork for fork in (found.first_fork, rows.first_fork) if fork is not None]
    columns = {*found.unknown_columns, *rows.unknown_columns}
    counts = (found.unknown_columns, rows.unknown_columns)
    return replace(
        found,
        batches=found.batches + 1,
        lineage=found.lineage or manifest.fresh_name(),
        folds=runner.FOLDS_MARK,
        rows=found.rows + rows.number,
        ranges=manifest.joined((*found.ranges, *rows.ranges)),
        first_fork=min(forks, default=None),
        unknown_columns={name: sum(one.get(name, 0) for one in counts) for name in sorted(columns)},
    )
