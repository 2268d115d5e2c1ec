"""Stored messages: status answers, cancels, the application's reports."""

import itertools

import pytest

from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol import keeping
from onceonly.protocol.keeping import CancelAnswer, StatusAnswer
from onceonly.protocol.receiving import InboundStatus, ProcessingState

SILENT = DeliveryTerms()
REPORTING = DeliveryTerms(reports_processing=True)
NOT_STARTED = ProcessingState.NOT_STARTED


def ask(
    status: InboundStatus | None,
    processing: ProcessingState = NOT_STARTED,
    terms: DeliveryTerms = REPORTING,
    *,
    asker_is_partner: bool = True,
) -> StatusAnswer:
    return keeping.answer_status(status, processing, terms, asker_is_partner=asker_is_partner)


@pytest.mark.statement("S4-21")
def test_an_unknown_message_is_not_recognized():
    """Answer a), whoever asks."""
    for is_partner in (True, False):
        answer = ask(None, asker_is_partner=is_partner)
        assert answer == StatusAnswer(MessageStatus.NOT_RECOGNIZED)


@pytest.mark.statement("S4-22")
@pytest.mark.parametrize(
    ("processing", "answer"),
    [
        (NOT_STARTED, (MessageStatus.RECEIVED, ReportedProcessing.NOT_STARTED)),
        (ProcessingState.IN_PROGRESS, (MessageStatus.RECEIVED, ReportedProcessing.IN_PROGRESS)),
        (ProcessingState.COMPLETE, (MessageStatus.PROCESSED, ReportedProcessing.COMPLETE)),
    ],
)
@pytest.mark.parametrize("status", [InboundStatus.STORED, InboundStatus.HANDED_OVER])
def test_a_known_message_is_told_with_its_processing_and_acknowledged_again(
    status, processing, answer
):
    """Answer b)."""
    assert ask(status, processing) == StatusAnswer(*answer, acknowledges=True)


@pytest.mark.statement("S4-22")
@pytest.mark.statement("S4-23")
def test_an_application_that_does_not_report_is_not_known():
    """Legal; unless it did report something after all."""
    stored = InboundStatus.HANDED_OVER
    assert ask(stored, terms=SILENT).processing is ReportedProcessing.NOT_KNOWN
    told = ask(stored, ProcessingState.COMPLETE, SILENT)
    assert told.status is MessageStatus.PROCESSED


def test_a_message_that_went_on_is_forwarded():
    """An accepting intermediary answers for itself."""
    answer = ask(InboundStatus.FORWARDED)
    assert answer == StatusAnswer(MessageStatus.FORWARDED, acknowledges=True)


def test_nobody_but_its_from_party_is_told():
    """Known, but not to you."""
    for status in InboundStatus:
        assert ask(status, asker_is_partner=False) == StatusAnswer(MessageStatus.UNAUTHORIZED)


def test_a_cancelled_message_is_as_if_it_had_never_come():
    """And surely not acknowledged again."""
    assert ask(InboundStatus.CANCELLED) == StatusAnswer(MessageStatus.NOT_RECOGNIZED)


@pytest.mark.statement("S4-26", ruling="R-08")
@pytest.mark.parametrize("status", [None, InboundStatus.STORED])
def test_what_has_not_reached_the_application_can_be_taken_back(status):
    """Whether it is here or still on its way."""
    answer = keeping.cancel(status, NOT_STARTED, SILENT)
    assert answer.is_accepted
    assert [row.event for row in answer.rows] == [Event.CANCEL_CONFIRMED]


@pytest.mark.statement("S4-26")
@pytest.mark.parametrize("processing", list(ProcessingState))
@pytest.mark.parametrize("terms", [SILENT, REPORTING], ids=["silent", "reporting"])
def test_what_the_application_has_can_be_taken_back_only_before_it_starts(terms, processing):
    """It asks before it starts only where it reports; otherwise it may have started."""
    answer = keeping.cancel(InboundStatus.HANDED_OVER, processing, terms)
    may = terms is REPORTING and processing is NOT_STARTED
    assert answer.is_accepted is may
    if not may:
        assert answer.processing is keeping.reported(processing, terms)
        assert answer.rows == ()


def test_a_cancel_is_confirmed_again_and_an_intermediary_refuses_it():
    """The tombstone stands; what went on is not ours to stop."""
    again = keeping.cancel(InboundStatus.CANCELLED, NOT_STARTED, SILENT)
    assert again == CancelAnswer(is_accepted=True, processing=None, rows=())
    gone = keeping.cancel(InboundStatus.FORWARDED, NOT_STARTED, SILENT)
    assert gone == CancelAnswer(is_accepted=False, processing=None, rows=())


@pytest.mark.statement("S4-26")
def test_work_on_a_cancelled_message_must_not_begin():
    """The application asks first, and is told."""
    with pytest.raises(LocalError) as raised:
        keeping.report_processing(InboundStatus.CANCELLED, NOT_STARTED, ProcessingState.IN_PROGRESS)
    assert raised.value.name == "Cancelled"


@pytest.mark.parametrize(
    ("current", "told"), list(itertools.product(ProcessingState, repeat=2)), ids=str
)
def test_processing_states_only_move_forward(current, told):
    """I44; the same again is no news."""
    order = list(ProcessingState)
    if order.index(told) < order.index(current):
        with pytest.raises(LocalError) as raised:
            keeping.report_processing(InboundStatus.HANDED_OVER, current, told)
        assert raised.value.name == "ProcessingWentBack"
        return
    rows = keeping.report_processing(InboundStatus.HANDED_OVER, current, told)
    assert [row.reason for row in rows] == ([] if told is current else [told.value])
