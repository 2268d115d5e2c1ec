"""The digests of a message's content: what both journals must agree on.

One covers the payload bytes and their order, the other what the header says of them and of the
message (`wire.header_digest`), but not what relays add (R-04). A collision (R-01) and an altered
delivery (invariant I2) show in them.
"""

from collections.abc import Sequence
from hashlib import sha256

from onceonly.message.message import Payload
from onceonly.message.word import Word


class Digests(Word):
    """Both digests of one message."""

    payloads: str
    header: str | None
    """None of a message that was stored before there was one (R-37)."""


def content_digest(payloads: Sequence[Payload]) -> str:
    """Hexadecimal SHA-256 of the payloads' own digests in their order.

    With a single payload it is that payload's SHA-256, so that `sha256sum FILE` shows it.
    """
    if len(payloads) == 1:
        return payloads[0].digest
    return sha256("\n".join(payload.digest for payload in payloads).encode()).hexdigest()
