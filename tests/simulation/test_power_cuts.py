"""The power goes at every operation: the product loses nothing, and the unsafe ways are seen."""

import os
import subprocess
import sys

import pytest

from onceonly.simulation.power.power_cuts import PowerReport, Settings, run

UNSAFE = [settings for settings in Settings if not settings.is_safe]

TROUBLED = (1, 3)
"""Seeds of short lives that meet the two troubles which a disk may make without a cut."""


def one_life(settings: Settings, seed: int = 0) -> PowerReport:
    """The cuts of one store with a few commits."""
    return run(cuts=1, settings=settings, seed=seed, commits_of_a_life=3)


@pytest.mark.statement("S0-04", "S1-01", "S1-04", "S3-02", ruling="R-22")
def test_no_cut_takes_what_a_commit_promised() -> None:
    """Creation, migration, commits, checkpoints, restarts, the spool: every operation of them."""
    told: list[int] = []
    report = run(cuts=2_400, commits_of_a_life=4, on_progress=told.append)
    assert report.is_safe, report.first_harm
    assert report.lives == len(told) >= 4
    assert report.cuts == told[-1] >= 2_400
    assert report.close_looks > report.second_cuts > 0
    cut = report.operations
    assert {"write wal", "sync wal", "write database", "sync database"} <= set(cut)
    assert {"truncate wal", "create journal", "sync directory directory"} <= set(cut)
    assert {"create spool", "sync spool", "rename spool"} <= set(cut)


def test_a_full_disk_and_a_failed_sync_are_met_and_lose_nothing() -> None:
    """A refused commit is not there; one whose sync failed is or is not, at every cut after it."""
    reports = [one_life(Settings.PRODUCTION, seed) for seed in TROUBLED]
    for report in reports:
        assert report.is_safe, report.first_harm
    assert sum(report.refused for report in reports) > 0
    assert sum(report.failed_syncs for report in reports) > 0


def test_the_slow_safe_way_is_found_safe() -> None:
    """DELETE with EXTRA syncs the name that DELETE with FULL does not: the check knows both."""
    report = one_life(Settings.EXTRA)
    assert report.is_safe, report.first_harm


@pytest.mark.parametrize("settings", UNSAFE, ids=lambda settings: settings.name)
def test_an_unsafe_way_is_caught(settings: Settings) -> None:
    """By the very check that the product passes."""
    report = one_life(settings)
    assert not report.is_safe
    assert "life " in report.first_harm


def test_a_campaign_is_its_seed() -> None:
    """The same seed is the same campaign to the last cut, another seed is another one."""
    first, again, other = (one_life(Settings.PRODUCTION, seed) for seed in (5, 5, 6))
    assert first == again
    assert first.trace != other.trace


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_a_campaign_does_not_depend_on_the_process(hash_seed: str) -> None:
    """Another hash seed changes nothing."""
    code = (
        "from onceonly.simulation.power.power_cuts import run;"
        "print(run(cuts=1, seed=5, commits_of_a_life=3).trace)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == one_life(Settings.PRODUCTION, 5).trace
