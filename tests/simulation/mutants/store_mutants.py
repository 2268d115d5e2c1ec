"""Bugs of the store and of group commit: what is durable, when, and who is told."""

from mutant import Edit, Mutant

MUTANTS = (
    Mutant(
        "released_before_the_commit",
        "I3",
        "Whoever waits for a commit is released when it begins.",
        Edit(
            "store/group.py",
            "        committed = asyncio.get_running_loop().run_in_executor(",
            """\
        for (_, future), (result, error) in zip(batch, outcomes, strict=True):
            future.set_result(result) if error is None else future.set_exception(error)
        committed = asyncio.get_running_loop().run_in_executor(\
""",
        ),
    ),
    Mutant(
        "failed_commit_is_success",
        "I42",
        "An I/O error at the commit is swallowed.",
        Edit(
            "store/group.py",
            """\
        if error is None:
            self._release(batch, outcomes)
        elif isinstance(error, StoreFull):\
""",
            """\
        if error is None or isinstance(error, StoreFailed):
            self._release(batch, outcomes)
        elif isinstance(error, StoreFull):\
""",
        ),
    ),
    Mutant(
        "full_disk_is_success",
        "I14",
        "Where the disk was full, everybody is told that it is stored.",
        Edit(
            "store/group.py",
            """\
            _fail(batch, full)
            self._go_on()
""",
            """\
            for _, future in batch:
                future.done() or future.set_result(None)
            self._go_on()
""",
        ),
    ),
    Mutant(
        "full_disk_commits_half",
        "I41",
        "On a full disk some tables of the transaction stay, others do not.",
        Edit(
            "store/memory/store.py",
            """\
        if self.is_full:
            self._waits.drop()
""",
            """\
        if self.is_full:
            for name in {'journal', 'numbers'}.intersection(pending._copied):
                setattr(self._disk.tables, name, getattr(pending, name))
            self._waits.drop()
""",
        ),
    ),
    Mutant(
        "commit_forgets_a_table",
        "I7",
        "One table of the transaction is not written: what number came last from a partner.",
        Edit(
            "store/memory/tables.py",
            """\
        for name in self._copied:
            setattr(self._below, name, getattr(self, name))
""",
            """\
        for name in self._copied:
            if name != "receiving":
                setattr(self._below, name, getattr(self, name))
""",
        ),
    ),
    Mutant(
        "duplicates_volatile",
        "I1",
        "Which messages were handed over is known to the running process only.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    for key, number in tuple(tables.known.items()):
        if tables.inbound[number].offset is not None:
            del tables.known[key]
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "suspension_volatile",
        "I27",
        "A restart opens every pair.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    for pair, state in tuple(tables.sending.items()):
        tables.sending[pair] = changed(state, status=type(state)().status)
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "numbers_volatile",
        "I32",
        "The last SequenceNumber is gone after a restart.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    for pair, state in tuple(tables.sending.items()):
        tables.sending[pair] = changed(state, sequence_number=None)
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "receiver_numbers_volatile",
        "I7",
        "What number came last is gone after a restart of the receiver.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    tables.receiving.clear()
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "notices_volatile",
        "I22",
        "A notice that the application has not read is gone after a crash.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    tables.notices.clear()
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "tombstones_volatile",
        "I26",
        "A confirmed cancel is forgotten with the process.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    tables.tombstones.clear()
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "owed_table_volatile",
        "I22",
        "Owed notices are forgotten with the process.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    tables.owed.clear()
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "transits_volatile",
        "I36",
        "A relay forgets with its process what is on its way.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    tables.transits.clear()
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "recovery_volatile",
        "R-21",
        "What was asked of a partner is forgotten with the process.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    tables.recovery.clear()
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "chain_begins_anew",
        "E3",
        "Every row of the journal is chained to the beginning, so that a missing one goes unseen.",
        Edit(
            "store/memory/writing.py",
            """\
            previous_hash = CHAIN_START if before is None else before.chain_hash
""",
            """\
            previous_hash = CHAIN_START
""",
        ),
    ),
    Mutant(
        "epoch_not_raised",
        "I43",
        "Opening a store does not begin a new epoch.",
        Edit(
            "store/memory/store.py",
            """\
        self._disk.epoch += 1
""",
            """\
        self._disk.epoch = 1
""",
        ),
    ),
    Mutant(
        "purged_although_recovering",
        "R-21",
        "A message whose recovery still asks is forgotten with the others.",
        Edit(
            "store/memory/writing.py",
            """\
            and row.settled_at < settled_before_at
            and not self.is_recovering(message_id)
""",
            """\
            and row.settled_at < settled_before_at
""",
        ),
    ),
    Mutant(
        "notice_per_message",
        "I22",
        "One notice per message: that of a second episode is taken for the first.",
        Edit(
            "store/memory/writing.py",
            """\
        key = (notice.message_id, notice.kind, notice.episode)
""",
            """\
        key = (notice.message_id, notice.kind, 0)
""",
        ),
    ),
    Mutant(
        "inbox_key_in_code_only",
        "I12",
        "The key of the duplicate table is no UNIQUE constraint any more.",
        Edit(
            "store/memory/writing.py",
            """\
            self._add(self._tables.known, message.key, number)
""",
            """\
            self._put(self._tables.known, message.key, number)
""",
        ),
        equivalent=(
            "Every writer asks `find_inbound` for the key in the transaction in which it adds "
            "it, and transactions run one after another under one epoch: the second line of "
            "defence is never reached while the first stands."
        ),
    ),
    Mutant(
        "tombstone_forgotten_early",
        "I10",
        "A confirmed cancel is forgotten at the first purge.",
        Edit(
            "store/memory/writing.py",
            """\
            if keep_until_at is not None and keep_until_at < now_at
        ]
""",
            """\
            if keep_until_at is not None and cancelled_at < now_at
        ]
""",
        ),
    ),
    Mutant(
        "outbound_forgotten_at_once",
        "R-19",
        "What was sent goes with its verdict, not PersistDuration later.",
        Edit(
            "gateway/purge.py",
            "{name: before_at - s * US_PER_S for name, s in durations}",
            "{name: before_at - min(s, 0) * US_PER_S for name, s in durations}",
        ),
    ),
    Mutant(
        "outbound_forgotten_unsettled",
        "I21",
        "What was sent goes after its time, whether or not it has a verdict.",
        Edit(
            "store/memory/writing.py",
            """\
            and row.settled_at is not None
            and row.settled_at < settled_before_at
""",
            """\
            and (row.settled_at or row.submitted_at) < settled_before_at
""",
        ),
        Edit(
            "store/memory/writing.py",
            """\
            (row.settled_at, row.position, message_id)
""",
            """\
            (row.settled_at or row.submitted_at, row.position, message_id)
""",
        ),
    ),
    Mutant(
        "processing_volatile",
        "I44",
        "How far the application is with a message is known to the running process only.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    for number, row in tuple(tables.inbound.items()):
        tables.inbound[number] = changed(row, processing=type(row.processing)("not-started"))
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "incident_opened_twice",
        "I27",
        "The same trouble of a pair is a new incident each time.",
        Edit(
            "store/memory/writing.py",
            "if any(_what(row) == same for row in self._open_incidents()):",
            "if same is None:",
        ),
    ),
)
