"""Elements that the seeds lack: in a namespace of our own, at the end of the root or SOAP:Header.

AckStatus says what a receiver had checked when it acknowledged (seed 004 level 0); Report is the
answer to an inquiry (levels 2, 3 and 5). They are the same in both profiles, and an MSH that does
not know them skips them (`wire.md` A12).
"""

from typing import Final

from onceonly.message.identity import checked_identifier
from onceonly.message.signals import (
    PLAIN_ACK,
    AckStatus,
    Assurance,
    InquiryKind,
    MessageStatus,
    Report,
    ReportedProcessing,
    SignalHeader,
)
from onceonly.wire import names
from onceonly.wire.elements import find_attribute, misshapen
from onceonly.wire.fields import find_boolean, find_word
from onceonly.wire.timestamp import read_timestamp, write_extended_timestamp
from onceonly.wire.xml import Element, escaped

_ASSURANCES: Final = {assurance.value: assurance for assurance in Assurance}
_STATUSES: Final = {status.value: status for status in MessageStatus}
_PROCESSINGS: Final = {processing.value: processing for processing in ReportedProcessing}


def read_ack_status(root: Element) -> AckStatus:
    """What an acknowledgement says beyond "received and persisted"."""
    element = _find(root, names.ACK_STATUS)
    if element is None:
        return PLAIN_ACK
    return AckStatus(
        find_word(element, "assurance", _ASSURANCES) or Assurance.RECEIVED,
        find_boolean(element, "passedOn") or False,
    )


def write_ack_status(status: AckStatus) -> str:
    """The line of AckStatus; none for a plain acknowledgement."""
    if status == PLAIN_ACK:
        return ""
    return (
        f'  <{names.ACK_STATUS} xmlns="{names.EXTENSION}"'
        f' assurance="{status.assurance.value}" passedOn="{_boolean(status.is_passed_on)}"/>\r\n'
    )


def read_report(root: Element, header: SignalHeader, kind: InquiryKind) -> Report:
    """The answer to an inquiry of this kind.

    A Pong may be without a Report: its arrival alone says that messages are taken. The other
    answers are only in the Report; if it is missing, they are refused and never guessed.
    """
    element = _find(root, names.REPORT)
    if element is None:
        if kind is not InquiryKind.PING:
            raise misshapen(
                f"the answer to a {kind.value} has no {names.REPORT}; expected is one in namespace"
                f" {names.EXTENSION}, at the end of the root"
            )
        return Report(header=header, kind=kind)
    is_accepted = find_boolean(element, "accepted")
    received_at = find_attribute(element, "receivedAt")
    report = Report(
        header=header,
        kind=kind,
        about=_about(element, kind),
        is_accepted=is_accepted is not False,
        status=find_word(element, "status", _STATUSES),
        processing=find_word(element, "processing", _PROCESSINGS),
        received_at=None if received_at is None else read_timestamp(received_at, "receivedAt"),
    )
    if (report.status if kind is InquiryKind.STATUS else is_accepted) is None:
        wanted = "status" if kind is InquiryKind.STATUS else "accepted"
        raise misshapen(
            f"the answer to a {kind.value} does not say what was asked; expected is the attribute"
            f" {wanted} of its {names.REPORT}"
        )
    return report


def read_processing(root: Element) -> ReportedProcessing | None:
    """How far the application is, beside an answer that a standard has words for; None: unsaid."""
    element = _find(root, names.REPORT)
    return None if element is None else find_word(element, "processing", _PROCESSINGS)


def write_report(report: Report) -> str:
    """The line of Report."""
    assert report.about or report.kind is InquiryKind.PING, "an answer names what it is about"
    (about,) = escaped((report.about,))
    attributes = [f'accepted="{_boolean(report.is_accepted)}"']
    if about:
        attributes.append(f'about="{about}"')
    if report.status is not None:
        attributes.append(f'status="{report.status.value}"')
    if report.processing is not None:
        attributes.append(f'processing="{report.processing.value}"')
    if report.received_at is not None:
        attributes.append(f'receivedAt="{write_extended_timestamp(report.received_at)}"')
    return f'  <{names.REPORT} xmlns="{names.EXTENSION}" {" ".join(attributes)}/>\r\n'


def _about(element: Element, kind: InquiryKind) -> str:
    about = find_attribute(element, "about") or ""
    if kind is InquiryKind.PING and not about:
        return ""
    return checked_identifier(about, "Report/@about")


def _find(root: Element, name: str) -> Element | None:
    found = root.findall(f"{{{names.EXTENSION}}}{name}")
    if len(found) > 1:
        raise misshapen(f"{name} twice in {names.ROOT}; expected is one at most")
    return found[0] if found else None


def _boolean(value: bool) -> str:  # noqa: FBT001 - because it is the value that is written
    return "true" if value else "false"
