"""What a TLS that did not come about is called, so that its cause can be seen."""

import ssl
from typing import Final

ALERT: Final = b"\x15\x03"
"""How a peer that speaks TLS answers what is none: the head of an alert record (RFC 8446 5.1)."""


def tls_words(error: ssl.SSLError) -> str:
    """`TLS handshake failed: wrong version number`, which plain HTTP at the other end makes."""
    said = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        said = error.verify_message
    words = said.replace("_", " ").lower()
    return f"TLS handshake failed: {words}" if words else "TLS handshake failed"
