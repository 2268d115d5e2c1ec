"""The values that both profiles read in the same way: parties, URIs, numbers, errors, signals.

Raises `RemoteError` (ValueNotRecognized, Inconsistent) for values outside their grammar; the
`salvage_*` functions, for documents that were refused, give None instead.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

from onceonly.message.errors import ErrorCode, RemoteError, Severity
from onceonly.message.identity import (
    IDENTIFIER_LENGTH_MAX,
    PartyId,
    checked_identifier,
    checked_party,
    checked_text,
    is_uri,
    printable,
)
from onceonly.message.message import DeliverySemantics
from onceonly.message.printable import quoted
from onceonly.message.signals import ErrorEntry
from onceonly.message.word import changed
from onceonly.wire import names
from onceonly.wire.elements import (
    Order,
    find_attribute,
    find_text,
    get_text,
    once,
    several,
    text_of,
    unrecognized,
)
from onceonly.wire.limits import Limits
from onceonly.wire.mime import is_content_id
from onceonly.wire.xml import WHITE_SPACE, Element

DESCRIPTION_LENGTH_MAX: Final = 4096
"""Longest Description of an Error that is kept. The rest is cut off: if an error report were
refused for a long text, the error would be hidden."""

SEMANTICS: Final = {
    semantics.value: semantics
    for semantics in (DeliverySemantics.ONCE_AND_ONLY_ONCE, DeliverySemantics.BEST_EFFORT)
}
"""The two degrees of reliability that the wire has words for (R-16, R-17)."""

SEVERITIES: Final = {severity.value: severity for severity in Severity}
_ERROR_CODES = {code.value: code for code in ErrorCode}
MATCHED_BY_REFERENCE: Final = frozenset({names.ACKNOWLEDGEMENT, names.RECEIPT, names.ERROR})
"""Signals that are matched to a message of ours by RefToMessageId. The rest of their header has no
effect, so it may be missing (ruling R-42)."""
_NUMBER = re.compile(r"[0-9]{1,9}")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

Word = TypeVar("Word")


def read_party(element: Element, order: Order, limits: Limits) -> tuple[PartyId, ...]:
    """The PartyIds of a From or To."""
    party_ids = tuple(
        checked_party(PartyId(text_of(child, "PartyId"), find_attribute(child, "type")))
        for child in several(element, order, limits.party_ids_max)
    )
    check_party(party_ids)
    return party_ids


def check_party(party_ids: tuple[PartyId, ...]) -> None:
    """Raise `RemoteError` (Inconsistent) unless each type is there once, and no PartyId twice."""
    if len(party_ids) > 1:
        types = [party_id.type for party_id in party_ids if party_id.type is not None]
        if len(set(types)) < len(types) or len(set(party_ids)) < len(party_ids):
            named = ", ".join(map(str, party_ids))
            raise RemoteError(
                ErrorCode.INCONSISTENT,
                f"a party has two PartyIds of one type: {quoted(named)}; expected is one of each",
            )


def get_uri(found: Mapping[str, Element], name: str) -> str:
    """The URI in the child of that name."""
    return checked_uri(get_text(found, name), name)


def checked_uri(uri: str, name: str) -> str:
    """`uri`, if it is one."""
    if not is_uri(uri):
        raise unrecognized(
            f"{name} {quoted(uri)} is not a URI; expected is one such as http://host/path, of at"
            f" most {IDENTIFIER_LENGTH_MAX} characters without blanks"
        )
    return uri


def get_number(found: Mapping[str, Element], name: str) -> int:
    """The number in the child of that name."""
    return checked_number(get_text(found, name), name)


def checked_number(digits: str, name: str) -> int:
    """The number with these digits."""
    # The digits are counted before `int` sees them: it is quadratic in their number (X14).
    if _NUMBER.fullmatch(digits) is None:
        raise unrecognized(f"{name} {quoted(digits)} is not a number; expected are 1-9 digits 0-9")
    return int(digits)


def checked_sequence_number(digits: str) -> int:
    """The SequenceNumber with these digits (seed 000 §2.2.2)."""
    number = checked_number(digits, "SequenceNumber")
    if number == 0:
        raise unrecognized("SequenceNumber is 0; expected is a number from 1 to 999999999")
    return number


def get_reference(message_data: Mapping[str, Element], message_type: str) -> str:
    """RefToMessageId of a signal. Only a Ping, which is about no message, may be without one."""
    if message_type == names.PING and "RefToMessageId" not in message_data:
        return ""
    return checked_identifier(get_text(message_data, "RefToMessageId"), "RefToMessageId")


def get_own_name(found: Mapping[str, Element], name: str, message_type: str) -> str:
    """The signal's own id, agreement or conversation, in the child of that name.

    An acknowledgement or an error is matched by its RefToMessageId (I29), so other products leave
    these out; then the value is empty (ruling R-42). All other signals are answered, so they must
    have it.
    """
    if message_type in MATCHED_BY_REFERENCE:
        return find_text(found, name) or ""
    return checked_identifier(get_text(found, name), name)


def find_word(element: Element, attribute: str, words: Mapping[str, Word]) -> Word | None:
    """The value of the attribute, which must be one of `words`, or None if it is absent."""
    value = find_attribute(element, attribute)
    if value is None:
        return None
    return checked_word(value, attribute, words)


def checked_word(value: str, name: str, words: Mapping[str, Word]) -> Word:
    """The meaning of `value`, which must be one of `words`."""
    word = words.get(value)
    if word is None:
        raise unrecognized(
            f"the value of {name} is {quoted(value)}; expected is {' or '.join(words)}"
        )
    return word


def find_boolean(element: Element, attribute: str) -> bool | None:
    """The value of an attribute of the schema type boolean, or None if it is absent."""
    return find_word(element, attribute, _BOOLEANS)


def checked_document_id(document_id: str, known: Mapping[str, str]) -> str:
    """The content id in a URI of the Manifest, as it is written there; it must be a new one.

    Nothing is ever fetched: a document is a part of this package, or is refused (attack P8).
    """
    scheme, _, content_id = document_id.partition(":")
    if f"{scheme.lower()}:" != names.CONTENT_ID_SCHEME or not is_content_id(content_id):
        raise RemoteError(
            ErrorCode.MIME_PROBLEM,
            f"the Manifest names {quoted(document_id)}; expected is cid: and the Content-ID of a"
            " part of this package",
        )
    if content_id in known:
        raise RemoteError(
            ErrorCode.MIME_PROBLEM,
            f"the Manifest names the part {quoted(document_id)} twice; expected is once",
        )
    return content_id


def read_error(element: Element, order: Order, code_name: str, severity_name: str) -> ErrorEntry:
    """One Error of an ErrorList; its attributes are spelled differently in the two profiles."""
    code_text = checked_text(find_attribute(element, code_name) or "", code_name)
    if not code_text:
        raise unrecognized(f"an Error has no {code_name}; expected is one such as MimeProblem")
    severity = checked_word(find_attribute(element, severity_name) or "", severity_name, SEVERITIES)
    found = once(element, order)
    description = printable(find_text(found, "Description") or "", DESCRIPTION_LENGTH_MAX)
    code = _ERROR_CODES.get(code_text)
    return ErrorEntry(
        code=code or ErrorCode.UNKNOWN,
        severity=severity,
        description=description.strip(WHITE_SPACE),
        min_retry_s=get_number(found, "MinRetrySecs") if "MinRetrySecs" in found else None,
        code_text="" if code else code_text,
    )


def noting_highest(errors: tuple[ErrorEntry, ...], said: str | None) -> tuple[ErrorEntry, ...]:
    """The errors, the first with a note where the list's highestSeverity, `said`, does not fit.

    highestSeverity says no more than the errors do. A value that does not fit them is ignored, but
    is added to the description for people (ruling R-42).
    """
    if said is None or said == highest_severity(errors).value:
        return errors
    note = f"(highestSeverity of this list is {quoted(said)})"
    room = DESCRIPTION_LENGTH_MAX - len(note) - 1
    description = f"{errors[0].description[:room]} {note}".strip()
    return (changed(errors[0], description=description), *errors[1:])


def highest_severity(errors: tuple[ErrorEntry, ...]) -> Severity:
    """The value of the attribute highestSeverity for these errors."""
    is_error = any(entry.severity is Severity.ERROR for entry in errors)
    return Severity.ERROR if is_error else Severity.WARNING


# --- What can be read in a document that was refused --------------------------------------------


def identified(value: str, name: str) -> str:
    """The name, which has no blank in the older texts; empty in signals that leave it out (R-42).

    Raises `RemoteError` (ValueNotRecognized) that names the field.
    """
    return checked_identifier(value, name) if value else value


def salvage_identifier(element: Element | None) -> str | None:
    """The identifier in `element`, if it is one."""
    if element is None or len(element):
        return None
    try:
        return checked_identifier((element.text or "").strip(WHITE_SPACE), element.tag)
    except RemoteError:
        return None


def salvage_uri(element: Element | None) -> str | None:
    """The URI in `element`, if it is one."""
    if element is None or len(element):
        return None
    uri = (element.text or "").strip(WHITE_SPACE)
    return uri if is_uri(uri) else None


def salvage_party(element: Element | None, order: Order, limits: Limits) -> tuple[PartyId, ...]:
    """The PartyIds of a From, if all of them are valid."""
    if element is None:
        return ()
    try:
        return read_party(element, order, limits)
    except RemoteError:
        return ()
