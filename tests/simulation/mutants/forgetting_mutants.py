"""Bugs of the purge: what is forgotten, and when (R-19)."""

from mutant import Edit, Mutant

MUTANTS = (
    Mutant(
        "forgets_a_second_early",
        "I10",
        "An id goes one second before PersistDuration is over.",
        Edit(
            "protocol/schedule.py",
            """\
    keeps_s = terms.persist_duration_s + 2 * terms.msh_time_accuracy_s
""",
            """\
    keeps_s = terms.persist_duration_s - 1
""",
        ),
    ),
    Mutant(
        "forgets_at_once",
        "I10",
        "An id goes as soon as its message is done with.",
        Edit(
            "protocol/schedule.py",
            """\
    keeps_s = terms.persist_duration_s + 2 * terms.msh_time_accuracy_s
""",
            """\
    keeps_s = 0
""",
        ),
        Edit(
            "store/memory/writing.py",
            """\
        newest_at = max(timestamp_at, state.forgotten_at or timestamp_at)
""",
            """\
        newest_at = state.forgotten_at
""",
        ),
    ),
    Mutant(
        "forgets_what_nobody_confirmed",
        "I10",
        "What the application has not begun to work on is purged like anything else.",
        Edit(
            "store/memory/tables.py",
            """\
            return self.is_refused or self.processing is ProcessingState.COMPLETE
""",
            """\
            return bool(self.processing)
""",
        ),
    ),
    Mutant(
        "forgets_what_is_stored",
        "I10",
        "A message that was never handed over is purged.",
        Edit(
            "store/memory/tables.py",
            """\
        return self.status is not InboundStatus.STORED
""",
            """\
        return bool(self.status)
""",
        ),
    ),
    Mutant(
        "spool_cleared_at_once",
        "I13",
        "A payload file that no row mentions yet is removed at the first look.",
        Edit(
            "gateway/purge.py",
            """\
UNMENTIONED_S = 3_600
""",
            """\
UNMENTIONED_S = 0
""",
        ),
    ),
    Mutant(
        "idle_pair_reset_unsaid",
        "I33",
        "A purge drops an idle counter without a row.",
        Edit(
            "steps/purge.py",
            """\
        txn.append((rows.about_pair(pair, None, Direction.OUT, reset, ground.now),))
""",
            """\
        assert reset, rows
""",
        ),
    ),
    Mutant(
        "received_kept_for_ever",
        "R-19",
        "What was received and is done is never forgotten.",
        Edit(
            "gateway/purge.py",
            "inbound = await self._forget_inbound(before_at)",
            "inbound = 0",
        ),
    ),
    Mutant(
        "sent_kept_for_ever",
        "R-19",
        "The store does not note when a message had its verdict, and so it is never forgotten.",
        Edit(
            "store/memory/writing.py",
            "row = changed(row, state=state, settled_at=since_at)",
            "row = changed(row, state=state)",
        ),
    ),
)
