"""The bounded-exhaustive mode: its tree is walked whole, each leaf once, always the same."""

from pathlib import Path

import pytest

from onceonly.message.word import changed
from onceonly.simulation.campaign import exhaustive
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.network import Fate

SHARDS = 2
Walked = tuple[exhaustive.WalkResult, Path]


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    """Every crash in good weather, by two processes, and where they have kept what they found."""
    kept = tmp_path_factory.mktemp("walked")
    return exhaustive.run_on(2, depth=0, shards=SHARDS, kept=kept), kept


def test_every_execution_of_a_small_space_is_run_and_keeps_every_invariant(walked: Walked) -> None:
    """As many runs as the tree has leaves, and no violation."""
    report, _ = walked
    assert report.violations == ()
    assert report.is_complete
    assert set(report.executed) == {"rm-2000", "rm-2001", "relay", "accept"}
    assert min(report.executed.values()) > 50


def test_shards_run_the_space_once_between_them() -> None:
    """The shards' paths are as many as the leaves that they show, none a part of another."""
    space = exhaustive.spaces(depth=0)[0]
    shards = [list(exhaustive.walk(space, (number, 2))) for number in range(2)]
    paths = [tuple(execution.choices.taken) for shard in shards for execution, _ in shard]
    assert all(shards)
    assert len(paths) == sum(leaves for shard in shards for _, leaves in shard)
    assert not any(
        one[: len(two)] == two for number, one in enumerate(paths) for two in paths[:number]
    )
    assert len(set(paths)) == len(paths)


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


def test_a_walk_goes_on_where_it_was(walked: Walked) -> None:
    """What was done is read and not run again, and the report is the same by one process."""
    first, kept = walked
    parts = sorted(kept.iterdir())
    assert len(parts) == SHARDS
    parts[0].unlink()
    left = {part: part.stat().st_mtime_ns for part in parts[1:]}
    again = exhaustive.run_on(1, depth=0, shards=SHARDS, kept=kept)
    assert changed(again, seconds=0) == changed(first, seconds=0)
    assert {part: part.stat().st_mtime_ns for part in parts[1:]} == left


def test_a_report_is_read_as_it_was_written(walked: Walked) -> None:
    """Violations with the path that replays them, too."""
    found = exhaustive.Counterexample("relay", (0, 1), ("lost A>R#1",), Violation("I3", "why", 7))
    report = changed(walked[0], violations=(found,))
    assert exhaustive.from_json(exhaustive.to_json(report)) == report
