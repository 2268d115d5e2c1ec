"""The header blocks of a SOAP envelope, for whom each is, and what its signature covers.

Knows nothing of agreements: whether a signature is wanted, and whose key counts, a gateway says.
"""

from collections.abc import Iterator
from typing import Final

from cryptography import x509

from onceonly.message.errors import RemoteError
from onceonly.message.message import Actor
from onceonly.message.printable import printable, quoted
from onceonly.wire.document import Document, Envelope
from onceonly.wire.names import CONTENT_ID_SCHEME
from onceonly.wire.proof import check_digests, check_value
from onceonly.wire.signature import Forms, Signature, UnreadableSignature, forms_of
from onceonly.wire.soap import NEXT_ACTOR, Block, name_of, read_envelope
from onceonly.wire.xml import Element

_WHOM: Final = {
    None: "the MSH of the To Party",
    Actor.TO_PARTY_MSH.value: "the MSH of the To Party",
    Actor.NEXT_MSH.value: "the next MSH",
    NEXT_ACTOR: "the next SOAP node",
}
_OF_THE_HOP: Final = (Actor.NEXT_MSH.value, NEXT_ACTOR)
BLOCKS_MAX: Final = 50
"""Most blocks that are told one by one."""


def sentences_of_envelope(root: Element) -> Iterator[str]:
    """One for each block of the Header: its name, whom it is for, and whether it may be skipped."""
    try:
        blocks = read_envelope(root).blocks
    except RemoteError:
        return
    for block in blocks[:BLOCKS_MAX]:
        whom = _WHOM.get(block.actor, f"{quoted(block.actor or '')}, which is nobody here")
        skipped = "must be understood" if block.must_understand else "may be skipped"
        yield f"block {printable(name_of(block.element))}: for {whom}; {skipped}"
    if len(blocks) > BLOCKS_MAX:
        yield f"{len(blocks) - BLOCKS_MAX} more blocks"


def sentences_of_signature(
    document: Document, root: Element, header: bytes, envelope: Envelope | None
) -> Iterator[str]:
    """What the signature covers, what it does not, and whether what came fits it.

    `header` are the bytes of the header document; `envelope` is None if the package is not whole.
    """
    signature = document.signature
    if signature is None:
        yield "no signature: nothing in it proves who sent it"
        return
    if isinstance(signature, UnreadableSignature):
        yield f"a signature of a shape that nobody here accepts: {signature.reason}"
        return
    yield f"a signature by {signature.method}, with {len(signature.certificates)} certificates"
    yield from _covered(signature, root, document)
    if envelope is not None:
        yield from _fits(signature, root, header, envelope)


def _covered(signature: Signature, root: Element, document: Document) -> Iterator[str]:
    payloads = [one.uri for one in signature.payloads]
    yield f"it covers the envelope without the Signature, and {', '.join(payloads) or 'no payload'}"
    blocks: tuple[Block, ...] = read_envelope(root).blocks
    if signature.filter_prefix is not None:
        left = [name_of(one.element) for one in blocks if one.actor in _OF_THE_HOP]
        if left:
            yield f"it does not cover what is for the next MSH: {', '.join(map(printable, left))}"
    named = {f"{CONTENT_ID_SCHEME}{one}" for one in document.labels}
    bare = sorted(named - set(payloads))
    if bare:
        yield f"it does not cover {', '.join(bare)}, which the Manifest names"


def _fits(signature: Signature, root: Element, header: bytes, envelope: Envelope) -> Iterator[str]:
    try:
        forms = forms_of(header, root, signature)
        parts = envelope.part_digests
        check_digests(signature, forms, parts, tuple(envelope_parts(envelope)), accepts_sha1=True)
    except RemoteError as error:
        yield f"it does not fit: {error.description}"
        return
    yield "the digests of all that it covers fit what came"
    yield from _whose(signature, forms)
    if signature.uses_sha1:
        yield "it rests on SHA-1, which is refused unless the agreement has accept_sha1"


def envelope_parts(envelope: Envelope) -> tuple[str, ...]:
    """The Content-IDs of the payloads that would be handed over."""
    payloads = getattr(envelope.content, "payloads", ())
    return tuple(one.content_id for one in payloads)


def _whose(signature: Signature, forms: Forms) -> Iterator[str]:
    """By the certificates that it brings itself: a hint, and no proof (`ebms2.md` §9.6)."""
    for der in signature.certificates:
        try:
            check_value(der, signature, forms.signed_info)
        except RemoteError:
            continue
        subject = x509.load_der_x509_certificate(der).subject.rfc4514_string()
        yield (
            f"its value is of the key of {quoted(subject)}, by the certificate that it brings;"
            " whether that is the partner's, partner_certificates of an agreement say"
        )
        return
    yield "its value is of no certificate that it brings: partner_certificates have to say whose"
