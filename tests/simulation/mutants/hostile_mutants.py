"""Bugs that only a hostile partner finds: whose word counts, and what his word can stop.

`FAIL_STOP` shows in hostile worlds with a planted slip, `AUTHORITY` in those whose agreements
demand certificates; both in the share that `generator.hostile.PART` gives them. A mutant without
edits waits for the code that it is to break, and is not in the catalogue until then.
"""

from mutant import Mutant

FAIL_STOP = Mutant(
    "fail_stop_from_a_peers_task",
    "R-43",
    "An exception in a conversation with a peer stops the process, as a failed store does.",
)

AUTHORITY = Mutant(
    "authority_by_name",
    "R-44",
    "A signal counts if the agreement that it names entitles its caller, whatever it is about.",
)

MUTANTS = tuple(one for one in (FAIL_STOP, AUTHORITY) if one.edits)
