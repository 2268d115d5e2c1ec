"""What a CPA says: services, actions, the time for which it holds, and what two share."""

import pytest

from onceonly.message.agreement import Agreement
from onceonly.message.cpa import CpaTerms, ServiceBinding, overlapping
from onceonly.message.identity import PartyId
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed

ORDERS = ServiceBinding(id="urn:orders", send=("Confirm", "Cancel"), receive=("NewOrder",))
INVOICES = ServiceBinding(id="Invoicing", type="string", send=("Invoice",))


def test_a_service_is_found_by_its_name_and_its_type():
    terms = CpaTerms(services=(ORDERS, INVOICES))
    assert terms.binding_of("urn:orders", None) is ORDERS
    assert terms.binding_of("Invoicing", "string") is INVOICES
    assert terms.binding_of("Invoicing", None) is None


@pytest.mark.parametrize(
    ("begins_at", "ends_at", "is_valid"),
    [(None, None, True), (5, None, True), (6, None, False), (None, 6, True), (None, 5, False)],
)
def test_a_cpa_holds_from_its_begin_until_before_its_end(begins_at, ends_at, is_valid):
    assert CpaTerms(valid_from_at=begins_at, valid_until_at=ends_at).is_valid(5) is is_valid


@pytest.mark.parametrize(
    ("other", "common"),
    [
        ((), ("any service", None)),
        ((INVOICES,), None),
        ((ServiceBinding(id="urn:orders", send=("NewOrder",), receive=("Cancel",)),), None),
        (
            (INVOICES, ServiceBinding(id="urn:orders", receive=("NewOrder",))),
            ("urn:orders", "NewOrder"),
        ),
        ((ServiceBinding(id="urn:orders", send=("Confirm", "Cancel")),), ("urn:orders", "Cancel")),
    ],
)
def test_what_two_agreements_both_exchange_in_one_direction(other, common):
    """Whichever of them is asked."""
    assert overlapping((ORDERS,), other) == overlapping(other, (ORDERS,)) == common


def test_an_agreement_is_called_by_its_cpa_id_or_else_by_its_own():
    """R-35: where both parties use one name."""
    agreement = Agreement(
        id="orders",
        profile=Profile.EBMS_2_0,
        our_ids=(PartyId("urn:duns:1"),),
        their_ids=(PartyId("urn:duns:2"),),
        send_to="http://them.example/msh",
        error_to=None,
        receiver_uri="http://them.example/msh",
        terms=DeliveryTerms(),
    )
    assert agreement.name_on_wire == "orders"
    assert changed(agreement, cpa=CpaTerms(cpa_id="cpa-1")).name_on_wire == "cpa-1"
