"""The catalogue of bugs: each can still be planted, and those of the short form are found."""

import ast
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "mutants"))

from mutant import SOURCE, Mutant, mutated
from mutant_catalogue import MUTANTS, OF_THE_DESIGN
from mutant_run import hunt, try_one
from small_mutants import changes, look
from small_mutants import try_one as try_small

SHORT_FORM = (
    "verdict_not_durable",
    "transport_success_is_an_ack",
    "two_in_flight",
)
"""Bugs of different parts that a few worlds show."""

SEEDS = 60


@pytest.mark.parametrize("planted", MUTANTS, ids=lambda planted: planted.name)
def test_every_mutant_can_be_planted(planted: Mutant) -> None:
    """The text that a mutant replaces stands in the product once, and what results is Python."""
    sources: dict[Path, str] = {}
    for edit in planted.edits:
        path = SOURCE / "onceonly" / edit.where
        sources[path] = mutated(edit, sources.get(path) or path.read_text())
    for path, source in sources.items():
        assert source != path.read_text()
        compile(source, str(path), "exec")


def test_no_mutant_names_what_is_not_there(tmp_path: Path) -> None:
    """Else it would be found for a NameError, and not for its bug."""
    for planted in MUTANTS:
        for number, edit in enumerate(planted.edits):
            source = mutated(edit, (SOURCE / "onceonly" / edit.where).read_text())
            (tmp_path / f"{planted.name}_{number}.py").write_text(source)
    ruff = Path(sys.executable).with_name("ruff")
    command = [ruff, "check", "--isolated", "--no-cache", "--select", "F821", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_bug_of_the_design_is_planted() -> None:
    """The catalogue has the bugs that the simulator was designed to find, and as many again."""
    names = [planted.name for planted in MUTANTS]
    assert len(set(names)) == len(names) >= 45
    assert set(OF_THE_DESIGN.values()) <= set(names)


def test_whoever_is_equivalent_says_why() -> None:
    """An argument is a sentence or more, and few mutants have one."""
    arguments = [planted.is_equivalent_because for planted in MUTANTS]
    assert all(argument.endswith(".") for argument in filter(None, arguments))
    assert sum(map(bool, arguments)) <= len(MUTANTS) // 10


@pytest.mark.parametrize("name", SHORT_FORM)
def test_a_planted_bug_is_found(name: str) -> None:
    """Some world violates an invariant, which the product keeps in the same world."""
    planted = next(one for one in MUTANTS if one.name == name)
    outcome = try_one(planted, first=0, seeds=SEEDS)
    assert outcome.word == "killed"


def test_small_changes_are_changes() -> None:
    """Each is another program than the product and than all others, and Python."""
    where = "protocol/verdict.py"
    made = [change.source for change in changes(where)]
    assert len(made) > 50
    product = ast.unparse(ast.parse((SOURCE / "onceonly" / where).read_text()))
    assert len({product, *made}) == len(made) + 1
    for source in made:
        compile(source, where, "exec")


def test_a_small_change_is_planted_and_found() -> None:
    """In a process of its own, which it spoils: nobody is told of any failure any more."""
    [change] = [
        change
        for change in changes("protocol/verdict.py")
        if change.what == "notifies: terms.semantics in (DeliverySemantics.BEST_EFFORT, "
        "DeliverySemantics.EXACTLY_ONCE), not terms.semantics not in "
        "(DeliverySemantics.BEST_EFFORT, DeliverySemantics.EXACTLY_ONCE)"
    ]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(try_small, change, range(SEEDS)).result()
    assert "I22" in found["killed_by"]


@pytest.mark.long
def test_worlds_are_found_by_the_lines_that_they_come_by() -> None:
    """Only some have a relay."""
    where = "protocol/relaying.py"
    seen = look(range(40), [where])
    [change] = [
        one for one in changes(where) if one.what == "_send_on: without Forward(state.copies)"
    ]
    by = {
        seed for seed, hits in seen.items() if any((where, line) in hits for line in change.lines)
    }
    assert set(seen) == set(range(40))
    assert 0 < len(by) < 40


def test_nothing_is_found_where_nothing_is_planted() -> None:
    """The hunt over the product itself comes back with nothing."""
    found = hunt(SOURCE, 0, 10)
    assert found["killed_by"] == []
