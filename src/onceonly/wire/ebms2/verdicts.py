"""Acknowledgment and ErrorList of `ebms-2.0` (`wire.md` B6 and B7.5)."""

from typing import Final

from onceonly.message.errors import ErrorCode
from onceonly.message.identity import checked_identifier, checked_text
from onceonly.message.message import AcknowledgmentElement, Actor, SignedReference
from onceonly.message.signals import ErrorEntry
from onceonly.wire.ebms2 import names as own
from onceonly.wire.ebms2.header import (
    ORDERS,
    children_of,
    description_of,
    located,
    read_party_ids,
)
from onceonly.wire.elements import find_attribute, find_text, get_text, misshapen, once, several
from onceonly.wire.fields import SEVERITIES, checked_word, noting_highest
from onceonly.wire.limits import Limits
from onceonly.wire.soap import ACTOR
from onceonly.wire.timestamp import read_timestamp
from onceonly.wire.xml import Element

REFERENCES_MAX: Final = 101
"""Most ds:References of an acknowledgement: 100 payloads and the envelope."""
_DS: Final = f"{{{own.SIGNATURE_NAMESPACE}}}"
LOCATION_LENGTH_MAX: Final = 255


def read_acknowledgment(blocks: dict[str, Element], limits: Limits) -> AcknowledgmentElement | None:
    """The Acknowledgment among the blocks for one actor."""
    element = blocks.get("Acknowledgment")
    if element is None:
        return None
    with located("//SOAP:Header/eb:Acknowledgment"):
        found = once(element, ORDERS["Acknowledgment"])
        about = find_text(found, "RefToMessageId")
        party = found.get("From")
        actor = (element.get(ACTOR) or "").strip()
        return AcknowledgmentElement(
            timestamp_at=read_timestamp(get_text(found, "Timestamp")),
            from_ids=() if party is None else read_party_ids(party, limits),
            actor=Actor.TO_PARTY_MSH if actor in ("", Actor.TO_PARTY_MSH) else Actor.NEXT_MSH,
            ref_to_message_id="" if about is None else checked_identifier(about, "RefToMessageId"),
            references=_read_references(element),
        )


def _read_references(element: Element) -> tuple[SignedReference, ...]:
    found = element.findall(f"{_DS}Reference")
    if len(found) > REFERENCES_MAX:
        raise misshapen(
            f"the Acknowledgment has {len(found)} References; at most {REFERENCES_MAX} are read"
        )
    return tuple(map(_read_reference, found))


def _read_reference(element: Element) -> SignedReference:
    method = element.find(f"{_DS}DigestMethod")
    value = element.findtext(f"{_DS}DigestValue")
    if method is None or value is None:
        raise misshapen("a ds:Reference has no DigestMethod or no DigestValue; expected are both")
    return SignedReference(
        uri=checked_text(element.get("URI", ""), "Reference/@URI"),
        digest_method=checked_text(method.get("Algorithm", ""), "DigestMethod/@Algorithm"),
        digest_value=checked_text("".join(value.split()), "DigestValue"),
    )


def read_errors(element: Element, limits: Limits) -> tuple[ErrorEntry, ...]:
    """The Errors of an ErrorList; of a code or a context that is not known, the text is kept."""
    errors = tuple(map(_read_error, several(element, ORDERS["ErrorList"], limits.errors_max)))
    return noting_highest(errors, find_attribute(element, own.own("highestSeverity")))


def _read_error(element: Element) -> ErrorEntry:
    said = checked_text(find_attribute(element, own.own("errorCode")) or "", "errorCode")
    if not said:
        raise misshapen("an Error has no eb:errorCode; expected is one such as MimeProblem")
    severity = find_attribute(element, own.own("severity")) or ""
    context = find_attribute(element, own.own("codeContext")) or own.CODE_CONTEXT
    is_standard = context == own.CODE_CONTEXT
    code = own.CODES.get(said) if is_standard else None
    return ErrorEntry(
        code=code or ErrorCode.UNKNOWN,
        severity=checked_word(severity, "severity", SEVERITIES),
        description=description_of(children_of(element, ORDERS["Error"])),
        code_text="" if code else said,
        location=checked_text(
            (find_attribute(element, own.own("location")) or "")[:LOCATION_LENGTH_MAX].strip(),
            "location",
        ),
        code_context="" if is_standard else checked_text(context, "codeContext"),
    )
