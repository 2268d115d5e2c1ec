"""What a journal row says of an agreement, so that the lake can judge by it."""

import pytest

from onceonly.journal.record import METHOD_TRANSPORT, Record
from onceonly.message.agreement import Agreement
from onceonly.message.digest import Digests
from onceonly.message.event import Event
from onceonly.message.identity import PartyId
from onceonly.message.instant import Now
from onceonly.message.message import DeliverySemantics, Message, ReliableMessagingMethod
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol.effects import Journal
from onceonly.steps.rows import Rows

US, THEM = PartyId("urn:duns:111111111"), PartyId("urn:duns:222222222")


def row_of(agreed: DeliveryTerms, *, reason: str | None = None) -> Record:
    """The row about a message that was made under these terms."""
    agreement = Agreement(
        id="cpa-1",
        profile=Profile.RM_2001,
        our_ids=(US,),
        their_ids=(THEM,),
        send_to="http://seller.example/msh",
        error_to=None,
        receiver_uri="http://seller.example/msh",
        terms=agreed,
    )
    message = Message(
        message_id="m-1",
        from_ids=(US,),
        to_ids=(THEM,),
        agreement_id="cpa-1",
        conversation_id="c-1",
        service="Orders",
        action="New",
        timestamp_at=0,
        semantics=agreed.semantics.on_wire,
    )
    submitted = Journal(Event.SUBMITTED, reason=reason)
    rows = Rows(str(US))
    return rows.submitted(message, agreement, submitted, Now(1, 1), Digests("d" * 64, "1" * 64))


@pytest.mark.parametrize("semantics", DeliverySemantics)
def test_a_row_says_which_degree_was_agreed(semantics: DeliverySemantics) -> None:
    """Two of the four have no word on the wire, and a reader of the journal needs it (R-17)."""
    assert row_of(DeliveryTerms(semantics=semantics)).semantics == semantics.value


def test_a_row_says_that_nobody_acknowledges() -> None:
    """Under method Transport a missing acknowledgement is no loss (seed 001 §1.2.4)."""
    transport = DeliveryTerms(method=ReliableMessagingMethod.TRANSPORT)
    assert row_of(transport).reason == METHOD_TRANSPORT
    assert row_of(transport, reason="new version of m-0").reason == (
        f"{METHOD_TRANSPORT}; new version of m-0"
    )
    assert row_of(DeliveryTerms()).reason is None
