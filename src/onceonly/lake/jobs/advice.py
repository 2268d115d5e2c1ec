"""`advise`: better times for every agreement, from the round trips and losses in the journals."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from onceonly.lake import activity, advice, runner
from onceonly.lake.advice import AGREEMENT, Goal
from onceonly.lake.jobs import prerequisites
from onceonly.lake.jobs.case import ROWS_MAX
from onceonly.lake.jobs.session import Lakes, directories, start

EXPECTED: Final = ("resends", "needless_resends", "failures", "false_failures", "longest_s")
"""What terms lead to, per message; the last is a time."""
MEASURED: Final = (
    "messages",
    "timed",
    "answered",
    "answered_later",
    "arrived",
    "transmission_us",
    "round_trip_max_us",
    "resends_share",
    "failed_share",
    "false_share",
)
"""What the journals say of an agreement, whatever its terms."""
WAITS: Final = ("timeout_s", "retries", "retry_interval_s")
LIFETIMES: Final = ("time_to_live_s", "persist_duration_s")


class TodaysTerms(NamedTuple):
    """What is agreed today; the journal does not say."""

    timeout_s: int
    retries: int
    retry_interval_s: int
    time_to_live_s: int | None
    persist_duration_s: int


def advise(
    lake: Lakes,
    *,
    master: str | None = None,
    today: Mapping[str, TodaysTerms] | None = None,
    goal: Goal = Goal(),  # noqa: B008 - because a Goal is frozen
) -> list[dict[str, Any]]:
    """One entry per agreement and direction: `measured`, `today`, `proposed`, `keeps_goal`.

    `today` has the agreements whose terms are known, by id. An entry has None for `today` where
    they are not, and for `proposed` where there are too few round trips to say anything. Raises
    `LocalError` (NoLake, NothingIngested, NoJava).
    """
    lakes = directories(lake)
    prerequisites.require_ingested(lakes)
    spark = start(lake, master)
    journal = runner.journal(spark, lakes)
    known = advice.measured(advice.exchanges(journal)).persist()
    terms = [(name, *one[:3]) for name, one in (today or {}).items()]
    agreed = spark.createDataFrame(terms, advice.TERMS_SCHEMA)
    with activity.step(spark, "round trips"):
        found = runner.rows(known.orderBy(*AGREEMENT), ROWS_MAX)
    with activity.step(spark, "today's terms"):
        now = {_key(row): row for row in runner.rows(advice.today(known, agreed), ROWS_MAX)}
    with activity.step(spark, "proposed terms"):
        better = {_key(row): row for row in runner.rows(advice.proposed(known, goal), ROWS_MAX)}
    known.unpersist()
    return [_entry(row, now.get(_key(row)), better.get(_key(row)), today or {}) for row in found]


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in AGREEMENT)


def _entry(
    row: Mapping[str, Any],
    now: Mapping[str, Any] | None,
    better: Mapping[str, Any] | None,
    today: Mapping[str, TodaysTerms],
) -> dict[str, Any]:
    agreed = None
    if now is not None:
        lifetimes = today[row["agreement_id"]][3:]
        agreed = {**_picked(now, WAITS), **dict(zip(LIFETIMES, lifetimes, strict=True))}
        agreed["expected"] = _picked(now, EXPECTED)
    proposed = None
    if better is not None:
        proposed = {**_picked(better, (*WAITS, *LIFETIMES)), "expected": _picked(better, EXPECTED)}
    return {
        **_picked(row, AGREEMENT),
        "measured": _picked(row, MEASURED),
        "today": agreed,
        "proposed": proposed,
        "keeps_goal": None if better is None else better["keeps_goal"],
    }


def _picked(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names}
