"""Repeats calls to a gateway that does not answer: it may be restarting, or its disk full.

Every call that is made through here may be made twice, since a row, an offset or a job names
what it is about.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from onceonly.client import GatewayUnreachable
from onceonly.message.errors import LocalError

T = TypeVar("T")

PAUSE_S = 0.2
"""Seconds before the second try; they double for each further one."""

PAUSE_S_MAX = 5.0

_PASSING = frozenset({"StoreFull", "StoreFailed", "QueueFull", "UnexpectedAnswer"})
"""Refusals that end by themselves, also those of a proxy in front of a gateway that starts."""


def patiently(call: Callable[[], T], patience_s: float) -> T:
    """The result of the call, which is repeated until patience is at its end.

    Raises what the call raises: `LocalError` at once for what is the caller's, otherwise once
    patience is at its end.
    """
    until, pause_s = time.monotonic() + patience_s, PAUSE_S
    while True:
        try:
            return call()
        except (GatewayUnreachable, LocalError) as error:
            is_passing = isinstance(error, GatewayUnreachable) or error.name in _PASSING
            if not is_passing or time.monotonic() + pause_s > until:
                raise
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, PAUSE_S_MAX)
