"""Whose names stand in the keys of what was agreed, and of what passes through."""

from onceonly.message.agreement import Agreement, Route
from onceonly.message.cpa import CpaTerms
from onceonly.message.identity import Pair, PartyId
from onceonly.message.message import SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.message.word import changed

ACME = (PartyId("urn:duns:1"), PartyId("urn:acme"))
GLOBEX = (PartyId("urn:duns:2"), PartyId("urn:globex"))

AGREEMENT = Agreement(
    id="tpa-1",
    profile=Profile.RM_2001,
    our_ids=ACME,
    their_ids=GLOBEX,
    send_to="https://globex.example/msh",
    error_to=None,
    receiver_uri="https://globex.example/msh",
    terms=DeliveryTerms(),
)


def test_each_side_is_known_by_the_first_of_its_ids() -> None:
    assert (AGREEMENT.our_party, AGREEMENT.their_party) == ("urn:duns:1", "urn:duns:2")


def test_a_route_is_of_the_pair_of_its_ends_by_their_first_ids() -> None:
    route = Route(
        id="through",
        profile=Profile.RM_2001,
        intermediary=Intermediary.RELAY,
        from_ids=ACME,
        to_ids=GLOBEX,
        agreement_id=None,
        back_to="https://acme.example/msh",
        sender_uri="https://acme.example/msh",
        send_to="https://globex.example/msh",
        receiver_uri="https://globex.example/msh",
        terms=DeliveryTerms(),
        hops_max=8,
    )
    assert route.pair == Pair("urn:duns:1", "urn:duns:2")


def test_answers_are_read_where_one_was_agreed_or_the_profile_reads_each() -> None:
    agreed = changed(AGREEMENT.terms, sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE)
    assert not AGREEMENT.reads_answers
    assert changed(AGREEMENT, terms=agreed).reads_answers
    assert changed(AGREEMENT, profile=Profile.EBMS_2_0).reads_answers


def test_a_cancel_is_asked_for_where_the_profile_or_the_extensions_have_the_word() -> None:
    standard = changed(AGREEMENT, profile=Profile.EBMS_2_0)
    assert AGREEMENT.has_cancels
    assert not standard.has_cancels
    assert changed(standard, cpa=CpaTerms(has_extensions=True)).has_cancels
