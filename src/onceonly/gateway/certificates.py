"""TLS contexts from the `[tls]` table: the certificate that we show, and those that we trust.

The files are read at start and by `check`, not with the configuration: commands that only need
the API's address run under users who may not see a private key.
"""

import ssl
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from onceonly.gateway.config import Tls


def listening_tls(tls: Tls | None) -> ssl.SSLContext | None:
    """The context for calls to us; None if we have no certificate. Raises `OSError`."""
    if tls is None or tls.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # OpenSSL 3 forbids clients to renegotiate; older versions must be told (H28).
    context.options |= ssl.OP_NO_RENEGOTIATION
    _show(context, tls)
    if tls.clients:
        context.verify_mode = ssl.CERT_REQUIRED
        _trust(context, tls.trusted)
    return context


def api_tls(tls: Tls | None) -> ssl.SSLContext | None:
    """The context for calls of the API; None if it is plain HTTP. Raises `OSError`.

    Callers may show a certificate where the table has `trusted`, and must where it has `clients`.
    """
    context = listening_tls(tls)
    if context is not None and tls is not None and tls.trusted is not None and not tls.clients:
        context.verify_mode = ssl.CERT_OPTIONAL
        _trust(context, tls.trusted)
    return context


class _SystemsTrust(ssl.SSLContext):
    """Trusts the certificates of the system, and reads them when it is used for the first time.

    They are some hundreds, reading takes 20 to 80 ms of a start, and many gateways call nobody by
    TLS.
    """

    _is_read = False

    def wrap_bio(self, *given: Any, **named: Any) -> ssl.SSLObject:
        """As that of every context."""
        self._read()
        return super().wrap_bio(*given, **named)

    def wrap_socket(self, *given: Any, **named: Any) -> ssl.SSLSocket:
        """As that of every context."""
        self._read()
        return super().wrap_socket(*given, **named)

    def _read(self) -> None:
        if not self._is_read:
            self.load_default_certs()
            self._is_read = True


def calling_tls(tls: Tls | None) -> ssl.SSLContext:
    """The context for our calls to partners, which are always verified. Raises `OSError`."""
    trusted = None if tls is None else tls.trusted
    # If `trusted` is given, the certificates of the system are not trusted in addition.
    if trusted is None:
        context: ssl.SSLContext = _SystemsTrust(ssl.PROTOCOL_TLS_CLIENT)
        if sys.version_info >= (3, 13):
            # As ssl.create_default_context does.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _trust(context, trusted)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls is not None:
        _show(context, tls)
    return context


def digest_of_file(path: Path | None) -> str:
    """SHA-256 of the file; a missing one, and none at all, count as empty."""
    content = b"" if path is None or not path.is_file() else path.read_bytes()
    return sha256(content).hexdigest()


def _show(context: ssl.SSLContext, tls: Tls) -> None:
    if tls.certificate is None or tls.key is None:
        return
    try:
        # The empty password stops OpenSSL from asking for one on the terminal.
        context.load_cert_chain(tls.certificate, tls.key, password="")
    except OSError as error:
        files = f"certificate {tls.certificate} with key {tls.key}"
        raise OSError(f"{files} cannot be used: {error}") from error


def _trust(context: ssl.SSLContext, trusted: Path | None) -> None:
    try:
        context.load_verify_locations(trusted)
    except OSError as error:
        raise OSError(f"trusted certificates {trusted} cannot be used: {error}") from error
