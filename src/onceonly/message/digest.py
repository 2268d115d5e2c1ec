"""One digest for the content of a message: what both journals must agree on.

It covers the payload bytes and their order and types, not the header, which relays may extend
(R-04), so a collision (R-01) and an altered delivery (invariant I2) both show in it.
"""

from collections.abc import Sequence
from hashlib import sha256

from onceonly.message.message import Payload


def content_digest(payloads: Sequence[Payload]) -> str:
    """Hexadecimal SHA-256 of the payloads' own digests in their order.

    With a single payload it is that payload's SHA-256, so that `sha256sum FILE` shows it.
    """
    if len(payloads) == 1:
        return payloads[0].digest
    return sha256("\n".join(payload.digest for payload in payloads).encode()).hexdigest()
