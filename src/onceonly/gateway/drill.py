"""Faults that a drill asks for: points at which the process is killed, as hard as by `kill -9`.

A failpoint `name:n` kills the process when the named point is reached for the n-th time. Without a
drill every point costs one look-up in an empty dictionary.
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
    "before-bulk-item",
    "after-bulk-item",
    "before-publish",
    "after-publish",
    "before-claim",
    "after-claim",
    "after-take-in",
    "before-settle",
    "before-drop",
    "after-drop",
    "before-post",
    "after-post",
)
"""All points; the configuration refuses others.

"claim" is a document of a pickup folder that becomes ours: at `before` its note is durable, at
`after` it is moved. At "after-take-in" its message is stored, at "before-settle" its verdict is in
the result file. "drop" is a message that appears in a drop folder. "post" is an event that is told
to a webhook: at `after` the outcome is not noted yet.

"commit" is a commit that stores a message or lets something leave: at `before` everything is
written, at `after` nothing has left yet. "verdict" is the commit of what a partner said about one
of our messages. "purge" is one step of a purge; the files of the spool are deleted after it. The
other points are about sending: at `before` the reason is committed, at `after` the outcome is not
noted yet. "bulk-item" is the step of one message of an action on many, whose outcome is in the same
commit.
"""


class Failpoints:
    """Counts down to the kill at each armed point."""

    def __init__(self, armed: dict[str, int] | None = None) -> None:
        self._left = dict(armed or {})

    def reach(self, point: str) -> None:
        """Kill the process if the drill has armed this point and its count is reached."""
        if point not in self._left:
            return
        self._left[point] -= 1
        if self._left[point] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
