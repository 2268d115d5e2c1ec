"""What a message says of itself."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.message.errors import RemoteError
from onceonly.message.identity import (
    MessageKey,
    Pair,
    PartyId,
    checked_identifier,
    checked_name,
    checked_text,
)
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    Message,
    Payload,
    SyncReplyMode,
)
from onceonly.message.signals import SignalHeader
from onceonly.message.word import changed

ORDER = Message(
    message_id="order-1",
    from_ids=(PartyId("urn:buyer"), PartyId("123", "duns")),
    to_ids=(PartyId("456", "duns"), PartyId("urn:seller")),
    agreement_id="urn:agreement",
    conversation_id="conversation-1",
    service="Orders",
    action="New order",
    timestamp_at=0,
    semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
)


def test_a_message_is_keyed_by_the_first_name_of_each_party():
    """R-01: (From, To, MessageId), where further PartyIds are other names of the same party."""
    assert ORDER.pair == Pair("urn:buyer", "duns:456")
    assert ORDER.key == MessageKey("urn:buyer", "duns:456", "order-1")
    assert ORDER.key.pair == ORDER.pair


def test_the_size_of_a_message_is_that_of_all_its_payloads():
    """Limits are on the sum; a message without a payload has size 0."""
    payloads = Payload("a", "text/plain", 3, "00"), Payload("b", "text/plain", 4, "01")
    assert ORDER.size_bytes == 0
    assert changed(ORDER, payloads=payloads).size_bytes == 7


def test_a_header_asks_the_next_msh_for_an_acknowledgement_by_itself():
    """Whatever it asks of the To Party."""
    assert not ORDER.wants_next_ack
    assert changed(ORDER, next_ack_requested=AckRequested.UNSIGNED).wants_next_ack


def test_a_message_answers_what_it_refers_to_or_else_what_it_acknowledges():
    """`ebms2.md` §7: the RefToMessageId of MessageData, else that of the block."""
    element = AcknowledgmentElement(timestamp_at=0, from_ids=(), ref_to_message_id="order-0")
    acknowledging = changed(ORDER, acknowledgment=element)
    assert ORDER.answered_id is None
    assert acknowledging.answered_id == "order-0"
    assert changed(acknowledging, ref_to_message_id="order-9").answered_id == "order-9"


def test_a_prepared_message_does_not_change():
    """Seed 000 §5.1 (4): a resend is the same message."""
    with pytest.raises(AttributeError):
        ORDER.message_id = "order-2"


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("message_id", "MessageId"),
        ("agreement_id", "TPAId"),
        ("conversation_id", "ConversationId"),
        ("service", "ServiceInterface"),
        ("action", "Action"),
        ("ref_to_message_id", "RefToMessageId"),
    ],
)
def test_a_message_with_a_line_break_in_a_field_is_not_constructed(field, name):
    """The refusal names the element of the specification."""
    with pytest.raises(RemoteError, match=name):
        changed(ORDER, **{field: "two\nlines"})


@pytest.mark.parametrize(
    ("semantics", "word"),
    [
        (DeliverySemantics.ONCE_AND_ONLY_ONCE, "OnceAndOnlyOnce"),
        (DeliverySemantics.BEST_EFFORT, "BestEffort"),
        (DeliverySemantics.AT_MOST_ONCE, "OnceAndOnlyOnce"),
        (DeliverySemantics.EXACTLY_ONCE, "OnceAndOnlyOnce"),
        (DeliverySemantics.AT_LEAST_ONCE, "OnceAndOnlyOnce"),
    ],
)
def test_only_the_two_words_of_the_seeds_are_on_the_wire(semantics, word):
    """R-16, R-17: what is agreed locally asks for an acknowledgement like OnceAndOnlyOnce."""
    assert semantics.on_wire == word


def test_signals_come_in_the_answer_only_where_its_mode_says_so():
    """Seed 001 §1.2.2, and the mode of CPA 2.0."""
    assert {mode for mode in SyncReplyMode if mode.has_signals} == {
        SyncReplyMode.SIGNALS_ONLY,
        SyncReplyMode.SIGNALS_AND_RESPONSE,
        SyncReplyMode.MSH_SIGNALS_ONLY,
    }


def test_a_response_comes_in_the_answer_only_where_its_mode_says_so():
    """Seed 001 §1.2.2: signalsOnly brings no business response."""
    assert {mode for mode in SyncReplyMode if mode.has_response} == {
        SyncReplyMode.RESPONSE_ONLY,
        SyncReplyMode.SIGNALS_AND_RESPONSE,
    }


CHECKS = {
    "message_id": (checked_identifier, "MessageId"),
    "agreement_id": (checked_name, "TPAId"),
    "conversation_id": (checked_name, "ConversationId"),
    "service": (checked_text, "ServiceInterface"),
    "action": (checked_text, "Action"),
    "ref_to_message_id": (checked_identifier, "RefToMessageId"),
}
"""In the order in which a fault is told."""
OF_SIGNALS = [field for field, (check, _) in CHECKS.items() if check is not checked_text]
ODD = st.text(st.sampled_from("a.\n \r\té\x7f\u2028~!"), max_size=4) | st.sampled_from(
    ["", ".", "..", "...", "a\n", "\na", "a\nb", "a" * 255, "a" * 256, "a\n" + "b" * 254]
)


def refusal_of(make: Callable[[], object]) -> str | None:
    try:
        make()
    except RemoteError as error:
        return error.description
    return None


def check_each(fields: dict[str, str]) -> None:
    for field, (check, name) in CHECKS.items():
        if field in fields:
            check(fields[field], name)


@given(st.dictionaries(st.sampled_from(list(CHECKS)), ODD, min_size=1))
def test_all_fields_at_once_are_checked_as_each_by_itself(fields: dict[str, str]):
    """Whatever is in them: a line end in one of them makes no two of it."""
    expected = refusal_of(lambda: check_each(fields))
    assert refusal_of(lambda: changed(ORDER, **fields)) == expected


@given(st.dictionaries(st.sampled_from(OF_SIGNALS), ODD, min_size=1))
def test_the_header_of_a_signal_is_checked_as_each_of_its_fields(fields: dict[str, str]):
    """Each of which may be missing."""
    header = SignalHeader(
        message_id="a",
        from_ids=(),
        to_ids=(),
        agreement_id="a",
        conversation_id="a",
        timestamp_at=0,
        ref_to_message_id="a",
    )
    there = {field: value for field, value in fields.items() if value}
    expected = refusal_of(lambda: check_each(there))
    assert refusal_of(lambda: changed(header, **fields)) == expected
