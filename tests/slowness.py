"""How slow this machine is just now, for limits that a specification gives in seconds."""

import time
from typing import Final

_ROUNDS: Final = 100_000
_QUIET_S: Final = 0.015
"""Seconds of processor that the rounds take on a quiet machine, for which limits are meant."""


def slowness() -> float:
    """How many times as much processor the same work takes as on a quiet machine; at least 1."""
    began_s = time.process_time()
    total = 0
    for number in range(_ROUNDS):
        total += number * number % 7
    return max(1.0, (time.process_time() - began_s) / _QUIET_S)
