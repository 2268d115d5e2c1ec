"""Who is admitted says which checks were passed, in one order (`steps.checks`)."""

import pytest

from onceonly.message.agreement import Agreement, Route
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.message.word import changed
from onceonly.steps.admission import admit
from onceonly.steps.agreements import Agreements
from onceonly.steps.authority import Answered, Caller, NotEntitled
from onceonly.steps.checks import ADMISSION, AGREED, Check
from onceonly.steps.ground import House
from onceonly.steps.routes import Routes
from onceonly.steps.rows import Rows
from onceonly.wire.envelope import Document

US, THEM = PartyId("urn:duns:222222222"), PartyId("urn:duns:111111111")
OURS, THEIRS = "http://us.example/msh", "http://them.example/msh"
AGREEMENT = Agreement(
    id="tpa-ab-1",
    profile=Profile.RM_2000,
    our_ids=(US,),
    their_ids=(THEM,),
    send_to=THEIRS,
    error_to=None,
    receiver_uri=THEIRS,
    terms=DeliveryTerms(),
    caller_certificate=("ab" * 32,),
)
MESSAGE = Message(
    message_id="m-1@them.example",
    from_ids=(THEM,),
    to_ids=(US,),
    agreement_id="tpa-ab-1",
    conversation_id="c-1",
    service="Ordering",
    action="New",
    timestamp_at=1_000_000_000_000,
    semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
)
HOP = RoutingHeader(
    sender_uri=THEIRS,
    receiver_uri=OURS,
    error_uri=THEIRS,
    timestamp_at=1_000_000_000_000,
    sequence_number=1,
)
HOUSE = House(
    party=(US,),
    uri=OURS,
    uris=frozenset({OURS}),
    domain="us.example",
    agreements=Agreements([AGREEMENT]),
    routes=Routes((), our_uris={OURS}),
    rows=Rows(str(US)),
    queued_max=10,
)
PARTNER = Caller("https", "192.0.2.1:9", "ab" * 32)
STRANGER = PartyId("urn:x:9")


def checks_of(message: Message, hop: RoutingHeader, caller: Caller) -> list[Check]:
    """What was passed; the rest was not."""
    passed: list[Check] = []
    document = Document(message, (hop,), {}, Profile.RM_2000)
    try:
        admit(HOUSE, document, caller, passed.append)
    except (RemoteError, NotEntitled):
        assert len(passed) < len(ALL)
    return passed


ALL = [*ADMISSION, *AGREED]


def test_what_is_admitted_has_passed_every_check_in_its_order():
    """No check is left out, and none is said twice."""
    assert checks_of(MESSAGE, HOP, PARTNER) == ALL == list(Check)


@pytest.mark.parametrize(
    ("message", "hop", "caller", "failed"),
    [
        (MESSAGE, HOP, changed(PARTNER, answered=Answered("m-2", "tpa-ab-1")), Check.EXCHANGE),
        (MESSAGE, HOP, changed(PARTNER, certificate=None), Check.CALLER),
        (changed(MESSAGE, agreement_id="tpa-zz"), HOP, PARTNER, Check.AGREEMENT),
        (changed(MESSAGE, from_ids=(STRANGER,)), HOP, PARTNER, Check.FROM),
        (changed(MESSAGE, to_ids=(STRANGER,)), HOP, PARTNER, Check.TO),
        (MESSAGE, changed(HOP, receiver_uri=THEIRS), PARTNER, Check.RECEIVER_URI),
        (MESSAGE, changed(HOP, timestamp_at=1), PARTNER, Check.TIMES),
        (MESSAGE, changed(HOP, sequence_number=None), PARTNER, Check.NUMBER),
    ],
)
def test_the_first_check_that_is_not_passed_is_the_one_that_failed(message, hop, caller, failed):
    """All before it were passed."""
    assert checks_of(message, hop, caller) == ALL[: ALL.index(failed)]


def test_a_route_refuses_what_has_no_hop_that_it_could_add_to():
    """A profile without RoutingHeaders, between the parties of a route of another one."""
    route = Route(
        id="through",
        profile=Profile.RM_2001,
        intermediary=Intermediary.RELAY,
        from_ids=(THEM,),
        to_ids=(US,),
        agreement_id=None,
        back_to=THEIRS,
        sender_uri=THEIRS,
        send_to="http://next.example/msh",
        receiver_uri="http://next.example/msh",
        terms=DeliveryTerms(),
        hops_max=8,
    )
    house = changed(HOUSE, routes=Routes((route,), our_uris={OURS}))
    with pytest.raises(RemoteError, match="has no RoutingHeaders, on route 'through'") as refused:
        admit(house, Document(MESSAGE, (), {}, Profile.EBMS_2_0), PARTNER)
    assert refused.value.code is ErrorCode.NOT_SUPPORTED
