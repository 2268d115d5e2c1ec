"""The values that the machines of the sending side pass to each other."""

from onceonly.message.identity import Pair
from onceonly.message.word import Word
from onceonly.protocol import pairing, recovering
from onceonly.protocol.events import SendingEvent
from onceonly.protocol.ordering import OrderEvent


class MessageWork(Word):
    """An event for a message's machine."""

    message_id: str
    event: SendingEvent


class TakeUpWork(Word):
    """An operator asks for it: a message that a bug of ours parked is sent once more (R-43)."""

    message_id: str
    reason: str


class AgainWork(Word):
    """Send the content of a message that ended as a new one; the caller has checked it (R-41)."""

    message_id: str
    reason: str


class PairWork(Word):
    """An event for a pair's machine."""

    pair: Pair
    event: pairing.PairEvent


class NextWork(Word):
    """Look for the longest-waiting message of the pair, after all earlier work is done."""

    pair: Pair


class OrderWork(Word):
    """An event for the ordered conversation of a message of ours."""

    message_id: str
    event: OrderEvent


class RecoveryWork(Word):
    """An event for the recovery of a message."""

    message_id: str
    event: recovering.RecoveryEvent


Work = MessageWork | PairWork | NextWork | OrderWork | RecoveryWork | TakeUpWork | AgainWork
