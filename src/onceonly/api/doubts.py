"""What to do about a message in doubt: one thing, the safest that brings an answer.

Pure: reads what the API shows of the message. The console's desk and `onceonly doubt` both say it.
"""

from typing import Final, Literal

from onceonly.api.messages import MessageDetail
from onceonly.message.event import Event
from onceonly.message.word import Word

Remedy = Literal["take-up", "resend", "new-version", "ask"]
"""Take up what a bug set aside; send the same bytes again; have the message cancelled, and send its
content as a new one; ask the partner."""


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
        bug = "A bug of onceonly set it aside; the last line of its way names the bug."
        risk = "None for the message. If the bug is still there, it will be set aside again."
        return Advice(do="take-up", why=bug, risk=risk)
    why = _why_again(message)
    if why is not None and message.way_on == "resend":
        return Advice(do="resend", why=why, risk=safe)
    if why == _NO_RECORD and message.way_on == "new-version":
        why = f"{why} It cannot be sent again as it is, but its content can, as a new message."
        risk = (
            "None: it goes out only when the partner has confirmed that the old one is cancelled."
        )
        return Advice(do="new-version", why=why, risk=risk)
    risk = "None: asking changes nothing at the partner."
    return Advice(do="ask", why=_why_ask(message), risk=risk)


_NO_RECORD: Final = "The partner says that it has no record of the message."
_HAS_IT: Final = "The partner says that it has the message, but has not acknowledged it."
_CLOSED: Final = (
    "Its pair is closed. Sending it again resumes it, and a partner that is back answers."
)


def _why_again(message: MessageDetail) -> str | None:
    """What sending it again would bring; None where asking brings as much."""
    said = _said(message)
    if said == _NO_RECORD:
        return said
    is_closed = message.pair is not None and message.pair.state != "open"
    return _CLOSED if is_closed else said


def _said(message: MessageDetail) -> str | None:
    status = None if message.recovery is None else message.recovery.status
    if status == "NotRecognized":
        return _NO_RECORD
    return _HAS_IT if status in ("Received", "Processed", "Forwarded") else None


def _why_ask(message: MessageDetail) -> str:
    said = [one for one in (_said(message),) if one is not None]
    if message.resent_as is not None:
        said.append(f"Its content was sent again already, as {message.resent_as}.")
    elif said:
        said.append("It cannot be sent again as it is.")
    if not said:
        return "The partner can say whether it has the message. Nobody here can know it."
    last = "Ask the partner once more, or its people, and settle the doubt by your word."
    return " ".join((*said, last))


def is_parked(message: MessageDetail) -> bool:
    """Whether a bug set it aside, and nobody has taken it up or settled it."""
    ends = (Event.PARKED, Event.TAKEN_UP, Event.SETTLED)
    waits = [row.event for row in message.timeline if row.event in ends]
    return waits[-1:] == [Event.PARKED]
