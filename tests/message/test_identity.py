"""What may be an identifier, a text, a party; which pair and which key a message has."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.identity import (
    IDENTIFIER_LENGTH_MAX,
    MessageKey,
    Pair,
    PartyId,
    checked_identifier,
    checked_key,
    checked_name,
    checked_party,
    checked_text,
    is_job_name,
    is_uri,
)


@pytest.mark.parametrize("value", ["a", "CPA of A and B", "a.b c"])
def test_a_name_may_have_single_blanks_inside(value):
    assert checked_name(value, "CPAId") == value


@pytest.mark.parametrize(
    "value", ["", " ", "a  b", " a", "a ", "a\tb", "a\u00a0b", "..", "a" * 256]
)
def test_what_could_make_two_names_look_the_same_is_none(value):
    with pytest.raises(RemoteError, match="CPAId") as refused:
        checked_name(value, "CPAId")
    assert refused.value.code is ErrorCode.VALUE_NOT_RECOGNIZED


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a b",
        "a\tb",
        "a\x00",
        "a\x7f",
        "a\x85b",
        "a\u00a0b",
        "a\u2028b",
        "a\ud800",
        "\ufeffa",
        "a\uffff",
        "a\n",
        ".",
        "..",
        "a" * (IDENTIFIER_LENGTH_MAX + 1),
    ],
)
def test_what_could_make_two_identifiers_look_the_same_is_none(value):
    """White space, controls, lone surrogates and too many characters are refused by name."""
    with pytest.raises(RemoteError, match=r"MessageId '.*' is not an identifier") as refused:
        checked_identifier(value, "MessageId")
    assert refused.value.code is ErrorCode.VALUE_NOT_RECOGNIZED


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("", "it is empty"),
        ("a" * 256, "it has 256 characters"),
        ("..", "it is a step of a path"),
        ("ab\n", "it has a blank, U+000A, at place 3"),
        ("a\ufeff", "it has a character that nobody sees, U+FEFF, at place 2"),
    ],
)
def test_what_is_no_identifier_is_told_why(value, fault):
    """Whoever reads the refusal finds the place; nothing of it is invisible there."""
    with pytest.raises(RemoteError) as refused:
        checked_identifier(value, "MessageId")
    assert fault in refused.value.description
    assert refused.value.description.isprintable()


@given(
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=255).filter(
        lambda value: value not in (".", "..")
    )
)
def test_an_identifier_of_visible_ascii_is_kept_as_it_is(value):
    """Nothing is trimmed, folded or unescaped; one or two dots are no name (see below)."""
    assume(value not in (".", ".."))
    assert checked_identifier(value, "MessageId") == value


@pytest.mark.parametrize("value", [" a", "a ", "a\nb", "a\u2029b", "a" * 256])
def test_a_text_is_one_line_without_blanks_around_it(value):
    """A second line, a blank at an end and a 256th character are refused by the field's name."""
    with pytest.raises(RemoteError, match=r"Action '.*' is not one line of text"):
        checked_text(value, "Action")


@pytest.mark.parametrize("value", ["", "Order", "New order", "a" * 255])
def test_a_text_may_be_empty_and_have_blanks_inside(value):
    """Signals have an empty Action (seed 000 §2.2.2)."""
    assert checked_text(value, "Action") == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("urn:a", True),
        ("http://a.example/b?c", True),
        ("a", False),
        ("1urn:a", False),
        ("urn:", False),
        ("urn:<a>", False),
        ("urn:" + "a" * 251, True),
        ("urn:" + "a" * 252, False),
    ],
)
def test_a_uri_is_absolute_and_fits_an_identifier(value, expected):
    """A scheme, a colon and something behind it, 255 characters at most."""
    assert is_uri(value) is expected


def test_a_party_without_a_type_has_to_be_a_uri():
    """MS section 8.4.1: otherwise the message contradicts itself."""
    with pytest.raises(RemoteError, match="no type and is not a URI") as refused:
        PartyId("123456789")
    assert refused.value.code is ErrorCode.INCONSISTENT


def test_a_party_may_have_single_blanks_inside():
    """`ebms2.md` §2. A URI has none, so that such a name needs a type."""
    assert str(PartyId("Acme Corp", "name")) == "name:Acme Corp"
    with pytest.raises(RemoteError, match="is not a name"):
        PartyId("Acme  Corp", "name")
    with pytest.raises(RemoteError, match="not a URI"):
        PartyId("urn:acme corp")


def test_the_older_profiles_have_parties_without_blanks():
    assert checked_party(PartyId("Acme", "name")) == PartyId("Acme", "name")
    with pytest.raises(RemoteError, match="PartyId 'Acme Corp' is not an identifier"):
        checked_party(PartyId("Acme Corp", "name"))


def test_the_type_of_a_party_is_an_identifier_too():
    """A type with a blank would make two parties look the same."""
    with pytest.raises(RemoteError, match="PartyId/@type"):
        PartyId("123456789", "D U N S")


def test_the_type_of_a_party_is_part_of_its_name():
    """The same number under two types names two parties, and neither is the bare URI."""
    names = {str(PartyId("urn:1")), str(PartyId("urn:1", "duns")), str(PartyId("urn:1", "gln"))}
    assert names == {"urn:1", "duns:urn:1", "gln:urn:1"}


def test_a_key_belongs_to_the_pair_of_its_parties_in_their_order():
    """A to B and B to A are two pairs (seed 000 §2.1.3)."""
    assert MessageKey("urn:a", "urn:b", "1").pair == Pair("urn:a", "urn:b")
    assert MessageKey("urn:b", "urn:a", "1").pair != Pair("urn:a", "urn:b")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "/", ".", "..", "a\n"])
def test_what_would_be_another_address_is_no_name_of_a_job(name):
    """It stands in the path of a URL, which has its own meaning for slashes and dots."""
    assert not is_job_name(name)


@pytest.mark.parametrize("name", ["orders-2026-11-21", "...", "a.b", "Bestellungen-ü"])
def test_other_identifiers_are_names_of_jobs(name):
    """Dots are no steps where something else stands beside them."""
    assert is_job_name(name)


@pytest.mark.parametrize(
    ("key", "word"),
    [
        ("", "empty"),
        (" \t", "empty"),
        ("\u3000", "empty"),
        ("k" * 256, "255"),
        (" PO-1", "white space"),
        ("PO-1\u00a0", "white space"),
        ("a\nb", "line end"),
        ("a\x00", "control character"),
        ("a\x9bb", "control character"),
        ("a\u2028b", "line end"),
        ("a\ud800", "control character"),
    ],
    ids=ascii,
)
def test_what_cannot_be_meant_is_no_business_key(key: str, word: str) -> None:
    """An empty key would make all orders without one the same order."""
    with pytest.raises(RemoteError, match=word):
        checked_key(key)


@pytest.mark.parametrize("key", ["0", "PO 4711", "k" * 255, "\u00fc/%?#", "None"])
def test_any_line_of_text_is_a_business_key(key: str) -> None:
    """Blanks inside, slashes and other alphabets are a partner's business."""
    assert checked_key(key) == key
