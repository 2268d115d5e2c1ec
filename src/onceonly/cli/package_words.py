"""An explanation as lines for people."""

from collections.abc import Iterator
from typing import Final

from onceonly.explain.explanation import (
    AnswerCase,
    CaptureVerdict,
    CheckFacts,
    CheckResult,
    Explanation,
    GatewayAnswer,
    MessageFacts,
    PartFacts,
    Problem,
    fails_by_validity,
)

_VERDICTS: Final = {
    CaptureVerdict.ACCEPTED: "the gateway would accept it",
    CaptureVerdict.REFUSED: "it would be refused",
    CaptureVerdict.UNDERSTOOD: "understood; give -c to hear what a gateway would answer",
    CaptureVerdict.NOT_OURS: "it is not one of our profiles, and would be refused",
    CaptureVerdict.NOT_RECOGNISED: "nobody can tell what it is",
}
_MARKS: Final = {
    CheckResult.PASSED: "passed",
    CheckResult.FAILED: "FAILED",
    CheckResult.NOT_REACHED: "-",
    CheckResult.NOT_KNOWN: "?",
}


def lines_of(found: Explanation) -> Iterator[str]:
    """The explanation, from what it is to what would be answered."""
    yield f"{found.source}: {found.words}"
    if found.foreign is not None:
        yield f"not one of our profiles: it is {found.foreign.name}, by {found.foreign.by}"
    yield from (f"it is not {tried}" for tried in found.tried)
    yield from (f"note: {remark}" for remark in found.remarks)
    yield from _chapter("Transport", (f"{fact.name}: {fact.value}" for fact in found.transport))
    yield from _chapter("Parts", _parts(found.parts))
    yield from _chapter(
        "Header document",
        (
            f"{one.path}{'' if one.value is None else f' = {one.value}'} -- {one.words}"
            f" [{one.section}]"
            for one in found.document
        ),
    )
    if found.message is not None:
        yield from _chapter("Meaning", _message(found.message))
    if found.problem is not None:
        yield from _chapter("Refused by every gateway", _problem(found.problem))
    if found.answer is not None:
        yield from _answer(found.answer)
    yield ""
    yield f"Verdict: {_verdict(found)}"


def _verdict(found: Explanation) -> str:
    if fails_by_validity(found):
        return (
            "it would be refused, since the certificate was not valid at its Timestamp;"
            " its digests and its signature are right (--certificates-at looks at another time)"
        )
    if found.verdict is CaptureVerdict.ACCEPTED and _is_conditional(found):
        return "the gateway would accept it, if it looked at certificates as --certificates-at says"
    if found.verdict is CaptureVerdict.UNDERSTOOD and found.answer is not None:
        return "understood; its payloads are not here, so that no more can be said"
    if found.verdict is CaptureVerdict.UNDERSTOOD and not found.parts:
        return "understood; there is no package in it"
    return _VERDICTS[found.verdict]


def _is_conditional(found: Explanation) -> bool:
    return found.answer is not None and found.answer.certificates_at is not None


def _chapter(title: str, lines: Iterator[str]) -> Iterator[str]:
    is_begun = False
    for line in lines:
        if not is_begun:
            yield ""
            yield title
            is_begun = True
        yield f"  {line}"


def _parts(parts: tuple[PartFacts, ...]) -> Iterator[str]:
    for part in parts:
        yield f"{part.number} {part.role}: {part.content_type}, {part.size_bytes} bytes"
        if part.content_id is not None:
            yield f"    Content-ID {part.content_id}"
        if part.label is not None:
            yield f"    named {part.label}"
        yield f"    encoding {part.transfer_encoding}, sha256 {part.digest}"
        if part.problem is not None:
            yield f"    problem: {part.problem}"


def _message(message: MessageFacts) -> Iterator[str]:
    yield f"profile {message.profile}, {message.type}"
    yield from message.says
    if message.content_digest is not None:
        yield f"content digest {message.content_digest}"
        yield f"header digest {message.header_digest}"


def _problem(problem: Problem) -> Iterator[str]:
    yield f"{problem.code} ({problem.severity}): {problem.text}"
    yield f"    that is: {problem.words}"


def _answer(answer: GatewayAnswer) -> Iterator[str]:
    yield from _chapter(
        "The gateway",
        iter(
            (
                f"{answer.party}, configured by {answer.configuration}, at {answer.at}",
                f"caller: {answer.caller}",
                f"falls under: {answer.falls_under or 'nothing that is configured'}: {answer.why}",
                *(f"no capture can tell: {one}" for one in answer.not_known),
            )
        ),
    )
    yield from _chapter("Checks", _checks(answer.checks))
    for case in answer.cases:
        yield from _chapter(f"Answer {case.when}", _case(case))


def _checks(checks: tuple[CheckFacts, ...]) -> Iterator[str]:
    for check in checks:
        remark = "" if check.remark is None else f" ({check.remark})"
        yield f"{_MARKS[check.result]:6} {check.name:15} {check.words}{remark}"
        if check.problem is not None:
            yield from (f"       {line}" for line in _problem(check.problem))


def _case(case: AnswerCase) -> Iterator[str]:
    name = " " if case.protocol == "SMTP" else ", Onceonly-Error: "
    yield f"{case.protocol} {case.status}{'' if case.error is None else name + case.error}"
    if case.reason is not None:
        yield f"Onceonly-Reason: {case.reason}"
    yield from (f"in the answer: {one}" for one in case.answers_with)
    for post in case.sends:
        yield f"sends to {post.to}: {'; '.join(post.says) or 'a package'}"
    for row in case.writes:
        code = "" if row.error_code is None else f" {row.error_code}"
        reason = "" if row.reason is None else f": {row.reason}"
        yield f"journal: {row.event}{code}{reason}"
