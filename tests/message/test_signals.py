"""What a signal is about."""

import pytest

from onceonly.message.errors import ErrorCode, RemoteError, Severity
from onceonly.message.identity import PartyId
from onceonly.message.signals import (
    Acknowledgment,
    ErrorEntry,
    ErrorSignal,
    SignalHeader,
    readings_of,
)


def header(ref: str, message_id: str = "s-1") -> SignalHeader:
    """Of a signal about that message."""
    party = (PartyId("urn:x:1"),)
    return SignalHeader(
        message_id=message_id,
        from_ids=party,
        to_ids=party,
        agreement_id="",
        conversation_id="",
        timestamp_at=0,
        ref_to_message_id=ref,
    )


@pytest.mark.parametrize(
    ("ref", "meant"),
    [
        ("m-1", ["m-1"]),
        ("<m-1>", ["<m-1>", "m-1"]),
        ("<<m-1>>", ["<<m-1>>", "<m-1>"]),
        ("<m-1", ["<m-1"]),
        ("<>", ["<>"]),
        ("<", ["<"]),
    ],
)
def test_a_verdict_is_about_the_id_as_it_stands_else_without_brackets(ref, meant):
    """R-42: one pair of them, as mail writes ids."""
    entry = ErrorEntry(code=ErrorCode.UNKNOWN, severity=Severity.ERROR)
    for signal in (Acknowledgment(header(ref)), ErrorSignal(header(ref), (entry,))):
        readings = readings_of(signal)
        assert [one.header.ref_to_message_id for one in readings] == meant
        assert readings[0] is signal
        assert {type(one) for one in readings} == {type(signal)}


def test_a_name_that_is_there_is_an_identifier():
    """Only none at all is left to its partner's product."""
    with pytest.raises(RemoteError, match="MessageId 'a b' is not an identifier"):
        header("m-1", "a b")
