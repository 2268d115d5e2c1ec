"""Bugs of one outbound message: when it goes out, what it waits for, how it ends."""

from mutant import Edit, Mutant

BUDGET = (
    Mutant(
        "retry_one_too_many",
        "I18",
        "One transmission more than the agreement has.",
        Edit(
            "protocol/transmitting.py",
            "or state.attempt <= retries:",
            "or state.attempt <= retries + 1:",
        ),
    ),
    Mutant(
        "retry_one_too_few",
        "I18",
        "The last retry is never made.",
        Edit(
            "protocol/transmitting.py",
            "or state.attempt <= retries:",
            "or state.attempt < retries:",
        ),
    ),
    Mutant(
        "retries_reset_on_restart",
        "I18",
        "A restart of the gateway gives every message in flight a new budget.",
        Edit(
            "protocol/sending.py",
            """\
    return transmitting.transmit(state, state.attempt)


def _cancel(\
""",
            """\
    return transmitting.transmit(state, 1)


def _cancel(\
""",
        ),
    ),
    Mutant(
        "resume_keeps_counter",
        "I28",
        "A resume goes on counting where the message was given up.",
        Edit(
            "protocol/sending.py",
            """\
        silence=Silence.NONE,
    )
    return transmitting.begin(state, event.size_bytes, now, terms)\
""",
            """\
        silence=Silence.NONE,
    )
    return transmitting.transmit(state, state.attempt + 1)\
""",
        ),
    ),
    Mutant(
        "at_most_once_resends",
        "R-16",
        "AtMostOnce is sent again like anything else.",
        Edit(
            "protocol/transmitting.py",
            """\
    if terms.semantics in (DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.BEST_EFFORT):
        return 0
""",
            "",
        ),
        equivalent=(
            "The reader of the configuration refuses any retries but 0 with AtMostOnce and "
            "BestEffort (`gateway/config/terms.py`): the agreement says the same as these lines."
        ),
    ),
    Mutant(
        "exactly_once_gives_up",
        "R-17",
        "ExactlyOnce has the budget of the agreement, though it may never give up.",
        Edit(
            "protocol/transmitting.py",
            """\
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return None
    if terms.semantics in\
""",
            "    if terms.semantics in",
        ),
        equivalent=(
            "The reader of the configuration refuses retries with ExactlyOnce and makes them "
            "None, no bound, which is what these two lines say once more."
        ),
    ),
    Mutant(
        "pause_is_counted",
        "R-15",
        "What is sent after a pause that a TransientError asked for uses up a retry.",
        Edit(
            "protocol/transmitting.py",
            """\
    if state.silence is Silence.PAUSED:
        return transmit(state, state.attempt)
""",
            """\
    if state.silence is Silence.PAUSED:
        return transmit(state, state.attempt + 1)
""",
        ),
    ),
    Mutant(
        "transients_unbounded",
        "R-15",
        "A peer that answers TransientError for ever is asked for ever.",
        Edit(
            "protocol/sending.py",
            "    is_enough = transients > terms.transient_retries",
            "    is_enough = False",
        ),
    ),
    Mutant(
        "put_off_in_silence",
        "R-17",
        "ExactlyOnce that a peer puts off for ever calls no operator.",
        Edit(
            "protocol/sending.py",
            "    return state, (row, OpenIncident(reason)) if is_news else (row,)",
            "    return state, (row,)",
        ),
    ),
)


WAITS = (
    Mutant(
        "first_wait_is_retry_interval",
        "I19",
        "The first wait is RetryInterval, not Timeout.",
        Edit(
            "protocol/schedule.py",
            "terms.timeout_s if attempt <= 1 else",
            "terms.timeout_s if attempt < 1 else",
        ),
    ),
    Mutant(
        "later_waits_are_timeout",
        "I19",
        "Every wait is Timeout.",
        Edit(
            "protocol/schedule.py",
            """\
    wait_s = terms.timeout_s if attempt <= 1 else terms.retry_interval_s
""",
            """\
    wait_s = terms.timeout_s
""",
        ),
    ),
    Mutant(
        "wait_from_the_start",
        "I19",
        "The wait runs from the beginning of the transmission, not from its end.",
        Edit(
            "gateway/desk.py",
            """\
        take = None if reply is None else reply.take
        try:
            transmission = await self._send(
                agreement, departure.attempt, message_id, package, payloads, take
            )
        except StoreFull as full:
            # A payload could not be read for now; it is not known whether bytes left.
            transmission = Transmission(Outcome.UNKNOWN, bytes_left=True, detail=str(full))
        self.failpoints.reach("after-transmit")
        fault = reply.find_fault() if reply and agreement.profile.reads_every_answer else None
        if fault is not None:
            await self._take_fault(departure, transmission, fault)
            return
        self._fault_runs.taken(agreement)
        await self._tell(MessageWork(message_id, Transmitted(departure.attempt, transmission)))
""",
            """\
        began = self.ground()
        take = None if reply is None else reply.take
        try:
            transmission = await self._send(
                agreement, departure.attempt, message_id, package, payloads, take
            )
        except StoreFull as full:
            # A payload could not be read for now; it is not known whether bytes left.
            transmission = Transmission(Outcome.UNKNOWN, bytes_left=True, detail=str(full))
        self.failpoints.reach("after-transmit")
        fault = reply.find_fault() if reply and agreement.profile.reads_every_answer else None
        if fault is not None:
            await self._take_fault(departure, transmission, fault)
            return
        self._fault_runs.taken(agreement)
        work = MessageWork(message_id, Transmitted(departure.attempt, transmission))
        await self.persist(lambda txn, _: taking_up.tell(txn, began, work))
""",
        ),
    ),
    Mutant(
        "min_retry_ignored",
        "I19",
        "The pause that a TransientError asks for is not kept.",
        Edit(
            "protocol/schedule.py",
            """\
    wait_s = terms.retry_interval_s if min_retry_s is None else min_retry_s
""",
            """\
    wait_s = 0
""",
        ),
    ),
    Mutant(
        "never_due",
        "L1",
        "No deadline is set after a transmission: who hears nothing waits for ever.",
        Edit(
            "protocol/transmitting.py",
            """\
    due_ns = schedule.response_due_ns(state.attempt, now, terms)
    return changed(state, due_ns=schedule.put_off_ns(due_ns, sent.retry_after_s, now)), ()


def wait_anew\
""",
            """\
    return state, ()


def wait_anew\
""",
        ),
    ),
    Mutant(
        "deadline_forgotten_by_a_step",
        "L1",
        "A deadline that a step moved is settled, but its timer is not set.",
        Edit(
            "steps/turn.py",
            """\
            self._waits | recoveries.waits,
""",
            """\
            {},
""",
        ),
    ),
    Mutant(
        "overdue_is_never_looked_for",
        "I21",
        "Nobody tells messages that their time has passed.",
        Edit(
            "steps/taking_up.py",
            """\
    entries = snapshot.list_overdue(at, limit)
""",
            """\
    entries = () if at else snapshot.list_overdue(at, limit)
""",
        ),
    ),
)


VERDICTS = (
    Mutant(
        "silent_exhaust",
        "I21",
        "The application is not told that the retries are used up.",
        Edit(
            "protocol/verdict.py",
            """\
    return state, (row, *told, GiveUp(reason)\
""",
            """\
    return state, (row, GiveUp(reason)\
""",
        ),
    ),
    Mutant(
        "forgotten_when_exhausted",
        "I21",
        "A message whose retries are used up is left where it is, without a word to anybody.",
        Edit(
            "protocol/verdict.py",
            """\
    row = Journal(Event.EXHAUSTED, attempt=state.attempt, error_code=code, reason=reason)
    if not _suspends(terms):
""",
            """\
    row = Journal(Event.EXHAUSTED, attempt=state.attempt, error_code=code, reason=reason)
    if terms:
        return changed(state, due_ns=None), (row,)
    if not _suspends(terms):
""",
        ),
    ),
    Mutant(
        "silent_failure",
        "I20",
        "A message fails, and nobody is told.",
        Edit(
            "protocol/verdict.py",
            """\
    return state, (row, *told, *final, release(state, abandoned=True))\
""",
            """\
    return state, (row, *final, release(state, abandoned=True))\
""",
        ),
    ),
    Mutant(
        "silent_expiry",
        "I20",
        "A message expires, and nobody is told.",
        Edit(
            "protocol/verdict.py",
            "        return state, (*told, row, *turn)",
            "        return state, (row, *turn)",
        ),
    ),
    Mutant(
        "no_skew_margin",
        "I26",
        "Failed for good as soon as our own clock says so, without twice the accuracy.",
        Edit("protocol/schedule.py", "now.at > expiry_at + 2 * accuracy_us", "now.at > expiry_at"),
    ),
    Mutant(
        "failed_without_a_fence",
        "I26",
        "What is given up has failed for good, though a copy may still arrive.",
        Edit(
            "protocol/verdict.py",
            """\
    certain = state.exposure is Exposure.NEVER
    state, effects = _settle(\
""",
            """\
    certain = True
    state, effects = _settle(\
""",
        ),
    ),
    Mutant(
        "refusal_is_always_final",
        "I25",
        "A refusal counts as certain although other copies left before.",
        Edit(
            "protocol/verdict.py",
            "    return state.exposure is not Exposure.LEFT and not terms.may_be_copied",
            "    return not terms.may_be_copied",
        ),
    ),
    Mutant(
        "exposure_taken_back",
        "I24",
        "A refused connection makes a message that left before one that never left.",
        Edit(
            "protocol/transmitting.py",
            "    if state.exposure is Exposure.OPEN and not event.transmission.bytes_left:",
            "    if not event.transmission.bytes_left:",
        ),
    ),
    Mutant(
        "exposure_lost_on_restart",
        "I24",
        "After a crash the first transmission counts as the only one.",
        Edit(
            "protocol/transmitting.py",
            """\
    exposure = Exposure.OPEN if state.exposure is Exposure.NEVER else Exposure.LEFT
""",
            """\
    exposure = Exposure.OPEN
""",
        ),
    ),
    Mutant(
        "transport_success_is_an_ack",
        "I30",
        "An answer in 2xx ends the message as if it were acknowledged.",
        Edit(
            "protocol/transmitting.py",
            """\
    if not terms.is_acknowledged and _was_all(sent, terms):\
""",
            "    if sent.outcome is Outcome.ACCEPTED:",
        ),
    ),
    Mutant(
        "late_ack_dropped",
        "R-09",
        "An acknowledgement after the failure notice is thrown away.",
        Edit(
            "protocol/sending.py",
            """\
    state = _acknowledged(state, event)
    return state, (*_late_news(state, event, terms), release(state, abandoned=False), *calm)\
""",
            "    return state, ()",
        ),
    ),
    Mutant(
        "late_ack_is_silent",
        "I23",
        "After a failure notice, the acknowledgement is taken without telling the application.",
        Edit(
            "protocol/sending.py",
            """\
    if not verdict.notifies(terms):
        return (row,)
    return (
        row,
        Journal(Event.NOTIFIED, severity=Severity.WARNING\
""",
            """\
    if terms:
        return (row,)
    return (
        row,
        Journal(Event.NOTIFIED, severity=Severity.WARNING\
""",
        ),
    ),
    Mutant(
        "repeated_ack_is_news",
        "I23",
        "Each further acknowledgement of a message tells its application of a late one.",
        Edit(
            "protocol/sending.py",
            "    return state, (Journal(Event.REPEATED_ACK_RECEIVED, reason=event.detail),)",
            "    return state, _late_news(state, event, terms)",
        ),
    ),
    Mutant(
        "second_notice_lost",
        "I22",
        "A message that is given up once more after a resume is in the same episode still.",
        Edit(
            "protocol/sending.py",
            """\
        status=OutboundStatus.SENDING,
        episode=state.episode + 1,
""",
            """\
        status=OutboundStatus.SENDING,
""",
        ),
    ),
    Mutant(
        "error_by_anybody",
        "I29",
        "An error counts whoever sends it.",
        Edit(
            "steps/verdicts.py",
            """\
    if entry is None:
        return None
    work = [MessageWork(entry.message_id, error_received(one)) for one in signal.errors]
""",
            """\
    entry = entry or txn.find_outbound(signal.header.ref_to_message_id)
    if entry is None:
        return None
    work = [MessageWork(entry.message_id, error_received(one)) for one in signal.errors]
""",
        ),
        Edit(
            "gateway/incoming/receiver.py",
            "find_spoken_of(snapshot, self._desk.house, signal.header, profile, caller) is None:",
            "snapshot.find_outbound(signal.header.ref_to_message_id) is None:",
        ),
    ),
    Mutant(
        "ack_by_anybody",
        "I29",
        "An acknowledgement counts whoever sends it.",
        Edit(
            "steps/verdicts.py",
            "    return entry if fits else None",
            "    return entry",
        ),
    ),
    Mutant(
        "ack_of_any_profile",
        "I29",
        "An acknowledgement in the words of the other profile counts.",
        Edit(
            "steps/verdicts.py",
            """\
        agreement.profile is profile
        and is_from_partner(header, agreement)
""",
            """\
        is_from_partner(header, agreement)
""",
        ),
    ),
    Mutant(
        "acknowledged_message_fails",
        "I20",
        "An Error about an acknowledged message makes it a failed one.",
        Edit(
            "protocol/sending.py",
            "is_error and (terms.reports_refusals or not is_acknowledged)",
            "is_error",
        ),
    ),
    Mutant(
        "taken_back_in_silence",
        "I22",
        "An acknowledged message that was not delivered after all stays acknowledged.",
        Edit(
            "protocol/sending.py",
            "    return verdict.undelivered(state, event, row, terms)",
            "    return state, (row,)",
        ),
    ),
    Mutant(
        "resumed_is_not_retried",
        "I20",
        "A message whose pair is resumed is sent once more, and nobody waits for an answer.",
        Edit(
            "protocol/sending.py",
            """\
        status=OutboundStatus.SENDING,
        episode=state.episode + 1,
""",
            """\
        episode=state.episode + 1,
""",
        ),
    ),
    Mutant(
        "verdict_not_durable",
        "I41",
        "The acknowledged state stays in memory; the journal has it.",
        Edit(
            "steps/turn.py",
            """\
            state = self._entries[message_id].state
""",
            """\
            state = self._entries[message_id].state
            if state.status is OutboundStatus.ACKNOWLEDGED:
                continue
""",
        ),
    ),
    Mutant(
        "resend_encoded_anew",
        "I17",
        "A resend is made anew from the message, not from the stored bytes.",
        Edit(
            "steps/turn.py",
            """\
            return Departure(entry.message_id, agreement, attempt, None, None)
""",
            """\
            if agreement.is_route:
                return Departure(entry.message_id, agreement, attempt, None, None)
            message = self._txn.find_outbound_view(entry.message_id).message
            package = first_package(self._ground, message, entry.state.sequence_number)
            payloads = self._txn.list_payloads(entry.message_id)
            return Departure(entry.message_id, agreement, attempt, package, payloads)
""",
        ),
    ),
)


MUTANTS = (*BUDGET, *WAITS, *VERDICTS)
