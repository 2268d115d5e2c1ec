"""What to do about a message in doubt: one thing, the safest that brings an answer.

Pure: reads what the API shows of the message. The console's desk and `onceonly doubt` both say it.
"""

from typing import Literal

from onceonly.api.messages import MessageDetail
from onceonly.message.event import Event
from onceonly.message.word import Word

Remedy = Literal["take-up", "resend", "ask"]
"""Take up what a bug set aside; send the same bytes again; ask the partner."""


class Advice(Word, kw_only=True):
    """One recommended remedy, why, and its risk in words."""

    do: Remedy
    why: str
    risk: str


def advice_for(message: MessageDetail) -> Advice:
    """The remedy for a message in doubt.

    A person's word is never recommended: it takes an answer that only a person can get.
    """
    safe = "None: the partner eliminates a repeat, so that its application never has it twice."
    if is_parked(message):
        why = "A bug of onceonly set it aside; the last line of its way names the bug."
        risk = "None for the message. If the bug is still there, it will be set aside again."
        return Advice(do="take-up", why=why, risk=risk)
    said = None if message.recovery is None else message.recovery.status
    if said == "NotRecognized":
        why = "The partner says that it has no record of the message."
        return Advice(do="resend", why=why, risk=safe)
    if message.pair is not None and message.pair.state != "open":
        why = "Its pair is closed. Sending it again resumes it, and a partner that is back answers."
        return Advice(do="resend", why=why, risk=safe)
    if said in ("Received", "Processed", "Forwarded"):
        why = "The partner says that it has the message, but has not acknowledged it."
        return Advice(do="resend", why=why, risk=safe)
    why = "The partner can say whether it has the message. Nobody here can know it."
    risk = "None: asking changes nothing at the partner."
    return Advice(do="ask", why=why, risk=risk)


def is_parked(message: MessageDetail) -> bool:
    """Whether a bug set it aside, and nobody has taken it up or settled it."""
    ends = (Event.PARKED, Event.TAKEN_UP, Event.SETTLED)
    waits = [row.event for row in message.timeline if row.event in ends]
    return waits[-1:] == [Event.PARKED]
