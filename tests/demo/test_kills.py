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
        "handed_over": 10,
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
        ("nothing was handed over since the last kill", {"waited_s": 99, "since_kill": 0}, False),
        ("everything is handed over", {"waited_s": 99, "handed_over": 100}, False),
        ("the first kill, at a third at the latest", {"handed_over": 34}, True),
        ("the second, not yet at two thirds", {"handed_over": 60, "kills": 1}, False),
        ("the second, at two thirds", {"handed_over": 67, "kills": 1}, True),
        ("a third one waits for its time", {"handed_over": 99, "kills": 2}, False),
    ],
)
def test_a_kill_is_due_in_the_middle(case, changes, expected):
    """Every so many seconds, in short exchanges earlier, never without progress in between."""
    assert due(**changes) is expected, case
