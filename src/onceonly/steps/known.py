"""What the store remembers of a message that arrives, for the decision about it (R-01, R-37)."""

from onceonly.message.identity import MessageKey
from onceonly.message.message import AckRequested, Message
from onceonly.protocol.receiving import Known, Stamp
from onceonly.store.contract.entries import InboundEntry
from onceonly.store.contract.store import Snapshot


def find_known(
    snapshot: Snapshot, key: MessageKey, entry: InboundEntry | None, *, has_response: bool = True
) -> Known | None:
    """The message with the key, read as `entry`; else a BestEffort one without a key (R-16)."""
    if entry is None:
        other = snapshot.find_inbound_without_key(key)
        if other is None:
            return None
        return Known(other.digest, header_digest=other.header_digest, has_key=False)
    message = snapshot.find_inbound_message(entry.key)
    stamp = None  # Stored by an old version, which did not keep what the hop asked for.
    if message is not None and entry.header_digest is not None:
        stamp = stamp_of(message, entry.ack_requested)
    return Known(entry.digest, has_response, entry.header_digest, stamp=stamp)


def stamp_of(message: Message, ack_requested: AckRequested | None) -> Stamp:
    """What another copy may say differently; `ack_requested` is of the hop that brought it."""
    return Stamp(
        message.timestamp_at,
        message.time_to_live_at,
        ack_requested,
        message.delivery_receipt_requested,
    )
