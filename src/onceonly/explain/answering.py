"""What a gateway with a configuration would answer, check by check, and why.

Each check is made by the function with which the gateway makes it, in the gateway's order; the
answers are those of a gateway that was given the package (`rehearsal`).
"""

from collections.abc import Iterator
from typing import Final

from onceonly.explain.capture import Capture, Kind
from onceonly.explain.doors import find_http_refusal, find_mail_refusal
from onceonly.explain.error_names import Place, find_names
from onceonly.explain.evidence import compare
from onceonly.explain.explanation import (
    AnswerCase,
    CheckFacts,
    CheckResult,
    GatewayAnswer,
    PostFacts,
    Problem,
    RowFacts,
)
from onceonly.explain.keyless import keyless_identities
from onceonly.explain.meaning import CODES, instant, sentences
from onceonly.explain.reading import Read, open_package, packed
from onceonly.explain.rehearsal import PEER, Before, RehearsalStage, Rehearsed
from onceonly.explain.signature import Agreed
from onceonly.explain.signers import check_signer, remark_on_refusal
from onceonly.gateway.config import Configuration
from onceonly.gateway.incoming.excess import limits_of, refuse_announced_excess, refuse_excess
from onceonly.gateway.incoming.signatures import find_strictest
from onceonly.gateway.relaying.relay import under_names_of
from onceonly.gateway.wiring import house_of
from onceonly.message.agreement import Agreement, Route
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.instant import Now
from onceonly.message.message import Message, SyncReplyMode
from onceonly.message.signals import Assurance
from onceonly.message.word import Word, changed
from onceonly.protocol import receiving
from onceonly.protocol.effects import Answer as AnswerEffect
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.receiving import LOOKED_AT, ReceivingPair, Reception
from onceonly.steps.admission import admit
from onceonly.steps.agreements import AdmittedMessage
from onceonly.steps.arrival import Received, arrival_of
from onceonly.steps.authority import Answered, Caller, NotEntitled
from onceonly.steps.checks import ADMISSION, AGREED, Check
from onceonly.steps.ground import House
from onceonly.steps.routes import is_accepted
from onceonly.steps.signing import SignatureRefused
from onceonly.store.contract.store import Transaction
from onceonly.transport.transport import Answer, Request
from onceonly.wire.envelope import Document, Envelope
from onceonly.wire.header_digest import digests_of
from onceonly.wire.limits import DEFAULT

SCHEMES: Final = {"https": "https", "mail": "smtp", "amqp": "amqp"}
"""The transport of an entrance, by the name that agreements give it."""

_OTHER_DIGEST: Final = "0" * 64

_OUTSIDE: Final = {
    "door": "the endpoint of its transport takes it in",
    "length": "it announces no more bytes than are taken",
    "reply": "its agreement lets a package come back in an answer",
    "package": "its Content-Type is that of a package",
    "header": "its first part is a header document of one of the profiles",
    "parts": "its payload parts are those that the Manifest names, and whole",
    "route": "it may go on along its route",
    "size": "its payloads are not larger than is taken",
    "validator": "the application finds its content valid",
}

_RECEPTION: Final = {
    receiving.Case.COLLISION: "no other message is stored under its MessageId",
    receiving.Case.CANCELLED: "its sender has not taken it back",
    receiving.Case.DUPLICATE: "it is not stored already",
    receiving.Case.AHEAD: "its Timestamp is not in the future",
    receiving.Case.TOO_OLD: "it is not older than PersistDuration",
    receiving.Case.EXPIRED: "its TimeToLive is not over",
    receiving.Case.NOT_SUPPORTED: "it asks for no delivery receipt that is not provided",
    receiving.Case.QUARANTINED: "the pair is not quarantined",
    receiving.Case.OUT_OF_SEQUENCE: "its SequenceNumber follows the last one stored, or is 1",
}

_BY_STORE: Final = {
    receiving.Case.COLLISION: "it depends on what is stored",
    receiving.Case.CANCELLED: "it depends on what its sender said before",
    receiving.Case.DUPLICATE: "it depends on what is stored: a repeat is acknowledged again",
    receiving.Case.QUARANTINED: "it depends on the messages before it",
    receiving.Case.OUT_OF_SEQUENCE: "it depends on the last number that is stored",
}
"""What no capture can tell."""

_OF_HOPS: Final = (Check.RECEIVER_URI, Check.TIMES)
"""Of RoutingHeaders, which not every profile has."""
_OF_NUMBERS: Final = (receiving.Case.QUARANTINED, receiving.Case.OUT_OF_SEQUENCE)


class Circumstances(Word):
    """What the capture does not say, and the caller of the command does."""

    at: int
    """When the package arrives."""
    entrance: str | None = None
    certificate: str | None = None
    """Hexadecimal SHA-256 of the certificate that the caller showed."""
    beside: Read | None = None
    """The package that it acknowledges."""
    certificates_at: int | None = None
    """When certificates have to be valid; None: at the Timestamp, as for a gateway."""


class _Checks:
    """The checks so far; after the first that failed no other is reached."""

    def __init__(self) -> None:
        self.made: list[CheckFacts] = []
        self.has_failed = False

    def add(
        self,
        name: str,
        words: str,
        result: CheckResult,
        problem: Problem | None = None,
        remark: str | None = None,
    ) -> None:
        if self.has_failed:
            result, problem, remark = CheckResult.NOT_REACHED, None, None
        self.has_failed = self.has_failed or result is CheckResult.FAILED
        self.made.append(
            CheckFacts(name=name, words=words, result=result, problem=problem, remark=remark)
        )

    def outside(self, name: str, problem: Problem | None, *, is_passed: bool = True) -> None:
        result = CheckResult.PASSED if problem is None and is_passed else CheckResult.FAILED
        self.add(name, _OUTSIDE[name], result, problem)


def problem_of(error: RemoteError | NotEntitled) -> Problem:
    """The error as the gateway writes it."""
    if isinstance(error, NotEntitled):
        code = ErrorCode.SECURITY_FAILURE
        return Problem(code.value, "Error", str(error), CODES[code])
    return Problem(error.code.value, error.severity.value, error.description, CODES[error.code])


def _problem_of_answer(answer: Answer) -> Problem:
    text = answer.reason or f"the endpoint answers {answer.status_code}"
    meant = [one for one in find_names(answer.error or "") if one.place is Place.MAIL]
    if answer.reason is None and meant:
        text = f"{text}: {meant[0].meaning}"
    return Problem(answer.error or "", "Error", text, "the endpoint refuses it by itself")


def answer(
    configuration: Configuration, capture: Capture, read: Read, around: Circumstances
) -> GatewayAnswer:
    """What the gateway would say of the capture, which was taken apart within its limits."""
    house = house_of(configuration, keyless_identities)
    caller = _caller_of(configuration, house, capture, read, around)
    stage, checks = RehearsalStage(configuration, around.at), _Checks()
    refusal = _at_the_door(checks, configuration, capture)
    is_read = capture.kind is not Kind.ANSWER or _check_reply(checks, house, capture, read.document)
    _check_length(checks, configuration, capture)
    _check_reading(checks, read)
    admitted = _check_admission(checks, house, read.document, caller)
    _check_parts(checks, read)
    compared = None if around.beside is None else compare(read, around.beside)
    check_signer(checks.add, read, find_named(house, read.document), compared)
    valid_at = around.certificates_at
    received = None
    if read.envelope is not None and isinstance(read.envelope.content, Message):
        if isinstance(admitted, Route):
            _check_route(checks, house, admitted, read.envelope)
        _check_size(checks, configuration, read.envelope.content)
        if isinstance(admitted, AdmittedMessage):
            received = _received(admitted, read.envelope, read.envelope.content, caller)
            _check_validity(checks, admitted.agreement)
    if received is not None:
        _check_arrival(checks, received, around.at)
    if not is_read:
        cases = []
    elif refusal is not None:
        cases = [_heard(capture, "whatever its store holds", Rehearsed(refusal, (), ()))]
    else:
        cases = list(_rehearse(stage, capture, read, caller, received, checks))
    return GatewayAnswer(
        configuration=str(configuration.path),
        party=str(configuration.party[0]),
        at=instant(around.at),
        caller=_words_of_caller(caller),
        certificates_at=None if valid_at is None else instant(valid_at),
        falls_under=_name_of(admitted, house, read.document),
        why=_why(admitted, house, read.document),
        checks=tuple(checks.made),
        cases=tuple(cases),
        not_known=tuple(_not_known(house, read, around, capture)),
    )


def _caller_of(
    configuration: Configuration,
    house: House,
    capture: Capture,
    read: Read,
    around: Circumstances,
) -> Caller:
    entrance = around.entrance or ("mail" if capture.kind is Kind.MAIL else "https")
    scheme = SCHEMES[entrance]
    if scheme == "https":
        scheme = configuration.listen.partition(":")[0]
    answered = None
    if capture.kind is Kind.ANSWER and read.document is not None:
        content = read.document.content
        header = content if isinstance(content, Message) else content.header
        found = find_named(house, read.document)
        id_ = header.agreement_id if found is None else found.id
        answered = Answered(header.ref_to_message_id or "", id_)
    return Caller(scheme, PEER, around.certificate, answered)


def _words_of_caller(caller: Caller) -> str:
    if caller.answered is not None:
        return "whoever answered our POST of the message that it names, as is assumed here"
    shown = (
        f"with the certificate {caller.certificate}"
        if caller.certificate
        else "who shows no certificate"
    )
    return f"a caller over {caller.transport}, {shown}"


def _at_the_door(checks: _Checks, configuration: Configuration, capture: Capture) -> Answer | None:
    refusal = None
    if capture.kind is Kind.REQUEST:
        refusal = find_http_refusal(capture, configuration)
    elif capture.kind is Kind.MAIL:
        refusal, kind = find_mail_refusal(capture, configuration)
        if kind is not None:
            text = f"automatic mail ({kind}), dropped"
            checks.outside(
                "door", Problem(kind, "Warning", text, "it is never taken for a package")
            )
            return None
    else:
        return None
    problem = None if refusal is None else _problem_of_answer(refusal)
    result = CheckResult.PASSED if problem is None else CheckResult.FAILED
    remark = _remark_on_the_door(capture, configuration)
    checks.add("door", _OUTSIDE["door"], result, problem, remark)
    return refusal


def _remark_on_the_door(capture: Capture, configuration: Configuration) -> str | None:
    listens = configuration.smtp is not None and configuration.smtp.listen is not None
    if capture.kind is Kind.MAIL and not listens:
        return "but this configuration has no listen in [smtp], so that no mail comes in"
    return None


def _check_reply(
    checks: _Checks, house: House, capture: Capture, document: Document | None
) -> bool:
    """Whether the gateway reads the package at all (`Desk._transmit`, syncReplyMode)."""
    agreement = find_named(house, document)
    why = None
    if not 200 <= capture.status < 300:
        why = f"its status is {capture.status}; read is what comes with 2xx"
    elif agreement is not None and not agreement.reads_answers:
        why = f"syncReplyMode of agreement {agreement.id!r} is none"
    if why is None:
        checks.outside("reply", None)
    else:
        problem = Problem("NotRead", "Warning", why, "it is thrown away, and nobody is told")
        checks.outside("reply", problem)
    return why is None


def _check_length(checks: _Checks, configuration: Configuration, capture: Capture) -> None:
    if capture.content_length is None:
        return
    request = Request(capture.content_type, capture.content_length, PEER)
    try:
        refuse_announced_excess(request, limits_of(configuration.payload_bytes_max))
    except RemoteError as error:
        checks.outside("length", problem_of(error))
    else:
        checks.outside("length", None)


def _check_reading(checks: _Checks, read: Read) -> None:
    problem = None if read.error is None else problem_of(read.error)
    checks.outside("package", None if read.is_type_read else problem)
    is_read = read.document is not None
    broken = None if is_read or read.broken is None else _broken(read.broken)
    checks.outside("header", None if is_read else problem or broken, is_passed=is_read)


def _broken(text: str) -> Problem:
    return Problem("TransferBroken", "Error", text, "the transfer ended before its end")


def _check_admission(
    checks: _Checks, house: House, document: Document | None, caller: Caller
) -> AdmittedMessage | Route | None:
    passed: list[Check] = []
    admitted: AdmittedMessage | Route | None = None
    problem: Problem | None = None
    remark: str | None = None
    asked: tuple[Check, ...] = ADMISSION
    if document is not None:
        try:
            admitted = admit(house, document, caller, passed.append)
        except (RemoteError, NotEntitled) as error:
            problem = problem_of(error)
            remark = remark_on_refusal(error) if isinstance(error, SignatureRefused) else None
        is_message = isinstance(document.content, Message)
        if is_message and not isinstance(admitted, Route):
            has_hops = document.profile.has_routing_headers
            asked = (*asked, *(one for one in AGREED if has_hops or one not in _OF_HOPS))
    for check in asked:
        result = CheckResult.PASSED if check in passed else CheckResult.FAILED
        of_it, said = (None, None) if check in passed else (problem, remark)
        checks.add(check.name.lower().replace("_", "-"), check.value, result, of_it, said)
    return admitted


def _check_parts(checks: _Checks, read: Read) -> None:
    if read.envelope is not None:
        checks.outside("parts", None)
    elif read.document is not None and read.error is None and read.broken is None:
        remark = "they are not in the capture"
        checks.add("parts", _OUTSIDE["parts"], CheckResult.NOT_KNOWN, None, remark)
    else:
        problem = None if read.error is None else problem_of(read.error)
        checks.outside("parts", problem or _broken(read.broken or ""))


def _check_route(checks: _Checks, house: House, route: Route, envelope: Envelope) -> None:
    assert isinstance(envelope.content, Message), "only messages have routes"
    message = under_names_of(route, envelope.content)
    try:
        house.routes.check(route, message, envelope.routing, envelope.profile)
        is_accepted(route, message, envelope.routing[-1])
    except RemoteError as error:
        checks.outside("route", problem_of(error))
    else:
        checks.outside("route", None)


def _check_size(checks: _Checks, configuration: Configuration, message: Message) -> None:
    try:
        refuse_excess(message, configuration.payload_bytes_max)
    except RemoteError as error:
        checks.outside("size", problem_of(error))
    else:
        checks.outside("size", None)


def _check_validity(checks: _Checks, agreement: Agreement) -> None:
    if agreement.validator is not None:
        remark = f"{agreement.validator} is not asked here"
        checks.add("validator", _OUTSIDE["validator"], CheckResult.NOT_KNOWN, None, remark)


def _received(
    admitted: AdmittedMessage, envelope: Envelope, content: Message, caller: Caller
) -> Received:
    message = changed(admitted.message, payloads=content.payloads)
    return Received(
        changed(admitted, message=message),
        (),
        digests_of(content, envelope.profile),
        Assurance.STRUCTURE,
        SyncReplyMode.NONE,
        caller,
    )


def _check_arrival(checks: _Checks, received: Received, at: int) -> None:
    reception = receiving.receive(
        arrival_of(received, received.mode),
        None,
        ReceivingPair(takes_any_number=True),
        Now(at, 0),
        received.admitted.terms,
    )
    for case in LOOKED_AT:
        if case in _OF_NUMBERS and not _is_numbered(received):
            continue
        name = case.name.lower().replace("_", "-")
        if case is reception.case:
            checks.add(name, _RECEPTION[case], CheckResult.FAILED, _problem_of_reception(reception))
        elif case in _BY_STORE:
            checks.add(name, _RECEPTION[case], CheckResult.NOT_KNOWN, None, _BY_STORE[case])
        else:
            checks.add(name, _RECEPTION[case], CheckResult.PASSED)


def _problem_of_reception(reception: Reception) -> Problem:
    said = next(effect for effect in reception.effects if isinstance(effect, AnswerEffect))
    return Problem(said.code.value, said.severity.value, said.description, CODES[said.code])


def _is_numbered(received: Received) -> bool:
    return received.admitted.terms.is_numbered and received.admitted.message.wants_ack


def _rehearse(
    stage: RehearsalStage,
    capture: Capture,
    read: Read,
    caller: Caller,
    received: Received | None,
    checks: _Checks,
) -> Iterator[AnswerCase]:
    if capture.kind is Kind.DOCUMENT:
        if read.document is not None and read.document.labels and not checks.has_failed:
            return  # Its payloads are not here, so nobody knows what becomes of it.
        package = packed(capture, read.parts.root, DEFAULT)
        if package is None:
            return
        capture = package
    if received is None:
        when = "where nothing is stored that it could be a copy of, or be about"
        yield _heard(capture, when, stage.hear(capture, caller))
        return
    when = "as a new message"
    if _is_numbered(received):
        when += ", whose SequenceNumber follows"
    yield _heard(capture, when, stage.hear(capture, caller, before=_any_number(received)))
    if checks.has_failed:
        return
    again = stage.hear(capture, caller, times=2, before=_any_number(received))
    yield _heard(capture, "as a repeat of the same message", again)
    for when, before in _other_stores(received, stage.at):
        yield _heard(capture, when, stage.hear(capture, caller, before=before))


def _any_number(received: Received) -> Before:
    return _with_pair(received, ReceivingPair(takes_any_number=True))


def _with_pair(received: Received, pair: ReceivingPair) -> Before:
    def set_pair(txn: Transaction) -> None:
        txn.put_receiving_pair(received.admitted.message.pair, pair)

    return set_pair


def _other_stores(received: Received, at: int) -> Iterator[tuple[str, Before]]:
    """What a store may hold that changes the answer."""
    message, number = received.admitted.message, received.admitted.sequence_number

    def with_other_content(txn: Transaction) -> None:
        txn.add_inbound(
            changed(message, payloads=()),
            (),
            None,
            digest=_OTHER_DIGEST,
            header_digest=_OTHER_DIGEST,
            received_at=at,
        )

    def taken_back(txn: Transaction) -> None:
        _any_number(received)(txn)
        txn.cancel_inbound(message.key, at=at, keep_until_at=None)

    yield "where a message with other content is stored under its MessageId", with_other_content
    yield "where its sender took it back before", taken_back
    if _is_numbered(received):
        if number not in (None, 1):
            last = ReceivingPair(sequence_number=number)
            yield "where its SequenceNumber does not follow", _with_pair(received, last)
        closed = ReceivingPair(status=PairStatus.QUARANTINED, reason="rehearsed")
        yield "where the pair is quarantined", _with_pair(received, closed)


def _heard(capture: Capture, when: str, heard: Rehearsed) -> AnswerCase:
    said = heard.answer
    is_taken = 200 <= said.status_code < 300 and said.error is None
    return AnswerCase(
        when=when,
        protocol="SMTP" if capture.kind is Kind.MAIL else "HTTP",
        status=said.status_code,
        error=said.error,
        reason=said.reason,
        is_accepted=is_taken,
        answers_with=_says(said.content_type, said.body),
        sends=tuple(
            PostFacts(post.to, _says(post.content_type, post.body)) for post in heard.posts
        ),
        writes=tuple(RowFacts(row.event.value, row.error_code, row.reason) for row in heard.rows),
    )


def _says(content_type: str | None, body: bytes | None) -> tuple[str, ...]:
    if content_type is None or body is None:
        return ()
    envelope = open_package(content_type, body, DEFAULT)
    if envelope is None:
        return ("a document",)
    signed = () if envelope.signature is None else ("it is signed",)
    return (*sentences(envelope.content), *signed)


def _name_of(
    admitted: AdmittedMessage | Route | None, house: House, document: Document | None
) -> str | None:
    if isinstance(admitted, Route):
        return f"route {admitted.id}"
    found = admitted.agreement if admitted is not None else find_named(house, document)
    return None if found is None else f"agreement {found.id}"


def find_named(house: House, document: Document | None) -> Agreement | None:
    """The agreement that a document falls under, if it names one that is configured."""
    if document is None:
        return None
    content = document.content
    if isinstance(content, Message):
        return house.agreements.find_for(content)
    return find_strictest(house.agreements, content)


def agreed_of(configuration: Configuration, document: Document, around: Circumstances) -> Agreed:
    """What the configuration says of the signature of a document."""
    found = find_named(house_of(configuration, keyless_identities), document)
    return Agreed(found, around.certificates_at)


def _why(admitted: AdmittedMessage | Route | None, house: House, document: Document | None) -> str:
    if document is None:
        return "its header was not read, so nobody knows what it names"
    content = document.content
    header = content if isinstance(content, Message) else content.header
    named = header.agreement_id
    if isinstance(admitted, Route):
        parties = f"from {admitted.pair.from_party} to {admitted.pair.to_party}"
        what = f"it is {parties}, and messages between these parties travel that route"
        return f"{what}; {_asks(admitted)}"
    agreement = find_named(house, document)
    if agreement is not None:
        asks = _asks(agreement)
        return f"it names {named}, which is with {agreement.their_party}; {asks}"
    if not named:
        return "it names no agreement: that of the message which it is about holds for it"
    configured = ", ".join(one.id for one in house.agreements)
    return f"it names {named}, which is not configured; configured are: {configured or 'none'}"


def _asks(agreement: Agreement | Route) -> str:
    where = f" at the entrance {' or '.join(agreement.entrances)}" if agreement.entrances else ""
    if not agreement.caller_certificate:
        return f"its caller has to show no certificate{where}"
    return (
        f"its caller has to show the certificate {' or '.join(agreement.caller_certificate)}{where}"
    )


def _not_known(house: House, read: Read, around: Circumstances, capture: Capture) -> Iterator[str]:
    """What has to be said beside the checks."""
    if around.certificates_at is not None:
        yield (
            "what the gateway itself says of the validity of certificates: it looks at the"
            f" Timestamp, and here it is looked at {instant(around.certificates_at)}"
            " (--certificates-at)"
        )
    agreement = find_named(house, read.document)
    asks = agreement is not None and bool(agreement.caller_certificate)
    if asks and around.certificate is None and capture.kind is not Kind.ANSWER:
        yield "which certificate its caller showed: --caller-certificate says it"
    if around.entrance is None and capture.kind in (Kind.BODY, Kind.DOCUMENT):
        yield "by which entrance it came: --entrance says it, and https is assumed"
    content = None if read.document is None else read.document.content
    if agreement is not None and agreement.terms.sync_reply_mode.has_response:
        wait_s = agreement.terms.timeout_s
        yield (
            f"what the application answers: over HTTP it is awaited for {wait_s} s, and goes back"
            " in the answer; rehearsed is that it says nothing in time"
        )
    if isinstance(content, Message):
        yield "whether it is a repeat, and what was stored before it: each case is below"
    elif content is not None:
        yield (
            "whether what it is about is in the gateway's store: rehearsed is an empty one; where"
            " it fits a message there, it counts, and the answer of the transport is the same"
        )
    yield "whether there is room in the store, and whether a limit of calls is used up"
