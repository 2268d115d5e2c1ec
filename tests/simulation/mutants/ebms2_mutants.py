"""Bugs in what only `ebms-2.0` has: the order of conversations, and signatures."""

from mutant import Edit, Mutant

TWO_OF_A_CONVERSATION = Mutant(
    "two_of_a_conversation",
    "O4",
    "A message of a conversation leaves although another one is not acknowledged.",
    Edit(
        "protocol/ordering.py",
        "        MessageWaits: _stay,\n        MessageArrived: _go_on,\n",
        "        MessageWaits: _give_turn,\n        MessageArrived: _go_on,\n",
    ),
)

NOT_HELD = Mutant(
    "later_number_not_held",
    "O2",
    "A message whose number is later than the expected one is handed over at once.",
    Edit(
        "protocol/ordering.py",
        "    if place == state.place:\n        is_unsaid",
        "    if place >= state.place:\n        is_unsaid",
    ),
)

RELEASED_BACKWARDS = Mutant(
    "released_out_of_order",
    "O1",
    "What was held is handed over with the message that was missing, the last one first.",
    Edit(
        "steps/holding.py",
        "    for placed in txn.list_placed(conversation, 0, FOLLOWING_MAX):\n",
        "    for placed in reversed(txn.list_placed(conversation, 0, FOLLOWING_MAX)):\n",
    ),
)

HELD_FORGOTTEN = Mutant(
    "dropped_by_nobody",
    "O3",
    "What an operator drops is given up without his name.",
    Edit(
        "steps/holding.py",
        "Journal(Event.DROPPED, actor=actor, reason=reason)",
        "Journal(Event.DROPPED, reason=f'{actor}: {reason}')",
    ),
)

BLOCKING_FORGOTTEN = Mutant(
    "blocking_message_forgotten",
    "O4",
    "A purge forgets the message that blocks its conversation, and the next one follows it.",
    Edit(
        "store/memory/writing.py",
        "            and self._in_turn_with(row.message) != message_id\n",
        "",
    ),
)

NUMBERS_FOR_EVER = Mutant(
    "numbers_never_over",
    "R-34",
    "A sender counts on although its receiver has forgotten the conversation.",
    Edit(
        "steps/conversations.py",
        "        return ordering.forgotten(state) if is_over else state\n",
        "        return state if is_over else state\n",
    ),
)

WITHOUT_SIGNATURE = Mutant(
    "stored_without_signature",
    "R-30",
    "A message that lacks the signature that was agreed is stored all the same.",
    Edit(
        "steps/signing.py",
        "    if found is None:\n        if requires(terms, content):\n",
        "    if found is None:\n        if requires(terms, content) and content is None:\n",
    ),
)

DIGEST_NOT_COMPARED = Mutant(
    "digests_not_compared",
    "R-30",
    "A signature is verified, and what it covers is not compared with it.",
    Edit(
        "steps/signing.py",
        """\
        check_digests(
            signature,
            forms,
            envelope.part_digests,
            [payload.content_id for payload in payloads],
            accepts_sha1=terms.accepts_sha1,
        )
""",
        "        assert payloads is not None and check_digests is not None\n",
    ),
)

ANY_ACK_PROVES = Mutant(
    "unsigned_acknowledgement_counts",
    "R-31",
    "An acknowledgement without a signature acknowledges, though a signed one was asked for.",
    Edit(
        "steps/evidence.py",
        """\
        _refuse(txn, ground, entry, agreement, _NOT_SIGNED)
        return False
""",
        "        return True\n",
    ),
)

EVIDENCE_NOT_KEPT = Mutant(
    "evidence_not_kept",
    "R-31",
    "A signed acknowledgement counts, and is not kept.",
    Edit("steps/evidence.py", "    txn.add_evidence(proof)\n    _note", "    _note"),
)

MUTANTS = (
    TWO_OF_A_CONVERSATION,
    NOT_HELD,
    RELEASED_BACKWARDS,
    HELD_FORGOTTEN,
    BLOCKING_FORGOTTEN,
    NUMBERS_FOR_EVER,
    WITHOUT_SIGNATURE,
    DIGEST_NOT_COMPARED,
    ANY_ACK_PROVES,
    EVIDENCE_NOT_KEPT,
)
"""Every mutant, in one list."""
