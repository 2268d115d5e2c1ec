"""Bugs of intermediaries: relays that say more than they heard, and custody that is lost."""

from mutant import Edit, Mutant

MUTANTS = (
    Mutant(
        "relay_acknowledges_early",
        "I36",
        "A relay acknowledges what it has stored, before the next hop did.",
        Edit(
            "gateway/relaying/transits.py",
            """\
        self._carry_out(heard, package=passage.package, payloads=passage.payloads)
""",
            """\
        self._carry_out(heard, package=passage.package, payloads=passage.payloads)
        from types import SimpleNamespace
        from onceonly.message.signals import PLAIN_ACK
        ack = SimpleNamespace(status=PLAIN_ACK, is_receipt=False, element=None,
            header=SimpleNamespace(timestamp_at=self._desk.clock.at()))
        self._tasks.start(self._relay_acknowledgment(heard.entry, ack))
""",
        ),
    ),
    Mutant(
        "relay_acknowledges_the_unreachable",
        "I39",
        "A relay whose next hop took nothing acknowledges upstream all the same.",
        Edit(
            "gateway/relaying/transits.py",
            """\
        if heard is not None:
            self._carry_out(heard)
""",
            """\
        if heard is not None:
            from types import SimpleNamespace
            from onceonly.message.signals import PLAIN_ACK
            ack = SimpleNamespace(status=PLAIN_ACK, is_receipt=False, element=None,
                header=SimpleNamespace(timestamp_at=self._desk.clock.at()))
            for effect in heard.effects:
                if isinstance(effect, AnswerUpstream):
                    self._tasks.start(self._relay_acknowledgment(heard.entry, ack))
""",
        ),
    ),
    Mutant(
        "relay_drops_repeats",
        "L4",
        "A relay sends on only the first copy of a message.",
        Edit(
            "protocol/relaying.py",
            """\
    (_FORWARDING, Arrived): _send_on,
""",
            """\
    (_FORWARDING, Arrived): lambda state, event, terms: (
        _send_on(state, event, terms) if not state.copies else (state, ())
    ),
""",
        ),
    ),
    Mutant(
        "relay_answers_repeats_itself",
        "L1",
        "After an acknowledgement a relay sends nothing on and says nothing more.",
        Edit(
            "protocol/relaying.py",
            """\
    (_ACKNOWLEDGED, Arrived): _send_on_again,
""",
            """\
    (_ACKNOWLEDGED, Arrived): lambda state, event, terms: (state, ()),
""",
        ),
    ),
    Mutant(
        "relay_loses_the_number",
        "I38",
        "The RoutingHeader of a relay has no SequenceNumber.",
        Edit(
            "gateway/relaying/relay.py",
            """\
            sequence_number=previous.sequence_number,
""",
            """\
            sequence_number=None,
""",
        ),
    ),
    Mutant(
        "relay_keeps_errors_to_itself",
        "I21",
        "What the next hop refuses is not passed back.",
        Edit(
            "protocol/relaying.py",
            """\
    return state, (_error_row(event), answer)
""",
            """\
    del answer
    return state, (_error_row(event),)
""",
        ),
    ),
    Mutant(
        "relay_changes_the_code",
        "I21",
        "Whatever the next hop refuses a message for, the previous one hears of a failure.",
        Edit(
            "protocol/relaying.py",
            "    answer = AnswerUpstream(event.code, event.severity,",
            "    answer = AnswerUpstream(ErrorCode.DELIVERY_FAILURE, event.severity,",
        ),
    ),
    Mutant(
        "relay_keeps_no_record",
        "E2",
        "What a relay passes back leaves no row in its journal.",
        Edit(
            "gateway/relaying/transits.py",
            """\
        await self._upstream.send(subject, package, event)
""",
            """\
        await self._upstream.post(subject, package)
""",
        ),
    ),
    Mutant(
        "relay_does_not_take_up",
        "L4",
        "A restarted relay does not send on what it had stored.",
        Edit(
            "gateway/relaying/relay.py",
            """\
        await self._transits.start()
""",
            "",
        ),
    ),
    Mutant(
        "accepts_before_it_stores",
        "I37",
        "An accepting intermediary acknowledges in the step that stores the message.",
        Edit(
            "gateway/relaying/custodies.py",
            """\
            taken = await self._desk.transact(
                lambda txn, ground: custody.take(txn, ground, passage, subject), point="commit"
            )
""",
            """\
            def take(txn, ground):
                taken = custody.take(txn, ground, passage, subject)
                if taken.acknowledge is not None:
                    self._tasks.start(self._acknowledge(subject, taken.acknowledge))
                return taken

            taken = await self._desk.transact(take, point="commit")
""",
        ),
    ),
    Mutant(
        "custody_not_taken_up",
        "I37",
        "A restarted intermediary does not go on with what it accepted.",
        Edit(
            "steps/taking_up.py",
            """\
 for entry in snapshot.list_in_flight()),
""",
            """\
 for entry in snapshot.list_in_flight()
          if not snapshot.find_inbound(snapshot.find_outbound_view(entry.message_id).message.key)),
""",
        ),
    ),
    Mutant(
        "custody_lost_in_a_crash",
        "I37",
        "What an intermediary accepted is only in its memory.",
        Edit(
            "store/memory/store.py",
            """\
    # They were measured on the monotonic clock of a process that has ended.
""",
            """\
    for name, row in tuple(tables.outbound.items()):
        number = tables.known.get(row.message.key)
        if number is not None and tables.inbound[number].status == 'forwarded':
            del tables.outbound[name]
            tables.packages.pop(name, None)
            state = tables.sending[row.message.pair]
            left = tuple(one for one in state.in_flight if one != name)
            tables.sending[row.message.pair] = changed(state, in_flight=left)
    # They were measured on the monotonic clock of a process that has ended.
""",
        ),
    ),
    Mutant(
        "custody_failure_unsaid",
        "I37",
        "An intermediary gives up what it accepted and tells nobody.",
        Edit(
            "steps/turn.py",
            """\
        if agreement.is_route:
            return self._owe(\
""",
            """\
        if agreement.is_route:
            return
            self._owe(\
""",
        ),
    ),
    Mutant(
        "custody_failure_volatile",
        "I22",
        "The notice to the From Party is not owed durably.",
        Edit(
            "steps/turn.py",
            """\
        self._txn.put_owed_notice(notice)
        self._owed.append(notice)
""",
            """\
        self._owed.append(notice)
""",
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
        "custody_forgets_repeats",
        "I37",
        "An intermediary takes each copy that it accepts for a new message.",
        Edit(
            "steps/custody.py",
            """\
        find_known(txn, key, entry),
""",
            """\
        None,
""",
        ),
    ),
    Mutant(
        "receipt_is_an_ack_upstream",
        "I36",
        "A relay takes a delivery receipt of the final party for its acknowledgement.",
        Edit(
            "steps/transit.py",
            """\
    if signal.is_receipt:
        _note(\
""",
            """\
    if signal.is_receipt and entry is None:
        _note(\
""",
        ),
    ),
    Mutant(
        "owed_notice_never_settled",
        "L3",
        "A notice that was taken is still owed, and goes out again at every start.",
        Edit(
            "steps/notices.py",
            """\
        txn.remove_owed_notice(notice.key)
""",
            """\
        assert notice.key
""",
        ),
    ),
)
