"""Which server a client trusts under TLS, and what it shows."""

import ssl
from pathlib import Path


def client_tls(
    *,
    ca: str | Path | None = None,
    client_certificate: str | Path | None = None,
    client_key: str | Path | None = None,
) -> ssl.SSLContext:
    """The `tls` of a `Client`, from PEM files.

    `ca` has the certificates to trust (None: the system's); a server's own may be trusted without
    those above it. `client_certificate` is shown where it is asked for, and `client_key` is its
    private key (None: it is in the same file). Raises `OSError` for files that cannot be used.
    """
    context = ssl.create_default_context(cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca is not None:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if client_certificate is not None:
        # The empty password stops OpenSSL from asking for one on the terminal.
        context.load_cert_chain(client_certificate, client_key, password="")
    return context
