"""A stored message: how the application reports its work, and what its sender is told.

Knows the two axes of a stored message (status and processing) and the words of the reports of seed
004. Must not know how somebody asks; the shell finds the message and whether the asker is its From
Party. Levels 3 and 5 of seed 004, seed 001 §1.1.1.

Only durable facts are told (I44). "Not recognized" alone promises nothing, since a copy may still
be under way. A confirmed cancel does, because its tombstone refuses every later copy (R-08, R-21).
A cancel is confirmed while it is certain that work on the message has not begun: if the message is
unknown, if it is only stored, or if it is in the inbox of an application that reports its
processing, asks before it starts, and has not started.

The processing state that is told is that of the hand-over which nobody had to ask for. One that an
operator asked for has a state of its own (`steps/handing_over_again`), so that what was told never
goes back.
"""

from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word
from onceonly.protocol.effects import Journal
from onceonly.protocol.receiving import InboundStatus, ProcessingState


class StatusAnswer(Word):
    """What a partner is told about a message that it asked about."""

    status: MessageStatus
    processing: ReportedProcessing | None = None
    acknowledges: bool = False
    """Send the stored response again as well (S4-22)."""


class CancelAnswer(Word):
    """What a partner that takes a message back is told, and what is to be written."""

    is_accepted: bool
    """If True, the shell sets the tombstone, unless it is set already, before it answers."""
    processing: ReportedProcessing | None
    rows: tuple[Journal, ...]


def answer_status(
    status: InboundStatus | None,
    processing: ProcessingState,
    terms: DeliveryTerms,
    *,
    asker_is_partner: bool,
) -> StatusAnswer:
    """The answer to a status inquiry (seed 004 level 3 (3)); `status` None: never stored.

    `asker_is_partner`: the inquiry comes from the From Party of the message.
    """
    if status is None:
        return StatusAnswer(MessageStatus.NOT_RECOGNIZED)
    if not asker_is_partner:
        return StatusAnswer(MessageStatus.UNAUTHORIZED)
    if status is InboundStatus.CANCELLED:
        return StatusAnswer(MessageStatus.NOT_RECOGNIZED)
    if status is InboundStatus.FORWARDED:
        return StatusAnswer(MessageStatus.FORWARDED, acknowledges=True)
    told = reported(processing, terms)
    is_complete = told is ReportedProcessing.COMPLETE
    word = MessageStatus.PROCESSED if is_complete else MessageStatus.RECEIVED
    return StatusAnswer(word, told, acknowledges=True)


def reported(processing: ProcessingState, terms: DeliveryTerms) -> ReportedProcessing:
    """The processing state that a partner is told; "not known" is allowed (S4-23)."""
    if processing is ProcessingState.NOT_STARTED and not terms.reports_processing:
        return ReportedProcessing.NOT_KNOWN
    return ReportedProcessing(processing.value)


def cancel(
    status: InboundStatus | None, processing: ProcessingState, terms: DeliveryTerms
) -> CancelAnswer:
    """Whether its sender may still take the message back (S4-26); `status` None: not stored."""
    if status is InboundStatus.CANCELLED:
        return CancelAnswer(is_accepted=True, processing=None, rows=())
    if status is InboundStatus.FORWARDED:
        return CancelAnswer(is_accepted=False, processing=None, rows=())
    if status is InboundStatus.HANDED_OVER and not _can_be_stopped(processing, terms):
        return CancelAnswer(is_accepted=False, processing=reported(processing, terms), rows=())
    confirmed = (Journal(Event.CANCEL_CONFIRMED, reason=None if status is None else status.value),)
    return CancelAnswer(is_accepted=True, processing=None, rows=confirmed)


def _can_be_stopped(processing: ProcessingState, terms: DeliveryTerms) -> bool:
    return terms.reports_processing and processing is ProcessingState.NOT_STARTED


def report_processing(
    status: InboundStatus, current: ProcessingState, told: ProcessingState
) -> tuple[Journal, ...]:
    """The rows to write for an application's report about its work; none if it is not new.

    Raises `LocalError`: Cancelled, if the sender took the message back; ProcessingWentBack, since
    the states only move forward (I44).
    """
    if status is InboundStatus.CANCELLED:
        raise taken_back()
    if not may_follow(current, told):
        raise LocalError("ProcessingWentBack", f"the message is {current.value} already")
    if told is current:
        return ()
    return (Journal(Event.PROCESSING_CHANGED, reason=told.value),)


def taken_back() -> LocalError:
    """The error for an application that asks for a message that its sender cancelled (R-08)."""
    return LocalError("Cancelled", "its sender took the message back: do not process it")


_FORWARD = (ProcessingState.NOT_STARTED, ProcessingState.IN_PROGRESS, ProcessingState.COMPLETE)


def may_follow(current: ProcessingState, told: ProcessingState) -> bool:
    """Whether an application may report `told` now: the same state again, or a later one (I44)."""
    return _FORWARD.index(told) >= _FORWARD.index(current)
