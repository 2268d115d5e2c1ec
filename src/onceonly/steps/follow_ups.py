"""Which work for another machine follows from what one machine of the sending side wants."""

from onceonly.protocol import pairing, recovering
from onceonly.protocol.effects import (
    AdmitNext,
    Diverge,
    Effect,
    GiveUp,
    Recover,
    Release,
    TellTrouble,
)
from onceonly.protocol.ordering import MessageWaits
from onceonly.steps.conversations import is_ordered
from onceonly.steps.ground import House
from onceonly.steps.work import NextWork, OrderWork, PairWork, RecoveryWork, Work
from onceonly.store.contract.entries import OutboundEntry


def queued(house: House, entry: OutboundEntry) -> PairWork:
    """The work that tells the pair that the message waits for its turn."""
    terms = house.agreement(entry.agreement_id).terms
    event = pairing.MessageQueued(entry.message_id, terms.window, terms.numbers_messages)
    return PairWork(entry.pair, event)


def enqueued(house: House, entry: OutboundEntry) -> Work:
    """The work for a message that was just stored: its conversation comes before its pair."""
    if is_ordered(house.agreement(entry.agreement_id)):
        return OrderWork(entry.message_id, MessageWaits(entry.message_id))
    return queued(house, entry)


def told_by_message(entry: OutboundEntry, effect: Effect) -> Work:
    """The work for another machine that follows from an effect of a message."""
    match effect:
        case Release(abandoned, is_numbered):
            settled = pairing.MessageSettled(entry.message_id, abandoned, is_numbered)
            return PairWork(entry.pair, settled)
        case AdmitNext():
            return NextWork(entry.pair)
        case GiveUp(reason):
            return PairWork(entry.pair, pairing.MessageGivenUp(entry.message_id, reason))
        case Diverge(reason):
            return PairWork(entry.pair, pairing.SequenceDiverged(entry.message_id, reason))
        case TellTrouble(cause):
            return PairWork(entry.pair, pairing.TroubleMet(cause))
        case Recover(reason, is_told):
            return RecoveryWork(entry.message_id, recovering.GivenUp(reason, is_told))
        case _:
            raise AssertionError(f"{effect} is no effect of a message")
