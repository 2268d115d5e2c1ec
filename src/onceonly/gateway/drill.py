"""Faults on order: points at which a drill kills the process, as hard as `kill -9`.

A failpoint `name:n` kills at the n-th time that the named point is reached. Without a drill every
point is one dictionary look-up in an empty dictionary.
"""

import os
import signal

POINTS = (
    "before-commit",
    "after-commit",
    "before-transmit",
    "after-transmit",
    "before-acknowledge",
    "after-acknowledge",
    "before-hand-over",
    "after-hand-over",
    "before-verdict",
    "after-verdict",
    "before-receipt",
    "after-receipt",
    "before-notice",
    "after-notice",
    "before-inquire",
    "after-inquire",
    "before-report",
    "after-report",
    "before-purge",
    "after-purge",
    "after-clear",
    "before-publish",
    "after-publish",
)
"""Every point there is; configuration refuses others.

A commit here is one that stores a message or lets something leave: `before` it everything is
written, `after` it nothing has left yet. A verdict is what a partner said about a message of ours,
written and then committed; a purge is one step of it, and files of the spool are cleared behind
it. The others are about what goes over the network: `before` it the reason is committed, `after`
it nothing is noted yet.
"""


class Failpoints:
    """Counts down to the kill at each armed point."""

    def __init__(self, armed: dict[str, int] | None = None) -> None:
        self._left = dict(armed or {})

    def reach(self, point: str) -> None:
        """Die here if the drill says so."""
        if point not in self._left:
            return
        self._left[point] -= 1
        if self._left[point] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
