"""A certificate as commands are given it: a file, or its SHA-256."""

import re
import ssl
from hashlib import sha256
from pathlib import Path
from typing import Final

from onceonly.cli.exits import Exit, Failure

_FINGERPRINT: Final = re.compile(r"[0-9A-Fa-f]{64}")

_FIRST: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", flags=re.DOTALL
)


def find_fingerprint(text: str) -> str | None:
    """The SHA-256 that the text is, with or without colons, as the listener has it; else None."""
    plain = text.replace(":", "")
    return plain.lower() if _FINGERPRINT.fullmatch(plain) else None


def fingerprint_in(path: Path, option: str) -> str:
    """SHA-256 of the first certificate in the PEM file. Ends the command with exit code 2."""
    try:
        found = _FIRST.search(path.read_text("ascii"))
        content = ssl.PEM_cert_to_DER_cert(found[0]) if found else b""
    except (OSError, ValueError) as error:
        raise Failure(Exit.USAGE, f"{option} {path}: {error}") from error
    if not content:
        raise Failure(Exit.USAGE, f"{option} {path}: it has no certificate in PEM")
    return sha256(content).hexdigest()
