"""Which deeds a page offers, and which one it recommends, by what is known.

It only says what makes sense for people to try: whether a deed is done, the API decides.
"""

from typing import Final

from onceonly.api import doubts
from onceonly.api.doubts import is_parked
from onceonly.api.inbox import InboxItem
from onceonly.api.messages import MessageDetail
from onceonly.console import deeds
from onceonly.console.deeds import Deed
from onceonly.message.word import Word


class Advice(Word, kw_only=True):
    """One recommended deed, why, and its risk in words."""

    deed: Deed
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
    is_undelivered = message.state in ("failed", "expired", "cancelled", "settled_not_delivered")
    if message.state == "in_doubt" or is_undelivered:
        offered.append(deeds.RESEND)
    if message.state == "in_doubt":
        offered.append(deeds.NEW_VERSION)
    if message.state in ("queued", "sending", "in_doubt"):
        offered.append(deeds.CANCEL)
    is_uncertain = message.state == "failed" and message.is_certain is False
    if message.state in ("in_doubt", "settled_delivered") or is_uncertain:
        offered.append(deeds.ANYWAY)
    if message.state == "in_doubt":
        offered += deeds.SETTLE
    return tuple(offered)


def of_item(item: InboxItem) -> tuple[Deed, ...]:
    """What can be tried with a received message."""
    if item.processing == "complete":
        return (deeds.REDELIVER,)
    begun = item.processing == "in-progress"
    return (*(() if begun else (deeds.BEGIN,)), deeds.COMPLETE, deeds.REFUSE, deeds.REDELIVER)


_DEEDS: Final[dict[doubts.Remedy, Deed]] = {
    "take-up": deeds.TAKE_UP,
    "resend": deeds.RESEND,
    "new-version": deeds.NEW_VERSION,
    "ask": deeds.ASK,
}


def advice_for(message: MessageDetail) -> Advice:
    """What to do about a message in doubt, as `doubt list` says it, too."""
    advice = doubts.advice_for(message)
    return Advice(deed=_DEEDS[advice.do], why=advice.why, risk=advice.risk)
