"""Structured Streaming around `taking`: one query per party, which streams the *names* of segments.

What is in a segment is read only once it is known to be whole, so the query itself never opens
one. A query tells each path once; segments that were looked at and changed since are found by the
run itself, which also starts queries for parties that appear.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from onceonly.lake import storage
from onceonly.lake.ingest import register, taking
from onceonly.lake.ingest.intake import Intake, changed
from onceonly.lake.ingest.taking import DISTURBED, RESTLESS
from onceonly.lake.manifest import Quarantined, Shelf
from onceonly.message.errors import LocalError

SEGMENTS_PER_BATCH: Final = 500
"""Most segments in one batch, so that a back-fill of years is many small steps."""
QUERIES_AT_ONCE: Final = 8
"""Most parties that are caught up with at the same time; each costs the driver a thread."""

FAILED: Final = "IngestFailed"
"""Name of the error for what Spark, the disk or the storage did not do."""
_PASSING: Final = frozenset({RESTLESS, DISTURBED})
"""Names of errors that keep nothing else from being taken: a later try may not meet them."""

_NAMES: Final = "path string, modificationTime timestamp, length bigint, content binary"
_SETTINGS: Final = {
    "maxFilesPerTrigger": str(SEGMENTS_PER_BATCH),
    # A copy keeps the age of its original: evidence that comes late is no less evidence.
    "maxFileAge": "36500d",
}

Find = Callable[[], Sequence[Intake]]
"""Every intake that there is now."""
Tell = Callable[[Shelf, Quarantined], None]
"""Called for every segment that is quarantined."""
Warn = Callable[[str], None]
"""Called for what could not be done now and will be tried again."""


class Run:
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

    def catch_up(self) -> None:
        """Take everything that is published now, and return.

        Raises `LocalError` (IngestFailed, Restless, Disturbed) where a party's segments could not
        be taken; those of all others are.
        """
        intakes = list(self._find())
        # What passes is tried again at the end.
        failed = [
            error
            for intake in intakes
            for error in self._look_again(intake)
            if error.name not in _PASSING
        ]
        try:
            for start in range(0, len(intakes), QUERIES_AT_ONCE):
                some = intakes[start : start + QUERIES_AT_ONCE]
                for intake in some:
                    self._start(intake, {"availableNow": True})
                failed += [error for intake in some for error in self._errors_of(intake)]
        finally:
            self._stop()
        for intake in intakes:
            failed += self._take(intake, [one.name for one in storage.listed(intake.journal)])
        if failed:
            raise failed[0]

    def _errors_of(self, intake: Intake) -> list[LocalError]:
        """How the query of an intake ended that was started for what is there now."""
        try:
            self._queries[intake].awaitTermination()
        except StreamingQueryException as error:
            return [_failed(error)]
        return []

    def go_on(self, every_s: float) -> None:
        """Take what is published, every so many seconds, until somebody interrupts it.

        Raises `LocalError` (IngestFailed) where a party's segments could not be taken.
        """
        trigger = {"processingTime": f"{every_s} seconds"}
        # Queries that ended before this run are none of its business.
        self._spark.streams.resetTerminated()
        try:
            while True:
                for intake in self._find():
                    _raise_all_but_passing(self._look_again(intake))
                    if intake not in self._queries:
                        self._start(intake, trigger)
                self._spark.streams.awaitAnyTermination(max(1, int(every_s)))
        except StreamingQueryException as error:
            raise _failed(error) from error
        finally:
            self._stop()

    def _start(self, intake: Intake, trigger: dict[str, Any]) -> StreamingQuery:
        def take(names: DataFrame, _batch: int) -> None:
            files = [intake.file(row["path"]) for row in names.collect()]
            _raise_all_but_passing(self._take(intake, files))

        # Columns that nobody asks for are not read: this source opens no segment.
        names = self._spark.readStream.format("binaryFile").schema(_NAMES).options(**_SETTINGS)
        query = (
            names.load(storage.literal(intake.journal))
            .select("path")
            .writeStream.queryName(f"ingest {intake.shelf.lake} {intake.journal}")
            .option("checkpointLocation", intake.checkpoint)
            .foreachBatch(take)
            .trigger(**trigger)
            .start()
        )
        self._queries[intake] = query
        return query

    def _stop(self) -> None:
        for query in self._queries.values():
            query.stop()
        self._queries.clear()

    def _take(self, intake: Intake, files: Sequence[str]) -> list[LocalError]:
        """Take files in; returns why they could not be. What passes is said, and may wait."""
        try:
            with self._turns[intake.shelf]:
                taking.take(self._spark, intake, files, partial(self._tell, intake.shelf))
        except LocalError as error:
            if error.name in _PASSING:
                self._warn(f"{error.name}: {error}")
            return [error]
        except (OSError, PySparkException, Py4JError) as error:
            return [LocalError(FAILED, f"{intake.journal}: {_first_line(error)}")]
        return []

    def _look_again(self, intake: Intake) -> list[LocalError]:
        """Take what was looked at and has changed since; forget what is gone.

        A query tells each path once. So what came back under the name of one that was forgotten,
        or could not be taken when it was told, is found here.
        """
        with self._turns[intake.shelf]:
            seen = register.read(intake.shelf).seen(intake.prefix)
            present = storage.listed(intake.journal)
            if seen:
                taking.forget(intake, [one.name for one in present])
        names = {one.name for one in seen}
        is_told = intake in self._queries
        again = [one.name for one in changed(present, seen) if is_told or one.name in names]
        return [
            error
            for start in range(0, len(again), SEGMENTS_PER_BATCH)
            for error in self._take(intake, again[start : start + SEGMENTS_PER_BATCH])
        ]


def _raise_all_but_passing(errors: Sequence[LocalError]) -> None:
    for error in errors:
        if error.name not in _PASSING:
            raise error


def _failed(error: StreamingQueryException) -> LocalError:
    # Where our own code raised, its last line says what; Spark's first says where.
    ours = [line.strip() for line in str(error).splitlines() if "Error: " in line]
    return LocalError(FAILED, ours[-1] if ours else _first_line(error))


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
