"""Roles, services and actions, and the time for which a CPA holds; several under one CPAId."""

import pytest

from onceonly.message.agreement import Agreement
from onceonly.message.cpa import CheckHeader, CpaTerms, Demand, ServiceBinding
from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import AckRequested, DeliverySemantics, Message, SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.steps.agreements import Agreements
from onceonly.steps.cpa import called_on_wire, check_sendable, check_valid, with_cpa

US, THEM = PartyId("urn:duns:222222222"), PartyId("urn:duns:111111111")
ORDERS, INVOICES = "urn:services:Ordering", "urn:services:Invoicing"
CPA = CpaTerms(
    cpa_id="cpa-ab-1",
    role="Seller",
    partner_role="Buyer",
    services=(ServiceBinding(id=ORDERS, send=("Confirm",), receive=("NewOrder",)),),
    valid_from_at=1_000,
    valid_until_at=2_000,
    description="Orders",
)
TERMS = DeliveryTerms(
    is_numbered=False, acknowledges_on_request=True, ack_requested=AckRequested.UNSIGNED
)
AGREEMENT = Agreement(
    id="orders",
    profile=Profile.EBMS_2_0,
    our_ids=(US,),
    their_ids=(THEM,),
    send_to="http://them.example/msh",
    error_to=None,
    receiver_uri="http://them.example/msh",
    terms=TERMS,
    cpa=CPA,
)
OTHER = changed(
    AGREEMENT,
    id="invoices",
    cpa=changed(
        CPA, services=(ServiceBinding(id=INVOICES, type="string", send=("Invoice", "Reminder")),)
    ),
)
MESSAGE = Message(
    message_id="m-1@them.example",
    from_ids=(THEM,),
    to_ids=(US,),
    agreement_id="cpa-ab-1",
    conversation_id="c-1",
    service=ORDERS,
    action="NewOrder",
    timestamp_at=1_500,
    semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
    from_role="Buyer",
    to_role="Seller",
    duplicate_elimination=True,
    ack_requested=AckRequested.UNSIGNED,
)


def admitted(message: Message, *agreements: Agreement) -> Message:
    """As the store would get it."""
    found = Agreements(agreements or (AGREEMENT, OTHER))
    return found.admit(message, (), profile=Profile.EBMS_2_0, our_uris=()).message


def refusal(message: Message, *agreements: Agreement) -> tuple[ErrorCode, str, str]:
    with pytest.raises(RemoteError) as caught:
        admitted(message, *agreements)
    error = caught.value
    return error.code, (error.location or "").rpartition("eb:")[2], error.description


def test_service_and_action_say_under_which_agreement_a_message_comes():
    """Inside it has the agreement's own id; the name on the wire is that of both."""
    assert admitted(MESSAGE).agreement_id == "orders"
    other = changed(
        OTHER, cpa=changed(OTHER.cpa, services=(ServiceBinding(id=ORDERS, receive=("Cancel",)),))
    )
    assert admitted(changed(MESSAGE, action="Cancel"), AGREEMENT, other).agreement_id == "invoices"
    assert called_on_wire(admitted(MESSAGE), AGREEMENT) == MESSAGE


def test_a_cpa_id_of_two_partners_belongs_to_the_one_who_sends():
    """Each pair of parties chooses its names alone."""
    elsewhere = changed(AGREEMENT, id="elsewhere", their_ids=(PartyId("urn:duns:333333333"),))
    assert admitted(MESSAGE, elsewhere, AGREEMENT).agreement_id == "orders"


@pytest.mark.statement("E2-25")
@pytest.mark.parametrize(
    ("field", "role", "seen"),
    [
        ("from_role", None, "From has no Role; expected is what was agreed, 'Buyer'"),
        ("from_role", "Seller", "From has Role 'Seller'; expected is what was agreed, 'Buyer'"),
        ("to_role", "Bank", "To has Role 'Bank'; expected is what was agreed, 'Seller'"),
    ],
)
def test_a_role_must_be_the_agreed_one(field, role, seen):
    assert refusal(changed(MESSAGE, **{field: role})) == (ErrorCode.INCONSISTENT, "Role", seen)


def test_roles_have_no_effect_where_none_were_agreed():
    free = changed(AGREEMENT, cpa=changed(CPA, role=None, partner_role=None))
    assert admitted(changed(MESSAGE, from_role="Bank"), free).from_role == "Bank"


@pytest.mark.statement("E2-30")
def test_an_action_that_was_not_agreed_is_refused_with_its_place():
    """In the other direction it may be legal."""
    code, where, text = refusal(changed(MESSAGE, action="Confirm"))
    assert (code, where) == (ErrorCode.VALUE_NOT_RECOGNIZED, "Action")
    assert text.endswith("expected is 'NewOrder'")
    code, where, text = refusal(changed(MESSAGE, service=INVOICES, service_type="string"), OTHER)
    assert (code, where) == (ErrorCode.VALUE_NOT_RECOGNIZED, "Action")
    assert text.endswith("expected is none: only we send under it")


def test_a_service_is_known_by_its_type_too():
    code, where, text = refusal(changed(MESSAGE, service_type="string"))
    assert (code, where) == (ErrorCode.VALUE_NOT_RECOGNIZED, "Service")
    assert text.endswith(f"expected is '{ORDERS}'")
    assert "of type 'string' is not in the agreement" in text


@pytest.mark.statement("E2-27")
@pytest.mark.parametrize(("at", "said"), [(999, "before 1970"), (2_000, "since 1970")])
def test_outside_of_its_time_an_agreement_is_as_unknown(at, said):
    with pytest.raises(RemoteError, match=said) as caught:
        check_valid(AGREEMENT, at)
    assert caught.value.code is ErrorCode.VALUE_NOT_RECOGNIZED
    with pytest.raises(LocalError, match=said) as refused:
        check_sendable(AGREEMENT, changed(MESSAGE, action="Confirm"), at)
    assert refused.value.name == "AgreementExpired"


def test_what_was_agreed_is_sent_with_its_roles_type_and_description():
    ours = changed(MESSAGE, from_role=None, to_role=None, action="Confirm")
    check_valid(AGREEMENT, 1_000)
    check_sendable(AGREEMENT, ours, 1_999)
    sent = with_cpa(ours, AGREEMENT)
    assert (sent.from_role, sent.to_role, sent.description) == ("Seller", "Buyer", "Orders")
    invoice = changed(ours, service=INVOICES, action="Invoice")
    assert with_cpa(invoice, OTHER).service_type == "string"
    assert with_cpa(ours, changed(AGREEMENT, cpa=CpaTerms())) is ours


@pytest.mark.parametrize(
    ("service", "action", "said"),
    [(ORDERS, "NewOrder", "it has urn:services:Ordering: Confirm"), ("urn:x", "Confirm", "it has")],
)
def test_what_was_not_agreed_is_not_sent(service, action, said):
    with pytest.raises(LocalError, match=said) as caught:
        check_sendable(AGREEMENT, changed(MESSAGE, service=service, action=action), 1_500)
    assert caught.value.name == "NotInAgreement"


@pytest.mark.statement("E2-29")
def test_a_service_without_a_type_is_sent_only_if_it_is_a_uri():
    """Every partner would refuse it."""
    free = changed(AGREEMENT, cpa=CpaTerms())
    check_sendable(free, MESSAGE, 1_500)
    check_sendable(changed(free, profile=Profile.RM_2001), changed(MESSAGE, service="Ord"), 1_500)
    with pytest.raises(LocalError, match="'Ordering' is no URI") as caught:
        check_sendable(free, changed(MESSAGE, service="Ordering"), 1_500)
    assert caught.value.name == "NotInAgreement"


def test_the_service_of_a_submission_chooses_the_agreement():
    """Only where it fits several is the caller asked."""
    agreements = Agreements((AGREEMENT, OTHER))
    party = str(THEM)
    assert agreements.choose(party, None, service=INVOICES, action="Invoice") is OTHER
    assert agreements.choose(party, None, service=ORDERS, action="Confirm") is AGREEMENT
    with pytest.raises(LocalError, match="several agreements") as caught:
        agreements.choose(party, None, service="urn:x", action="Confirm")
    assert caught.value.name == "AmbiguousAgreement"


@pytest.mark.parametrize(
    ("demand", "asked", "is_taken"),
    [
        (None, True, True),
        (None, False, False),
        (Demand.NEVER, True, False),
        (Demand.NEVER, False, True),
        (Demand.PER_MESSAGE, True, True),
        (Demand.PER_MESSAGE, False, True),
    ],
)
def test_elimination_must_be_asked_for_as_agreed(demand, asked, is_taken):
    agreement = changed(AGREEMENT, cpa=changed(CPA, duplicate_elimination=demand))
    message = changed(MESSAGE, duplicate_elimination=asked)
    if is_taken:
        assert admitted(message, agreement).duplicate_elimination is asked
    else:
        code, where, _ = refusal(message, agreement)
        assert (code, where) == (ErrorCode.INCONSISTENT, "DuplicateElimination")
    lenient = changed(agreement, cpa=changed(agreement.cpa, check_header=CheckHeader.LENIENT))
    assert admitted(message, lenient).duplicate_elimination is asked


def test_a_lenient_agreement_lets_a_header_ask_for_less():
    """Then its answers come by posts of their own; what was not agreed is never done."""
    sync = changed(AGREEMENT, terms=changed(TERMS, sync_reply_mode=SyncReplyMode.SIGNALS_ONLY))
    assert refusal(MESSAGE, sync)[:2] == (ErrorCode.INCONSISTENT, "SyncReply")
    lenient = changed(sync, cpa=changed(CPA, check_header=CheckHeader.LENIENT))
    assert admitted(MESSAGE, lenient).sync_reply_mode is None
    wishing = changed(MESSAGE, sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE)
    plain = changed(lenient, terms=TERMS)
    assert refusal(wishing, plain)[:2] == (ErrorCode.INCONSISTENT, "SyncReply")


def test_a_name_is_a_callers_own_only_if_every_agreement_with_it_is():
    """Rows of the journal have the name on the wire (R-35)."""
    agreements = Agreements((AGREEMENT, OTHER, changed(AGREEMENT, id="x", cpa=CpaTerms())))
    assert agreements.names_owned({"orders", "x"}) == {"x"}
    assert agreements.names_owned({"orders", "invoices"}) == {"cpa-ab-1"}


def test_roles_tell_agreements_of_one_action_apart():
    """Some networks give each party both Roles of a process, with the same actions in each."""
    turned = changed(
        AGREEMENT, id="turned", cpa=changed(CPA, role="Buyer", partner_role="Seller", services=())
    )
    both = (turned, changed(AGREEMENT, cpa=changed(CPA, services=())))
    assert admitted(MESSAGE, *both).agreement_id == "orders"
    message = changed(MESSAGE, from_role="Seller", to_role="Buyer")
    assert admitted(message, *both).agreement_id == "turned"
    with pytest.raises(RemoteError, match="Role"):
        admitted(changed(MESSAGE, from_role="Carrier"), *both)
