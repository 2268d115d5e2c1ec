"""Bugs of what operators hear of partners, and of what goes out again as a new message."""

from mutant import Edit, Mutant

MUTANTS = (
    Mutant(
        "doubt_goes_out_again",
        "R-41",
        "What the fence alone ended counts as certainly not delivered.",
        Edit(
            "protocol/verdict.py",
            "changed(state, status=OutboundStatus.FAILED, silence=Silence.NONE)",
            "changed(state, status=OutboundStatus.FAILED, silence=Silence.NONE, is_certain=True)",
        ),
    ),
    Mutant(
        "goes_out_again_twice",
        "R-41",
        "Nobody looks whether the content went out again already.",
        Edit(
            "steps/again.py",
            "    if view.resent_as is not None:\n",
            "    if view.resent_as == view.resend_of != None:\n",
        ),
    ),
    Mutant(
        "settled_and_untold",
        "R-49",
        "The application hears nothing of an operator's word.",
        Edit(
            "protocol/settling.py",
            "    return state, (row, *told, turn)",
            "    return state, (row, *told[2:], turn)",
        ),
    ),
    Mutant(
        "settled_and_asked_on",
        "R-49",
        "The questions about a message go on after an operator has ended its doubt.",
        Edit(
            "protocol/recovering.py",
            "    return _rest(state) if is_delivered else _withdrawn(state), ()",
            "    return state, ()",
        ),
    ),
    Mutant(
        "settled_keeps_its_turn",
        "R-49",
        "A message whose doubt an operator ended holds up its pair.",
        Edit(
            "protocol/settling.py",
            "    return state, (row, *told, turn)",
            "    return state, (row, *told)",
        ),
    ),
    Mutant(
        "trouble_untold",
        "R-40",
        "Where a pair goes on, nobody hears that a message was given up.",
        Edit(
            "protocol/verdict.py",
            "    return state, (*effects, TellTrouble(reason), *_recovery(state, reason, terms))",
            "    return state, (*effects, *_recovery(state, reason, terms))",
        ),
    ),
    Mutant(
        "trouble_without_an_end",
        "R-40",
        "An acknowledgement does not end the trouble with a partner.",
        Edit(
            "protocol/sending.py",
            "        case AckReceived() | CancelConfirmed():\n            return True",
            "        case AckReceived() | CancelConfirmed():\n            return False",
        ),
    ),
)
