"""Bugs of what is told: answers to questions, incidents, and words that nobody is certain of."""

from mutant import Edit, Mutant

TOLD = (
    Mutant(
        "received_is_processed",
        "I44",
        "A partner hears that the work is done as soon as the message is stored.",
        Edit(
            "protocol/keeping.py",
            "MessageStatus.PROCESSED if is_complete else MessageStatus.RECEIVED",
            "MessageStatus.PROCESSED if told else MessageStatus.RECEIVED",
        ),
    ),
    Mutant(
        "stored_is_not_recognized",
        "I44",
        "A partner hears that a message is not known which is not handed over yet.",
        Edit(
            "protocol/keeping.py",
            """\
    if status is InboundStatus.CANCELLED:
        return StatusAnswer(""",
            """\
    if status is not InboundStatus.HANDED_OVER:
        return StatusAnswer(""",
        ),
    ),
    Mutant(
        "cancel_refused_for_nothing",
        "I44",
        "What is in the inbox is never taken back, also where nobody has begun.",
        Edit(
            "protocol/keeping.py",
            "if status is InboundStatus.HANDED_OVER and not _can_be_stopped(processing, terms):",
            "if status is InboundStatus.HANDED_OVER:",
        ),
    ),
    Mutant(
        "begun_without_a_row",
        "I44",
        "An application that asks first may begin, and nothing of it is written down.",
        Edit(
            "protocol/keeping.py",
            "    return (Journal(Event.PROCESSING_CHANGED, reason=told.value),)",
            "    return ()",
        ),
    ),
    Mutant(
        "known_without_acknowledgement",
        "I44",
        "Who asks about a message hears that it is there, and gets no acknowledgement again.",
        Edit(
            "steps/answers.py",
            "acknowledgment=_response_of(txn, asked.key) if told.acknowledges else None,",
            "acknowledgment=None,",
        ),
    ),
    Mutant(
        "passed_on_before_it_is",
        "I3",
        "An acknowledgement says that the message is passed on, and leaves before that.",
        Edit(
            "protocol/receiving.py",
            """\
    if terms.ack_status.is_passed_on:
        return (*release, Acknowledge())
""",
            "",
        ),
        Edit(
            "steps/arrival.py",
            "agreed.is_passed_on and is_there",
            "agreed.is_passed_on",
        ),
    ),
    Mutant(
        "silent_about_every_repeat",
        "I4",
        "A repeat passes for one whose response is in work, and is not answered.",
        Edit(
            "protocol/receiving.py",
            "return Case.IN_WORK if awaited else Case.DUPLICATE",
            "return Case.DUPLICATE if awaited else Case.IN_WORK",
        ),
    ),
    Mutant(
        "acknowledged_beside_its_response",
        "I4",
        "The acknowledgement that was to ride on the business response goes before it.",
        Edit(
            "protocol/receiving.py",
            """\
    if not _is_acknowledged(arrival, terms) or _is_answered_by_the_application(arrival, terms):
""",
            """\
    if not _is_acknowledged(arrival, terms):
""",
        ),
    ),
    Mutant(
        "receipt_is_not_provided",
        "I9",
        "What asks for a delivery receipt that nobody gives is taken all the same.",
        Edit(
            "protocol/receiving.py",
            """\
    if requested is AckRequested.NONE:
        return True
""",
            """\
    if requested is not AckRequested.SIGNED:
        return True
""",
        ),
    ),
)

OPERATORS = (
    Mutant(
        "quarantined_without_an_incident",
        "I27",
        "A receiver closes a pair, and no operator hears of it.",
        Edit(
            "protocol/receiving.py",
            "(Journal(Event.PAIR_QUARANTINED, reason=reason), OpenIncident(reason))",
            "(Journal(Event.PAIR_QUARANTINED, reason=reason),)",
        ),
    ),
    Mutant(
        "never_quarantined",
        "R-11",
        "A receiver refuses one wrong number after the other, and closes nothing.",
        Edit(
            "protocol/receiving.py",
            "        pair = changed(pair, refused_message_id=arrival.message_id)\n",
            "",
        ),
    ),
    Mutant(
        "closed_without_a_row",
        "I27",
        "A pair closes, and the journal does not say so.",
        Edit(
            "protocol/pairing.py",
            "(row, OpenIncident(event.reason, is_trouble=True), *_hold_others(state, event))",
            "(OpenIncident(event.reason, is_trouble=True), *_hold_others(state, event))",
        ),
    ),
    Mutant(
        "incident_outlives_the_resume",
        "I27",
        "The incident of a pair that was resumed stays open.",
        Edit(
            "protocol/pairing.py",
            "return state, (Journal(Event.PAIR_RESUMED, reason=reason), ResolveIncident())",
            "return state, (Journal(Event.PAIR_RESUMED, reason=reason),)",
        ),
    ),
    Mutant(
        "withheld_in_silence",
        "I11",
        "What is withheld is nowhere, and no row says why.",
        Edit(
            "protocol/receiving.py",
            "(row, Withhold(), Journal(Event.WITHHELD, reason=reason))",
            "(row, Withhold())",
        ),
    ),
)

ORDERED = (
    Mutant(
        "operator_asks_in_vain",
        "R-21",
        "An operator asks for the status of a message, hears no error, and nobody is asked.",
        Edit(
            "protocol/recovering.py",
            "    return state, (Inquire(InquiryKind.STATUS),)\n\n\ndef _stay(",
            "    return state, ()\n\n\ndef _stay(",
        ),
    ),
    Mutant(
        "operator_cancels_in_vain",
        "R-21",
        "An operator takes a message back, hears no error, and its receiver is not asked.",
        Edit(
            "steps/operating.py",
            "    return [RecoveryWork(message_id, CancelWanted(is_for_new_version))]\n",
            "    return []\n",
        ),
    ),
)

ASKED = (
    Mutant(
        "answer_behind_its_time_is_lost",
        "R-21",
        "That the partner has the message counts only while its question is open.",
        Edit(
            "protocol/recovering.py",
            """\
    state, rows = _noted(state, event, now)
    return state, (*rows, *_confirmed(event, terms))
""",
            """\
    return _noted(state, event, now)
""",
        ),
    ),
    Mutant(
        "asked_without_being_told",
        "R-21",
        "The status is asked for where no rule says so.",
        Edit(
            "protocol/recovering.py",
            "    if not terms.recovery.inquires:\n        return state, ()\n",
            "",
        ),
        Edit(
            "protocol/verdict.py",
            "terms.recovery.inquires and state.status is OutboundStatus.IN_DOUBT",
            "state.status is OutboundStatus.IN_DOUBT",
        ),
    ),
    Mutant(
        "gives_up_asking_early",
        "R-21",
        "One question without an answer is enough, however many were agreed.",
        Edit(
            "protocol/recovering.py",
            "if state.asked < terms.recovery.inquiries:",
            "if state.asked < 1:",
        ),
    ),
    Mutant(
        "never_pings_before_it_asks",
        "R-21",
        "A partner is asked for a status before it has said that it is there.",
        Edit(
            "protocol/recovering.py",
            "RecoveryPhase.PINGING if pings else RecoveryPhase.ASKING",
            "RecoveryPhase.ASKING",
        ),
    ),
    Mutant(
        "confirmed_cancel_goes_on",
        "R-21",
        "The partner confirms a cancel, and the message is not ended by that.",
        Edit(
            "steps/turn.py",
            "        if (entry.state.status, CancelConfirmed) not in sending.TABLE:\n",
            "        if (entry.state.status, CancelConfirmed) in sending.TABLE:\n",
        ),
    ),
    Mutant(
        "new_version_never_sent",
        "R-21",
        "A message is taken back for a new version, and that is not sent.",
        Edit(
            "protocol/recovering.py",
            "more = (SendNewVersion(),) if state.wants_new_version else ()",
            "more: tuple[Effect, ...] = ()",
        ),
    ),
    Mutant(
        "response_is_not_noticed",
        "R-21",
        "The business response comes, and is waited for all the same.",
        Edit(
            "steps/verdicts.py",
            """\
    if agreement.terms.recovery.response_within_s is not None and is_believed and is_response:
        work.append(RecoveryWork(entry.message_id, recovering.ResponseReceived()))
""",
            "",
        ),
    ),
    Mutant(
        "response_shows_nothing",
        "L1",
        "A response comes, and its request is sent again until an acknowledgement does.",
        Edit(
            "steps/verdicts.py",
            "    if is_news and acknowledges:\n",
            "    if is_news and acknowledges and agreement.profile is None:\n",
        ),
    ),
    Mutant(
        "response_for_an_acknowledgement",
        "I30",
        "A response passes for the acknowledgement, which it does not in rm-2000.",
        Edit(
            "steps/verdicts.py",
            "    if is_news and acknowledges:\n",
            "    if is_news:\n",
        ),
    ),
    Mutant(
        "late_response_is_left_alone",
        "R-21",
        "The work is done, its response is late, and it is not asked for again.",
        Edit(
            "protocol/recovering.py",
            "    if done and rules.when_complete is Remedy.ASK_AGAIN:\n",
            "    if done and rules.when_complete is Remedy.CANCEL:\n",
        ),
    ),
    Mutant(
        "shows_what_was_said_before",
        "R-21",
        "Operators see the first answer of a partner, whatever it said since.",
        Edit(
            "protocol/recovering.py",
            "status=event.status or state.status,",
            "status=state.status or event.status,",
        ),
    ),
)

RELAYS = (
    Mutant(
        "relay_swallows_acknowledgements",
        "I36",
        "A relay notes the acknowledgement of the next hop, and keeps it.",
        Edit(
            "protocol/relaying.py",
            "(Journal(Event.ACK_RECEIVED, reason=event.detail), AcknowledgeUpstream())",
            "(Journal(Event.ACK_RECEIVED, reason=event.detail),)",
        ),
    ),
    Mutant(
        "relay_guesses",
        "I39",
        "A relay asks the previous hop to come again where the next one may have a copy.",
        Edit(
            "protocol/relaying.py",
            "if transmission.outcome is not Outcome.REFUSED or transmission.bytes_left:",
            "if transmission.outcome is Outcome.ACCEPTED:",
        ),
    ),
    Mutant(
        "relay_says_nothing_of_a_closed_door",
        "I21",
        "The next hop cannot be reached, and the previous one never hears so.",
        Edit(
            "protocol/relaying.py",
            "    return state, (_forwarded(event), answer)\n",
            "    assert answer\n    return state, (_forwarded(event),)\n",
        ),
    ),
    Mutant(
        "relay_forgets_what_it_had_stored",
        "L4",
        "What a relay had stored when it died is not sent on by the next start.",
        Edit(
            "protocol/relaying.py",
            """\
def _send_on_after_restart(state: Transit, event: Restarted, terms: DeliveryTerms) -> Step:
    return state, (Forward(state.copies),)
""",
            """\
def _send_on_after_restart(state: Transit, event: Restarted, terms: DeliveryTerms) -> Step:
    return state, ()
""",
        ),
    ),
)

EARLY = (
    Mutant(
        "expires_at_once",
        "I21",
        "A message is past its time as soon as it is made.",
        Edit(
            "protocol/schedule.py",
            "    return timestamp_at + lives_s * US_PER_S\n",
            "    return timestamp_at - lives_s * US_PER_S\n",
        ),
    ),
    Mutant(
        "late_at_once",
        "R-21",
        "A response is late before its time.",
        Edit(
            "protocol/recovering.py",
            "    due_at = timestamp_at + within_s * US_PER_S\n",
            "    due_at = timestamp_at - within_s * US_PER_S\n",
        ),
    ),
    Mutant(
        "pairs_forgotten_in_use",
        "I33",
        "The numbers of a pair are forgotten that was used just now.",
        Edit(
            "gateway/purge.py",
            "        before_at = self._office.clock.at() - after_s * US_PER_S\n",
            "        before_at = self._office.clock.at() + after_s * US_PER_S\n",
        ),
    ),
    Mutant(
        "named_files_are_cleared",
        "I14",
        "A payload in the spool goes while a row still names it.",
        Edit(
            "gateway/purge.py",
            "{file for file in some if not snapshot.is_spooled(file.digest)}",
            "{file for file in some if snapshot}",
        ),
    ),
)

UNTOLD = (
    Mutant(
        "ping_is_not_answered",
        "L4",
        "A Ping leaves a row, and no Pong.",
        Edit(
            "gateway/incoming/inquiries.py",
            "        self._tasks.start(self._send(asked, reply))\n",
            "        if content.kind is not InquiryKind.PING:\n"
            "            self._tasks.start(self._send(asked, reply))\n",
        ),
    ),
    Mutant(
        "strange_answer_without_a_row",
        "E2",
        "The answer to no question of ours is dropped, and no row tells of it.",
        Edit(
            "gateway/incoming/inquiries.py",
            "                await self._note_orphan(content, ration)\n",
            "                return TAKEN\n",
        ),
    ),
    Mutant(
        "receipt_ends_at_the_intermediary",
        "L4",
        "An accepting intermediary keeps the delivery receipt of the To Party.",
        Edit(
            "gateway/relaying/custodies.py",
            "        self._tasks.start(self._relay_receipt(subject, signal))\n",
            "        assert subject\n",
        ),
    ),
    Mutant(
        "notice_that_nobody_agreed_to",
        "R-14",
        "A From Party is sent a failure notice, and the agreement has none.",
        Edit(
            "steps/notices.py",
            "terms.notifies_failures and ",
            "",
        ),
    ),
    Mutant(
        "relayed_error_without_its_code",
        "E2",
        "The row about an error that went upstream does not say which.",
        Edit(
            "gateway/relaying/upstream.py",
            """\
            error_code=answer.code,
            severity=answer.severity,
            reason=answer.description or None,
""",
            "            reason=answer.description or None,\n",
        ),
    ),
    Mutant(
        "queue_without_end",
        "R-27",
        "A submission is accepted, however many wait.",
        Edit(
            "store/contract/counting.py",
            "for status in OutboundStatus if status not in FINAL)",
            "for status in OutboundStatus if status in ())",
        ),
    ),
    Mutant(
        "nobody_is_told_of_the_commit",
        "L4",
        "What is durable is never said to whoever waits for it.",
        Edit(
            "store/group.py",
            "            self._release(batch, outcomes)\n        elif",
            "            self._go_on()\n        elif",
        ),
    ),
    Mutant(
        "orphan_besides",
        "E2",
        "An acknowledgement that fits a message is noted as one that fits none, too.",
        Edit(
            "gateway/incoming/receiver.py",
            "return fits or await self._relay.take_signal(signal, profile, caller)",
            "return not fits and await self._relay.take_signal(signal, profile, caller)",
        ),
    ),
)

MUTANTS = (*TOLD, *OPERATORS, *ORDERED, *ASKED, *RELAYS, *EARLY, *UNTOLD)
