"""The words for a failed TLS handshake, so that its cause can be seen."""

import ssl
from typing import Final

ALERT: Final = b"\x15\x03"
"""Head of an alert record (RFC 8446 5.1): how a TLS peer answers bytes that are not TLS."""


def tls_words(error: ssl.SSLError) -> str:
    """The error in words, as `TLS handshake failed: wrong version number` for plain HTTP."""
    said = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        said = error.verify_message
    words = said.replace("_", " ").lower()
    return f"TLS handshake failed: {words}" if words else "TLS handshake failed"
