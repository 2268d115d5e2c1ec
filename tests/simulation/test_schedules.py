"""Worlds in which something went wrong once, as schedules: nothing does now."""

from __future__ import annotations

from pathlib import Path

import pytest

from onceonly.simulation.campaign.worlds import run_plan
from onceonly.simulation.plan import Plan

FOLDER = Path(__file__).parent / "schedules"
SCHEDULES = sorted(FOLDER.glob("*.json"))
HOSTILE = sorted((FOLDER / "hostile").glob("*.json"))
"""Worlds with a hostile partner or a stranger."""


def read(schedule: Path) -> Plan:
    return Plan.from_json(schedule.read_text("utf-8"))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda path: path.stem)
def test_what_went_wrong_once_goes_right(schedule: Path):
    """The plan breaks no invariant any more."""
    assert run_plan(read(schedule)).violations == ()


@pytest.mark.parametrize("schedule", HOSTILE, ids=lambda path: path.stem)
def test_what_the_hostile_did_does_no_harm(schedule: Path):
    """Neither what they say in other names, nor what they ask, nor how often."""
    assert run_plan(read(schedule)).violations == ()


@pytest.mark.parametrize("schedule", SCHEDULES + HOSTILE, ids=lambda path: path.stem)
def test_a_schedule_says_what_went_wrong_and_leaves_nothing_to_chance(schedule: Path):
    """Its story is told in the file, and every fate is written down."""
    plan = read(schedule)
    assert plan.story
    assert not plan.is_drawn
