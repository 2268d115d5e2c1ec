"""The bounded-exhaustive mode: its tree is walked whole, each leaf once, always the same."""

import pytest

from onceonly.simulation import exhaustive
from onceonly.simulation.network import Fate


def test_every_execution_of_a_small_space_is_run_and_keeps_every_invariant() -> None:
    """One open package and every crash: as many runs as the tree has leaves, no violation."""
    report = exhaustive.run(depth=1)
    assert report.violations == ()
    assert report.is_complete
    assert set(report.executed) == {"rm-2000", "rm-2001", "relay", "accept"}
    assert report.executed["rm-2000"] > 5 * 80


def test_no_execution_is_run_twice() -> None:
    """Two leaves differ in a decision that both took."""
    space = exhaustive.spaces(depth=0)[0]
    paths = [tuple(execution.choices.taken) for execution, _ in exhaustive.walk(space)]
    assert len(set(paths)) == len(paths)
    assert not any(one[: len(two)] == two for one in paths for two in paths if one is not two)


def test_shards_run_the_space_once_between_them() -> None:
    """The paths of three shards together are those of the whole walk."""
    space = exhaustive.spaces(depth=0)[1]
    whole = [tuple(execution.choices.taken) for execution, _ in exhaustive.walk(space)]
    shared = [
        tuple(execution.choices.taken)
        for number in range(3)
        for execution, _ in exhaustive.walk(space, (number, 3))
    ]
    assert sorted(shared) == sorted(whole)


def test_an_execution_can_be_run_again() -> None:
    """The same path gives the same trace."""
    space = exhaustive.spaces()[0]
    path = (*[0] * 6, 1)
    first, second = (exhaustive.replay(space, path) for _ in range(2))
    assert first.choices.story == second.choices.story != []
    assert first.history.trace_hash == second.history.trace_hash


@pytest.mark.parametrize("fate", [fate for fate in exhaustive.FATES if fate is not Fate.DELIVERED])
def test_a_late_copy_has_arrived_before_a_world_ends(fate: Fate) -> None:
    """Whatever becomes of the first package, both messages are delivered once in the end."""
    space = exhaustive.spaces(depth=1)[0]
    calm = exhaustive.replay(space, ())
    path = (*calm.choices.taken[: calm.choices.fates_at[0]], exhaustive.FATES.index(fate))
    execution = exhaustive.replay(space, path)
    assert f"{fate} A>B#1" in execution.choices.story
    assert len(execution.history.delivered) == 2
    assert execution.violations == []
