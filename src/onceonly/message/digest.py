"""The digests of a message's content, which must be the same in both journals.

One covers the payload bytes and their order, the other what the header says of them and of the
message (`wire.header_digest`), but not what relays add (R-04). They show a collision (R-01) and an
altered delivery (invariant I2).
"""

from collections.abc import Sequence
from hashlib import sha256

from onceonly.message.message import Payload
from onceonly.message.word import Word


class Digests(Word):
    """Both digests of one message."""

    payloads: str
    header: str | None
    """None for a message that was stored before header digests existed (R-37)."""


def content_digest(payloads: Sequence[Payload]) -> str:
    """Hexadecimal SHA-256 of the payloads' own digests in their order.

    For a single payload it is the SHA-256 of that payload, so `sha256sum FILE` prints it.
    """
    if len(payloads) == 1:
        return payloads[0].digest
    return sha256("\n".join(payload.digest for payload in payloads).encode()).hexdigest()
