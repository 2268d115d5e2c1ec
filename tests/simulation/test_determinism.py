"""A world is a function of its seed: in any order, in any process, under any hash seed."""

from __future__ import annotations

import ast
import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onceonly.simulation
from onceonly.message.word import changed
from onceonly.simulation.campaign.code import fresh_seed
from onceonly.simulation.campaign.worlds import run_plan, run_range, run_seed
from onceonly.simulation.generator.workload import plan_of

SEEDS = 100
"""One in two hundred of those that a change is tried with."""

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


PLANTED = """
def draw(lines):
    ends = {one.end for one in lines}
    for end in ends:
        yield end
"""


def test_nothing_in_the_simulator_goes_through_a_set_in_the_order_of_its_hashes():
    """A world in which that matters may be one of thousands; a loop is seen in the source."""
    assert list(loops_over_sets(ast.parse(PLANTED))) == [4]
    (folder,) = onceonly.simulation.__path__
    found = [
        f"{file.relative_to(folder)}:{line}"
        for file in sorted(Path(folder).rglob("*.py"))
        for line in loops_over_sets(ast.parse(file.read_text("utf-8")))
    ]
    assert not found, "go through sorted(...), or dict.fromkeys(...) instead of the set"


def loops_over_sets(tree: ast.AST) -> Iterator[int]:
    """The lines of loops, lists and dicts that are made in the order of a set."""
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.Module
    lines: set[int] = set()
    for part in ast.walk(tree):
        if isinstance(part, kinds):
            named = set(sets_named(part))
            for node in ast.walk(part):
                if any(is_set(each, named) for each in iterated(node)):
                    assert isinstance(node, ast.stmt | ast.expr)
                    lines.add(node.lineno)
    yield from sorted(lines)


def iterated(node: ast.AST) -> list[ast.expr]:
    """What the node goes through, one after the other, so that the order may be seen."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return [node.iter]
    if isinstance(node, ast.ListComp | ast.DictComp):
        return [each.iter for each in node.generators]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.args if node.func.id in ("list", "tuple", "enumerate", "iter") else []
    return []


def sets_named(part: ast.AST) -> Iterator[str]:
    """The names that are given to sets there; a module's own ones are those of its top level."""
    for node in part.body if isinstance(part, ast.Module) else ast.walk(part):
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_set(node.value, set()):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (name.id for name in targets if isinstance(name, ast.Name))


def is_set(value: ast.expr | None, named: set[str]) -> bool:
    """Whether it is a set by its form, or by its name."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("set", "frozenset")
    if isinstance(value, ast.BinOp):
        return is_set(value.left, named) or is_set(value.right, named)
    if isinstance(value, ast.Name):
        return value.id in named
    return isinstance(value, ast.Set | ast.SetComp)
