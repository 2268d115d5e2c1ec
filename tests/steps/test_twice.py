"""A step that is rolled back and runs again does the same (`onceonly.steps`).

Whole worlds of the simulator are run in which each step runs twice: first on tables of its own,
which are thrown away, then on those that are committed. Both runs must say the same, write the same
rows and ask for the same deadlines. A step that kept a memory, drew a chance or read a clock would
not. What is a step is found by its signature, so a new one is looked at as well.
"""

import inspect
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import wraps
from importlib import import_module
from typing import Any

import pytest

from onceonly import steps
from onceonly.message.errors import OnceonlyError
from onceonly.simulation.campaign.worlds import run_seed
from onceonly.steps.ground import Ground
from onceonly.store.memory.writing import MemoryTransaction

SEEDS = (*range(4_000, 4_120), 4_136, 4_147, 4_315, 4_376, 4_504)
"""The last ones have operators who settle doubts, processes that die meanwhile, and a response that
passes through an intermediary."""

NOT_IN_WORLDS = {
    *("bulk.act", "bulk.finish", "bulk.give_up", "bulk.note_selected", "bulk.seal"),
    *("bulk.select", "bulk.start", "bulk.stop"),
    "api_keys.make_key",
    "api_keys.note_used",
    "api_keys.revoke_key",
    "counting.count",
    "faults.take",
    "handing_over.park",
    "handing_over.take_up",
    *("holding.drop", "holding.hand_over", "holding.hand_over_following", "holding.keep"),
    "holding.take",
    *("conversations.free_unordered", "conversations.reset_forgotten", "holding.free_unordered"),
    *("deviations.note", "expiries.note"),
    *("holding.release", "holding.tell_gaps", "operating.reset_order"),
    "notices.park",
    "operating.note_parked",
    "operating.take_up",
    "processing.report_some",
    "purge.purge_jobs",
    "reports.refuse",
    "staging.close_runs",
    "staging.move_some",
    "staging.release",
    "staging.stage",
    "submission.enter_staged",
    "transit.take_up_parked",
    "verdicts.send_beside",
    *("alerts.mute", "alerts.note_changes", "alerts.note_told", "alerts.unmute"),
    *("webhooks.ask_replay", "webhooks.begin", "webhooks.note_attempt", "webhooks.pass_by"),
    *("webhooks.forget_old", "webhooks.forget_removed"),
}
"""What an operator does after a bug or with many messages, jobs, counters, and what is so rare that
these worlds do not have it; the tests of the gateway run each of them, once."""


def step_functions() -> dict[str, Callable[..., Any]]:
    """Every public function of the ring that takes a transaction and its ground."""
    found = {}
    for info in pkgutil.iter_modules(steps.__path__):
        module = import_module(f"{steps.__name__}.{info.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            is_its_own = function.__module__ == module.__name__ and not name.startswith("_")
            if is_its_own and list(inspect.signature(function).parameters)[:2] == ["txn", "ground"]:
                found[f"{info.name}.{name}"] = function
    return found


class Twice:
    """Runs the outermost step of each transaction twice."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self._is_inside = False

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(txn: Any, ground: Ground, *args: Any, **facts: Any) -> Any:
            self.seen[name] += 1
            if self._is_inside or not isinstance(txn, MemoryTransaction):
                return function(txn, ground, *args, **facts)  # A part of a step that runs twice.
            self._is_inside = True
            try:
                return self._compared(name, function, txn, ground, args, facts)
            finally:
                self._is_inside = False

        return run

    def _compared(
        self,
        name: str,
        function: Callable[..., Any],
        txn: MemoryTransaction,
        ground: Ground,
        args: Any,
        facts: Any,
    ) -> Any:
        tables = txn._tables.pending()
        trial = MemoryTransaction(tables, txn._epoch, deepcopy(txn.waits))
        first = _outcome(function, trial, ground, args, facts)
        second = _outcome(function, txn, ground, args, facts)
        if isinstance(second, OnceonlyError):
            assert repr(first) == repr(second), name
            raise second
        assert first == second, name
        for table in tables._copied:
            assert getattr(tables, table) == getattr(txn._tables, table), f"{name}: {table}"
        assert trial.waits._said == txn.waits._said, name
        return second


def _outcome(function: Callable[..., Any], *call: Any) -> Any:
    txn, ground, args, facts = call
    try:
        return function(txn, ground, *args, **facts)
    except OnceonlyError as refusal:
        return refusal


@pytest.fixture
def twice() -> Iterator[Twice]:
    """In every module that has a step by its name, the step that runs twice."""
    found, put_back = Twice(), []
    by_function = {function: name for name, function in step_functions().items()}
    modules = [one for name, one in sys.modules.items() if name.startswith("onceonly.")]
    for module in modules:
        for attribute, value in list(vars(module).items()):
            if inspect.isfunction(value) and value in by_function:
                put_back.append((module, attribute, value))
                setattr(module, attribute, found.wrapped(by_function[value], value))
    yield found
    for module, attribute, value in put_back:
        setattr(module, attribute, value)


def test_a_step_that_runs_again_does_the_same(twice: Twice) -> None:
    """Every step of the ring, in worlds with faults."""
    for seed in SEEDS:
        assert not run_seed(seed).violations
    unseen = step_functions().keys() - twice.seen.keys() - NOT_IN_WORLDS
    assert not unseen, f"no world runs {sorted(unseen)} as a step of its own"
