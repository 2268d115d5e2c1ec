"""What kept envelopes prove, found from their bytes: `message evidence` and the demonstration.

Asks no gateway and believes none: a signature is verified with the certificate in the envelope, and
whose that is, whoever reads the result compares (`ebms2.md` §9.7). Knows neither how envelopes
are fetched nor how anything is shown.
"""

import hashlib
from base64 import b64decode
from collections.abc import Iterable
from typing import Final

from onceonly.api.sent import KeptProof
from onceonly.message.profile import Profile
from onceonly.message.word import Word
from onceonly.wire.evidence import Examined, examine, references_over
from onceonly.wire.signature import is_evidence

MESSAGE: Final = "message"
ACKNOWLEDGMENT: Final = "acknowledgment"
REFUSED: Final = "refused"
"""Kinds of what is kept; the last one has no envelope."""

PROVEN: Final = "acknowledged with evidence"


class Looked(Word, kw_only=True):
    """One envelope that was looked at here."""

    proof: KeptProof
    document: bytes
    found: Examined

    @property
    def kind(self) -> str:
        """`message` or `acknowledgment`."""
        return self.proof.kind

    @property
    def signer(self) -> str | None:
        """Fingerprint of the certificate in it."""
        certificate = self.found.certificate
        return None if certificate is None else hashlib.sha256(certificate).hexdigest()


class Finding(Word, kw_only=True):
    """What the envelopes of one message prove together."""

    words: str
    is_evidence: bool
    """Whether something is proven: that it was sent, or that it arrived."""

    @property
    def is_receipt(self) -> bool:
        """Whether it is proven that the To Party has just this message."""
        return self.words == PROVEN


def look_at(proof: KeptProof) -> Looked:
    """The envelope, examined. Raises `RemoteError` for bytes that are no envelope."""
    document = b64decode(proof.document)
    return Looked(proof=proof, document=document, found=examine(document))


def finding_on(message_id: str, looked: Iterable[Looked]) -> Finding:
    """The verdict on the envelopes of a message, one of each kind at most."""
    by_kind = {one.kind: one for one in looked}
    words, is_there = _verdict(message_id, by_kind.get(MESSAGE), by_kind.get(ACKNOWLEDGMENT))
    return Finding(words=words, is_evidence=is_there)


def _verdict(
    message_id: str, message: Looked | None, acknowledgment: Looked | None
) -> tuple[str, bool]:
    """The verdict in words, and whether something is proven."""
    if message is None:
        return "nothing proves the message", False
    if message.signer is not None and message.found.trouble is not None:
        return f"the message: {message.found.trouble}", False
    if acknowledgment is not None:
        trouble = _trouble_with(message_id, message, acknowledgment)
        return (f"the acknowledgement {trouble}", False) if trouble else (PROVEN, True)
    if message.signer is None:
        return "the message has no signature, and no signed acknowledgement is kept", False
    return "the message is signed; no signed acknowledgement is kept", True


def _trouble_with(message_id: str, message: Looked, acknowledgment: Looked) -> str | None:
    """Why the acknowledgement does not prove that the message arrived, if it does not."""
    found = acknowledgment.found
    if found.trouble is not None:
        return f"does not stand: {found.trouble}"
    if found.acknowledged != message_id:
        return "is of another message"
    signed = message.found.references
    if signed:
        fits = is_evidence(signed, found.copied)
    else:
        # Of a message without a signature only its envelope is here; its payloads may be, too.
        (envelope,) = references_over(message.document, (), Profile.EBMS_2_0)
        fits = is_evidence((envelope,), (one for one in found.copied if one.uri == ""))
    return None if fits else "has other references than the message"
