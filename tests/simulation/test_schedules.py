"""Worlds in which something went wrong once, as schedules: nothing does now, but in open ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from onceonly.simulation.campaign.worlds import run_plan
from onceonly.simulation.plan import Plan

FOLDER = Path(__file__).parent / "schedules"
SCHEDULES = sorted(FOLDER.glob("*.json"))
OPEN = sorted((FOLDER / "open").glob("*.json"))
"""Worlds in which something is known to go wrong, and nobody has judged yet what is to change."""
HOSTILE = sorted((FOLDER / "hostile").glob("*.json"))
"""Worlds with a hostile partner or a stranger."""


def read(schedule: Path) -> Plan:
    return Plan.from_json(schedule.read_text("utf-8"))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda path: path.stem)
def test_what_went_wrong_once_goes_right(schedule: Path):
    """The plan breaks no invariant any more."""
    assert run_plan(read(schedule)).violations == ()


@pytest.mark.xfail(reason="red on clean code, and kept until it is judged; see its story")
@pytest.mark.parametrize("schedule", OPEN, ids=lambda path: path.stem)
def test_what_is_open_goes_right(schedule: Path):
    """It does not: each breaks the invariant that its name begins with. Who mends one moves it."""
    assert run_plan(read(schedule)).violations == ()


@pytest.mark.parametrize("schedule", HOSTILE, ids=lambda path: path.stem)
def test_what_the_hostile_did_does_no_harm(schedule: Path):
    """Neither what they say in other names, nor what they ask, nor how often."""
    assert run_plan(read(schedule)).violations == ()


@pytest.mark.parametrize("schedule", OPEN, ids=lambda path: path.stem)
def test_what_is_open_can_be_looked_at_again(schedule: Path):
    """The file is the plan to the letter, and two runs of it are one history with one verdict."""
    plan = read(schedule)
    assert plan.to_json() == schedule.read_text("utf-8")
    first, second = run_plan(plan), run_plan(plan)
    assert first.trace_hash == second.trace_hash
    assert first.violations == second.violations


@pytest.mark.parametrize("schedule", SCHEDULES + OPEN + HOSTILE, ids=lambda path: path.stem)
def test_a_schedule_says_what_went_wrong_and_leaves_nothing_to_chance(schedule: Path):
    """Its story is told in the file, and every fate is written down."""
    plan = read(schedule)
    assert plan.story
    assert not plan.is_drawn
