"""After the sender gave up: ask, then do what the rule says (seed 004 levels 3 to 5, R-21)."""

from enum import StrEnum
from typing import NamedTuple

from onceonly.message.signals import MessageStatus, ReportedProcessing


class RecoveryPhase(StrEnum):
    """What the recovery of a message waits for."""

    AT_REST = "at-rest"
    PINGING = "pinging"
    """An availability inquiry that goes before the status inquiry."""
    ASKING = "asking"
    """A status inquiry."""
    CANCELLING = "cancelling"
    """A cancel request; binding once it is confirmed."""
    ASKING_AGAIN = "asking-again"
    """A request for the business response."""


class ResponseStatus(StrEnum):
    """How the business response to the message stands (level 5)."""

    NOT_EXPECTED = "not-expected"
    AWAITED = "awaited"
    OVERDUE = "overdue"
    RECEIVED = "received"


class Recovery(NamedTuple):
    """The recovery of one outbound message. All of it is durable except `due_ns`."""

    phase: RecoveryPhase = RecoveryPhase.AT_REST
    asked: int = 0
    """Inquiries of the present phase."""
    inquiry_id: str | None = None
    """MessageId of the last inquiry; a report must refer to it."""
    wants_new_version: bool = False
    """A confirmed cancel is followed by a new version."""
    replaced_by: str | None = None
    """MessageId of the new version."""
    response: ResponseStatus = ResponseStatus.NOT_EXPECTED
    response_due_at: int | None = None
    status: MessageStatus | None = None
    """What the partner last said about the message, and of its processing."""
    processing: ReportedProcessing | None = None
    reported_at: int | None = None
    due_ns: int | None = None
    """Monotonic deadline of the present phase; meaningless after a restart."""
