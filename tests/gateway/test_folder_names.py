"""Names of files in folders: pure, so every rule is shown by a call."""

import os

from hypothesis import given
from hypothesis import strategies as st

from onceonly.gateway.config import Ready
from onceonly.gateway.folders.names import (
    documents,
    payload_name,
    result_name,
    safe_name,
)
from onceonly.message.identity import checked_text

NAMES = frozenset(
    ["b.xml", "a.xml", "a.xml.done", "a.xml.header.json", ".c.xml", "d.xml.tmp", "sent", "e~"]
)


def test_which_names_are_documents():
    """With markers those that have one; never ours, a header, a marker or a temporary name."""
    assert list(documents(NAMES, Ready.MARKER)) == ["a.xml"]
    assert list(documents(NAMES, Ready.RENAMED)) == ["a.xml", "b.xml"]


def test_a_long_name_has_a_short_result():
    """A name of a file has 255 bytes at most."""
    assert result_name("a.xml") == "a.xml.result.json"
    assert result_name("x" * 250) == "result.json"


@given(st.binary(min_size=1, max_size=255))
def test_a_header_can_hold_every_name(name):
    """Whatever bytes a file's name has."""
    shown = payload_name(os.fsdecode(name))
    checked_text(shown, "name").encode()


@given(st.text(max_size=300), st.integers(1, 99))
def test_a_partner_cannot_choose_a_path(name, number):
    """The name of a file is one plain step, and begins with the number of the payload."""
    shown = safe_name(name, number)
    assert shown.startswith(f"{number}-")
    assert "/" not in shown
    assert shown.isascii()
    assert len(shown) < 110
    assert shown != f"{number}-"
