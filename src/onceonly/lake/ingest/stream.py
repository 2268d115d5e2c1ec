"""Many parties around `batch`: what each has published, in small steps, by threads or by queries.

An ingest of what there is now lists each folder once, compares the list with the register, and
takes what is new. One that goes on has a query of Structured Streaming per party besides, which
streams the *names* of segments: what is in a segment is read only once it is known to be whole, so
the query itself never opens one. A query tells each path once; segments that were looked at and
changed since are found by the run itself, which also starts queries for parties that appear.

What a query keeps may be lost: Spark syncs none of it, and after a power cut some of it is empty. A
query that falls over it, and not over a segment, begins again. So that it does not remember every
name for ever, it is told only of files that are at most `AGE_OF_NEWS` older than the newest one; a
late copy with an old date is found by the run.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from onceonly.lake import activity, compaction, storage
from onceonly.lake.ingest import batch, register
from onceonly.lake.ingest.batch import DISTURBED, RESTLESS
from onceonly.lake.ingest.intake import Intake
from onceonly.lake.manifest import Quarantined, Shelf
from onceonly.message.errors import LocalError

SEGMENTS_PER_BATCH: Final = 500
"""Most segments in one batch, so that a back-fill of years is many small steps."""
PARTIES_AT_ONCE: Final = 8
"""Most parties that are caught up with at the same time; each costs the driver a thread."""
AGE_OF_NEWS: Final = "7d"
"""How much older than the newest file one may be that a query tells of."""

FAILED: Final = "IngestFailed"
"""Name of the error for what Spark, the disk or the storage did not do."""
_PASSING: Final = frozenset({RESTLESS, DISTURBED})
"""Names of errors after which everything else is still taken: a later try may succeed."""

_NAMES: Final = "path string, modificationTime timestamp, length bigint, content binary"
_SETTINGS: Final = {
    "maxFilesPerTrigger": str(SEGMENTS_PER_BATCH),
    "maxFileAge": AGE_OF_NEWS,
}

Find = Callable[[], Sequence[Intake]]
"""Every intake that there is now."""
Tell = Callable[[Shelf, Quarantined], None]
"""Called for every segment that is quarantined."""
Warn = Callable[[str], None]
"""Called for what could not be done now and will be tried again."""


class IngestRun:
    """One run of an ingest; `find` is asked again wherever new parties may have appeared."""

    def __init__(
        self, spark: SparkSession, find: Find, tell: Tell, warn: Warn = lambda _: None
    ) -> None:
        self._spark = spark
        self._find = find
        self._tell = tell
        self._warn = warn
        self._turns: defaultdict[Shelf, Lock] = defaultdict(Lock)
        self._queries: dict[Intake, StreamingQuery] = {}
        self._refused: defaultdict[Intake, list[LocalError]] = defaultdict(list)
        """Why batches that a query told could not be taken."""
        self._renewed: set[Intake] = set()

    def catch_up(self) -> None:
        """Take everything that is published now, and return.

        Raises `LocalError` (IngestFailed, Restless, Disturbed, BadManifest, NewerLake) where a
        party's segments could not be taken; those of all others are.
        """
        intakes = list(self._find())
        for intake in intakes:
            self._turns[intake.shelf] = Lock()
        if len(intakes) > 1:
            with ThreadPoolExecutor(PARTIES_AT_ONCE, "ingest") as threads:
                errors = dict(zip(intakes, threads.map(self._take_all, intakes), strict=True))
        else:
            errors = {intake: self._take_all(intake) for intake in intakes}
        failed = [error for some in errors.values() for error in _lasting(some)]
        for intake, some in errors.items():
            if some and not _lasting(some):
                failed += self._take_all(intake)
        self._raise_first(failed)

    def go_on(self, every_s: float) -> None:
        """Take what is published, every so many seconds, until somebody interrupts it.

        Raises `LocalError` (IngestFailed, BadManifest, NewerLake) where a party's segments could
        not be taken; what all others have published by then is.
        """
        trigger = {"processingTime": f"{every_s} seconds"}
        # Queries that ended before this run are none of its business.
        self._spark.streams.resetTerminated()
        failed: list[LocalError] = []
        intakes: list[Intake] = []
        try:
            while not failed:
                intakes = list(self._find())
                for intake in intakes:
                    errors = _lasting(self._look_again(intake))
                    if not errors and intake not in self._queries:
                        errors = self._start(intake, trigger)
                    failed += errors
                failed += self._wait(every_s) if not failed else []
        finally:
            self._stop()
        # Whoever starts it again comes to the same end, perhaps before the others' first batch.
        for intake in intakes:
            failed += _lasting(self._take_all(intake))
        self._raise_first(failed)

    def _wait(self, every_s: float) -> list[LocalError]:
        """Until a query ends or the time is over; how those ended that did."""
        with suppress(StreamingQueryException):  # whose it is, each of them knows
            self._spark.streams.awaitAnyTermination(max(1, int(every_s)))
        self._spark.streams.resetTerminated()
        ended = [intake for intake, query in self._queries.items() if not query.isActive]
        return [error for intake in ended for error in self._end_of(intake)]

    def _raise_first(self, failed: Sequence[LocalError]) -> None:
        """Raise the first error; other errors that were not reported yet are reported."""
        lines = list(dict.fromkeys(f"{one.name}: {one}" for one in _lasting(failed)))
        for line in lines:
            if line != f"{failed[0].name}: {failed[0]}":
                self._warn(line)
        if failed:
            raise failed[0]

    def _start(self, intake: Intake, trigger: dict[str, Any]) -> list[LocalError]:
        """Start a query; returns why it could not be."""

        def take(names: DataFrame, _batch: int) -> None:
            told = [intake.file(row["path"]) for row in names.collect()]
            files = [name for name in told if storage.is_listed(name)]
            self._refused[intake] = _lasting(self._take(intake, files))
            if self._refused[intake]:
                raise self._refused[intake][0]

        # Columns that nobody asks for are not read: this source opens no segment.
        names = self._spark.readStream.format("binaryFile").schema(_NAMES).options(**_SETTINGS)
        try:
            self._queries[intake] = (
                names.load(storage.literal(intake.journal))
                .select("path")
                .writeStream.queryName(f"ingest {intake.shelf.lake} {intake.journal}")
                .option("checkpointLocation", intake.checkpoint)
                .foreachBatch(take)
                .trigger(**trigger)
                .start()
            )
        except (PySparkException, Py4JError) as error:
            return self._renew(intake, error) or self._start(intake, trigger)
        return []

    def _end_of(self, intake: Intake) -> list[LocalError]:
        """Wait for a query to end; returns what keeps its party's segments from being taken."""
        try:
            self._queries[intake].awaitTermination()
        except StreamingQueryException as error:
            del self._queries[intake]
            return self._refused.pop(intake, None) or self._renew(intake, error)
        del self._queries[intake]
        return []

    def _renew(self, intake: Intake, error: Exception) -> list[LocalError]:
        """Delete what a query kept, which only costs time; at most once in a run."""
        if intake in self._renewed:
            return [_failed(intake, error)]
        self._renewed.add(intake)
        self._warn(f"{intake.journal} is listed again: {_first_line(error)}")
        return self._tried(intake, lambda: storage.remove(intake.checkpoint))

    def _stop(self) -> None:
        for query in self._queries.values():
            query.stop()
        self._queries.clear()

    def _tried(self, intake: Intake, deed: Callable[[], object]) -> list[LocalError]:
        """Do something for a party; returns the lasting error. A passing error is reported."""
        try:
            deed()
        except LocalError as error:
            if error.name in _PASSING:
                self._warn(f"{error.name}: {error}")
            return [error]
        except (OSError, pa.ArrowException, PySparkException, Py4JError) as error:
            return [_failed(intake, error)]
        return []

    def _take(self, intake: Intake, files: Sequence[str]) -> list[LocalError]:
        """Take files in; returns why they could not be."""

        def take(some: Sequence[str]) -> None:
            shelf, what = intake.shelf, f"{len(some)} segments of {intake.shelf.folder}"
            with self._turns[shelf], activity.step(self._spark, what):
                batch.take(self._spark, intake, some, partial(self._tell, shelf))

        starts = range(0, len(files), SEGMENTS_PER_BATCH)
        parts = [files[start : start + SEGMENTS_PER_BATCH] for start in starts]
        failed = []
        for some in parts:
            errors = self._tried(intake, partial(take, some))
            if not errors:
                self._tidy(intake.shelf)
            failed += errors
        return failed

    def _tidy(self, shelf: Shelf) -> None:
        """Merge small folders, if that is due; what was taken in counts all the same."""
        try:
            with self._turns[shelf]:
                compaction.tidy(self._spark, shelf)
        except (LocalError, OSError, PySparkException, Py4JError) as error:
            self._warn(f"{shelf.root} keeps many small folders: {_first_line(error)}")

    def _take_all(self, intake: Intake) -> list[LocalError]:
        """Take what is new or has changed; forget what is gone."""
        return self._take_found(intake, lambda: self._changed(intake))

    def _look_again(self, intake: Intake) -> list[LocalError]:
        """Take what was looked at and has changed since; forget what is gone.

        A query tells each path once. So what came back under the name of one that was forgotten,
        or could not be taken when it was told, is found here.
        """
        if intake in self._queries:
            return self._take_all(intake)
        return self._take_found(intake, lambda: self._of_before(intake, self._changed(intake)))

    def _take_found(self, intake: Intake, find: Callable[[], Iterable[str]]) -> list[LocalError]:
        files: list[str] = []
        return self._tried(intake, lambda: files.extend(find())) or self._take(intake, files)

    def _changed(self, intake: Intake) -> list[str]:
        with self._turns[intake.shelf]:
            held = register.known(intake.shelf)
            listed = storage.each_listed(intake.journal)
            fresh = register.unseen(held, intake.prefix, listed)
            batch.forget(intake, held)
        return [one.name for one in fresh]

    def _of_before(self, intake: Intake, files: Sequence[str]) -> list[str]:
        held = register.known(intake.shelf)
        named = register.named(held, [intake.name(file) for file in files])
        apart = {one.segment for one in held.manifest.quarantined}
        return [file for file in files if intake.name(file) in named.keys() | apart]


def _lasting(errors: Iterable[LocalError]) -> list[LocalError]:
    return [error for error in errors if error.name not in _PASSING]


def _failed(intake: Intake, error: Exception) -> LocalError:
    return LocalError(FAILED, f"{intake.journal}: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
