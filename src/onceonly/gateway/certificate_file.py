"""What the certificates of a file say: whose, by whom, from when and until when (RFC 5280 §4.1).

Reads these fields of X.509 and no others; whether a certificate is to be trusted, OpenSSL decides.
"""

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

from onceonly.message.word import Word

_PEM: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL | re.ASCII
)
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_LONG: Final = 0x80
_CENTURY: Final = 50
"""A year of two digits below it is after 1999 (RFC 5280 §4.1.2.5.1)."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ENCODINGS: Final = {0x1E: "utf-16-be", 0x0C: "utf-8"}
"""Of texts by their tag; all others are of one byte for each character."""
_NAMES: Final = {
    b"\x55\x04\x03": "CN",
    b"\x55\x04\x06": "C",
    b"\x55\x04\x07": "L",
    b"\x55\x04\x08": "ST",
    b"\x55\x04\x0a": "O",
    b"\x55\x04\x0b": "OU",
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x01": "emailAddress",
}
"""Parts of a name that are shown, by their object identifier."""


class Certificate(Word, kw_only=True):
    """What is read of one; instants are in microseconds UTC."""

    subject: str
    """The parts of its name, the most special first: `CN=gateway, O=Buyer, C=DE`."""
    issuer: str
    fingerprint: str
    """Hexadecimal SHA-256 of the whole certificate."""
    from_at: int
    until_at: int


class Validity(Word, kw_only=True):
    """The time in which every certificate of a file is valid, in microseconds UTC."""

    from_at: int
    until_at: int


def validity_of(file: Path) -> Validity | None:
    """Of all certificates in the file; None if it has none. Raises `OSError`: it cannot be read."""
    found = certificates_in(file)
    if not found:
        return None
    return Validity(
        from_at=max(one.from_at for one in found), until_at=min(one.until_at for one in found)
    )


def certificates_in(file: Path) -> tuple[Certificate, ...]:
    """All of them, in the file's order. Raises `OSError` if it cannot be read."""
    return tuple(_certificates(file.read_text("ascii", errors="replace")))


def pem_certificates(text: str) -> Iterator[str]:
    """The certificates in a text, each with its first and last line."""
    for found in _PEM.finditer(text):
        yield found[0]


def _certificates(text: str) -> Iterator[Certificate]:
    for found in pem_certificates(text):
        try:
            yield certificate_of(ssl.PEM_cert_to_DER_cert(found))
        except (ValueError, IndexError):
            continue  # What OpenSSL cannot read either, it has refused at start.


def certificate_of(der: bytes) -> Certificate:
    """Raises `ValueError` or `IndexError` for what is no certificate."""
    # Certificate { TBSCertificate { [0] version, serial, algorithm, issuer, { from, to }, subject …
    at = _read(der, _read(der, 0).start).start
    version = _read(der, at)
    if version.tag == _VERSION:
        at = version.end
    for _ in range(2):
        at = _read(der, at).end
    issuer = _read(der, at)
    validity = _read(der, issuer.end)
    subject = _read(der, validity.end)
    begins = _read(der, validity.start)
    return Certificate(
        subject=_name(der, subject),
        issuer=_name(der, issuer),
        fingerprint=sha256(der).hexdigest(),
        from_at=_instant(der, begins),
        until_at=_instant(der, _read(der, begins.end)),
    )


class _Value(Word):
    """One value in DER: its tag, where its content begins, and where the next value does."""

    tag: int
    start: int
    end: int


def _read(der: bytes, at: int) -> _Value:
    length, start = der[at + 1], at + 2
    if length & _LONG:
        start += length & ~_LONG
        length = int.from_bytes(der[at + 2 : start])
    return _Value(der[at], start, start + length)


def _inside(der: bytes, value: _Value) -> Iterator[_Value]:
    at = value.start
    while at < value.end:
        one = _read(der, at)
        yield one
        at = one.end


def _name(der: bytes, value: _Value) -> str:
    """Name { { { identifier, text } … } … }, of which the parts that we have words for."""
    parts = []
    for names in _inside(der, value):
        for pair in _inside(der, names):
            identifier, text = _inside(der, pair)
            known = _NAMES.get(der[identifier.start : identifier.end])
            if known is not None:
                encoding = _ENCODINGS.get(text.tag, "latin-1")
                parts.append(f"{known}={der[text.start : text.end].decode(encoding, 'replace')}")
    return ", ".join(reversed(parts)) or "(no name)"


def _instant(der: bytes, value: _Value) -> int:
    digits = der[value.start : value.end].decode("ascii").removesuffix("Z")
    if value.tag == _UTC_TIME:
        digits = ("20" if int(digits[:2]) < _CENTURY else "19") + digits
    instant = datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return (instant - _EPOCH) // timedelta(microseconds=1)
