"""Bugs of pairs and queues: whose turn it is, which number it gets, what a start takes up."""

from mutant import Edit, Mutant

TURNS = (
    Mutant(
        "two_in_flight",
        "I15",
        "A pair gives one turn more than its window.",
        Edit(
            "protocol/pairing.py",
            "    if len(state.in_flight) >= event.window or",
            "    if len(state.in_flight) > event.window or",
        ),
    ),
    Mutant(
        "suspended_pair_sends",
        "I27",
        "Turns are given although the pair is closed.",
        Edit(
            "protocol/pairing.py",
            """\
    MessageQueued: _let_wait,
    MessageSettled: _settle_while_closed\
""",
            """\
    MessageQueued: _give_turn,
    MessageSettled: _settle_while_closed\
""",
        ),
    ),
    Mutant(
        "restart_sends_for_closed_pairs",
        "I27",
        "After a restart the message of a suspended pair goes out again.",
        Edit(
            "store/memory/reading.py",
            """\
            for pair in self._tables.sending.values()
            if pair.status is PairStatus.OPEN
""",
            """\
            for pair in self._tables.sending.values()
""",
        ),
    ),
    Mutant(
        "resume_skips",
        "I28",
        "A resume begins with the next message and leaves the uncompleted one behind.",
        Edit(
            "protocol/pairing.py",
            """\
    state, opened = _open(state, OPERATOR)
    return state, (*opened, *map(Restart, state.in_flight), AdmitNext())\
""",
            """\
    state, opened = _open(state, OPERATOR)
    return changed(state, in_flight=()), (*opened, AdmitNext())\
""",
        ),
    ),
    Mutant(
        "operators_suspension_lets_it_flow",
        "I27",
        "What has a turn when an operator suspends the pair goes on as before.",
        Edit("protocol/pairing.py", "    held = map(Hold, state.in_flight)\n", "    held = ()\n"),
    ),
    Mutant(
        "late_ack_leaves_pair_closed",
        "I23",
        "A late acknowledgement does not end the suspension.",
        Edit(
            "protocol/pairing.py",
            """\
    if event.abandoned or state.reason == OPERATOR:
""",
            """\
    if event or state.reason == OPERATOR:
""",
        ),
    ),
    Mutant(
        "late_ack_opens_what_an_operator_closed",
        "I27",
        "A late acknowledgement opens a pair that an operator suspended.",
        Edit(
            "protocol/pairing.py",
            """\
    if event.abandoned or state.reason == OPERATOR:
""",
            """\
    if event.abandoned:
""",
        ),
    ),
    Mutant(
        "abandoned_number_leaves_a_gap",
        "I33",
        "The number of an abandoned message is neither used nor reset.",
        Edit(
            "protocol/pairing.py",
            """\
    if not leaves_a_gap:
""",
            """\
    if not leaves_a_gap or state.sequence_number:
""",
        ),
    ),
    Mutant(
        "abandoned_number_reused",
        "I33",
        "The next message gets the number of the abandoned one.",
        Edit(
            "protocol/pairing.py",
            "    return changed(state, sequence_number=None), (Journal(",
            """\
    return changed(state, sequence_number=state.sequence_number - 1 or None), (Journal(\
""",
        ),
    ),
    Mutant(
        "reset_not_journalled",
        "I33",
        "The sequence begins anew without a row.",
        Edit(
            "protocol/pairing.py",
            """\
    return changed(state, sequence_number=None), (Journal(Event.SEQUENCE_RESET, reason=reason),)\
""",
            "    return changed(state, sequence_number=None), ()",
        ),
    ),
    Mutant(
        "wrap_one_too_late",
        "I32",
        "After 999,999,999 comes 1,000,000,000.",
        Edit("protocol/sequence.py", "or number >= wrap_after else", "or number > wrap_after else"),
    ),
    Mutant(
        "wrap_one_too_early",
        "I32",
        "After 999,999,998 comes 1.",
        Edit(
            "protocol/sequence.py",
            "or number >= wrap_after else",
            "or number >= wrap_after - 1 else",
        ),
    ),
    Mutant(
        "wrap_to_zero",
        "I32",
        "After 999,999,999 comes 0.",
        Edit(
            "protocol/sequence.py",
            "    return 1 if number is None or number >= wrap_after else number + 1",
            "    return 1 if number is None else 0 if number >= wrap_after else number + 1",
        ),
    ),
    Mutant(
        "receiver_never_wraps",
        "I32",
        "A receiver takes for next only what is one more, also after 999,999,999.",
        Edit(
            "protocol/sequence.py",
            "    if number == successor(previous, wrap_after=wrap_after):",
            "    if number == (previous or 0) + 1:",
        ),
        equivalent=(
            "After 999,999,999 the sender's number is 1, and a 1 with an unseen MessageId is "
            "new by case (3) as well as by case (1): `_fits` takes NEXT and RESET alike, and "
            "nothing else asks which of the two it was."
        ),
    ),
    Mutant(
        "queue_from_the_end",
        "I16",
        "The message that came last has its turn first.",
        Edit(
            "store/memory/reading.py",
            """\
        queued = self._list_outbound(OutboundStatus.QUEUED)
        of_pair\
""",
            """\
        queued = self._list_outbound(OutboundStatus.QUEUED)[::-1]
        of_pair\
""",
        ),
    ),
)


RESTARTS = (
    Mutant(
        "in_flight_forgotten_at_restart",
        "L1",
        "What was in flight at the crash is not taken up.",
        Edit(
            "steps/taking_up.py",
            """\
        *(MessageWork(one, Restarted()) for one in flying if one in left.messages),
""",
            "",
        ),
    ),
    Mutant(
        "queues_forgotten_at_restart",
        "L1",
        "Pairs with a queue and nothing in flight are not looked for at the start.",
        Edit(
            "steps/taking_up.py",
            """\
        *queues(snapshot),
""",
            "",
        ),
        equivalent=(
            "A queue behind nothing in flight is never durable: a message that comes to an open "
            "pair with room has its turn in the transaction that stores it, a turn that is "
            "given back admits the next one in the same transaction, and so does a resume. "
            "Whatever has a turn at the start is `Restarted`, and its end admits the queue; lost "
            "numbers leave the turns, and a wider window is used at that end. The line is there "
            "for stores of other versions."
        ),
    ),
    Mutant(
        "recoveries_forgotten_at_restart",
        "R-21",
        "A question whose answer was lost with the process is never asked again.",
        Edit(
            "steps/taking_up.py",
            """\
        *(
            RecoveryWork(one, Restarted())
            for one in snapshot.list_recovering()
            if one in left.recoveries
        ),
""",
            "",
        ),
    ),
    Mutant(
        "submit_answers_before_the_commit",
        "I14",
        "The application has its yes before the message is stored.",
        Edit(
            "gateway/application/submissions.py",
            """\
        submitted = await self._desk.transact(step)
""",
            """\
        import asyncio
        storing = asyncio.ensure_future(self._desk.transact(step))
        storing.add_done_callback(lambda done: done.exception())
        submitted = Submitted(Receipt(draft.message.message_id, is_replayed=False))
""",
        ),
    ),
    Mutant(
        "resubmission_gets_a_new_id",
        "I31",
        "Whoever submits again because no answer came gets another MessageId.",
        Edit(
            "gateway/application/submissions.py",
            'message_id = submission.message_id or ground.message_id("message", agreement)',
            'message_id = ground.message_id("message", agreement)',
        ),
        Edit(
            "steps/submission.py",
            "    return view or named",
            "    return None",
        ),
    ),
    Mutant(
        "idempotency_key_ignored",
        "I31",
        "The key under which something was submitted before is not looked up.",
        Edit(
            "steps/submission.py",
            """\
        message_id = txn.find_message_id_by_key(names.idempotency_key) or message_id
""",
            """\
        pass
""",
        ),
        Edit(
            "store/memory/writing.py",
            "self._add(self._tables.keys,",
            "self._put(self._tables.keys,",
        ),
    ),
    Mutant(
        "taken_id_is_not_compared",
        "I8",
        "Another content under a MessageId that is taken passes for the same submission.",
        Edit(
            "steps/submission.py",
            """\
        earlier.digest == digest
""",
            """\
        bool(digest)
""",
        ),
    ),
)

MUTANTS = (*TURNS, *RESTARTS)
