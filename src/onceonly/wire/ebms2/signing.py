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
    unsigned = f"{before}  \r\n{place}{after}".encode()
    ((envelope,),) = canonical_forms(unsigned, (covered(method, is_filtered=True),))
    info = _signed_info(signing, sha256(envelope).digest(), payloads)
    certificate = b64encode(signing.signer.certificate).decode()

    def whole(value: str) -> str:
        return (
            f'{before}  <ds:Signature xmlns:ds="{NAMESPACE}">{info}'
            f"<ds:SignatureValue>{value}</ds:SignatureValue><ds:KeyInfo><ds:X509Data>"
            f"<ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
            f"</ds:Signature>\r\n{place}{after}"
        )

    ((form,),) = canonical_forms(whole("").encode(), (View(method, SIGNED_INFO_PATH),))
    return whole(b64encode(signing.signer.sign(form)).decode())


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
