"""Bugs of recovery: questions, answers, cancels, and what follows from them."""

from mutant import Edit, Mutant

MUTANTS = (
    Mutant(
        "report_without_a_row",
        "E2",
        "An answer to an inquiry leaves, and the journal does not say so.",
        Edit(
            "gateway/incoming/inquiries.py",
            """\
        await self._note(asked, outcome_row(Event.REPORT_SENT, sent, asked.inquiry.kind.value))
""",
            """\
        del sent
""",
        ),
    ),
    Mutant(
        "never_asks_first",
        "R-21",
        "A large message leaves without the Ping that was agreed.",
        Edit(
            "protocol/transmitting.py",
            "    if above is not None and size_bytes > above:",
            "    if above is not None and size_bytes > 1 << 40:",
        ),
    ),
    Mutant(
        "bad_pong_is_good",
        "R-21",
        "A large message leaves after any Pong, also one that says no.",
        Edit(
            "protocol/transmitting.py",
            """\
    if not event.is_available:
        return changed(state, due_ns=schedule.pause_ends_ns(None, now, terms)), row
""",
            "",
        ),
    ),
    Mutant(
        "any_report_confirms",
        "I13",
        "Whatever the partner says of a message counts as that it has it.",
        Edit(
            "protocol/recovering.py",
            """\
    if event.status in RECEIVED:
        is_doubtful\
""",
            """\
    if event.status is not None:
        is_doubtful\
""",
        ),
    ),
    Mutant(
        "new_version_without_a_cancel",
        "R-21",
        "A new version goes out on 'not recognized' alone.",
        Edit(
            "protocol/recovering.py",
            """\
        state = changed(state, wants_new_version=remedy is Remedy.NEW_VERSION)
        return _ask(state, RecoveryPhase.CANCELLING, now, terms)
""",
            """\
        state = changed(state, wants_new_version=remedy is Remedy.NEW_VERSION)
        if state.wants_new_version:
            return _rest(state), (SendNewVersion(),)
        return _ask(state, RecoveryPhase.CANCELLING, now, terms)
""",
        ),
    ),
    Mutant(
        "refused_cancel_counts",
        "I26",
        "A cancel that the receiver refused ends the message all the same.",
        Edit(
            "protocol/recovering.py",
            """\
    if event.is_accepted:
        more =\
""",
            """\
    if event:
        more =\
""",
        ),
    ),
    Mutant(
        "cancel_confirmed_without_a_tombstone",
        "I26",
        "A cancel is confirmed, but nothing refuses a later copy.",
        Edit(
            "steps/answers.py",
            """\
        txn.cancel_inbound(asked.key, at=now.at, keep_until_at=keep_until_at)
""",
            """\
        assert keep_until_at is None or keep_until_at
""",
        ),
    ),
    Mutant(
        "cancel_of_work_confirmed",
        "I44",
        "A cancel is confirmed although the application has begun to work.",
        Edit(
            "protocol/keeping.py",
            """\
    return terms.reports_processing and processing is ProcessingState.NOT_STARTED\
""",
            "    return bool(terms) and bool(processing)",
        ),
    ),
    Mutant(
        "unknown_is_received",
        "I44",
        "A message that never came is reported as received.",
        Edit(
            "protocol/keeping.py",
            """\
        return StatusAnswer(MessageStatus.NOT_RECOGNIZED)
    if not asker\
""",
            """\
        return StatusAnswer(MessageStatus.RECEIVED)
    if not asker\
""",
        ),
    ),
    Mutant(
        "asked_without_end",
        "L5",
        "A question that nobody answers is asked for ever.",
        Edit(
            "protocol/recovering.py",
            """\
    if state.asked < terms.recovery.inquiries:
""",
            """\
    if state.asked < terms.recovery.inquiries + 1_000_000:
""",
        ),
    ),
    Mutant(
        "not_received_is_left",
        "R-21",
        "The rule says resend, and nothing is sent.",
        Edit(
            "protocol/recovering.py",
            """\
    if remedy is not Remedy.RESEND:
        return state, ()
""",
            """\
    if remedy:
        return state, ()
""",
        ),
    ),
    Mutant(
        "report_by_anybody",
        "I29",
        "An answer counts whoever gives it.",
        Edit(
            "steps/reports.py",
            """\
        and is_from_partner(header, agreement)
""",
            "",
        ),
    ),
    Mutant(
        "report_about_anything",
        "I29",
        "An answer about another message counts for the one that was asked about.",
        Edit(
            "steps/reports.py",
            """\
        and (report.kind is InquiryKind.PING or report.about == question.message_id)
""",
            "",
        ),
    ),
    Mutant(
        "forgotten_is_sent_anew",
        "R-21",
        "'Not recognized' is believed of a message so old that it may have been forgotten.",
        Edit(
            "protocol/recovering.py",
            """\
    if event.may_be_forgotten and remedy is not Remedy.WAIT:
""",
            """\
    if event.may_be_forgotten and remedy is None:
""",
        ),
    ),
    Mutant(
        "resend_as_a_new_message",
        "I31",
        "A message that is queued again is encoded anew, under another number and time.",
        Edit(
            "steps/turn.py",
            """\
        if entry.state.episode > 0 or self._house.agreement(entry.agreement_id).is_route:
""",
            """\
        if self._house.agreement(entry.agreement_id).is_route:
""",
        ),
    ),
    Mutant(
        "asked_once_too_often",
        "R-21",
        "One question more than was agreed.",
        Edit(
            "protocol/recovering.py",
            """\
    if state.asked < terms.recovery.inquiries:
""",
            """\
    if state.asked <= terms.recovery.inquiries:
""",
        ),
    ),
    Mutant(
        "operator_never_hears",
        "R-21",
        "When the questions are used up, no incident is opened.",
        Edit(
            "protocol/recovering.py",
            """\
    return changed(_rest(state), wants_new_version=wants_new_version), (incident,)
""",
            """\
    return changed(_rest(state), wants_new_version=wants_new_version), ()
""",
        ),
    ),
    Mutant(
        "restart_resets_the_questions",
        "R-21",
        "Each start begins to count the questions anew.",
        Edit(
            "protocol/recovering.py",
            """\
    return _ask(changed(state, asked=state.asked - 1), state.phase, now, terms)
""",
            """\
    return _ask(changed(state, asked=0), state.phase, now, terms)
""",
        ),
    ),
    Mutant(
        "cancel_answered_before_the_commit",
        "I44",
        "A partner is told of its cancel in the step that sets the tombstone.",
        Edit(
            "gateway/incoming/inquiries.py",
            """\
            reply = await self._desk.transact(lambda txn, ground: answer(txn, ground, asked))
""",
            """\
            await self._desk.transact(
                lambda txn, ground: self._tasks.start(self._send(asked, answer(txn, ground, asked)))
            )
            return TAKEN
""",
        ),
    ),
    Mutant(
        "response_never_late",
        "R-21",
        "Nobody notices that an expected business response stays out.",
        Edit(
            "protocol/recovering.py",
            """\
    return Recovery(response=ResponseStatus.AWAITED, response_due_at=due_at)
""",
            """\
    return None if due_at else Recovery(response=ResponseStatus.AWAITED, response_due_at=due_at)
""",
        ),
    ),
)
