"""What work costs in processor time, for limits that a specification gives in seconds."""

import gc
import time
from collections.abc import Callable
from typing import Final

_ROUNDS: Final = 100_000
_QUIET_S: Final = 0.015
"""Seconds of processor that the rounds take on a quiet machine, for which limits are meant."""
_TRIES: Final = 3


def slowness() -> float:
    """How many times as much processor the same work takes as on a quiet machine; at least 1."""
    began_s = time.process_time()
    total = 0
    for number in range(_ROUNDS):
        total += number * number % 7
    return max(1.0, (time.process_time() - began_s) / _QUIET_S)


def is_cheaper(work: Callable[[], object], most_s: float) -> bool:
    """Whether the work takes less than so many seconds of processor on a quiet machine.

    Other work on the machine only adds to what is measured, so the least of some measurements is
    the nearest. What earlier tests left in memory is not looked at by the garbage collector
    meanwhile: a gateway has no such heap.
    """
    gc.freeze()
    try:
        return any(_took_less(work, most_s) for _ in range(_TRIES))
    finally:
        gc.unfreeze()


def _took_less(work: Callable[[], object], most_s: float) -> bool:
    began_s = time.process_time()
    work()
    took_s = time.process_time() - began_s
    return took_s < most_s or took_s < most_s * slowness()
