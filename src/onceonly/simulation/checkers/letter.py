"""Packages as an outsider reads them off the wire: by small expressions on our own layout.

Knows where in a document the values are that the invariants need. Must not use the gateway's codec:
an error that the codec makes both in writing and in reading must be seen here.
"""

import re
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from itertools import chain

from onceonly.message.word import Word, changed

READ_MAX = 8_192
"""Packages remembered: those of some worlds, whose resends and repeats are the same bytes."""


class LetterKind(StrEnum):
    """What a package is for."""

    MESSAGE = "message"
    ACK = "acknowledgement"
    RECEIPT = "delivery receipt"
    ERROR = "error"
    INQUIRY = "inquiry"
    REPORT = "report"
    FAULT = "fault"
    UNREADABLE = "unreadable"


class Letter(Word):
    """One package. Texts are as they stand; what is missing is empty."""

    kind: LetterKind
    word: str = ""
    """MessageType, or the Action of a signal."""
    message_id: str = ""
    from_party: str = ""
    to_party: str = ""
    agreement_id: str = ""
    ref: str = ""
    timestamp: str = ""
    hops: tuple[tuple[str, str], ...] = ()
    """SenderURI and ReceiverURI of every RoutingHeader."""
    numbers: tuple[str, ...] = ()
    """SequenceNumber of each that has one."""
    errors: tuple[tuple[str, str], ...] = ()
    """Code and severity of each Error."""
    min_retry_s: int | None = None
    acknowledges: bool = False
    """An Acknowledgment element is in it."""
    is_best_effort: bool = False
    semantics: str = ""
    """DeliverySemantics of rm-2000, where its element says it."""
    is_passed_on: bool = False
    """An acknowledgement says that its application has the message."""
    report: tuple[tuple[str, str], ...] = ()
    header: bytes = b""
    parts: tuple[bytes, ...] = ()
    """Payload parts with their heads."""

    @property
    def contents(self) -> tuple[bytes, ...]:
        """The payloads themselves."""
        return tuple(part.partition(b"\r\n\r\n")[2] for part in self.parts)

    @property
    def header_content(self) -> tuple[bytes, ...]:
        """What the From Party says beside the payloads' bytes (R-37), as it stands.

        Without Timestamp and TimeToLive: a message that is submitted again has others.
        """
        said = _CONTENT.findall(self.header.partition(b"<RoutingHeader")[0])
        types = (_CONTENT_TYPE.findall(part.partition(b"\r\n\r\n")[0]) for part in self.parts)
        return (*said, *chain.from_iterable(types))

    @property
    def timestamp_at(self) -> int:
        """The Timestamp in microseconds; 0 where it is none."""
        return _instant(self.timestamp)

    def said(self, name: str) -> str:
        """An attribute of the Report element."""
        return dict(self.report).get(name, "")


UNREADABLE = Letter(LetterKind.UNREADABLE)

_FIELD = re.compile(
    rb"<(PartyId|MessageId|RefToMessageId|TPAId|CPAId|SenderURI|ReceiverURI|SequenceNumber"
    rb"|Timestamp|Service|Action|MinRetrySecs)>([^<]*)<"
)
_SEMANTICS = re.compile(rb"<DeliverySemantics>(BestEffort|OnceAndOnlyOnce)<")
_TYPE = re.compile(rb' MessageType="([^"]*)"')
_ERROR = re.compile(
    rb'<Error (?:codeContext="[^"]*" )?[a-zA-Z]*[cC]ode="([^"]*)" [a-zA-Z]*[sS]everity="([^"]*)"'
)
_REPORT = re.compile(rb"<Report xmlns=\"[^\"]*\" ([^>]*)/>")
_ATTRIBUTE = re.compile(rb'([a-zA-Z]+)="([^"]*)"')
_CONTENT = re.compile(
    rb"<(?:eb:)?"
    rb"(?:From|To|PartyId|TPAId|CPAId|ConversationId|ServiceInterface|Service|Action|MessageId"
    rb'|RefToMessageId|DeliverySemantics)[ />][^<]*|deliverySemantics="[^"]*"'
)
_CONTENT_TYPE = re.compile(rb"^Content-Type:[^\r]*", re.MULTILINE)
_SIGNALS_OF_2001 = b"http://www.ebxml.org/namespaces/messageService/"

_KINDS = {
    "Acknowledgement": LetterKind.ACK,
    "Acknowledgment": LetterKind.ACK,
    "DeliveryReceipt": LetterKind.RECEIPT,
    "Error": LetterKind.ERROR,
    "MessageError": LetterKind.ERROR,
    "Ping": LetterKind.INQUIRY,
    "StatusRequest": LetterKind.INQUIRY,
    "CancelRequest": LetterKind.INQUIRY,
    "ResponseRequest": LetterKind.INQUIRY,
    "Pong": LetterKind.REPORT,
    "StatusResponse": LetterKind.REPORT,
    "CancelResponse": LetterKind.REPORT,
    "ResponseNotice": LetterKind.REPORT,
    "Normal": LetterKind.MESSAGE,
}


@lru_cache(READ_MAX)
def read(body: bytes) -> Letter:
    """The package; `UNREADABLE` where it is not one of ours, damaged ones among them."""
    if body.startswith(b"<?xml"):
        return _soap_letter(body, ()) if body.endswith(_SOAP_END) else UNREADABLE
    boundary, _, rest = body.partition(b"\r\n")
    pieces = rest.split(b"\r\n" + boundary)
    if not boundary.startswith(b"--") or not pieces[-1].startswith(b"--"):
        return UNREADABLE
    header = pieces[0].partition(b"\r\n\r\n")[2]
    if b"<SOAP:Envelope" in header:
        return _soap_letter(header, tuple(piece[2:] for piece in pieces[1:-1]))
    found = _found(header)
    word = _word(header, found)
    kind = _KINDS.get(word)
    if kind is None or len(found.get(b"PartyId", ())) < 2 or b"MessageId" not in found:
        return UNREADABLE
    return _letter(kind, word, header, found, tuple(piece[2:] for piece in pieces[1:-1]))


_SOAP_END = b"</SOAP:Envelope>\r\n"
_PREFIX = re.compile(rb"(</?|(?<= ))eb:(?=[A-Za-z]+[ >=/])")
_STATUS = re.compile(rb' messageStatus="([^"]*)"')
_SIGNALS_OF_EBMS_2_0 = "urn:oasis:names:tc:ebxml-msg:service"


def _soap_letter(document: bytes, parts: tuple[bytes, ...]) -> Letter:
    """A package of ebms-2.0, whose blocks have values of one name in different places."""
    head, _, body = _PREFIX.sub(rb"\1", document).partition(b"<SOAP:Body>")
    if b"<SOAP:Fault>" in body:
        return Letter(LetterKind.FAULT, "Fault", header=document)
    header, _, blocks = head.partition(b"</MessageHeader>")
    found = _found(header)
    is_signal = found.get(b"Service", [""])[0] == _SIGNALS_OF_EBMS_2_0
    word = found.get(b"Action", [""])[0] if is_signal else "Normal"
    kind = _KINDS.get(word)
    if kind is None or len(found.get(b"PartyId", ())) < 2 or b"MessageId" not in found:
        return UNREADABLE
    letter = _letter(kind, word, header, found, parts)
    about = _found(body).get(b"RefToMessageId", [""])[0]
    said = _STATUS.search(body)
    report = () if said is None else (("status", said.group(1).decode(errors="replace")),)
    return changed(
        letter,
        ref=about if kind is LetterKind.INQUIRY else letter.ref,
        errors=_texts(_ERROR.findall(blocks)) if kind is LetterKind.ERROR else (),
        acknowledges=b"<Acknowledgment " in blocks,
        is_best_effort=b"<AckRequested" not in blocks and b"<DuplicateElimination" not in header,
        report=(("accepted", "true"), ("about", about), *report)
        if kind is LetterKind.REPORT
        else (),
        header=document,
    )


def _found(header: bytes) -> dict[bytes, list[str]]:
    found: dict[bytes, list[str]] = {}
    for name, text in _FIELD.findall(header):
        found.setdefault(name, []).append(text.decode(errors="replace"))
    return found


def _word(header: bytes, found: dict[bytes, list[str]]) -> str:
    stated = _TYPE.search(header)
    if stated is not None:
        return stated.group(1).decode(errors="replace")
    service = found.get(b"Service", [""])[0].encode()
    return found.get(b"Action", [""])[0] if service.startswith(_SIGNALS_OF_2001) else "Normal"


def _letter(
    kind: LetterKind,
    word: str,
    header: bytes,
    found: dict[bytes, list[str]],
    parts: tuple[bytes, ...],
) -> Letter:
    def first(name: bytes) -> str:
        return found.get(name, [""])[0]

    min_retry = first(b"MinRetrySecs")
    report = _REPORT.search(header) if kind is LetterKind.REPORT else None
    semantics = _SEMANTICS.search(header)
    return Letter(
        kind,
        word,
        first(b"MessageId"),
        found[b"PartyId"][0],
        found[b"PartyId"][1],
        first(b"TPAId") or first(b"CPAId"),
        first(b"RefToMessageId"),
        first(b"Timestamp"),
        tuple(zip(found.get(b"SenderURI", ()), found.get(b"ReceiverURI", ()), strict=False)),
        tuple(found.get(b"SequenceNumber", ())),
        _texts(_ERROR.findall(header)) if kind is LetterKind.ERROR else (),
        int(min_retry) if min_retry.isdecimal() else None,
        b"<Acknowledgment" in header,
        b"BestEffort" in header,
        "" if semantics is None else semantics.group(1).decode(),
        b' passedOn="true"' in header,
        () if report is None else _texts(_ATTRIBUTE.findall(report.group(1))),
        header,
        parts,
    )


def _texts(pairs: list[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (one.decode(errors="replace"), other.decode(errors="replace")) for one, other in pairs
    )


_HOP_2000 = re.compile(
    rb"  <RoutingHeader>(?:(?!</RoutingHeader>).)*</RoutingHeader>\r\n", re.DOTALL
)
_HOP_2001 = re.compile(
    rb"    <RoutingHeader[ >](?:(?!</RoutingHeader>).)*</RoutingHeader>\r\n", re.DOTALL
)


def without_last_hop(header: bytes) -> bytes:
    """The header document as it was before its last RoutingHeader came into it (I38)."""
    form = _HOP_2001 if b"<RoutingHeaderList>" in header else _HOP_2000
    hops = list(form.finditer(header))
    return header if not hops else header[: hops[-1].start()] + header[hops[-1].end() :]


@lru_cache(READ_MAX)
def _instant(text: str) -> int:
    plain = text.replace("-", "").replace(":", "").rstrip("Z")
    form = "%Y%m%dT%H%M%S.%f" if "." in plain else "%Y%m%dT%H%M%S"
    try:
        when = datetime.strptime(plain, form).replace(tzinfo=UTC)
    except ValueError:
        return 0
    return round(when.timestamp() * 1_000_000)
