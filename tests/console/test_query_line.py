"""The query line: what is written is what is asked for."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.console.query_line import LENGTH_MAX, LineError, QueryLine, read_line

KEYS = ("state", "to", "conversation")


@pytest.mark.parametrize(
    ("text", "terms", "message_id"),
    [
        ("", {}, None),
        ("   ", {}, None),
        ("state:in_doubt", {"state": "in_doubt"}, None),
        (
            "state:failed to:urn:duns:111111111",
            {"state": "failed", "to": "urn:duns:111111111"},
            None,
        ),
        ('conversation:"two words"', {"conversation": "two words"}, None),
        (r'conversation:"a \"quoted\" one"', {"conversation": 'a "quoted" one'}, None),
        ("PO-4711@buyer.example", {}, "PO-4711@buyer.example"),
        ("urn:duns:1", {}, "urn:duns:1"),
        ('"state:failed"', {}, "state:failed"),
        ("state:failed PO-1", {"state": "failed"}, "PO-1"),
    ],
)
def test_a_line_is_read(text, terms, message_id):
    """Terms, quotes, and a word without a key."""
    line = read_line(text, KEYS)
    assert (line.terms, line.message_id) == (terms, message_id)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour:red", "the keys are state, to, conversation"),
        ("state:failed state:sent", "once"),
        ("PO-1 PO-2", "one MessageId at a time"),
        ('to:"open', "no term begins at"),
        ('to:"a"b', "no term begins at"),
        ("x" * (LENGTH_MAX + 1), "at most"),
    ],
)
def test_a_wrong_line_says_what_would_be_right(text, said):
    """Never a guess."""
    with pytest.raises(LineError, match=said):
        read_line(text, KEYS)


TEXTS = st.text(min_size=1, max_size=50)


@given(st.dictionaries(st.sampled_from(KEYS), TEXTS), st.none() | TEXTS)
def test_a_line_that_is_written_is_read_again(terms, message_id):
    """Whatever the values are."""
    line = QueryLine(terms=terms, message_id=message_id)
    assert read_line(line.text, KEYS) == line


@given(st.text(max_size=100))
def test_any_text_is_read_or_refused(text):
    """Nothing else can happen."""
    with suppress(LineError):
        read_line(text, KEYS)


def test_a_term_is_changed_and_taken_away():
    """What chips do."""
    line = read_line("state:failed to:a", KEYS)
    assert line.with_term("state", "sent").text == "to:a state:sent"
    assert line.with_term("state", None).text == "to:a"
