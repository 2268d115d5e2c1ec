"""One world after another, and what each of them showed.

Knows how a seed becomes a plan, a world and a result; must not know how many worlds there are, or
what is done with the results. A result is a pure function of the plan and the code.
"""

import gc
from collections import Counter
from collections.abc import Iterator
from traceback import extract_tb

from onceonly.message.event import Event
from onceonly.message.word import Word
from onceonly.simulation.campaign import tally
from onceonly.simulation.campaign.sometimes import reached
from onceonly.simulation.checkers import Violation, check
from onceonly.simulation.generator.workload import plan_of
from onceonly.simulation.history import History
from onceonly.simulation.plan import Plan
from onceonly.simulation.timeline import NS_PER_MS
from onceonly.simulation.world import World

WORLDS_PER_SWEEP = 200
"""Worlds between two full garbage collections; what one world leaves goes at once."""


class Result(Word):
    """What one world showed."""

    seed: int
    violations: tuple[Violation, ...]
    events: int
    """Calls of the timeline."""
    virtual_ms: int
    accepted: int
    delivered: int
    acknowledged: int
    failed: int
    in_doubt: int
    faults: Counter[str]
    """Faults that really struck, by kind."""
    matrix: Counter[str]
    """The same by what the machine was doing: `fault x phase`."""
    points: Counter[str]
    """Named points reached, and `killed at …` for those at which a process died."""
    sometimes: frozenset[str]
    tags: tuple[str, ...]
    trace_hash: str


def run_plan(plan: Plan) -> Result:
    """Run one world and judge it."""
    result, _ = replay(plan)
    return result


def replay(plan: Plan, *, keeps_trace: bool = False) -> tuple[Result, list[str]]:
    """The same, with everything that happened in it as lines, if these are to be kept."""
    world = World(plan, keeps_trace=keeps_trace)
    history = world.history
    violations, states = judged(world)
    events, virtual_ms = world.timeline.events, world.timeline.now_ns // NS_PER_MS
    world.close()
    verdicts = _verdicts(history)
    matrix = tally.strikes(history)
    result = Result(
        seed=plan.seed,
        violations=violations,
        events=events,
        virtual_ms=virtual_ms,
        accepted=len(history.accepted),
        delivered=len(history.delivered),
        acknowledged=verdicts["acknowledged"],
        failed=verdicts["failed"],
        in_doubt=verdicts["in_doubt"],
        faults=tally.by_fault(matrix.items()),
        matrix=matrix,
        points=history.points,
        sometimes=states,
        tags=plan.tags,
        trace_hash=history.trace_hash,
    )
    return result, history.trace


def judged(world: World) -> tuple[tuple[Violation, ...], frozenset[str]]:
    """Run the world to its end: what it breaks, and the states that it reached."""
    try:
        world.run()
        return tuple(check(world)), reached(world)
    except Exception as error:  # noqa: BLE001 - because whatever ends a world is a finding about it
        return (_end(error, world.history),), frozenset()


def run_seed(seed: int) -> Result:
    """Run the world of one seed."""
    return run_plan(plan_of(seed))


def run_range(lo: int, hi: int) -> Iterator[Result]:
    """Run the worlds of the seeds from `lo` up to and without `hi`, in order.

    While it runs, the garbage collector works between worlds only: never in the midst of one,
    where it would end coroutines, and seldom over what does not change.
    """
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for seed in range(lo, hi):
            yield run_seed(seed)
            gc.collect(2 if seed % WORLDS_PER_SWEEP == 0 else 0)
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


def _end(error: Exception, history: History) -> Violation:
    place = extract_tb(error.__traceback__)[-1]
    text = f"the world ended: {type(error).__name__}: {error} in {place.name}, {place.lineno}"
    return Violation("bug", text, history.order)


_VERDICTS = {
    Event.ACK_RECEIVED: "acknowledged",
    Event.LATE_ACK_RECEIVED: "acknowledged",
    Event.SENT: "acknowledged",
    Event.FAILED: "failed",
    Event.EXPIRED: "failed",
    Event.CANCELLED: "failed",
}


def _verdicts(history: History) -> Counter[str]:
    """How many of the accepted messages ended how, by the last word of their sender's journal."""
    last: dict[tuple[str, str | None], str] = {
        (accepted.node, accepted.key.message_id): "in_doubt" for accepted in history.accepted
    }
    for row in history.rows:
        key, verdict = (row.node, row.record.message_id), _VERDICTS.get(row.record.event)
        if verdict is not None and key in last:
            last[key] = verdict
    return Counter(last.values())
