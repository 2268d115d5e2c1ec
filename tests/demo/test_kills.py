"""Who is killed follows from the seed; when, from how far the exchange is."""

from itertools import islice

import pytest

from onceonly.demo.kills import is_due, victims


@pytest.mark.parametrize("seed", range(20))
def test_everyone_is_killed_once_before_anyone_is_killed_again(seed):
    """The first kills meet each gateway, in an order of the seed's."""
    order = list(islice(victims(seed, 2), 50))
    assert set(order[:2]) == {0, 1}
    assert set(order[2:]) == {0, 1}
    assert order == list(islice(victims(seed, 2), 50))


def test_seeds_differ_in_whom_they_kill_first():
    """Neither gateway is always the first."""
    assert {next(victims(seed, 2)) for seed in range(20)} == {0, 1}


def due(**changes) -> bool:
    usual = {
        "done": 10,
        "total": 100,
        "kills": 0,
        "since_kill": 10,
        "waited_s": 1.0,
        "every_s": 4.0,
    }
    return is_due(**(usual | changes))


@pytest.mark.parametrize(
    ("case", "changes", "expected"),
    [
        ("before the interval is over", {}, False),
        ("after it", {"waited_s": 4.0}, True),
        ("the first one, although nothing is done yet", {"waited_s": 4.0, "done": 0}, True),
        ("everything is done", {"waited_s": 99, "done": 100}, False),
        ("the first kill, at a third at the latest", {"done": 34}, True),
        ("the second, not yet at two thirds", {"done": 60, "kills": 1}, False),
        ("the second, at two thirds", {"done": 67, "kills": 1}, True),
        ("a third one waits for its time", {"done": 99, "kills": 2}, False),
        ("and comes then", {"waited_s": 4.0, "kills": 2}, True),
        ("but not without progress", {"waited_s": 99, "kills": 2, "since_kill": 0}, False),
    ],
)
def test_a_kill_is_due_in_the_middle(case, changes, expected):
    """Every so many seconds, in short exchanges earlier, at last only with progress in between."""
    assert due(**changes) is expected, case
