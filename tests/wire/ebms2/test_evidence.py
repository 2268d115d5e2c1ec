"""What a package proves, of ours and of others, found from its bytes."""

import re

import pytest
from ebms2_samples import BOUNDARY, HOP, MESSAGE, ORDER, ROOT_ID, decode
from signed_samples import MESSAGE_TO_SIGN, der, signed, signing

from onceonly.message.errors import RemoteError
from onceonly.message.message import AcknowledgmentElement
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, Inquiry, InquiryKind, SignalHeader
from onceonly.message.word import changed
from onceonly.wire.envelope import encode
from onceonly.wire.evidence import (
    document_of,
    examine,
    forms_in,
    references_of,
    references_over,
    said_by,
)
from onceonly.wire.signature import Signature, is_evidence

EBMS = Profile.EBMS_2_0


def package(content=MESSAGE_TO_SIGN, how=None):
    """A package of ours, with a signature if `how` says so."""
    return encode(
        content, HOP, profile=EBMS, boundary=BOUNDARY, root_content_id=ROOT_ID, signing=how
    )


def acknowledgment(references=()):
    """An acknowledgement of the sample."""
    message = MESSAGE_TO_SIGN
    header = SignalHeader(
        message_id="ack-1@b.example.com",
        from_ids=message.to_ids,
        to_ids=message.from_ids,
        agreement_id=message.agreement_id,
        conversation_id=message.conversation_id,
        timestamp_at=message.timestamp_at,
        ref_to_message_id=message.message_id,
    )
    element = AcknowledgmentElement(timestamp_at=message.timestamp_at, references=references)
    return Acknowledgment(header, element)


@pytest.mark.parametrize("content", [MESSAGE_TO_SIGN, changed(MESSAGE, payloads=())])
def test_the_document_of_a_package_is_the_one_that_its_reader_has(content):
    """With a frame, and without one."""
    how = signing()
    body, content_type = signed(content, how)
    assert document_of(package(content, how)) == decode(body, content_type).header


def test_the_references_of_a_signed_document_are_those_of_its_signature():
    body, content_type = signed()
    envelope = decode(body, content_type)
    assert isinstance(envelope.signature, Signature)
    forms = forms_in(envelope, envelope.signature)
    # A tree that was not kept is read once more.
    assert forms_in(changed(envelope, root=None), envelope.signature) == forms
    ours = references_of(envelope.header, MESSAGE_TO_SIGN.payloads, EBMS)
    assert is_evidence(ours, forms.references)
    assert said_by(envelope.header, (), EBMS).signer is not None


def test_the_references_of_an_unsigned_document_are_computed_over_the_same_things():
    """So both sides find the same, and a signature over it would have had them."""
    plain, with_signature = document_of(package()), document_of(package(how=signing()))
    computed = references_over(plain, MESSAGE_TO_SIGN.payloads, EBMS)
    assert references_of(plain, MESSAGE_TO_SIGN.payloads, EBMS) == computed
    assert [one.uri for one in computed] == ["", f"cid:{ORDER.content_id}"]
    assert all('xmlns:ds="' in one.text for one in computed)
    assert said_by(plain, (), EBMS).signer is None
    assert said_by(with_signature, (), EBMS).signer is not None


def test_a_signature_may_name_no_certificate():
    """That of another product, which is laid beside an acknowledgement (S28)."""
    document = document_of(package(how=signing()))
    bare = re.sub(rb"<ds:KeyInfo>.*</ds:KeyInfo>", b"", document, flags=re.DOTALL)
    assert bare != document
    said = said_by(bare, MESSAGE_TO_SIGN.payloads, EBMS)
    assert said.signer is None
    assert [one.uri for one in said.references] == ["", f"cid:{ORDER.content_id}"]


def test_an_examined_acknowledgement_says_what_it_acknowledges():
    copied = references_of(document_of(package(how=signing())), (), EBMS)
    content = acknowledgment(references_over(document_of(package()), (), EBMS))
    found = examine(document_of(package(content, signing())))
    assert (found.trouble, found.certificate) == (None, der())
    assert found.acknowledged == MESSAGE_TO_SIGN.message_id
    assert len(found.copied) == 1
    assert not is_evidence(copied, found.copied)


def test_an_examined_message_acknowledges_only_with_an_element():
    element = AcknowledgmentElement(timestamp_at=0)
    answering = changed(MESSAGE, ref_to_message_id="m-0@b", acknowledgment=element, payloads=())
    assert examine(document_of(package(answering, signing()))).acknowledged == "m-0@b"
    assert examine(document_of(package(how=signing()))).acknowledged == ""


def test_an_examined_question_acknowledges_nothing():
    found = examine(document_of(package(Inquiry(acknowledgment().header, InquiryKind.PING))))
    assert (found.acknowledged, found.trouble) == ("", "there is no signature")
    assert (found.certificate, found.method, found.references) == (None, "", ())


@pytest.mark.parametrize(
    ("old", "new", "trouble"),
    [
        (b"<ds:KeyInfo>", b"<ds:KeyInfo/><!--", None),
        (MESSAGE_TO_SIGN.conversation_id.encode(), b"another", "digest of the envelope"),
        (b"xml-c14n-20010315", b"xml-c14n-20010315#WithComments", "the SignatureValue is not"),
    ],
)
def test_what_does_not_stand_is_said(old, new, trouble):
    document = document_of(package(how=signing()))
    assert old in document
    if trouble is None:
        before, _, rest = document.partition(b"<ds:KeyInfo>")
        document = before + rest.partition(b"</ds:KeyInfo>")[2]
        trouble = "the signature has no certificate"
    else:
        document = document.replace(old, new)
    assert trouble in (examine(document).trouble or "")


def test_what_is_no_envelope_cannot_be_examined():
    with pytest.raises(RemoteError):
        examine(b"<x/>")
