"""From a world that shows something to a small one that shows the same."""

from __future__ import annotations

import pytest

from onceonly.message.word import changed
from onceonly.simulation.campaign import shrink
from onceonly.simulation.campaign.worlds import judged, run_plan
from onceonly.simulation.generator.workload import plan_of
from onceonly.simulation.plan import Action, Plan

SEEDS_MAX = 3000
"""By then a world in which each of the states below comes up has been seen many times."""

STATE = "late-ack"

EVENTS_MAX = 12
"""What a person can follow."""


def first_plan_that_reaches(state: str) -> Plan:
    """The first seed's plan in whose world the state comes up."""
    for seed in range(SEEDS_MAX):
        plan = plan_of(seed)
        if state in run_plan(plan).sometimes:
            return plan
    pytest.fail(f"no world reached {state}")


def shrunk_to(state: str) -> Plan:
    return shrink.shrink_to(
        first_plan_that_reaches(state), lambda world: state in judged(world)[1]
    ).plan


@pytest.fixture(scope="module")
def small() -> Plan:
    """A small plan that shows a late acknowledgement."""
    return shrunk_to(STATE)


@pytest.mark.parametrize("state", ["late-ack", "suspended-and-resumed", "failed-behind-the-fence"])
def test_what_is_left_shows_the_same_in_few_events(state: str):
    """A state shrinks to a schedule without chance that a person can follow."""
    plan = first_plan_that_reaches(state)
    shrunk = shrink.shrink_to(plan, lambda world: state in judged(world)[1])
    small, runs = shrunk.plan, shrunk.runs
    assert state in run_plan(small).sometimes
    assert shrink.size_of(small) <= EVENTS_MAX
    assert not small.is_drawn
    assert runs < shrink.RUNS_MAX


def test_a_world_that_ends_early_shrinks_like_any_other():
    """What ends it is a finding about it, and no traceback of the search."""
    plan = plan_of(1)
    nobody = Action(1, "submit", plan.machines[0].name, {"to": "nobody"})
    broken = changed(plan, actions=(*plan.actions, nobody))
    small = shrink.shrink(broken, "bug")
    assert small.actions == (nobody,)
    assert [one.invariant for one in run_plan(small).violations] == ["bug"]


def test_nothing_that_is_left_can_go(small: Plan):
    """Without any one of its events a shrunk plan does not show it any more."""
    for action in small.actions:
        rest = tuple(one for one in small.actions if one is not action)
        assert STATE not in run_plan(changed(small, actions=rest)).sometimes
    for name in small.fates:
        fates = {other: fate for other, fate in small.fates.items() if other != name}
        assert STATE not in run_plan(changed(small, fates=fates)).sometimes


def test_shrinking_is_deterministic(small: Plan):
    """The same plan shrinks to the same plan."""
    assert shrunk_to(STATE) == small


def test_a_shrunk_plan_survives_its_file(small: Plan):
    """What is written as JSON runs as the same world."""
    assert run_plan(Plan.from_json(small.to_json())) == run_plan(small)


def test_a_plan_that_breaks_nothing_is_refused():
    """There is nothing to shrink where the invariant holds."""
    with pytest.raises(shrink.Unbroken, match="seed 0 does not break I99"):
        shrink.shrink(plan_of(0), "I99")
