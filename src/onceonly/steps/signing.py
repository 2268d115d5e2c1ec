"""Signatures: with which key we sign, and whether what came is signed as agreed.

The order of R-30: nothing of a message is believed, answered from the store or changed before its
signature stands. `attest` is asked when a package was read to its end and before anything of it is
kept. Certificates that travel with a message are a hint for the choice and never trusted; the
agreement pins those that may sign (`ebms2.md` §9.6). Pure: keys come in as values.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.instant import to_datetime
from onceonly.message.message import Message, SignedReference
from onceonly.message.signals import Inquiry, InquiryKind
from onceonly.message.signing import Canonicalization, PinnedCertificate, Signed, SigningTerms
from onceonly.message.word import Word
from onceonly.steps.checks import SignatureCheck, unnoted
from onceonly.wire.document import Content, Envelope
from onceonly.wire.evidence import forms_in
from onceonly.wire.proof import check_digests, check_value
from onceonly.wire.signature import (
    EnvelopeSigning,
    Signature,
    Signer,
    UnreadableSignature,
    transformed,
)


class SigningIdentity(Word, kw_only=True):
    """One key of ours; instants are in microseconds UTC."""

    id: str
    begins_at: int
    """When we begin to sign with it."""
    until_at: int
    """When its certificate ends."""
    fingerprint: str
    usual_method: str
    signers: Mapping[str, Signer]
    """By the name of the algorithm (`SignatureAlgorithm`)."""


class SignatureRefused(RemoteError):  # noqa: N818 - because it is named as its event is
    """What came is not signed as agreed. The partner is told the code and no detail (§7).

    `detail` is for the journal.
    """

    def __init__(self, detail: str, *, code: ErrorCode = ErrorCode.SECURITY_FAILURE) -> None:
        super().__init__(code, TOLD, location=_LOCATION)
        self.detail = detail


TOLD = "the signature is not as agreed; expected is one over the envelope and each payload"
_LOCATION = "//SOAP:Header/ds:Signature"


class Attested(Word, kw_only=True):
    """A package whose signature stands."""

    signer: str
    """Fingerprint of the certificate."""
    references: tuple[SignedReference, ...]
    """What an acknowledgement copies of it."""
    document: bytes
    """The signed envelope, as it came."""
    rests_on_sha1: bool = False


# --- What we sign -------------------------------------------------------------------------------


class Unproven(Word):
    """A package whose signature does not stand, and why."""

    why: str


Heard = Attested | Unproven | None
"""What the signature of a package says of it; None if it has none and needs none."""


def heard_across(terms: SigningTerms, message: Message, heard: Heard) -> Heard:
    """What the signature of a message says under another agreement than that of the message.

    `terms` are those of the other one, of which it speaks: what nobody has signed whom they name is
    no word of its partner there, if signatures were agreed (R-30).
    """
    known = {one.fingerprint for one in terms.partner_certificates}
    if isinstance(heard, Attested) and heard.signer in known:
        return heard
    if requires(terms, message):
        return Unproven(
            "it came under another agreement, and not signed by whom this one names; expected is a"
            " signature of one of its certificates"
        )
    return None


def signing_of(
    identities: Sequence[SigningIdentity], terms: SigningTerms, at: int
) -> EnvelopeSigning | None:
    """How an envelope under these terms is signed now; None if we have no key for them."""
    signer = find_signer(identities, terms, at)
    if signer is None:
        return None
    is_exclusive = terms.canonicalization is Canonicalization.EXCLUSIVE
    return EnvelopeSigning(signer=signer, is_exclusive=is_exclusive)


def find_signer(
    identities: Iterable[SigningIdentity], terms: SigningTerms, at: int
) -> Signer | None:
    """That of the identity which began last and has begun (§9.6).

    If none has begun, the next one: the partner sees what is wrong, and so does `certificate list`.
    """
    ours = [one for one in identities if one.id in terms.identities]
    if not ours:
        return None
    begun = [one for one in ours if one.begins_at <= at]
    if begun:
        last = max(begun, key=lambda one: (one.begins_at, one.id))
    else:
        last = min(ours, key=lambda one: (one.begins_at, one.id))
    return last.signers.get(terms.algorithm or last.usual_method)


def signs(terms: SigningTerms, content: Content, *, is_asked: bool = False) -> bool:
    """Whether this is signed. `is_asked`: it is an acknowledgement that must be (§9.2)."""
    if is_asked or terms.signs is Signed.ALL:
        return True
    return terms.signs is Signed.MESSAGES and _changes_a_message(content)


Found = Signature | UnreadableSignature | None
"""The signature that an envelope has."""


# --- What must be signed ------------------------------------------------------------------------


def refuse_unsigned(found: Found, content: Content, terms: SigningTerms) -> None:
    """Raise `SignatureRefused` for what cannot stand, before a payload is read.

    It lacks the signature that was agreed, or has one of a shape that is not accepted.
    """
    if found is None:
        if requires(terms, content):
            raise SignatureRefused("there is no signature; expected is one, which was agreed")
    elif isinstance(found, UnreadableSignature) and _is_looked_at(terms):
        raise SignatureRefused(found.reason, code=found.code)
    elif isinstance(found, Signature) and _is_looked_at(terms):
        _refuse_transformed(found, terms)


def _refuse_transformed(found: Signature, terms: SigningTerms) -> None:
    """Raise `SignatureRefused` for a payload in canonical form where that was not agreed (§9.3)."""
    if found.transforms_parts and not terms.accepts_part_transforms:
        uri = next(one.uri for one in found.payloads if one.form is not None)
        expected = "a digest over its bytes, or xml_part_transforms in the agreement"
        raise SignatureRefused(transformed(uri, expected).description, code=ErrorCode.NOT_SUPPORTED)


def requires(terms: SigningTerms, content: Content) -> bool:
    """Whether the partner must have signed this."""
    if terms.requires is Signed.ALL:
        return True
    return terms.requires is Signed.MESSAGES and _changes_a_message(content)


def _changes_a_message(content: Content) -> bool:
    """Whether it is a message, or takes one back: a cancel needs the signature of its message."""
    is_cancel = isinstance(content, Inquiry) and content.kind is InquiryKind.CANCEL
    return is_cancel or isinstance(content, Message)


def _is_looked_at(terms: SigningTerms) -> bool:
    """Whether a signature is verified: without a certificate of the partner it says nothing."""
    return bool(terms.partner_certificates) or not terms.is_believed_unsigned


def attest(
    envelope: Envelope,
    terms: SigningTerms,
    passed: Callable[[SignatureCheck], None] = unnoted,
) -> Attested | None:
    """Verify the signature of a package of the partner; None if it has none and needs none.

    One that nobody agreed on and nobody can verify is ignored. `passed` is told of each check that
    was passed. The validity of the certificate comes last: whoever reads the refusal of an old
    message has to know that nothing else was wrong with it. Raises `SignatureRefused`.
    """
    signature = envelope.signature
    refuse_unsigned(signature, envelope.content, terms)
    if not isinstance(signature, Signature) or not _is_looked_at(terms):
        return None
    passed(SignatureCheck.SIGNED)
    if not terms.partner_certificates:
        raise SignatureRefused(
            "the agreement names no certificate of the partner; expected is at least one"
        )
    content = envelope.content
    timestamp_at = _timestamp_of(content)
    payloads = content.payloads if isinstance(content, Message) else ()
    try:
        forms = forms_in(envelope, signature)
        check_digests(
            signature,
            forms,
            envelope.part_digests,
            [payload.content_id for payload in payloads],
            accepts_sha1=terms.accepts_sha1,
        )
        passed(SignatureCheck.DIGESTS)
        candidates = _candidates(terms, signature, timestamp_at)
        signer = _signer_among(candidates, signature, forms.signed_info)
    except RemoteError as error:
        raise SignatureRefused(error.description) from error
    passed(SignatureCheck.SIGNER)
    if not signer.was_valid(timestamp_at):
        raise SignatureRefused(
            f"its digests and its value are right, and the certificate {signer.fingerprint} was not"
            f" valid at the Timestamp {_shown(timestamp_at)}; it is from {_shown(signer.from_at)}"
            f" until {_shown(signer.until_at)}"
        )
    passed(SignatureCheck.VALIDITY)
    return Attested(
        signer=signer.fingerprint,
        references=forms.references,
        document=envelope.header,
        rests_on_sha1=signature.uses_sha1,
    )


def _signer_among(
    candidates: Sequence[PinnedCertificate], signature: Signature, signed_info: bytes
) -> PinnedCertificate:
    refusal: RemoteError | None = None
    for one in candidates:
        try:
            check_value(one.der, signature, signed_info)
        except RemoteError as error:
            refusal = refusal or error
        else:
            return one
    assert refusal is not None, "there is a candidate"
    raise refusal


def _candidates(
    terms: SigningTerms, signature: Signature, timestamp_at: int
) -> list[PinnedCertificate]:
    """The one that the signature names comes first, and those that were not valid then come last.

    Two certificates may be of one key; the one that was valid counts.
    """
    named = {sha256(one).hexdigest() for one in signature.certificates}
    return sorted(
        terms.partner_certificates,
        key=lambda one: (not one.was_valid(timestamp_at), one.fingerprint not in named),
    )


def _shown(at: int) -> str:
    return to_datetime(at).isoformat().replace("+00:00", "Z")


def _timestamp_of(content: Content) -> int:
    return content.timestamp_at if isinstance(content, Message) else content.header.timestamp_at
