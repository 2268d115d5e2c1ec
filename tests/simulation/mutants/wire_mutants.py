"""Bugs of the wire: bytes that are not the application's any more, other signals."""

from mutant import Edit, Mutant

MUTANTS = (
    Mutant(
        "payload_trimmed",
        "I2",
        "White space at the end of a payload is dropped.",
        Edit(
            "wire/envelope.py",
            """\
                sink.write(part)
""",
            """\
                sink.write(part.rstrip() or part)
""",
        ),
        Edit(
            "wire/assembly.py",
            """\
            self._sinks[-1].write(data)
""",
            """\
            self._sinks[-1].write(bytes(data).rstrip() or bytes(data))
""",
        ),
    ),
    Mutant(
        "payloads_reversed",
        "I2",
        "The payloads of a message are kept in another order.",
        Edit(
            "wire/envelope.py",
            """\
            content = changed(content, payloads=tuple(payloads))
""",
            """\
            content = changed(content, payloads=tuple(payloads[::-1]))
            sinks.reverse()
""",
        ),
        Edit(
            "wire/assembly.py",
            """\
            content = changed(content, payloads=tuple(self._payloads))
""",
            """\
            content = changed(content, payloads=tuple(self._payloads[::-1]))
            self._sinks.reverse()
""",
        ),
    ),
    Mutant(
        "reference_lost",
        "I2",
        "A business message does not say any more which one it answers.",
        Edit(
            "wire/rm2000/writing.py",
            '            message.ref_to_message_id or "",',
            '            "",',
        ),
    ),
    Mutant(
        "action_not_digested",
        "I2",
        "What a box on the way writes as Action is proven by neither journal.",
        Edit(
            "wire/header_digest.py",
            "        message.action,",
            '        "",',
        ),
    ),
    Mutant(
        "ack_refers_to_itself",
        "I6",
        "The acknowledgement refers to the conversation, not to the message.",
        Edit(
            "steps/signals.py",
            "    header = signal_header(ground, hop, admitted.message.message_id)\n",
            "    header = signal_header(ground, hop, admitted.message.conversation_id)\n",
        ),
    ),
    Mutant(
        "ack_from_the_wrong_side",
        "I6",
        "The acknowledgement names the sender of the message as its own sender.",
        Edit(
            "steps/signals.py",
            """\
        from_ids=(PartyId(hop.our_uri),) if is_hop else hop.our_ids,
        to_ids=(PartyId(hop.their_uri),) if is_hop else hop.their_ids,
""",
            """\
        from_ids=(PartyId(hop.their_uri),) if is_hop else hop.our_ids,
        to_ids=(PartyId(hop.our_uri),) if is_hop else hop.their_ids,
""",
        ),
    ),
    Mutant(
        "signals_answered",
        "E2",
        "An acknowledgement that fits no message is answered with an error.",
        Edit(
            "gateway/incoming/receiver.py",
            """\
        await self._refusals.write(row, agreement_id=whose)
        snapshot = self._desk.snapshot()
""",
            """\
        agreement = self._house.agreements.find(signal.header.agreement_id)
        if agreement is not None and isinstance(signal, Acknowledgment):
            about = About("Signal", agreement.id, (), signal.header.message_id)
            error = RemoteError(ErrorCode.UNKNOWN, reason)
            self._tasks.start(self._signals.send_rejection(about, agreement, error))
        await self._refusals.write(row, agreement_id=whose)
        snapshot = self._desk.snapshot()
""",
        ),
    ),
)
