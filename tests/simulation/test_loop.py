"""The loop of a simulated process: a bug is told, and what ends a program ends it."""

from typing import Any

import pytest

from onceonly.simulation.machine.loop import ProcessLoop
from onceonly.simulation.timeline import Timeline

SECOND_NS = 1_000_000_000


def loop_on(timeline: Timeline, told: list[dict[str, Any]]) -> ProcessLoop:
    """A loop that tells what asyncio's handlers would be told."""
    return ProcessLoop(timeline, thread_ns=lambda: 1, on_bug=told.append)


def fail(error: BaseException) -> None:
    raise error


def test_an_error_of_a_callback_is_told_and_the_others_are_called() -> None:
    """As asyncio does it: a bug in one task is no end of the process."""
    timeline, told, called = Timeline(), list[dict[str, Any]](), list[int]()
    loop, error = loop_on(timeline, told), ValueError("a bug")
    loop.call_soon(fail, error)
    loop.call_soon(called.append, 1)
    timeline.run_until(SECOND_NS, events_max=100)
    assert [one["exception"] for one in told] == [error]
    assert called == [1]


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_ends_a_campaign(end: type[BaseException]) -> None:
    """Ctrl-C in the midst of a world is no bug of a gateway's."""
    timeline, told = Timeline(), list[dict[str, Any]]()
    loop_on(timeline, told).call_soon(fail, end())
    with pytest.raises(end):
        timeline.run_until(SECOND_NS, events_max=100)
    assert told == []
