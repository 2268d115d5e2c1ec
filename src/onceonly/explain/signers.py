"""The checks of the gateway on a signature: whose it is, and whether it is evidence."""

from typing import Final, Protocol

from onceonly.explain.evidence import Comparison, find_element
from onceonly.explain.explanation import CheckResult, Problem
from onceonly.explain.meaning import CODES
from onceonly.explain.reading import Read
from onceonly.message.agreement import Agreement
from onceonly.message.message import AckRequested, Message
from onceonly.message.signing import SigningTerms
from onceonly.steps.checks import SignatureCheck
from onceonly.steps.signing import Attested, SignatureRefused, attest
from onceonly.wire.envelope import Envelope

_VERIFIED: Final = (SignatureCheck.DIGESTS, SignatureCheck.SIGNER, SignatureCheck.VALIDITY)
_EVIDENCE: Final = "as an acknowledgement it is evidence: signed, and of just what was sent"


class Add(Protocol):
    """Takes the next check."""

    def __call__(
        self,
        name: str,
        words: str,
        result: CheckResult,
        problem: Problem | None = None,
        remark: str | None = None,
    ) -> None:
        """It is written after those before it."""
        ...


def check_signer(
    add: Add, read: Read, agreement: Agreement | None, compared: Comparison | None
) -> None:
    """Make the checks, where the profile has signatures."""
    if read.document is None or not read.document.profile.has_signatures:
        return
    if agreement is None:
        remark = "it names no agreement that is configured here, whose certificates would say"
        _add_signer(add, CheckResult.NOT_KNOWN, remark)
        return
    if read.envelope is None:
        remark = "what it covers is not all in the capture"
        _add_signer(add, CheckResult.NOT_KNOWN, remark)
        return
    attested = _check_signature(add, read.envelope, agreement.signing)
    if find_element(read.envelope.content) is not None:
        _check_evidence(add, agreement, attested, compared)


def _add_signer(add: Add, result: CheckResult, remark: str) -> None:
    add("signer", SignatureCheck.SIGNER.value, result, None, remark)


def _check_signature(add: Add, envelope: Envelope, terms: SigningTerms) -> Attested | None:
    """One check for each look at it; one in all where nobody looks at it."""
    passed: list[SignatureCheck] = []
    attested: Attested | None = None
    failed: SignatureRefused | None = None
    try:
        attested = attest(envelope, terms, passed.append)
    except SignatureRefused as error:
        failed = error
    if attested is None and failed is None:
        is_signed = envelope.signature is not None
        _add_signer(add, CheckResult.PASSED, _remark_on_none(terms, is_signed=is_signed))
        return None
    # A business message was asked for its signature before (`Check.SIGNATURE`).
    is_asked = not isinstance(envelope.content, Message)
    for check in (SignatureCheck.SIGNED, *_VERIFIED) if is_asked else _VERIFIED:
        name = "signature" if check is SignatureCheck.SIGNED else check.name.lower()
        if check in passed:
            remark = None
            if attested is not None and check is SignatureCheck.SIGNER:
                remark = f"signed by the holder of the certificate {attested.signer}"
            add(name, check.value, CheckResult.PASSED, None, remark)
        else:
            assert failed is not None, "all checks are passed otherwise"
            problem = Problem(
                failed.code.value, failed.severity.value, failed.description, CODES[failed.code]
            )
            add(name, check.value, CheckResult.FAILED, problem, remark_on_refusal(failed))
    return attested


def remark_on_refusal(error: SignatureRefused) -> str:
    """What the gateway writes into its journal, and tells no partner."""
    return f"for the journal: {error.detail}"


def _remark_on_none(terms: SigningTerms, *, is_signed: bool) -> str:
    asked = f"require_signature is {terms.requires.value}"
    if is_signed:
        return f"{asked}, and there are no partner_certificates: it is ignored, and proves nothing"
    return f"it has none, and {asked}"


def _check_evidence(
    add: Add, agreement: Agreement, attested: Attested | None, compared: Comparison | None
) -> None:
    if agreement.terms.ack_requested is not AckRequested.SIGNED:
        return
    if attested is None:
        add("evidence", _EVIDENCE, CheckResult.FAILED, None, _UNSIGNED)
    elif compared is None:
        remark = "that depends on the message which it acknowledges: --of gives its package"
        add("evidence", _EVIDENCE, CheckResult.NOT_KNOWN, None, remark)
    else:
        result = CheckResult.PASSED if compared.fits else CheckResult.FAILED
        add("evidence", _EVIDENCE, result, None, compared.words)


_UNSIGNED: Final = (
    "ack_requested is Signed, and it is not signed by a certificate of the partner: it acknowledges"
    " nothing, and the message is sent again"
)
