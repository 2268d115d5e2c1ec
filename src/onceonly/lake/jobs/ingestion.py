"""`ingest`: every published segment into the lake, once."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from onceonly.lake import lease, manifest, runner, storage
from onceonly.lake.gold import refreshing
from onceonly.lake.ingest import mirror
from onceonly.lake.ingest.intake import Intake, intakes
from onceonly.lake.ingest.stream import FAILED, IngestRun
from onceonly.lake.jobs import prerequisites
from onceonly.lake.jobs.case import open_case
from onceonly.lake.jobs.session import Lakes, directories, start
from onceonly.lake.manifest import INGESTED_FOLDER, Manifest, Quarantined, Range, Shelf
from onceonly.message.errors import LocalError

AVAILABLE_NOW: Final = "available-now"

_OF_ONE: Final = frozenset({"NoSource", FAILED})
"""Names of errors of one source, after which all other sources are still taken in."""

_INTERVAL: Final = re.compile(r"(\d+)\s*(s|m|h)(?:ec(?:ond)?s?|in(?:ute)?s?|ours?)?")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600}


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What is in the lakes after an ingest, per party folder."""

    manifests: Mapping[str, Manifest]

    @property
    def batches(self) -> dict[str, int]:
        """How often rows were taken in."""
        return {name: found.batches for name, found in self.manifests.items()}

    @property
    def last_seq(self) -> dict[str, int]:
        """The last row number that is in."""
        return {name: found.last_seq for name, found in self.manifests.items()}

    @property
    def missing(self) -> dict[str, list[Range]]:
        """Row numbers that are not in, although a later one is."""
        return {name: found.missing for name, found in self.manifests.items()}

    @property
    def quarantined(self) -> list[Quarantined]:
        """Segments that are kept apart."""
        return [one for found in self.manifests.values() for one in found.quarantined]

    @property
    def is_trusted(self) -> bool:
        """Whether no segment is kept apart and no number stands twice."""
        return not self.quarantined and self.forks == 0

    @property
    def forks(self) -> int:
        """Rows with a number that another row has too."""
        return sum(found.forks for found in self.manifests.values())

    @property
    def complaints(self) -> list[str]:
        """A line for people about each error, and about each row range that is still missing."""
        return [line for name, found in sorted(self.manifests.items()) for line in _of(name, found)]


def _of(name: str, found: Manifest) -> Iterator[str]:
    lake = name.rpartition("/")[0]
    yield from (_apart(lake, one) for one in found.quarantined)
    for first, last in found.missing:
        yield f"missing so far: rows {first} to {last} of {name}"
    if found.forks:
        yield f"forked: {found.forks} rows of {name} stand beside others, from {found.first_fork}"


def _apart(lake: str, one: Quarantined) -> str:
    return f"quarantined {one.segment} of {lake}: {one.fault}"


def ingest(
    source: Lakes,
    *,
    into: str | None = None,
    master: str | None = None,
    trigger: str = AVAILABLE_NOW,
    tell: Callable[[str], None] = lambda _: None,
) -> IngestSummary:
    """Take in every segment published since the last time. A second call changes nothing.

    Sources are directories or URLs that hold a `journal` folder. What is made of their segments
    goes `into` a lake, by default into the source itself; nothing else in a source is touched.
    `trigger` is `available-now`, or an interval such as `30s`, which runs until interrupted: then
    a source that cannot be reached for a while is tried again. `tell` gets a line for every segment
    that is quarantined, when it is, for everything that is to be tried again, and at the start for
    a lake elsewhere: what keeps two ingests apart there.
    A source, a party or a file that fails does not keep others from being taken in.
    Raises `LocalError`: NoLake, NoSource, LakeBusy, BadTrigger, NoJava; IngestFailed, Restless or
    Disturbed for what the next ingest is to try again.
    """
    every_s = _interval(trigger)
    ways = [(one, _lake_of(one, into)) for one in map(storage.lake_url, directories(source))]
    # An ingest that runs on cannot know what it will have to take in.
    known = [one for one, _ in ways if every_s is None and storage.is_local(one)]
    _require(ways, goes_on=every_s is not None)
    lakes = list(dict.fromkeys(lake for _, lake in ways))
    prerequisites.require_places(f"{lake}/{INGESTED_FOLDER}" for lake in lakes)
    with ExitStack() as leases:
        # Before Spark starts: whoever has to wait for another ingest is told at once.
        for lake in lakes:
            leases.enter_context(lease.ingesting(f"{lake}/{INGESTED_FOLDER}"))
            guard = lease.guard(f"{lake}/{INGESTED_FOLDER}")
            if guard is not None:
                tell(guard)
        spark = start(known, master)
        _take_in(spark, ways, every_s, tell)
    _fold_much(spark, lakes, tell)
    return summary(lakes)


def _require(ways: Sequence[tuple[str, str]], *, goes_on: bool) -> None:
    prerequisites.require_sources([source for source, _ in ways])
    if goes_on or len(ways) == 1:
        for source, _ in ways:
            mirror.require_list(source)
    if all(storage.is_local(source) for source, _ in ways):
        prerequisites.require_any(
            intake.shelf for source, lake in ways for intake in intakes(source, lake)
        )


def _take_in(
    spark: SparkSession,
    ways: Sequence[tuple[str, str]],
    every_s: int | None,
    tell: Callable[[str], None],
) -> None:
    missed: list[LocalError] = []
    reached: set[str] = set()

    def find() -> Sequence[Intake]:
        found = []
        for one, lake in ways:
            errors: Sequence[LocalError]
            try:
                there, errors = _found(spark, one, lake)
            except LocalError as error:
                is_to_wait = error.name in _OF_ONE if every_s is None else one in reached
                if not is_to_wait:
                    raise
                errors = [error]
            else:
                found += there
                reached.add(one)
            for one_error in errors:
                tell(f"{one_error.name}: {one_error}")
                missed[:] = [one_error]
        return list(dict.fromkeys(found))

    def on_quarantine(shelf: Shelf, one: Quarantined) -> None:
        tell(_apart(shelf.lake, one))

    run = IngestRun(spark, find, on_quarantine, tell)
    if every_s is None:
        run.catch_up()
    else:
        run.go_on(every_s)
    if missed:
        raise missed[0]


ROWS_TO_FOLD: Final = 500_000
"""An ingest that finds more rows than these that are not folded yet does so for the next run."""


def _fold_much(spark: SparkSession, lakes: Sequence[str], tell: Callable[[str], None]) -> None:
    """Fold and judge what many segments brought, so that the first run after them need not.

    Little is left to the run: a day that is written again for every segment costs its square.
    """
    rows, policy = refreshing.pending(lakes, runner.holdings(spark, lakes))
    if rows < ROWS_TO_FOLD:
        return
    try:
        open_case(spark, lakes, None, policy)
    except (OSError, PySparkException, Py4JError) as error:
        # Every row is in; a run folds them, or says itself why it cannot.
        tell(f"not folded yet: {next(iter(str(error).splitlines()), repr(error))}")


def _found(
    spark: SparkSession, source: str, lake: str
) -> tuple[list[Intake], Sequence[LocalError]]:
    """The intakes of a source, and what keeps something of it out for now."""
    if mirror.is_needed(spark, source):
        try:
            fetched = mirror.fetch(source, lake)
        except OSError as error:
            text = f"{source} cannot be copied into {lake}: {error}"
            raise LocalError(FAILED, text) from error
        return intakes(fetched.place, lake), fetched.missed
    if not storage.is_folder(source):
        raise LocalError("NoLake", f"there is no lake directory {source}")
    return intakes(source, lake), ()


def summary(lakes: Sequence[str]) -> IngestSummary:
    """What is in the lakes."""
    return IngestSummary(
        {f"{shelf.lake}/{shelf.folder}": manifest.load(shelf) for shelf in manifest.shelves(lakes)}
    )


def _lake_of(source: str, into: str | None) -> str:
    if into is not None:
        manifest.require_opened(into)
        return storage.lake_url(into)
    if not storage.is_arrows_own(source):
        raise LocalError("NoLake", f"{source} needs a lake to be ingested into (--into)")
    return source


def _interval(trigger: str) -> int | None:
    if trigger == AVAILABLE_NOW:
        return None
    found = _INTERVAL.fullmatch(trigger.strip())
    if found is None or int(found[1]) == 0:
        raise LocalError(
            "BadTrigger",
            f"{trigger!r} is no trigger: {AVAILABLE_NOW}, or an interval such as 30s or 5m",
        )
    return int(found[1]) * _UNITS[found[2]]
