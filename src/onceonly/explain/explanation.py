"""The explanation as a value: what the command prints in words, and what `-o json` prints as it is.

The names of the fields are the names in that document, and stay.
"""

from enum import StrEnum
from typing import Final

from onceonly.explain.elements import ElementInWords
from onceonly.explain.foreign import Foreign
from onceonly.message.word import Word

SCHEMA_VERSION = 1


class CaptureVerdict(StrEnum):
    """What it comes to."""

    ACCEPTED = "accepted"
    """A gateway with this configuration would take it, as far as a capture can tell."""
    REFUSED = "refused"
    """A gateway would refuse it."""
    UNDERSTOOD = "understood"
    """It was read; what a gateway would answer was not asked, or cannot be told."""
    NOT_OURS = "not-ours"
    """It is of another specification."""
    NOT_RECOGNISED = "not-recognised"
    """Nobody can tell what it is."""


class CheckResult(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_REACHED = "not-reached"
    """An earlier one failed."""
    NOT_KNOWN = "not-known"
    """No capture can tell: it depends on what the gateway has stored."""


class Fact(Word):
    """One thing that the transport says."""

    name: str
    value: str


class Problem(Word):
    """An error, with its name on the wire and its text as the gateway writes it."""

    code: str
    severity: str
    text: str
    words: str
    """What the code means."""


class PartFacts(Word, kw_only=True):
    """One MIME part."""

    number: int
    role: str
    """`header`, `payload`, or `not named` by the Manifest."""
    content_type: str
    content_id: str | None
    transfer_encoding: str
    size_bytes: int
    digest: str
    label: str | None = None
    """What the Manifest calls the document."""
    problem: str | None = None


class MessageFacts(Word, kw_only=True):
    """What the header says, as a gateway reads it."""

    profile: str
    type: str
    says: tuple[str, ...]
    message_id: str | None
    ref_to_message_id: str | None
    agreement_id: str | None
    conversation_id: str | None
    from_ids: tuple[str, ...]
    to_ids: tuple[str, ...]
    content_digest: str | None = None
    header_digest: str | None = None


class CheckFacts(Word, kw_only=True):
    """One look of the gateway at the package."""

    name: str
    words: str
    result: CheckResult
    problem: Problem | None = None
    remark: str | None = None


class PostFacts(Word):
    """A package that the gateway would send."""

    to: str
    says: tuple[str, ...]


class RowFacts(Word):
    """A row that the gateway would write into its journal."""

    event: str
    error_code: str | None
    reason: str | None


class AnswerCase(Word, kw_only=True):
    """What the gateway would answer, if its store is so."""

    when: str
    protocol: str
    """Whose status it is: `HTTP`, or `SMTP` for a mail."""
    status: int
    error: str | None
    """`Onceonly-Error` of HTTP; the name in a reply of SMTP."""
    reason: str | None
    """`Onceonly-Reason` of HTTP."""
    is_accepted: bool
    answers_with: tuple[str, ...] = ()
    """What the package says that goes back in the answer."""
    sends: tuple[PostFacts, ...] = ()
    writes: tuple[RowFacts, ...] = ()


class GatewayAnswer(Word, kw_only=True):
    """What a gateway with one configuration would answer."""

    configuration: str
    party: str
    at: str
    """The instant as of which it was asked."""
    caller: str
    certificates_at: str | None = None
    """When certificates have to be valid, if that was asked for; a gateway has the Timestamp."""
    falls_under: str | None
    """The agreement or route."""
    why: str
    checks: tuple[CheckFacts, ...]
    cases: tuple[AnswerCase, ...]
    not_known: tuple[str, ...]
    """What no capture can tell."""


class Explanation(Word, kw_only=True):
    """All of it."""

    schema_version: int = SCHEMA_VERSION
    source: str
    kind: str
    words: str
    verdict: CaptureVerdict
    tried: tuple[str, ...] = ()
    """What it was tried to be read as, where nothing fits."""
    remarks: tuple[str, ...] = ()
    """About the capture itself."""
    transport: tuple[Fact, ...] = ()
    content_type: str | None = None
    foreign: Foreign | None = None
    parts: tuple[PartFacts, ...] = ()
    document: tuple[ElementInWords, ...] = ()
    message: MessageFacts | None = None
    problem: Problem | None = None
    """Why every gateway refuses it, whatever was agreed."""
    answer: GatewayAnswer | None = None


VALIDITY: Final = "validity"
"""The check that fails alone where only the time of a certificate is wrong."""


def fails_by_validity(found: Explanation) -> bool:
    """Whether its digests and its value are right, and its certificate was not valid then."""
    checks = () if found.answer is None else found.answer.checks
    failed = [one.name for one in checks if one.result is CheckResult.FAILED]
    return found.verdict is CaptureVerdict.REFUSED and failed == [VALIDITY]
