"""A world is a function of its seed: in any order, in any process, under any hash seed."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys

import pytest

from onceonly.message.word import changed
from onceonly.simulation.campaign.code import fresh_seed
from onceonly.simulation.campaign.worlds import run_plan, run_range, run_seed
from onceonly.simulation.generator.workload import plan_of

SEEDS = 200
"""One in a hundred of those that a change is tried with."""

FIRST = fresh_seed()
"""Each commit tries others."""

_PRINT_TRACES = """
import json, sys
from onceonly.simulation.campaign.worlds import run_range
first, last = map(int, sys.argv[1:])
print(json.dumps({result.seed: result.trace_hash for result in run_range(first, last)}))
"""


@pytest.fixture(scope="module")
def traces() -> dict[int, str]:
    """The trace hash of every world of the sample, as this process runs it."""
    return {result.seed: result.trace_hash for result in run_range(FIRST, FIRST + SEEDS)}


def started_under(hash_seed: str, first: int, last: int) -> subprocess.Popen[str]:
    """A process that runs the worlds and prints their traces."""
    return subprocess.Popen(
        [sys.executable, "-c", _PRINT_TRACES, str(first), str(last)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )


def test_a_world_is_the_same_in_other_processes_under_other_hash_seeds(traces: dict[int, str]):
    """Nothing that decides comes out of a set, an address, a clock or what ran before."""
    processes = {seed: started_under(seed, FIRST, FIRST + SEEDS) for seed in ("1", "4711")}
    for hash_seed, process in processes.items():
        printed, _ = process.communicate()
        assert process.returncode == 0
        theirs = {int(seed): trace for seed, trace in json.loads(printed).items()}
        unlike = [seed for seed, trace in traces.items() if theirs[seed] != trace]
        assert not unlike, f"PYTHONHASHSEED={hash_seed}: other worlds for {unlike}"


def test_a_world_is_the_same_whatever_ran_before_it(traces: dict[int, str]):
    """Backwards, and each by itself, the worlds of the sample are what they were."""
    again = {seed: run_seed(seed).trace_hash for seed in sorted(traces, reverse=True)[:20]}
    assert again == {seed: traces[seed] for seed in again}


DISK_TROUBLE = frozenset({"break", "fill", "arm_disk", "back_up", "restore"})
"""What strikes a commit in memory elsewhere than among the writes and syncs of a file, and copies,
which only the memory store can put back."""

STORED_TWICE = 20


def test_a_world_is_the_same_on_the_memory_store_and_on_sqlite():
    """Everything that happens, to the millisecond: the stores keep one contract (R-22)."""
    plans = [plan_of(seed) for seed in range(FIRST, FIRST + 2 * STORED_TWICE)]
    calm = [plan for plan in plans if not any(one.kind in DISK_TROUBLE for one in plan.actions)]
    assert len(calm) >= STORED_TWICE
    for plan in calm[:STORED_TWICE]:
        in_memory, on_disk = (run_plan(changed(plan, store=name)) for name in ("memory", "sqlite"))
        assert in_memory.trace_hash == on_disk.trace_hash, f"seed {plan.seed}"


def test_worlds_differ(traces: dict[int, str]):
    """A trace says something: no two seeds have the same."""
    assert len(set(traces.values())) == SEEDS


def test_a_world_leaves_nothing_behind_that_still_runs():
    """What killed processes left ends with their world: no coroutine ends later, in another one."""
    found: list[object] = []
    before, sys.unraisablehook = sys.unraisablehook, found.append
    try:
        for seed in range(FIRST, FIRST + 20):
            run_seed(seed)
            gc.collect()
    finally:
        sys.unraisablehook = before
    assert not found
