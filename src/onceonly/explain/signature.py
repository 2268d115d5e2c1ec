"""What the signature of a SOAP envelope covers, whether what came fits it, and whose it is.

The verdict is the gateway's (`answering`); here is what it rests on, piece by piece, also of a
package that is refused before anybody looks at its signature. A certificate that came with a
package proves nothing (`ebms2.md` §9.6), and is told as that.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

from onceonly.explain.key_info import key_value_of, sentences_of_hints
from onceonly.explain.meaning import instant
from onceonly.explain.reading import Read
from onceonly.gateway.certificate_file import certificate_of
from onceonly.message.agreement import Agreement
from onceonly.message.errors import RemoteError
from onceonly.message.message import Actor, Message
from onceonly.message.printable import printable, quoted
from onceonly.message.signing import PinnedCertificate
from onceonly.message.word import Word
from onceonly.wire.canonical import Method
from onceonly.wire.document import Document
from onceonly.wire.mime import content_ids_of
from onceonly.wire.names import CONTENT_ID_SCHEME
from onceonly.wire.proof import (
    NO_FORM,
    PartDigests,
    PublicKey,
    check_value,
    check_value_by,
    digest_of,
)
from onceonly.wire.signature import (
    DIGESTS,
    SHA256,
    Digest,
    Forms,
    Signature,
    UnreadableSignature,
    forms_of,
)
from onceonly.wire.soap import NEXT_ACTOR, name_of, read_envelope
from onceonly.wire.xml import Element

_OF_THE_HOP: Final = (Actor.NEXT_MSH.value, NEXT_ACTOR)


class Agreed(Word):
    """What a configuration says of a package, where there is one."""

    agreement: Agreement | None
    """The one that it falls under."""
    certificates_at: int | None = None
    """When certificates have to be valid; None: at the Timestamp."""


def sentences_of_signature(read: Read, agreed: Agreed | None) -> Iterator[str]:
    """All of it; `agreed` is None without a configuration."""
    document, root = read.document, read.root
    assert document is not None, "its header was read"
    assert root is not None, "a document was read from it"
    signature = document.signature
    if signature is None:
        yield "no signature: nothing in it proves who sent it"
        return
    if isinstance(signature, UnreadableSignature):
        yield f"a signature of a shape that nobody here accepts: {signature.reason}"
        return
    count = len(signature.certificates)
    came = "one certificate" if count == 1 else f"{count or 'no'} certificates"
    yield f"a signature by {_algorithm(signature.method)}; {came} came with it"
    yield from sentences_of_hints(root)
    yield from _covered(signature, root, document)
    header = read.parts.root if read.envelope is None else read.envelope.header
    try:
        forms = forms_of(header, root, signature)
    except RemoteError as error:
        yield f"it does not fit: {error.description}"
        return
    yield from _fits(signature, forms, read)
    yield from _whose(signature, forms, _timestamp_of(document), agreed, key_value_of(root))
    if signature.uses_sha1:
        yield "it rests on SHA-1, which is refused unless the agreement has accept_sha1"


def _algorithm(uri: str) -> str:
    """The name at the end of the URI, for people, with the whole of it."""
    return f"{printable(uri.rpartition('#')[2])} ({printable(uri)})"


def _form(method: Method) -> str:
    name = "exclusive" if method.is_exclusive else "inclusive"
    return f"{name} canonical form{' 1.1' if method.is_1_1 else ''}"


def _covered(signature: Signature, root: Element, document: Document) -> Iterator[str]:
    payloads = [one.uri for one in signature.payloads]
    named_payloads = ", ".join(map(printable, payloads)) or "no payload"
    yield f"it covers the envelope without the Signature, and {named_payloads}"
    digests = ", ".join(
        sorted({DIGESTS[one.method] for one in (signature.envelope, *signature.payloads)})
    )
    yield (
        f"the envelope in {_form(signature.envelope_method)},"
        f" SignedInfo in {_form(signature.canonicalization)}; digests by {digests}"
    )
    for one in signature.payloads:
        if one.form is not None:
            yield (
                f"{printable(one.uri)} is signed in {_form(one.form)}, which is refused unless the"
                " agreement has xml_part_transforms"
            )
    if signature.filter_prefix is None:
        yield "it has no filter, so that no hop may change a block"
    else:
        blocks = read_envelope(root).blocks
        left = [name_of(one.element) for one in blocks if one.actor in _OF_THE_HOP]
        if left:
            yield f"it does not cover what is for the next MSH: {', '.join(map(printable, left))}"
    named = {f"{CONTENT_ID_SCHEME}{one}" for one in document.labels}
    covered = {
        f"{CONTENT_ID_SCHEME}{one}"
        for uri in payloads
        for one in content_ids_of(uri[len(CONTENT_ID_SCHEME) :])
    }
    bare = sorted(named - covered - set(payloads))
    if bare:
        yield f"it does not cover {', '.join(map(printable, bare))}, which the Manifest names"


def _fits(signature: Signature, forms: Forms, read: Read) -> Iterator[str]:
    troubles = []
    if digest_of(signature.envelope.method, forms.envelope) != signature.envelope.value:
        troubles.append("the digest of the envelope is another: it was changed after it was signed")
    parts = _digests_of(read)
    is_whole = read.envelope is not None
    found = (_trouble_of(one, parts, is_whole=is_whole) for one in signature.payloads)
    troubles += filter(None, found)
    yield from (f"it does not fit: {one}" for one in troubles)
    unknown = (_gap_of(one, parts, is_whole=is_whole) for one in signature.payloads)
    gaps = tuple(filter(None, unknown))
    yield from gaps
    if not troubles:
        yield f"the digests of all that it covers{' and that came' if gaps else ''} fit what came"


def _digests_of(read: Read) -> PartDigests:
    """Those of the parts that came; by SHA-256 alone where the package could not be read whole."""
    if read.envelope is not None:
        return read.envelope.part_digests
    return {
        one.content_id: {SHA256: bytes.fromhex(one.digest)}
        for one in read.parts.parts[1:]
        if one.content_id is not None
    }


def _trouble_of(digest: Digest, parts: PartDigests, *, is_whole: bool) -> str | None:
    shown = printable(digest.uri)
    for content_id in content_ids_of(digest.uri[len(CONTENT_ID_SCHEME) :]):
        if content_id in parts:
            there = parts[content_id].get(digest.way)
            if there is None and digest.form is not None and is_whole:
                return f"{shown} is signed in canonical form and has none; {NO_FORM}"
            is_other = there is not None and there != digest.value
            return f"the digest of the part {shown} is another" if is_other else None
    return None


def _gap_of(digest: Digest, parts: PartDigests, *, is_whole: bool) -> str | None:
    """Why nobody can tell here whether a part is what was signed."""
    shown = printable(digest.uri)
    for content_id in content_ids_of(digest.uri[len(CONTENT_ID_SCHEME) :]):
        if content_id in parts:
            if digest.way in parts[content_id] or (digest.form is not None and is_whole):
                return None
            return f"the digest of {shown} is not known, since the package is not whole"
    return f"{shown} is not in the capture, so nobody can tell whether it is what was signed"


def _whose(
    signature: Signature,
    forms: Forms,
    timestamp_at: int,
    agreed: Agreed | None,
    key_value: PublicKey | None,
) -> Iterator[str]:
    if agreed is not None:
        if agreed.agreement is None:
            yield "no agreement of this configuration is named, so none says whose signature counts"
        else:
            pinned = agreed.agreement.signing.partner_certificates
            if is_pinned := _find_signer([one.der for one in pinned], signature, forms):
                yield from _words_of_pinned(pinned, is_pinned, timestamp_at, agreed)
                return
            yield _words_of_none(pinned, agreed.agreement.id)
    der = _find_signer(signature.certificates, signature, forms)
    if der is None:
        if key_value is not None and _is_by(key_value, signature, forms):
            yield (f"its value is right for the KeyValue that came with it; {_NOTHING_SAYS}")
            return
        came = "that came with it" if signature.certificates else "here, since none came with it"
        yield (
            f"its value is right for no certificate {came}: partner_certificates of an agreement"
            " have to say whose it is"
        )
        return
    yield (
        f"its value is right for the certificate that came with it, {words_of(der)};"
        f" {_NOTHING_SAYS}"
    )


_NOTHING_SAYS: Final = (
    "nothing says whose that is: anybody can make one, and only partner_certificates of an"
    " agreement say which are the partner's"
)


def _is_by(key: PublicKey, signature: Signature, forms: Forms) -> bool:
    try:
        check_value_by(key, signature, forms.signed_info)
    except RemoteError:
        return False
    return True


def _find_signer(candidates: Sequence[bytes], signature: Signature, forms: Forms) -> bytes | None:
    for der in candidates:
        try:
            check_value(der, signature, forms.signed_info)
        except RemoteError:
            continue
        return der
    return None


def _words_of_pinned(
    pinned: Sequence[PinnedCertificate], der: bytes, timestamp_at: int, agreed: Agreed
) -> Iterator[str]:
    one = next(one for one in pinned if one.der == der)
    assert agreed.agreement is not None, "its certificate is pinned"
    whose = f"partner_certificates of agreement {quoted(agreed.agreement.id)}"
    yield f"its value is right for one of {whose}: {words_of(der)}"
    at = timestamp_at if agreed.certificates_at is None else agreed.certificates_at
    when = f"at the Timestamp {instant(timestamp_at)}"
    if agreed.certificates_at is not None:
        when = f"at {instant(at)}, which --certificates-at gives in place of the Timestamp"
    if one.was_valid(at):
        yield f"that certificate was valid {when}"
    else:
        yield f"that certificate was NOT valid {when}, and does not count"


def _words_of_none(pinned: Sequence[PinnedCertificate], agreement_id: str) -> str:
    if not pinned:
        return (
            f"agreement {quoted(agreement_id)} has no partner_certificates: a signature proves"
            " nothing under it"
        )
    names = "; ".join(words_of(one.der) for one in pinned[:CERTIFICATES_TOLD])
    more = "" if len(pinned) <= CERTIFICATES_TOLD else f", and {len(pinned) - CERTIFICATES_TOLD}"
    return (
        f"its value is right for none of partner_certificates of agreement"
        f" {quoted(agreement_id)}, which are: {names}{more}"
    )


CERTIFICATES_TOLD: Final = 5
"""Of an agreement, at most so many are told one by one."""


def words_of(der: bytes) -> str:
    """Subject, issuer, validity and fingerprint of a certificate."""
    try:
        one = certificate_of(der)
    except (ValueError, IndexError):
        return f"whose fields cannot be read, SHA-256 {sha256(der).hexdigest()}"
    return (
        f"that of {quoted(one.subject)}, by {quoted(one.issuer)}, valid from"
        f" {instant(one.from_at)} until {instant(one.until_at)}, SHA-256 {one.fingerprint}"
    )


def _timestamp_of(document: Document) -> int:
    content = document.content
    return content.timestamp_at if isinstance(content, Message) else content.header.timestamp_at
