"""Certificates for tests of mail under TLS."""

import ssl
import subprocess
from pathlib import Path


def make_certificate(folder: Path) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, as cert.pem and key.pem."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return folder


def serving(folder: Path) -> ssl.SSLContext:
    """Shows the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def trusting(folder: Path) -> ssl.SSLContext:
    """Trusts the certificate."""
    return ssl.create_default_context(cafile=folder / "cert.pem")
