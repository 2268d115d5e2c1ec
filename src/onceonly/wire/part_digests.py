"""The digests of one part that a signature names, while the part comes in.

A digest is over the bytes of the part, or over its canonical form where the part is XML and the
signature says so (`ebms2.md` §9.3). Only the second needs the part as a whole, so it has a limit.
Whether an agreement accepts it, others know.
"""

from collections.abc import Sequence
from hashlib import new
from typing import TYPE_CHECKING, Final

from onceonly.message.errors import RemoteError
from onceonly.wire.canonical import Method, View, canonical_forms
from onceonly.wire.limits import Limits
from onceonly.wire.signature import DIGESTS, SHA256, Digest, Way
from onceonly.wire.xml import parse, plain_text

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

XML_PART_BYTES_MAX: Final = 1 << 20
"""Longest part that is made canonical; it is held in memory meanwhile."""
XML_PART: Final = Limits(
    header_bytes_max=XML_PART_BYTES_MAX, elements_max=20_000, namespaces_max=1_000
)
"""A document of 20,000 elements takes about a quarter of a second, in which nothing else runs."""


class PartDigesting:
    """Computes the digests that are wanted of one part.

    `has_sink`: who keeps the part computes SHA-256 of its bytes, so it is not computed here.
    """

    def __init__(self, wanted: Sequence[Digest], *, has_sink: bool) -> None:
        self._wanted = wanted
        plain = {one.method for one in wanted if one.form is None}
        self._hashes: dict[str, Hash] = {
            method: new(DIGESTS[method]) for method in plain if not (has_sink and method == SHA256)
        }
        self._needs_sha256 = has_sink and SHA256 in plain
        self._document: bytearray | None = None
        if any(one.form is not None for one in wanted):
            self._document = bytearray()

    def update(self, data: bytes) -> None:
        """Take the next bytes of the part."""
        for one in self._hashes.values():
            one.update(data)
        if self._document is not None:
            self._document += data
            if len(self._document) > XML_PART_BYTES_MAX:
                self._document = None

    def finish(self, sha256: str = "") -> dict[Way, bytes]:
        """The digests, after the last byte; `sha256` is that of the sink, in hexadecimal.

        One over a canonical form is missing if the part has none: then no signature fits it.
        """
        found: dict[Way, bytes] = {method: one.digest() for method, one in self._hashes.items()}
        if self._needs_sha256:
            found[SHA256] = bytes.fromhex(sha256)
        document = None if self._document is None else bytes(self._document)
        for one in self._wanted if document is not None else ():
            form = None if one.form is None else _canonical(document or b"", one.form)
            if form is not None:
                found[one.way] = new(DIGESTS[one.method], form).digest()
        return found


def _canonical(document: bytes, method: Method) -> bytes | None:
    """The canonical form of a part; None if it is not XML that is read here.

    Comments are signed only where there are none: whoever reads the part may skip them.
    """
    try:
        parse(document, None, XML_PART)
        if method.with_comments and b"<!--" in plain_text(document):
            return None
        ((form,),) = canonical_forms(document, (View(method),))
    except RemoteError:
        return None
    return form
