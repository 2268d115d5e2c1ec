"""What is posted about one event, and its signature, as Standard Webhooks has it.

Pure: the instant is an argument. The receiver checks the HMAC over id, timestamp and body, refuses
old timestamps, and knows by the id what it has seen before.
"""

import hmac
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256

from onceonly.api.webhooks import WebhookBody
from onceonly.gateway.api.answers import ascii_json
from onceonly.gateway.shapes import happened_shape
from onceonly.journal.record import Record
from onceonly.message.instant import US_PER_S


def event_id(record: Record) -> str:
    """The id of the event: the same at each attempt, and of no other event of any gateway.

    The epoch is in it, since a store that was restored gives its numbers again.
    """
    whose = sha256(record.party.encode()).hexdigest()[:16]
    return f"evt_{whose}_{record.store_epoch}_{record.seq}"


def body_of(record: Record) -> bytes:
    """The JSON that is posted."""
    event = happened_shape(record)
    kind = f"{event.kind}.{event.event.value}"
    return ascii_json(WebhookBody(type=kind, timestamp=event.at, data=event))


def headers_of(record: Record, body: bytes, keys: Sequence[bytes], *, at: int) -> Mapping[str, str]:
    """The headers of one attempt at the instant `at`."""
    return signed_headers(event_id(record), body, keys, at=at)


def signed_headers(name: str, body: bytes, keys: Sequence[bytes], *, at: int) -> Mapping[str, str]:
    """The headers of one attempt to post something of this id."""
    timestamp = at // US_PER_S
    signed = f"{name}.{timestamp}.".encode() + body
    signatures = (b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys)
    return {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{one}" for one in signatures),
    }
