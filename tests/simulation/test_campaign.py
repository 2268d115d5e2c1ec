"""Many worlds: how they add up, what fails a campaign, and where the ledger lets one go on."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import Counter
from select import select
from typing import TYPE_CHECKING

import pytest

from onceonly.gateway.drill import POINTS
from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.simulation.campaign import local, report, tally, worlds
from onceonly.simulation.campaign.code import PACKAGES, code_digest, fresh_seed, zipped
from onceonly.simulation.campaign.ledger import Ledger, LedgerEntry, gaps, pieces
from onceonly.simulation.campaign.report import Summary
from onceonly.simulation.campaign.sometimes import RARE, SOMETIMES
from onceonly.simulation.campaign.worlds import Result, run_plan, run_range, run_seed
from onceonly.simulation.checkers import Violation
from onceonly.simulation.generator.workload import plan_of
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Action

if TYPE_CHECKING:
    from pathlib import Path


def result(seed: int = 0, **fields: object) -> Result:
    """A world in which nothing happened, but for `fields`."""
    nothing = Result(
        seed=seed,
        violations=(),
        events=0,
        virtual_ms=0,
        accepted=0,
        delivered=0,
        acknowledged=0,
        failed=0,
        in_doubt=0,
        faults=Counter(),
        matrix=Counter(),
        points=Counter(),
        sometimes=frozenset(),
        tags=(),
        trace_hash="0" * 32,
    )
    return changed(nothing, **fields)


def sighted(seeds: int) -> Summary:
    """A campaign of so many worlds that saw everything and killed everywhere."""
    summary = Summary(seeds=seeds)
    summary.sometimes.update(SOMETIMES)
    summary.points.update({f"{report.KILLED_AT}{point}": seeds for point in POINTS})
    return summary


# One world.


def test_every_accepted_message_has_one_verdict():
    """Acknowledged, failed and in doubt are all that there is."""
    for one in run_range(0, 10):
        assert one.acknowledged + one.failed + one.in_doubt == one.accepted


def test_the_matrix_has_every_fault_that_struck():
    """The faults are the matrix without its phases."""
    one = next(one for one in run_range(0, 50) if one.faults)
    assert one.faults == tally.by_fault(one.matrix.items())
    assert {cell.partition(" x ")[2] for cell in one.matrix} <= set(tally.PHASES)


def test_every_event_belongs_to_a_phase():
    """A new word of the journal is put into a phase before a campaign can meet it."""
    assert set(tally.PHASE_OF) == set(Event)


def test_an_exception_out_of_a_world_is_a_finding():
    """A campaign does not end where a world does: it names the seed and goes on."""
    plan = plan_of(0)
    broken = run_plan(
        plan.__class__(
            seed=0,
            machines=plan.machines,
            lines=plan.lines,
            actions=(Action(1, "no_such_thing", plan.machines[0].name),),
            heal_ms=plan.heal_ms,
            end_ms=plan.end_ms,
        )
    )
    [violation] = broken.violations
    assert violation.invariant == "bug"
    assert "do_no_such_thing" in violation.text


def test_the_collector_is_as_it_was_behind_a_range():
    """Running worlds changes nothing for who runs them."""
    assert gc.isenabled()
    for _ in run_range(0, 2):
        assert not gc.isenabled()
    assert gc.isenabled()


# Many worlds.


def test_merging_is_adding():
    """Two halves merged are the whole, in either order."""
    results = list(run_range(0, 12))
    whole, one, other = Summary(), Summary(), Summary()
    for number, world in enumerate(results):
        whole.add(world)
        (one if number % 2 else other).add(world)
    reverse = Summary()
    reverse.merge(other)
    reverse.merge(one)
    one.merge(other)
    assert one == whole == reverse


def test_more_processes_find_the_same():
    """The number of processes decides nothing but the time."""
    one, two = (local.run(0, 60, jobs=jobs) for jobs in (1, 2))
    one.seconds = two.seconds = one.core_seconds = two.core_seconds = 0
    assert one == two


ENDS_WITHIN_S = 60.0
"""A worker that is told to end has nothing to finish."""

WORKERS = """
import os, sys
from onceonly.simulation.campaign.local import pool
if __name__ == "__main__":
    with pool(2) as workers:
        print(workers.submit(os.getpid).result(), flush=True)
        sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux has handles on processes")
def test_a_campaign_that_is_killed_leaves_no_worker_behind(tmp_path: Path):
    """Nobody gives them work any more, and nobody is there to end them."""
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        worker = os.pidfd_open(int(process.stdout.readline()))
        try:
            process.kill()
            ended, _, _ = select([worker], [], [], ENDS_WITHIN_S)
        finally:
            os.close(worker)
    assert ended


def test_a_violation_fails_a_campaign_and_names_its_smallest_seed():
    """One line for each invariant, with the seed to replay."""
    summary = Summary()
    for seed in (7, 3, 5):
        summary.add(result(seed, violations=(Violation("I1", f"twice in {seed}", 1),)))
    summary.add(result(9, violations=(Violation("I3", "lost", 1), Violation("I3", "again", 2))))
    assert not summary.holds
    assert report.complaints(summary) == [
        "VIOLATED I1 in 3 of 4 worlds, first in seed 3: twice in 3",
        "VIOLATED I3 in 1 of 4 worlds, first in seed 9: lost",
    ]
    assert [one["seed"] for one in report.as_json(summary)["violations"]] == [3, 5, 7, 9]


def test_a_flood_of_violations_is_counted_and_not_kept():
    """The list ends; the count does not."""
    summary = Summary()
    for seed in range(report.LISTED_MAX + 10):
        summary.add(result(seed, violations=(Violation("I1", "", 1),)))
    assert len(summary.breaches) == report.LISTED_MAX
    assert summary.violating == summary.invariants["I1"] == report.LISTED_MAX + 10


def test_a_large_campaign_that_saw_everything_holds():
    """Nothing violated, nothing missed."""
    assert sighted(report.SIGHTED_FROM).holds


@pytest.mark.parametrize("state", SOMETIMES)
def test_a_large_campaign_that_never_saw_a_state_fails(state: str):
    """A generator that has gone blind is found, whichever state it misses."""
    summary = sighted(RARE.get(state, report.SIGHTED_FROM))
    del summary.sometimes[state]
    assert not summary.holds
    assert state in report.complaints(summary)[0]
    summary.seeds -= 1
    assert summary.holds


def test_a_large_campaign_in_which_too_few_died_at_a_point_fails():
    """1,000 in a million at each of them, and in proportion."""
    summary = sighted(report.SIGHTED_FROM)
    summary.points[f"{report.KILLED_AT}after-commit"] = 19
    assert summary.spared == ["after-commit"]
    assert not summary.holds
    summary.points[f"{report.KILLED_AT}after-commit"] = 20
    assert summary.holds


def test_a_small_campaign_need_not_have_seen_everything():
    """Below the threshold only violations fail it."""
    assert Summary(seeds=report.SIGHTED_FROM - 1).holds


def test_the_page_for_people_has_faults_points_and_states():
    """What struck, where processes died, what was never seen."""
    summary = Summary()
    summary.add(result(matrix=Counter({f"{Fate.LOST} x storing": 3}), points=Counter(POINTS)))
    text = report.as_text(summary)
    assert "lost                               3       1  storing" in text
    assert all(point in text for point in POINTS)
    assert f"0 of {len(SOMETIMES)} states seen" in text


# The ledger.


def test_gaps_are_what_no_range_covers():
    """Whatever the order of the ranges and however they lie."""
    assert gaps([(20, 30), (0, 10)], 5, 40) == [(10, 20), (30, 40)]
    assert gaps([(0, 100)], 5, 40) == []
    assert gaps([], 5, 40) == [(5, 40)]
    assert gaps([(50, 60)], 5, 40) == [(5, 40)]


def test_pieces_cover_what_they_are_cut_from():
    """At multiples of the size, nothing twice, nothing left out."""
    assert list(pieces([(5, 25), (30, 31)], 10)) == [(5, 10), (10, 20), (20, 25), (30, 31)]


def test_a_ledger_knows_what_each_code_has_done(tmp_path: Path):
    """Other code begins anew; the same range again is one entry."""
    book = Ledger(str(tmp_path))
    assert book.missing("code", "swarm", 0, 30) == [(0, 30)]
    entries = [LedgerEntry("code", "commit", "swarm", lo, lo + 10, 0, 10, 1.5) for lo in (0, 20)]
    book.append(entries)
    book.append(entries)
    assert book.done("code", "swarm") == entries
    assert book.missing("code", "swarm", 0, 30) == [(10, 20)]
    assert book.missing("other code", "swarm", 0, 30) == [(0, 30)]


# The code.


def test_the_digest_is_of_sources_and_the_zip_has_them_all(tmp_path: Path):
    """What is shipped is what is here: the same digest, computed inside the zip."""
    archive = zipped(tmp_path)
    script = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); "
        "from onceonly.simulation.campaign import code, worlds; "
        f"assert {archive.name!r} in code.__file__, code.__file__; "
        "print(code.code_digest(), worlds.run_seed(3).trace_hash)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split() == [code_digest(), run_seed(3).trace_hash]


def test_the_digest_is_of_every_package_that_a_world_runs():
    """A ring that it left out could change, and a result would still be said to be of this code."""
    script = (
        "import sys; from onceonly.simulation.campaign import worlds; worlds.run_seed(3); "
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('onceonly.')})"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert set(printed.split()) <= set(PACKAGES)


def test_fresh_seeds_belong_to_the_commit():
    """Asked twice, the same; and far from the seeds that people type."""
    assert fresh_seed() == fresh_seed()
    assert worlds.run_seed(fresh_seed()).seed == fresh_seed()
