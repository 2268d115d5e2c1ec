"""What the jobs of this process are doing: for people who wait, and for Spark's own UI."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark import SparkContext, SparkStageInfo
from pyspark.sql import SparkSession

_DESCRIPTION: Final = "spark.job.description"


class Activity(NamedTuple):
    """What is under way, oldest first, and how many of Spark's tasks for it are done."""

    steps: tuple[str, ...]
    done: int
    tasks: int


class _Step(NamedTuple):
    what: str
    context: SparkContext


_under_way: Final[dict[object, _Step]] = {}
_turn: Final = Lock()


@contextmanager
def step(spark: SparkSession, what: str) -> Iterator[None]:
    """Name what Spark does within, in this thread."""
    context, mark = spark.sparkContext, object()
    # A query that streams has its own words, and its thread is Spark's.
    before = context.getLocalProperty(_DESCRIPTION)
    with _turn:
        _under_way[mark] = _Step(what, context)
    context.setJobDescription(what)
    try:
        yield
    finally:
        with _turn:
            del _under_way[mark]
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]  # because None takes it away, as Spark's own code does


def now() -> Activity:
    """What is under way; without tasks while Spark plans, or after it stopped."""
    with _turn:
        steps = list(_under_way.values())
    stages = [stage for context in {one.context for one in steps} for stage in _stages(context)]
    return Activity(
        tuple(dict.fromkeys(one.what for one in steps)),
        sum(one.numCompletedTasks for one in stages),
        sum(one.numTasks for one in stages),
    )


def _stages(context: SparkContext) -> list[SparkStageInfo]:
    try:
        tracker = context.statusTracker()
        found = map(tracker.getStageInfo, tracker.getActiveStageIds())
        return [one for one in found if one is not None]
    except (Py4JError, OSError):
        # It ends while we ask.
        return []
