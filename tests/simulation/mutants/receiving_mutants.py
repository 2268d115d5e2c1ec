"""Bugs of the receiving side: what an arrival is, when it is acknowledged and handed over."""

from mutant import Edit, Mutant

DECISIONS = (
    Mutant(
        "dedupe_by_number",
        "I7",
        "A known MessageId is a repeat only if its number is the last one.",
        Edit(
            "protocol/receiving.py",
            """\
    if is_cancelled:
        return Case.CANCELLED
""",
            """\
    if known is not None and arrival.sequence_number != pair.sequence_number:
        known = None
    if is_cancelled:
        return Case.CANCELLED
""",
        ),
    ),
    Mutant(
        "repeat_not_acknowledged",
        "I4",
        "A repeat is dropped in silence.",
        Edit(
            "protocol/receiving.py",
            """\
    answer = Acknowledge() if known.has_response else AcknowledgeAnew()
    return Reception(case, pair, (row, answer))\
""",
            "    return Reception(case, pair, (row,))",
        ),
    ),
    Mutant(
        "response_made_anew",
        "I5",
        "A repeat is answered with a fresh acknowledgement, not with the first one.",
        Edit(
            "protocol/receiving.py",
            """\
    answer = Acknowledge() if known.has_response else AcknowledgeAnew()
""",
            """\
    answer = AcknowledgeAnew()
""",
        ),
    ),
    Mutant(
        "digest_not_compared",
        "I8",
        "Another content under a known MessageId passes for a repeat.",
        Edit(
            "protocol/receiving.py",
            '        "payloads": known.digest != digest,',
            '        "payloads": False,',
        ),
    ),
    Mutant(
        "header_not_compared",
        "I8",
        "Another Action under a known MessageId passes for a repeat, if the payloads are the same.",
        Edit(
            "protocol/receiving.py",
            '        "header": known.header_digest not in (None, header_digest),',
            '        "header": False,',
        ),
    ),
    Mutant(
        "expiry_before_duplicate",
        "R-18",
        "A repeat past its time is refused instead of acknowledged.",
        Edit(
            "protocol/receiving.py",
            """\
    if known is not None and known.has_key:
        awaited =\
""",
            """\
    late = _out_of_time(arrival, pair, now, terms)
    if late is not None:
        return late
    if known is not None and known.has_key:
        awaited =\
""",
        ),
    ),
    Mutant(
        "expired_is_taken",
        "I9",
        "A message past its TimeToLive is stored.",
        Edit(
            "protocol/receiving.py",
            """\
            return Case.EXPIRED
    return None\
""",
            """\
            return None
    return None\
""",
        ),
    ),
    Mutant(
        "too_old_is_taken",
        "I10",
        "A message older than PersistDuration is stored.",
        Edit(
            "protocol/receiving.py",
            """\
    if schedule.is_refused_for_age(persisted_at, now, terms):
        return Case.TOO_OLD
""",
            "",
        ),
        Edit(
            "protocol/receiving.py",
            """\
    if pair.forgotten_at is not None and arrival.timestamp_at <= pair.forgotten_at:
        return Case.TOO_OLD
""",
            "",
        ),
    ),
    Mutant(
        "gap_is_accepted",
        "I35",
        "Any number is right, so that a partner's lost messages go unnoticed.",
        Edit(
            "protocol/receiving.py",
            "    return case in (SequenceCase.NEXT, SequenceCase.RESET)",
            "    return case is not None",
        ),
    ),
    Mutant(
        "number_refused_for_good",
        "L1",
        "An operator's resume does not make the next number right.",
        Edit(
            "protocol/receiving.py",
            "takes_any_number=True, reason=None",
            "takes_any_number=False, reason=None",
        ),
    ),
    Mutant(
        "quarantine_at_once",
        "R-11",
        "The first wrong number closes the pair.",
        Edit(
            "protocol/receiving.py",
            """\
    if pair.refused_message_id is None:
""",
            """\
    if pair.refused_message_id == arrival:
""",
        ),
    ),
    Mutant(
        "quarantined_pair_stores",
        "I35",
        "A quarantined pair takes the next message as if it were open.",
        Edit(
            "protocol/receiving.py",
            """\
    if pair.status is PairStatus.QUARANTINED:
        return Case.QUARANTINED
""",
            "",
        ),
    ),
    Mutant(
        "repeat_acknowledges_what_waits",
        "I5",
        "A repeat of what was handed over takes all that is stored behind it for withheld.",
        Edit(
            "gateway/incoming/handovers.py",
            """\
        if all(one.key != debt.key for one in of_pair):
            return
""",
            "",
        ),
    ),
    Mutant(
        "collision_is_acknowledged",
        "I8",
        "Other content under a known MessageId is thrown away and acknowledged.",
        Edit(
            "protocol/receiving.py",
            "    return (row,)\n\n\ndef _refuse_number",
            "    return row, Acknowledge()\n\n\ndef _refuse_number",
        ),
    ),
    Mutant(
        "repeat_moves_the_counter",
        "I7",
        "The number of a repeat becomes the last number of its pair.",
        Edit(
            "protocol/receiving.py",
            """\
    if case is Case.IN_WORK:
        reason =\
""",
            """\
    if arrival.sequence_number is not None:
        pair = changed(pair, sequence_number=arrival.sequence_number)
    if case is Case.IN_WORK:
        reason =\
""",
        ),
    ),
    Mutant(
        "reset_is_refused",
        "I33",
        "A sequence that begins anew with 1 is taken for a wrong number.",
        Edit(
            "protocol/receiving.py",
            "    return case in (SequenceCase.NEXT, SequenceCase.RESET)",
            "    return case is SequenceCase.NEXT",
        ),
    ),
    Mutant(
        "tombstone_ignored",
        "I26",
        "A message that its sender took back is stored when a late copy of it arrives.",
        Edit(
            "protocol/receiving.py",
            """\
    if is_cancelled:
        return Case.CANCELLED
""",
            "",
        ),
    ),
    Mutant(
        "best_effort_remembered",
        "R-16",
        "The repeat of a BestEffort message is eliminated although nobody agreed to that.",
        Edit(
            "protocol/receiving.py",
            """\
    return arrival.wants_ack or arrival.wants_elimination or terms.drop_duplicates\
""",
            "    return bool(arrival.message_id)",
        ),
    ),
    Mutant(
        "at_most_once_delivered_twice",
        "I1",
        "AtMostOnce is remembered no better than BestEffort.",
        Edit(
            "protocol/receiving.py",
            """\
    return arrival.wants_ack or arrival.wants_elimination or terms.drop_duplicates\
""",
            """\
    # On the wire AtMostOnce has the word of OnceAndOnlyOnce: the agreement tells them apart.
    forgotten = (DeliverySemantics.BEST_EFFORT, DeliverySemantics.AT_MOST_ONCE)
    return terms.semantics not in forgotten or terms.drop_duplicates\
""",
        ),
        Edit(
            "protocol/receiving.py",
            "    return Reception(Case.NEW, pair, effects, _is_remembered(arrival, terms))",
            """\
    if not _is_remembered(arrival, terms):
        effects = (row, *_hand_over(wants_receipt=False))
    return Reception(Case.NEW, pair, effects, _is_remembered(arrival, terms))\
""",
        ),
    ),
)


ACKNOWLEDGING = (
    Mutant(
        "ack_before_the_commit",
        "I3",
        "The acknowledgement leaves in the step that stores the message.",
        Edit(
            "gateway/incoming/arrivals.py",
            """\
        verdict = arrival.store(txn, ground, received, is_awaited=is_awaited)
""",
            """\
        verdict = arrival.store(txn, ground, received, is_awaited=is_awaited)
        if isinstance(verdict.response, Package):
            send_to = received.admitted.agreement.send_to
            self._tasks.start(self._signals.post(send_to, verdict.response))
""",
        ),
    ),
    Mutant(
        "ack_although_the_disk_is_full",
        "I3",
        "What could not be stored for lack of space is acknowledged.",
        Edit(
            "gateway/incoming/arrivals.py",
            """\
            await self._acknowledge_known(received)
            raise
""",
            """\
            await self._acknowledge_known(received)
            from onceonly.steps.signals import acknowledgment
            package = acknowledgment(self._desk.ground(), received.admitted)
            await self._signals.post(received.admitted.agreement.send_to, package)
            raise
""",
        ),
    ),
    Mutant(
        "strict_release_ignored",
        "I11",
        "A message is handed over although its acknowledgement certainly never left.",
        Edit(
            "protocol/receiving.py",
            "certainly_never_left(transmission) and not may_have_left:",
            "transmission is None and not may_have_left:",
        ),
    ),
    Mutant(
        "withholds_what_may_have_left",
        "I11",
        "Under strict release only an acknowledgement that was surely taken releases the message.",
        Edit(
            "protocol/receiving.py",
            "certainly_never_left(transmission) and not may_have_left:",
            "transmission.outcome is not Outcome.ACCEPTED and not may_have_left:",
        ),
    ),
    Mutant(
        "withheld_behind_the_next",
        "I16",
        "What was withheld does not go before the next message of its pair.",
        Edit(
            "gateway/incoming/handovers.py",
            """\
            await self._hand_over_withheld_before(debt)
""",
            """\
            pass
""",
        ),
    ),
    Mutant(
        "hand_over_before_the_ack",
        "I11",
        "Every message is handed over in the step that stores it.",
        Edit(
            "protocol/receiving.py",
            """\
    if terms.ack_status.is_passed_on:
        return (*release, Acknowledge())
""",
            """\
    if terms.ack_status:
        return (*release, Acknowledge())
""",
        ),
    ),
    Mutant(
        "hand_over_out_of_turn",
        "I16",
        "A hand-over does not wait for the one before it.",
        Edit(
            "gateway/incoming/handovers.py",
            """\
        await self._serve(place.debt.key.pair)
""",
            """\
        await self._hand_over([(place.debt, transmission)])
        line = self._lines[place.debt.key.pair]
        line.places.remove(place)
        place.left.set_result(None)
        if not line.places:
            del self._lines[place.debt.key.pair]
""",
        ),
    ),
    Mutant(
        "hand_over_of_the_first_only",
        "L2",
        "Of several messages that are ready in one step the first alone is handed over.",
        Edit(
            "steps/handing_over.py",
            "for one in ready:",
            "for one in ready[:1]:",
        ),
    ),
    Mutant(
        "hand_over_of_the_last_first",
        "I16",
        "Several messages that are ready in one step are handed over from the end.",
        Edit(
            "steps/handing_over.py",
            "for one in ready:",
            "for one in reversed(ready):",
        ),
    ),
    Mutant(
        "stored_forgotten_at_restart",
        "L2",
        "What was stored and not handed over at the crash is not taken up.",
        Edit(
            "gateway/incoming/receiver.py",
            """\
        await self._hand_overs.start()
""",
            "",
        ),
    ),
    Mutant(
        "handed_over_on_every_ack",
        "I1",
        "Each acknowledgement that ends hands the message over.",
        Edit(
            "protocol/receiving.py",
            """\
    if status is not InboundStatus.STORED:
        return status, (row,)
""",
            """\
    if status is InboundStatus.CANCELLED:
        return status, (row,)
""",
        ),
        Edit(
            "store/memory/writing.py",
            """\
        if row.offset is not None:
            return row.offset
        assert row.status is InboundStatus.STORED\
""",
            "        assert row.status is not InboundStatus.CANCELLED",
        ),
    ),
    Mutant(
        "redelivered_after_a_crash",
        "I12",
        "A restart hands over what it had handed over and nobody has begun to work on.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    for number, row in tuple(tables.inbound.items()):
        if row.status == "handed_over" and row.processing == "not-started":
            stored = changed(row, status=type(row.status)("stored"), offset=None)
            tables.inbound[number] = stored
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "hand_over_lost_on_a_full_disk",
        "L2",
        "A hand-over that meets a full disk is not tried again.",
        Edit(
            "gateway/incoming/handovers.py",
            "handed_over = await self._desk.persist(",
            "handed_over = await self._desk.transact(",
        ),
    ),
    Mutant(
        "sync_reply_is_an_ack",
        "I30",
        "Whatever comes back in the answer of the transport counts as the acknowledgement.",
        Edit(
            "gateway/desk.py",
            """\
            await self.take_reply(endpoint, reply, Answered(message_id, agreement.id))
""",
            """\
            from onceonly.protocol.events import AckReceived
            said = AckReceived("in the answer")
            await self._tell(MessageWork(message_id, said))
""",
        ),
    ),
    Mutant(
        "damaged_is_stored",
        "I2",
        "A transfer that broke off is taken for a whole package.",
        Edit(
            "gateway/incoming/receiver.py",
            """\
                async for chunk in chunks:
                    _feed(decoder, chunk, place)
""",
            """\
                try:
                    async for chunk in chunks:
                        _feed(decoder, chunk, place)
                except TransferBroken:
                    boundary = request.content_type.split('boundary="')[1].split('"')[0]
                    decoder.feed(b"\\r\\n--" + boundary.encode() + b"--\\r\\n")
""",
        ),
    ),
)


APPLICATION = (
    Mutant(
        "refused_in_silence",
        "L4",
        "What is refused leaves a row, and its sender hears nothing.",
        Edit(
            "gateway/incoming/errors.py",
            """\
        await self._post_error(admitted.agreement, admitted.error_uri, key, package, answer)
""",
            """\
        assert package
""",
        ),
    ),
    Mutant(
        "receipt_never_sent",
        "I4",
        "Whoever asks for a delivery receipt waits for it in vain.",
        Edit(
            "protocol/receiving.py",
            "    receipt = (SendReceipt(),) if wants_receipt else ()",
            "    receipt = ()",
        ),
    ),
    Mutant(
        "processing_goes_backwards",
        "I44",
        "An application that reports an earlier state is believed.",
        Edit(
            "protocol/keeping.py",
            "    return _FORWARD.index(told) >= _FORWARD.index(current)",
            "    return told in _FORWARD and current in _FORWARD",
        ),
    ),
    Mutant(
        "owed_notice_volatile",
        "I22",
        "A DeliveryFailure notice is owed in memory only.",
        Edit(
            "steps/processing.py",
            """\
    txn.put_owed_notice(notice)
""",
            "",
        ),
        Edit(
            "steps/notices.py",
            """\
        txn.put_owed_notice(changed(notice, attempts=tried))
""",
            """\
        pass
""",
        ),
    ),
    Mutant(
        "owed_notice_tried_once",
        "L3",
        "A notice that the partner could not take is not tried again.",
        Edit(
            "steps/notices.py",
            """\
    is_over = transmission.outcome is Outcome.ACCEPTED or tried > RETRIES_MAX
""",
            """\
    is_over = True
""",
        ),
    ),
    Mutant(
        "owed_notices_forgotten_at_restart",
        "L3",
        "Notices that were owed at the crash are not taken up.",
        Edit(
            "gateway/incoming/receiver.py",
            """\
        await self._desk.failure_notices.start()
""",
            "",
        ),
    ),
)

MUTANTS = (*DECISIONS, *ACKNOWLEDGING, *APPLICATION)
