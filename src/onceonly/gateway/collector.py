"""How often Python's garbage collector runs in a process that only serves.

Nearly every object of a message is freed with its last reference; the collector is only needed for
cycles. By default it runs at every 700th new object, and often looks at all objects; with 200
partners that took 7 % of the CPU time of a message. Must not know what is collected.
"""

import gc

NEW_OBJECTS_MAX = 10_000
"""New objects until the collector looks at the young ones: those of about ten messages, at most a
few MB, since payloads are handled in pieces of limited size."""

LOOKS_PER_OLDER = 20
"""How many looks at younger objects there are for one look at the next older ones."""


def look_seldom() -> None:
    """Collect less often; call it when all objects exist that live as long as the process.

    Those objects are not looked at any more.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_MAX, LOOKS_PER_OLDER, LOOKS_PER_OLDER)
