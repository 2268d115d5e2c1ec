"""Attacks on envelopes and their signatures (S1-S34) that no other test here carries out."""

import re
from functools import partial

import pytest
from ebms2_samples import (
    ACK_REQUESTED,
    BLOCK,
    DOCUMENT,
    EB,
    HEADER,
    MESSAGE,
    OPENING,
    ORDER,
    PAYLOAD,
    PAYLOAD_HEAD,
    ROOT_ID,
    body_of,
    decode,
    decode_document,
    edited,
    message_of,
    part,
    refusal,
    refusal_of,
)
from signed_samples import MORE, der, signed, signing, verify

from onceonly.message.errors import ErrorCode, FaultCode, RemoteError
from onceonly.message.word import changed
from onceonly.wire.signature import Signature, UnreadableSignature
from slowness import is_cheaper

SECONDS_MAX = 2.0
"""Of processor time on a quiet machine; an honest refusal takes some milliseconds."""


def body_and_parts(document: str) -> bytes:
    head = f"Content-Type: text/xml\r\nContent-ID: <{ROOT_ID}>\r\n"
    return body_of(part(head, document.encode()), part(PAYLOAD_HEAD, PAYLOAD))


def envelope_of(body: bytes) -> str:
    """The envelope in a package of ours."""
    found = re.search(rb"<SOAP:Envelope.*</SOAP:Envelope>", body, re.DOTALL)
    assert found is not None
    return found[0].decode()


@pytest.mark.parametrize(
    "block",
    [
        f'<x:b xmlns:x="urn:x" SOAP:mustUnderstand="1">{"y" * (1 << 20)}</x:b>',
        '<x:b xmlns:x="urn:x"/>' * 10_000,
        "<x>" * 100 + "</x>" * 100,
        "".join(f'<x:b xmlns:x="urn:{n}"/>' for n in range(100)),
        "<x " + " ".join(f"a{n}='1'" for n in range(100)) + "/>",
    ],
    ids=["long", "many", "deep", "namespaces", "attributes"],
)
def test_a_header_without_measure_is_refused_in_time(block):
    """S6, S32."""
    body = edited((ACK_REQUESTED, block))
    error = refusal_of(body)
    assert error.code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.NOT_SUPPORTED)
    assert error.fault is not None
    assert is_cheaper(partial(refusal_of, body), SECONDS_MAX)


def test_a_wrapped_envelope_takes_its_signature_along():
    """S20: a new message in front, and the signed one in a block that nobody reads."""
    body, content_type = signed(changed(MESSAGE, payloads=(ORDER,)))
    inner = envelope_of(body)
    signature = re.search(r"<ds:Signature.*</ds:Signature>", inner, re.DOTALL)
    assert signature is not None
    new = HEADER.replace("cpa-ab-1", "cpa-evil")
    for wrapped in (inner, inner.replace(signature[0], "") + signature[0]):
        outer = (
            f'{OPENING}<SOAP:Header>{new}<x:w xmlns:x="urn:x">{wrapped}</x:w></SOAP:Header>'
            "<SOAP:Body/></SOAP:Envelope>"
        )
        envelope = decode(outer.encode(), "text/xml")
        assert isinstance(envelope.signature, UnreadableSignature)
    assert isinstance(decode(body, content_type).signature, Signature)


def test_a_signed_envelope_with_a_second_header_in_front_is_a_fault():
    """S1, S2, S20."""
    body, content_type = signed()
    opening = b" <SOAP:Header>\r\n"
    assert body.count(opening) == 1
    twice = body.replace(opening, opening + HEADER.encode())
    assert refusal(twice, content_type).fault is FaultCode.CLIENT
    other = HEADER.replace(
        BLOCK, f'{BLOCK} SOAP:actor="http://schemas.xmlsoap.org/soap/actor/next"'
    )
    hidden = body.replace(opening, opening + other.encode())
    assert refusal(hidden, content_type).fault is FaultCode.CLIENT


@pytest.mark.parametrize("at_start", [True, False])
def test_a_second_signature_by_another_key_is_a_fault(at_start):
    """S21: whichever comes first."""
    body, content_type = signed()
    signature = re.search(rb"<ds:Signature.*</ds:Signature>", body, re.DOTALL)
    assert signature is not None
    other = signature[0].replace(b"<ds:SignatureValue>", b"<ds:SignatureValue>AAAA")
    both = other + signature[0] if at_start else signature[0] + other
    assert refusal(body.replace(signature[0], both), content_type).fault is FaultCode.CLIENT


def test_a_prefix_that_means_something_else_below_is_read_as_it_is():
    """S25: names are compared with their namespaces, here and in the canonical form."""
    shadowed = HEADER.replace("eb:", "SOAP:").replace(
        "<SOAP:MessageHeader", f'<SOAP:MessageHeader xmlns:SOAP="{EB}"'
    )
    shadowed = shadowed.replace('SOAP:version="2.0" SOAP:mustUnderstand="1"', 'SOAP:version="2.0"')
    assert message_of(edited((HEADER, shadowed))) == message_of(DOCUMENT)
    other = edited(("<eb:CPAId>", '<eb:CPAId xmlns:eb="urn:else">'))
    assert refusal_of(other).fault is FaultCode.CLIENT


def test_a_reference_to_the_envelope_as_a_part_covers_nothing():
    """S23."""
    body, content_type = signed()
    renamed = body.replace(b'URI="cid:po-1@a.example.com"', f'URI="cid:{ROOT_ID}"'.encode())
    with pytest.raises(RemoteError) as refused:
        verify(renamed, content_type, der())
    assert refused.value.code is ErrorCode.SECURITY_FAILURE


def test_a_part_that_two_references_could_mean_is_refused():
    """S17."""
    reference = '<eb:Reference xlink:href="cid:po%2D1@a.example.com"/></eb:Manifest>'
    document = edited(("</eb:Manifest>", reference))
    assert refusal(body_and_parts(document)).code is ErrorCode.MIME_PROBLEM


def test_a_swapped_payload_is_refused():
    """The oldest of all: the envelope is right, and the part is another one."""
    body, content_type = signed()
    with pytest.raises(RemoteError, match="digest of the part"):
        verify(body.replace(b"PO-4711", b"PO-4712"), content_type, der())


def test_the_certificate_of_the_attacker_in_the_message_is_not_trusted():
    """S28: signed by a key that brings its own certificate."""
    body, content_type = signed(how=signing("p256", f"{MORE}ecdsa-sha256"))
    with pytest.raises(RemoteError) as refused:
        verify(body, content_type, der())
    assert refused.value.code is ErrorCode.SECURITY_FAILURE


def test_a_comment_cannot_cut_a_signed_identifier():
    """S13: the value that is believed is the one whose canonical form is signed."""
    body, content_type = signed()
    cut = body.replace(b">m-0001@a.example.com<", b">m-0001<!-- -->@a.example.com<")
    envelope = verify(cut, content_type, der())
    assert envelope.content == decode(body, content_type).content
    assert decode_document(DOCUMENT).signature is None
