"""When the certificates of a file end; reads that field of X.509 and no other (RFC 5280 §4.1)."""

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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


def earliest_end_at(file: Path) -> int | None:
    """When the first certificate of the file ends, in microseconds UTC; None if it has none.

    Raises `OSError` if the file cannot be read.
    """
    text = file.read_text("ascii", errors="replace")
    return min(_ends(text), default=None)


def _ends(text: str) -> Iterator[int]:
    for found in _PEM.finditer(text):
        try:
            yield _end_of(ssl.PEM_cert_to_DER_cert(found[0]))
        except (ValueError, IndexError):
            continue  # What OpenSSL cannot read either, it has refused at start.


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


def _end_of(der: bytes) -> int:
    # Certificate { TBSCertificate { [0] version, serial, algorithm, issuer, { from, to } …
    at = _read(der, _read(der, 0).start).start
    version = _read(der, at)
    if version.tag == _VERSION:
        at = version.end
    for _ in range(3):
        at = _read(der, at).end
    validity = _read(der, at)
    last = _read(der, _read(der, validity.start).end)
    digits = der[last.start : last.end].decode("ascii").removesuffix("Z")
    if last.tag == _UTC_TIME:
        digits = ("20" if int(digits[:2]) < _CENTURY else "19") + digits
    instant = datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return (instant - _EPOCH) // timedelta(microseconds=1)
