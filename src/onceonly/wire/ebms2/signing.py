"""Signing an envelope of `ebms-2.0` (`ebms2.md` §9.2).

The signature stands last in the Header. It is put there before anything is made canonical, and only
its value is filled in afterwards (IR-21). Digests of payloads are those that the payloads carry, so
no payload is read.
"""

from base64 import b64encode
from hashlib import sha256
from typing import Final

from onceonly.message.message import Actor, Payload, SignedReference
from onceonly.wire.canonical import Method, View, canonical_forms
from onceonly.wire.names import CONTENT_ID_SCHEME
from onceonly.wire.signature import (
    ENVELOPED,
    EXCLUSIVE,
    INCLUSIVE,
    NAMESPACE,
    SHA256,
    SIGNED_INFO_PATH,
    XPATH,
    EnvelopeSigning,
    covered,
)
from onceonly.wire.soap import NAMESPACE as SOAP
from onceonly.wire.soap import NEXT_ACTOR
from onceonly.wire.xml import escaped

_PLACE: Final = " </SOAP:Header>\r\n"
_FILTER: Final = (
    f'<ds:XPath xmlns:SOAP="{SOAP}">not(ancestor-or-self::node()'
    f'[@SOAP:actor="{Actor.NEXT_MSH.value}"] | ancestor-or-self::node()'
    f'[@SOAP:actor="{NEXT_ACTOR}"])</ds:XPath>'
)


def sign(document: str, payloads: tuple[Payload, ...], signing: EnvelopeSigning) -> str:
    """The document that `writing.write` made, with its Signature."""
    before, place, after = document.partition(_PLACE)
    assert place, "an envelope of ours has a Header"
    method = Method(is_exclusive=signing.is_exclusive)
    certificate = b64encode(signing.signer.certificate).decode()

    def whole(info: str, value: str) -> str:
        return (
            f'{before}  <ds:Signature xmlns:ds="{NAMESPACE}">{info}'
            f"<ds:SignatureValue>{value}</ds:SignatureValue><ds:KeyInfo><ds:X509Data>"
            f"<ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
            f"</ds:Signature>\r\n{place}{after}"
        )

    # In one reading, so before the digest of the envelope is known: base64 is its own canonical
    # form, and what is in the Signature changes nothing of the envelope that is covered.
    info = _signed_info(signing, _NO_DIGEST, payloads)
    (envelope,), (form,) = canonical_forms(
        whole(info, "").encode(),
        (covered(method, is_filtered=True), View(method, SIGNED_INFO_PATH)),
    )
    digest = b64encode(sha256(envelope).digest())
    form = _with_digest(form, digest)
    value = b64encode(signing.signer.sign(form)).decode()
    return whole(_with_digest(info.encode(), digest).decode(), value)


_NO_DIGEST: Final = bytes(32)
"""Stands for the digest of the envelope until that is known."""


def _with_digest(text: bytes, digest: bytes) -> bytes:
    """SignedInfo with the digest of the envelope, whose Reference is the first."""
    return text.replace(b64encode(_NO_DIGEST), digest, 1)


def references_over(document: bytes, payloads: tuple[Payload, ...]) -> tuple[SignedReference, ...]:
    """The References of a document that nobody signed, as its acknowledgement holds them (§9.7).

    Over the same things that a signature covers: the envelope without what is for the next MSH,
    and each payload.
    """
    ((envelope,),) = canonical_forms(document, (covered(Method(), is_filtered=True),))
    digest = sha256(envelope).digest()
    found = [_bound("", _reference("", _transforms(INCLUSIVE), digest), digest)]
    for payload in payloads:
        (content_id,) = escaped((payload.content_id,))
        digest = bytes.fromhex(payload.digest)
        text = _reference(f"{CONTENT_ID_SCHEME}{content_id}", "", digest)
        found.append(_bound(f"{CONTENT_ID_SCHEME}{payload.content_id}", text, digest))
    return tuple(found)


def _bound(uri: str, text: str, digest: bytes) -> SignedReference:
    """A Reference that stands alone: in canonical form, with each prefix bound in it."""
    alone = text.replace("<ds:Reference", f'<ds:Reference xmlns:ds="{NAMESPACE}"', 1)
    ((form,),) = canonical_forms(alone.encode(), (View(Method()),))
    return SignedReference(uri, SHA256, b64encode(digest).decode(), form.decode())


def _transforms(form: str) -> str:
    return (
        f'<ds:Transforms><ds:Transform Algorithm="{ENVELOPED}"/>'
        f'<ds:Transform Algorithm="{XPATH}">{_FILTER}</ds:Transform>'
        f'<ds:Transform Algorithm="{form}"/></ds:Transforms>'
    )


def _signed_info(signing: EnvelopeSigning, digest: bytes, payloads: tuple[Payload, ...]) -> str:
    form = EXCLUSIVE if signing.is_exclusive else INCLUSIVE
    references = [_reference("", _transforms(form), digest)]
    for payload in payloads:
        (content_id,) = escaped((payload.content_id,))
        uri = f"{CONTENT_ID_SCHEME}{content_id}"
        references.append(_reference(uri, "", bytes.fromhex(payload.digest)))
    return (
        f'<ds:SignedInfo><ds:CanonicalizationMethod Algorithm="{form}"/>'
        f'<ds:SignatureMethod Algorithm="{signing.signer.method}"/>'
        f"{''.join(references)}</ds:SignedInfo>"
    )


def _reference(uri: str, transforms: str, digest: bytes) -> str:
    return (
        f'<ds:Reference URI="{uri}">{transforms}<ds:DigestMethod Algorithm="{SHA256}"/>'
        f"<ds:DigestValue>{b64encode(digest).decode()}</ds:DigestValue></ds:Reference>"
    )
