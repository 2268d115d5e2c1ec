"""Signed agreements: what is believed, and what proves it (`ebms-2.0`).

R-30: what failed its signature leaves no trace under its id. R-31: where a signed acknowledgement
was asked for, a message is acknowledged only with stored evidence that verifies: our own package,
and one that the partner's gateway wrote about it, with the digests of ours. Must not know how a
gateway verifies; that the value of a signature fits is asked of the code that shows evidence to
people.
"""

import re
from collections.abc import Iterator

from onceonly.message.errors import RemoteError
from onceonly.message.event import Event
from onceonly.message.message import AckRequested
from onceonly.message.signing import Signed
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.course import Course
from onceonly.simulation.checkers.letter import LetterKind, read
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.store.contract.evidence import EvidenceKind, KeptEnvelope
from onceonly.wire.evidence import examine

_BELIEVED = frozenset({Event.STORED, Event.HELD, Event.HANDED_OVER, Event.DUPLICATE_ELIMINATED})
"""Rows that say that a copy of the message was believed."""

_ACKNOWLEDGED = frozenset({Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED})

_DIGEST = re.compile(rb"<ds:DigestValue>([^<]*)<")


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every message under an agreement with signatures."""
    if all(line.signs is Signed.NONE for line in case.plan.lines):
        return
    for course in case.courses.values():
        line = course.line
        if line is None or line.signs is Signed.NONE:
            continue
        yield from _believed(case, course)
        if course.is_origin and course.out:
            yield from _acknowledged(case, course)


def _believed(case: WorldCase, course: Course) -> Iterator[Violation]:
    """R-30: a row needs a copy as its sender signed it, brought before."""
    if case.is_set_back(course.node):
        return
    true = [one.order for one in course.taken if not one.is_damaged and _is_signed(one.body)]
    for row in course.into:
        if row.record.event in _BELIEVED and not any(order < row.order for order in true):
            yield _at("R-30", course, f"{row.record.event}, and no copy was signed", row)


def _is_signed(body: bytes) -> bool:
    return b"<ds:SignatureValue>" in body


def _acknowledged(case: WorldCase, course: Course) -> Iterator[Violation]:
    """R-31: whatever may come from outside, and however late."""
    terms = case.terms_out(course)
    if terms is None or terms.ack_requested is not AckRequested.SIGNED:
        return
    if case.is_set_back(course.node) or case.is_reconfigured(course):
        return
    row = next((one for one in course.out if one.record.event in _ACKNOWLEDGED), None)
    if row is None or case.has_forgotten(course.node, case.end_order):
        return
    kept = {
        one.kind: one
        for one in case.world.nodes[course.node].snapshot().list_evidence(course.key[2])
        if (one.from_party, one.to_party) == course.key[:2]
    }
    message = kept.get(EvidenceKind.MESSAGE)
    proof = kept.get(EvidenceKind.ACKNOWLEDGMENT)
    if message is None or proof is None:
        yield _at("R-31", course, "acknowledged, and there is no evidence of it", row)
        return
    trouble = _doubt_about(case, course, message, proof)
    if trouble:
        yield _at("R-31", course, f"acknowledged, and {trouble}", row)


def _doubt_about(
    case: WorldCase, course: Course, message: KeptEnvelope, proof: KeptEnvelope
) -> str:
    ours = {one.letter.header for one in course.sent}
    if message.document not in ours:
        return "what is kept is not what was sent"
    if proof.document not in _said_by_partner(case, course):
        return "what is kept was never written by its partner"
    try:
        trouble = examine(proof.document).trouble
    except RemoteError as error:
        return f"what is kept cannot be read: {error}"
    if trouble:
        return f"what is kept does not verify: {trouble}"
    signed = message.document.partition(b"<ds:SignedInfo")[2].partition(b"</ds:SignedInfo>")[0]
    copied = proof.document.partition(b"<eb:Acknowledgment ")[2]
    copied = copied.partition(b"</eb:Acknowledgment>")[0]
    if set(_DIGEST.findall(signed)) != set(_DIGEST.findall(copied)):
        return "the digests are not those of the message"
    return ""


def _said_by_partner(case: WorldCase, course: Course) -> set[bytes]:
    """The documents in which the gateway of the partner named the message."""
    _, _, message_id = course.key
    letters = [
        *(one.packet.body for one in case.history.sent if one.packet.source != course.node),
        *(one.body for one in case.history.replied if one.packet.target != course.node),
    ]
    read_ones = map(read, letters)
    return {
        one.header
        for one in read_ones
        if one.ref == message_id and one.kind in (LetterKind.ACK, LetterKind.MESSAGE)
    }


def _at(invariant: str, course: Course, text: str, row: Row) -> Violation:
    return Violation(invariant, f"{course}: {text}", row.order)
