"""Bugs that only a hostile partner finds: whose word counts, and what his word can stop.

`FAIL_STOP` shows in hostile worlds with a planted slip, `AUTHORITY` in those whose agreements
demand certificates; both in the share that `generator.hostile.PART` gives them.
"""

from mutant import Edit, Mutant

FAIL_STOP = Mutant(
    "fail_stop_from_a_peers_task",
    "R-43",
    "An exception in a conversation with a peer stops the process, as a failed store does.",
    Edit(
        "gateway/bugs.py",
        "        if isinstance(bug, StoreFailed):\n",
        "        if isinstance(bug, Exception):\n",
    ),
)

AUTHORITY = Mutant(
    "authority_by_name",
    "R-44",
    "A signal counts if the agreement that it names entitles its caller, whatever it is about.",
    Edit(
        "steps/verdicts.py",
        """        and is_entitled(caller, agreement)
        and header.agreement_id in ("", _name_on_wire(snapshot, entry, agreement))
""",
        "",
    ),
)

MUTANTS = (FAIL_STOP, AUTHORITY)
