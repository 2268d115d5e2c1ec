"""Every name of a header document has words and a section."""

import pytest
from captures import explained, order, order_2001, request, signal

from onceonly.explain.elements import MEANINGS, RM_2000, RM_2001
from onceonly.explain.meaning import CODES
from onceonly.message.errors import ErrorCode
from onceonly.message.profile import PROFILES
from onceonly.wire.rm2000 import names as names_2000
from onceonly.wire.rm2001 import names as names_2001

READ_ONLY = {"TimeStamp", "From or To"}


@pytest.mark.parametrize(
    ("children", "meanings"),
    [(names_2000.CHILDREN, RM_2000), (names_2001.CHILDREN, RM_2001)],
)
def test_every_element_of_the_codec_has_its_words(children, meanings):
    """And no name has words that the codec does not know."""
    known = {name for places in children.values() for place in places for name in place}
    known = (known | set(children)) - READ_ONLY
    assert {name for name in meanings if "@" not in name} == known
    assert all(words and section for words, section in meanings.values())


def test_every_profile_and_every_code_has_words():
    """Whoever adds one is told here."""
    assert set(MEANINGS) == {one for one in PROFILES if one.has_routing_headers}
    assert set(CODES) == set(ErrorCode)


@pytest.mark.parametrize("parcel", [order(), order_2001(), signal("Acknowledgement")])
def test_a_document_is_told_in_its_order_with_its_sections(parcel):
    """From the root to the last hop, and nothing of it is unknown."""
    found = explained(request(parcel)).document
    assert found[0].path == "ebXMLHeader"
    assert not any(one.words.startswith("not a") for one in found)
    by_path = {one.path: one.value for one in found}
    assert by_path["ebXMLHeader/Header/From/PartyId"]


def test_what_a_profile_does_not_know_is_said_to_be_skipped():
    """An extension of somebody's."""
    parcel = order(
        edit=lambda text: text.replace(
            "</ebXMLHeader>", '<x:New xmlns:x="urn:x" y="z"/></ebXMLHeader>'
        )
    )
    found = {one.path: one.words for one in explained(request(parcel)).document}
    assert "skipped" in found["ebXMLHeader/New"]
    assert "skipped" in found["ebXMLHeader/New/@y"]


def test_a_long_value_is_cut():
    """A header document may have a megabyte."""
    parcel = order(edit=lambda text: text.replace("QuoteToCollect", "Q" * 5000))
    assert max(len(one.value or "") for one in explained(request(parcel)).document) < 400
