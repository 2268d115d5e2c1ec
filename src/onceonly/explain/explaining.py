"""A capture in, an explanation out: `explain` is all that the command needs."""

from typing import BinaryIO

from onceonly.explain import capture as captures
from onceonly.explain.answering import Circumstances, agreed_of, answer, problem_of
from onceonly.explain.blocks import sentences_of_envelope
from onceonly.explain.capture import Capture, Kind, recognise
from onceonly.explain.elements import ElementInWords, in_words
from onceonly.explain.evidence import Comparison, compare
from onceonly.explain.explanation import (
    CaptureVerdict,
    CheckResult,
    Explanation,
    Fact,
    GatewayAnswer,
    MessageFacts,
    PartFacts,
)
from onceonly.explain.foreign import Foreign, find_foreign, is_ours
from onceonly.explain.meaning import of_fault, sentences
from onceonly.explain.parts import CutPart, Take
from onceonly.explain.reading import Read, soap_type_of, take_apart
from onceonly.explain.signature import sentences_of_signature
from onceonly.explain.validity import with_certificates_at
from onceonly.gateway.config import Configuration
from onceonly.gateway.incoming.excess import limits_of
from onceonly.message.message import Message
from onceonly.message.printable import quoted
from onceonly.message.signals import SoapFault
from onceonly.message.word import Word
from onceonly.transport.http.outcome import outcome_of, words_of
from onceonly.transport.http.refusal import read_error_name
from onceonly.transport.transport import Outcome
from onceonly.wire.document import message_type_of
from onceonly.wire.envelope import find_fault
from onceonly.wire.header_digest import digests_of
from onceonly.wire.limits import DEFAULT
from onceonly.wire.version import ROOT_TAG, spelling_of_root

_OUTCOMES = {
    Outcome.ACCEPTED: "the other transport took the request, which is no acknowledgement",
    Outcome.REFUSED: "the request was certainly not taken",
    Outcome.UNKNOWN: "nobody knows whether the request was taken",
}


_FAULTED = f"{Outcome.REFUSED.value}: {_OUTCOMES[Outcome.REFUSED]} (a SOAP Fault)"


SECRETS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
"""Fields whose values let somebody in: an explanation is pasted into tickets."""
NOT_SHOWN = "(not shown)"


class WantedPart(Word):
    """A part whose bytes are asked for, and who takes them."""

    number: int
    take: Take


def explain(
    file: BinaryIO,
    source: str,
    *,
    content_type: str | None = None,
    configuration: Configuration | None = None,
    around: Circumstances | None = None,
    wanted: WantedPart | None = None,
) -> Explanation:
    """What is in the seekable `file`, which is called `source`.

    With a `configuration` also what its gateway would answer. Raises `OSError` from the file, and
    nothing because of what is in it.
    """
    capture = recognise(file, content_type)
    if capture.kind is Kind.UNKNOWN:
        return Explanation(
            source=source,
            kind=capture.kind.value,
            words=captures.WORDS[capture.kind],
            verdict=CaptureVerdict.NOT_RECOGNISED,
            tried=captures.TRIED,
        )
    if configuration is not None and around is not None and around.certificates_at is not None:
        configuration = with_certificates_at(configuration, around.certificates_at)
    limits = DEFAULT if configuration is None else limits_of(configuration.payload_bytes_max)
    number, take = (None, None) if wanted is None else (wanted.number, wanted.take)
    read = take_apart(capture, limits, wanted=number, take=take)
    fault = find_fault(soap_type_of(capture), read.parts.root, limits)
    is_empty = read.document is None
    is_empty = is_empty and (capture.kind is Kind.ANSWER or fault is not None)
    is_empty = is_empty and (not read.parts.parts or fault is not None)
    foreign = None if fault is not None else _foreign(capture, read)
    compared = None
    if around is not None and around.beside is not None:
        compared = compare(read, around.beside)
    said: GatewayAnswer | None = None
    if configuration is not None and around is not None and not is_empty:
        said = answer(configuration, capture, read, around)
    has_package = not is_empty and foreign is None
    return Explanation(
        source=source,
        kind=capture.kind.value,
        words=captures.WORDS[capture.kind],
        verdict=_verdict(read, foreign, said, is_empty=is_empty),
        remarks=(*_remarks(capture, read), *of_fault(fault)),
        transport=tuple(_transport(capture, fault)),
        content_type=capture.content_type or None,
        foreign=foreign,
        parts=_parts(read),
        document=_document(read),
        message=_message(read, _signed(read, configuration, around, compared)),
        problem=problem_of(read.error) if has_package and read.error is not None else None,
        answer=said,
    )


def read_beside(file: BinaryIO) -> Read:
    """The package that another one acknowledges, for `Circumstances`. Raises `OSError`."""
    return take_apart(recognise(file, None), DEFAULT)


def _foreign(capture: Capture, read: Read) -> Foreign | None:
    if read.document is not None:
        return None
    found = find_foreign(capture, read.parts.root)
    is_other = read.root is not None and read.root.tag != ROOT_TAG
    is_other = is_other and not is_ours(read.parts.root)
    if found is None and is_other and capture.kind is Kind.DOCUMENT:
        assert read.root is not None, "it has a tag"
        return Foreign("another XML document", f"its root element {quoted(read.root.tag)}")
    return found


def _verdict(
    read: Read, foreign: Foreign | None, said: GatewayAnswer | None, *, is_empty: bool
) -> CaptureVerdict:
    if foreign is not None:
        return CaptureVerdict.NOT_OURS
    if is_empty:
        return CaptureVerdict.UNDERSTOOD
    checks = () if said is None else said.checks
    cases = () if said is None else said.cases
    is_refused = any(check.result is CheckResult.FAILED for check in checks)
    if read.error is not None or read.broken is not None or is_refused:
        return CaptureVerdict.REFUSED
    if not cases:
        return CaptureVerdict.UNDERSTOOD
    return CaptureVerdict.ACCEPTED if cases[0].is_accepted else CaptureVerdict.REFUSED


def _remarks(capture: Capture, read: Read) -> tuple[str, ...]:
    remarks = list(capture.remarks)
    if capture.has_bare_line_feeds:
        remarks.append(
            "the lines of its head end in LF alone, as a program has stored them; on the wire they"
            " end in CRLF, and it is read as if they did"
        )
    if read.broken is not None:
        remarks.append(read.broken)
    return tuple(remarks)


def _transport(capture: Capture, fault: SoapFault | None) -> list[Fact]:
    facts: list[Fact] = []
    if capture.kind is Kind.REQUEST:
        facts.append(Fact("request", f"{capture.method} {capture.target} HTTP/{capture.version}"))
    elif capture.kind is Kind.ANSWER:
        facts.append(Fact("answer", f"HTTP/{capture.version} {capture.status} {capture.phrase}"))
        facts.append(Fact("outcome", _outcome(capture) if fault is None else _FAULTED))
    facts += [Fact(name, NOT_SHOWN if name in SECRETS else value) for name, value in capture.fields]
    return facts


def _outcome(capture: Capture) -> str:
    if capture.status < 200:
        return "an interim answer: another one follows"
    error_name = read_error_name((capture.find("onceonly-error") or "").encode("latin-1"))
    outcome = outcome_of(
        capture.status, error_name=error_name, content_type=capture.content_type, is_sent=True
    )
    words = words_of(
        capture.status,
        capture.phrase,
        error_name=error_name,
        reason=capture.find("onceonly-reason") or "",
        location=capture.find("location") or "",
    )
    return f"{outcome.value}: {_OUTCOMES[outcome]} ({words})"


def _parts(read: Read) -> tuple[PartFacts, ...]:
    labels = {} if read.document is None else read.document.labels
    return tuple(_part(part, labels, read) for part in read.parts.parts)


def _part(part: CutPart, labels: dict[str, str], read: Read) -> PartFacts:
    role = "header" if part.number == 1 else "payload"
    label = labels.get(part.content_id or "")
    if part.number > 1 and read.document is not None and read.envelope is None and label is None:
        role = "not named by the Manifest"
    return PartFacts(
        number=part.number,
        role=role,
        content_type=part.content_type,
        content_id=part.content_id,
        transfer_encoding=part.transfer_encoding,
        size_bytes=part.size_bytes,
        digest=part.digest,
        label=label or None,
        problem=part.problem,
    )


def _document(read: Read) -> tuple[ElementInWords, ...]:
    if read.root is None or read.root.tag != ROOT_TAG:
        return ()
    profile = spelling_of_root(read.root) if read.document is None else read.document.profile
    return tuple(in_words(read.root, profile))


def _signed(
    read: Read,
    configuration: Configuration | None,
    around: Circumstances | None,
    compared: Comparison | None,
) -> tuple[str, ...]:
    """The blocks and the signature, where the document is a SOAP envelope."""
    if read.document is None or read.root is None or not read.document.profile.has_signatures:
        return ()
    agreed = None
    if configuration is not None and around is not None:
        agreed = agreed_of(configuration, read.document, around)
    beside = () if compared is None else (compared.words,)
    signed = sentences_of_signature(read, agreed)
    return (*sentences_of_envelope(read.root), *signed, *beside)


def _message(read: Read, signed: tuple[str, ...]) -> MessageFacts | None:
    if read.document is None:
        return None
    content = read.document.content if read.envelope is None else read.envelope.content
    header = content if isinstance(content, Message) else content.header
    digests = None
    if isinstance(content, Message) and read.envelope is not None:
        digests = digests_of(content, read.document.profile)
    return MessageFacts(
        profile=read.document.profile.name,
        type=message_type_of(content),
        says=(*sentences(content), *signed),
        message_id=header.message_id or None,
        ref_to_message_id=header.ref_to_message_id or None,
        agreement_id=header.agreement_id or None,
        conversation_id=header.conversation_id or None,
        from_ids=tuple(map(str, header.from_ids)),
        to_ids=tuple(map(str, header.to_ids)),
        content_digest=None if digests is None else digests.payloads,
        header_digest=None if digests is None else digests.header,
    )
