"""What a sender's rows say of the arrival of its message, and who said it.

An acknowledgement may be that of an intermediary; a delivery receipt and a business response are
the To Party's own (seed 001 §2.1.1.2, §1.3.3 (8b)). A doubt of others overturns the one, and never
the other.
"""

from onceonly.journal.record import Record
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.terms import DeliveryTerms
from onceonly.simulation.history import Row

ACKNOWLEDGED = (Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED)

ON_THE_RESPONSE = "on the business response"
"""How the reason of an acknowledgement begins that a business response stands for."""


def shows_arrival(record: Record) -> bool:
    """Whether the row is the To Party's own word that it has the message: receipt or response."""
    is_response = (record.reason or "").startswith(ON_THE_RESPONSE)
    return record.event is Event.RECEIPT_RECEIVED or (record.event in ACKNOWLEDGED and is_response)


def is_doubt(record: Record) -> bool:
    """Whether the row is a partner's notice that the message may not have been delivered."""
    is_notice = record.error_code == ErrorCode.DELIVERY_FAILURE
    is_warning = record.severity == Severity.WARNING
    return record.event is Event.ERROR_RECEIVED and is_notice and is_warning


def tells_of_failure(row: Row, final: Row | None, terms: DeliveryTerms) -> bool:
    """Whether the error is news after `final`: not delivered, or refused by the application."""
    if row.record.error_code == ErrorCode.DELIVERY_FAILURE:
        return True
    is_acknowledged = final is not None and final.record.event in ACKNOWLEDGED
    return terms.reports_refusals and row.record.severity == Severity.ERROR and is_acknowledged


def says_no(record: Record) -> bool:
    """Whether an error of the partner is noted: in a message, or as a SOAP Fault that refuses."""
    is_fault = record.event is Event.FAULT_RECEIVED and record.error_code is not None
    return is_fault or record.event is Event.ERROR_RECEIVED
