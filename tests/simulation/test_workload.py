"""The generator of worlds is a function of the seed, and forgets no class of fault."""

import json
import os
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from statistics import median

import pytest

from onceonly.message.message import DeliverySemantics
from onceonly.message.terms import Intermediary
from onceonly.simulation.campaign.sometimes import SOMETIMES, reached
from onceonly.simulation.forgery import KINDS, UNSIGNED
from onceonly.simulation.generator import hostile, mishaps
from onceonly.simulation.generator.profiles import GENERATED
from onceonly.simulation.generator.scenes import SCENES
from onceonly.simulation.generator.workload import plan_of
from onceonly.simulation.network import FAULTS
from onceonly.simulation.plan import Plan
from onceonly.simulation.world import World

SEEDS = 800

PRINT_DIGESTS = """
import json, sys
from hashlib import sha256
from onceonly.simulation.generator.workload import plan_of
plans = [plan_of(seed).to_json() for seed in range(int(sys.argv[1]))]
print(json.dumps([sha256(plan.encode()).hexdigest() for plan in plans]))
"""


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    """The first worlds there are."""
    return [plan_of(seed) for seed in range(SEEDS)]


def test_the_same_seed_is_the_same_plan_in_any_process(plans: list[Plan]) -> None:
    """Whatever a process hashes strings to, and with it the order of a set."""
    ours = [sha256(plan.to_json().encode()).hexdigest() for plan in plans]
    for hash_seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", PRINT_DIGESTS, str(SEEDS)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        theirs = json.loads(told.stdout)
        assert [seed for seed in range(SEEDS) if ours[seed] != theirs[seed]] == []


def test_a_plan_survives_json(plans: list[Plan]) -> None:
    """Every field of every plan comes back, and the text is the same for the same plan."""
    for plan in plans:
        text = plan.to_json()
        again = Plan.from_json(text)
        assert again == plan
        assert again.to_json() == text


@pytest.mark.parametrize(
    "text",
    ['{"format": 0}', '{"format": 1, "weather": {"wind": 1}}'],
    ids=["another format", "an unknown field"],
)
def test_what_is_no_plan_of_this_format_is_refused(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match=r"format|has no"):
        Plan.from_json(text)


def test_every_class_of_fault_occurs(plans: list[Plan]) -> None:
    """Within some hundred seeds each is on somewhere, and each acts where it is on."""
    tags = Counter(tag for plan in plans for tag in plan.tags)
    wanted = {*mishaps.CLASSES, *SCENES, *(f"net-{fate}" for fate in FAULTS)}
    assert not wanted - tags.keys()
    everything = [*plans, *map(hostile.drawn, range(100))]
    kinds = {action.kind for plan in everything for action in plan.actions}
    assert kinds == {name.removeprefix("do_") for name in dir(World) if name.startswith("do_")} - {
        "arm_disk"  # Of exhaustive spaces, which count the operations.
    }


def test_every_kind_of_party_line_and_forgery_occurs() -> None:
    """Profiles, degrees, intermediaries, mail, forged packages, more than two parties."""
    plans = [plan_of(seed) for seed in range(2 * SEEDS)]
    lines = [line for plan in plans for line in plan.lines]
    assert {line.profile for line in lines} == set(GENERATED)
    assert {line.terms.semantics for line in lines} == set(DeliverySemantics)
    assert {mode for line in lines for _, mode in line.through} == set(Intermediary)
    assert {line.scheme for line in lines} == {"http", "https", "smtp"}
    assert {len(line.through) for line in lines} == {0, 1, 2, 3}
    assert {len(plan.machines) for plan in plans} >= {2, 3, 4, 5}
    forged = {one.args["kind"] for plan in plans for one in plan.actions if one.kind == "forge"}
    assert forged == {*KINDS, *UNSIGNED}


def test_worlds_are_small(plans: list[Plan]) -> None:
    """So that a million of them can be run; now and then one is big."""
    counts = [sum(action.kind == "submit" for action in plan.actions) for plan in plans]
    assert 2 <= median(counts) <= 4
    assert max(counts) >= 20


def test_no_fault_comes_after_the_world_has_healed(plans: list[Plan]) -> None:
    """But for copies of old packages, which ask for nothing."""
    for plan in plans:
        late = [action for action in plan.actions if action.at_ms >= plan.heal_ms]
        assert all(action.args["kind"] == "replay" for action in late)


def test_the_states_to_be_reached_are_told_apart() -> None:
    """At least forty, each in a sentence; a world reaches some of them, and no others."""
    assert len(SOMETIMES) >= 40
    assert len(set(SOMETIMES.values())) == len(SOMETIMES)
    seen: Counter[str] = Counter()
    for seed in range(12):
        world = World(plan_of(seed))
        world.run()
        seen.update(reached(world))
        world.close()
    assert len(seen) >= 15
    assert seen.keys() <= SOMETIMES.keys()
