"""Which deeds a page offers, and which one it recommends, by what is known.

It only says what makes sense for people to try: whether a deed is done, the API decides.
"""

from onceonly.api.inbox import InboxItem
from onceonly.api.messages import MessageDetail
from onceonly.console import deeds
from onceonly.console.deeds import Deed
from onceonly.message.event import Event
from onceonly.message.word import Word


class Advice(Word, kw_only=True):
    """One recommended deed, why, and its risk in words."""

    deed: Deed | None
    why: str
    risk: str


def of_message(message: MessageDetail) -> tuple[Deed, ...]:
    """What can be tried with an outbound message."""
    offered: list[Deed] = []
    was_sent = message.attempt > 0
    if is_parked(message):
        offered.append(deeds.TAKE_UP)
    if was_sent and message.state != "acknowledged":
        offered.append(deeds.ASK)
    if message.state in ("in_doubt", "failed", "expired", "cancelled"):
        offered.append(deeds.RESEND)
    if message.state == "in_doubt":
        offered.append(deeds.NEW_VERSION)
    if message.state in ("queued", "sending", "in_doubt"):
        offered.append(deeds.CANCEL)
    is_uncertain = message.state == "failed" and message.is_certain is False
    if message.state == "in_doubt" or is_uncertain:
        offered.append(deeds.ANYWAY)
    return tuple(offered)


def is_parked(message: MessageDetail) -> bool:
    """Whether a bug set it aside and nobody has taken it up."""
    waits = [row.event for row in message.timeline if row.event in (Event.PARKED, Event.TAKEN_UP)]
    return waits[-1:] == [Event.PARKED]


def of_item(item: InboxItem) -> tuple[Deed, ...]:
    """What can be tried with a received message."""
    if item.processing == "complete":
        return (deeds.REDELIVER,)
    begun = item.processing == "in-progress"
    return (*(() if begun else (deeds.BEGIN,)), deeds.COMPLETE, deeds.REFUSE, deeds.REDELIVER)


def advice_for(message: MessageDetail) -> Advice:
    """What to do about a message in doubt: one thing, the safest that brings an answer."""
    safe = "None: the partner eliminates a repeat, so that its application never has it twice."
    if is_parked(message):
        why = "A bug of onceonly set it aside; the last line of its way names the bug."
        risk = "None for the message. If the bug is still there, it will be set aside again."
        return Advice(deed=deeds.TAKE_UP, why=why, risk=risk)
    said = None if message.recovery is None else message.recovery.status
    if said == "NotRecognized":
        why = "The partner says that it has no record of the message."
        return Advice(deed=deeds.RESEND, why=why, risk=safe)
    if message.pair is not None and message.pair.state != "open":
        why = "Its pair is closed. Sending it again resumes it, and a partner that is back answers."
        return Advice(deed=deeds.RESEND, why=why, risk=safe)
    if said in ("Received", "Processed", "Forwarded"):
        why = "The partner says that it has the message, but has not acknowledged it."
        return Advice(deed=deeds.RESEND, why=why, risk=safe)
    why = "The partner can say whether it has the message. Nobody here can know it."
    risk = "None: asking changes nothing at the partner."
    return Advice(deed=deeds.ASK, why=why, risk=risk)
