"""The checks of the gateway on a signature: whose it is, and whether it is evidence."""

from typing import Final, Protocol

from onceonly.explain.evidence import Comparison, find_element
from onceonly.explain.explanation import CheckResult, Problem
from onceonly.explain.meaning import CODES
from onceonly.explain.reading import Read
from onceonly.message.agreement import Agreement
from onceonly.message.message import AckRequested
from onceonly.message.signing import SigningTerms
from onceonly.steps.signing import Attested, SignatureRefused, attest

_SIGNER: Final = "its signature is as agreed: by a certificate of the partner, and over all of it"
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
    """Make both checks, where the profile has signatures."""
    if read.document is None or not read.document.profile.has_signatures:
        return
    if agreement is None:
        remark = "it names no agreement that is configured here, whose certificates would say"
        add("signer", _SIGNER, CheckResult.NOT_KNOWN, None, remark)
        return
    if read.envelope is None:
        remark = "what it covers is not all in the capture"
        add("signer", _SIGNER, CheckResult.NOT_KNOWN, None, remark)
        return
    attested: Attested | None = None
    problem: Problem | None = None
    try:
        attested = attest(read.envelope, agreement.signing)
    except SignatureRefused as error:
        problem = Problem(
            error.code.value, error.severity.value, error.description, CODES[error.code]
        )
        remark = f"for the journal: {error.detail}"
    else:
        remark = _remark_on(
            attested, agreement.signing, is_signed=read.envelope.signature is not None
        )
    result = CheckResult.PASSED if problem is None else CheckResult.FAILED
    add("signer", _SIGNER, result, problem, remark)
    if find_element(read.envelope.content) is not None:
        _check_evidence(add, agreement, attested, compared)


def _remark_on(attested: Attested | None, terms: SigningTerms, *, is_signed: bool) -> str:
    asked = f"require_signature is {terms.requires.value}"
    if attested is not None:
        return f"signed by the holder of the certificate {attested.signer}; {asked}"
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
