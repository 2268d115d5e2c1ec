"""How often Python looks for garbage in circles, in a process that does nothing but serve.

Nearly everything about a message goes with its last reference. Python's collector looks anyway,
at every 700th new object and time and again at all of them; with 200 partners that was 7 % of the
CPU of a message. It must not know what is collected.
"""

import gc

NEW_OBJECTS_MAX = 10_000
"""New objects until the young ones are looked at: those of some ten messages, at most a few MB,
since payloads pass in bounded pieces."""

LOOKS_PER_OLDER = 20
"""Looks at younger objects for one at the next older ones."""


def look_seldom() -> None:
    """Call it once everything that lives as long as the process is there: it is left alone."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_MAX, LOOKS_PER_OLDER, LOOKS_PER_OLDER)
