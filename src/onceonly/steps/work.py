"""The words that pass between the machines of the sending side."""

from onceonly.message.identity import Pair
from onceonly.message.word import Word
from onceonly.protocol import pairing, recovering
from onceonly.protocol.events import SendingEvent


class MessageWork(Word):
    """An event for a message's machine."""

    message_id: str
    event: SendingEvent


class TakeUpWork(Word):
    """On an operator's word: what a bug of ours parked goes out once more (R-43)."""

    message_id: str
    reason: str


class AgainWork(Word):
    """The content of a message that ended goes out as a new one; whoever asks has looked (R-41)."""

    message_id: str
    reason: str


class PairWork(Word):
    """An event for a pair's machine."""

    pair: Pair
    event: pairing.PairEvent


class NextWork(Word):
    """Look for the longest-waiting message of the pair, once all before this is done."""

    pair: Pair


class RecoveryWork(Word):
    """An event for the recovery of a message."""

    message_id: str
    event: recovering.RecoveryEvent


Work = MessageWork | PairWork | NextWork | RecoveryWork | TakeUpWork | AgainWork
