"""How Python's interpreter is set in a process that only serves.

Nearly every object of a message is freed with its last reference; the garbage collector is only
needed for cycles. By default it runs at every 700th new object, and often looks at all objects;
with 200 partners that took 7 % of the CPU time of a message.

Lists are read in threads, up to four at once, and each may keep the interpreter for one turn while
the event loop waits for its own. Must not know what is collected or read.
"""

import gc
import sys

NEW_OBJECTS_MAX = 10_000
"""New objects until the collector looks at the young ones: those of about ten messages, at most a
few MB, since payloads are handled in pieces of limited size."""

LOOKS_PER_OLDER = 20
"""How many looks at younger objects there are for one look at the next older ones."""

TURN_S = 0.001
"""How long a thread keeps the interpreter while another waits for it; Python's own 5 ms make the
event loop wait up to 20 ms beside four readers. The cost of a message does not change by it."""


def serve_only() -> None:
    """Collect less often, and let threads take short turns.

    Call it when all objects exist that live as long as the process: they are not looked at any
    more.
    """
    sys.setswitchinterval(TURN_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_MAX, LOOKS_PER_OLDER, LOOKS_PER_OLDER)
