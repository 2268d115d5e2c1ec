"""A short run of every fuzz target, the same each time; `make fuzz` has the long ones."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

import fuzzing
import targets

RUNS_PER_SHARE = 30
KEPT_FILES_MAX = 80
KEPT_BYTES_MAX = 1_000_000


@pytest.mark.parametrize("target", targets.TARGETS, ids=targets.BY_NAME)
def test_every_input_gives_a_value_or_a_named_error(target):
    """R-25: every input of the kept corpus, and some hundred mutations of them, in time."""
    seeds = fuzzing.seeds_of(target.folders)
    assert seeds
    for seed in seeds:
        fuzzing.judge_in_time(target.judge, seed)
    fuzzing.fuzz(target.judge, seeds, runs=RUNS_PER_SHARE * target.share, seed=1)


def test_the_kept_corpus_stays_small():
    """Some dozens of files per target, less than a megabyte in all."""
    files = [path for path in fuzzing.CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < KEPT_BYTES_MAX
    for folder in fuzzing.CORPUS.iterdir():
        assert not folder.is_dir() or len(list(folder.iterdir())) <= KEPT_FILES_MAX, folder.name
