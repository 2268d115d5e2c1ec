"""What every word can do, and which values of this ring are words."""

import pickle
from types import ModuleType
from typing import NamedTuple

import pytest

from kinds import equal_pairs, kinds_in, kinds_of, tuples_among
from onceonly import message
from onceonly.message.errors import RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.word import Word, changed


class Left(Word):
    reason: str
    times: int = 1


class Right(Word):
    reason: str
    times: int = 1


class Bare(Word):
    pass


class Empty(Word):
    pass


class LeftTuple(NamedTuple):
    reason: str


class RightTuple(NamedTuple):
    reason: str


def test_words_of_different_kinds_are_never_equal():
    """Whatever is in them, and where nothing is in them."""
    assert Left("r") == Left("r")
    assert Left("r") != Right("r")
    assert Left("r") != ("r", 1)
    assert Bare() != Empty()


def test_a_word_never_changes():
    """Nor can anything be added to it; so it may be a key."""
    word = Left("r")
    with pytest.raises(AttributeError):
        word.reason = "other"
    with pytest.raises(AttributeError):
        word.more = 1
    assert {word: 1}[Left("r")] == 1


def test_a_changed_copy_differs_in_what_was_named():
    """The word stays as it is, an unknown field is a bug, and what is checked is checked again."""
    word = Left("r")
    assert changed(word, times=2) == Left("r", 2)
    assert word == Left("r")
    with pytest.raises(TypeError, match="count"):
        changed(word, count=2)
    with pytest.raises(RemoteError, match="PartyId"):
        changed(PartyId("urn:example:a"), value="no identifier")


def test_a_word_can_go_to_another_process():
    """Campaigns of worlds send words to their workers, and get words back."""
    for word in (Left("r", 3), Bare(), PartyId("1234", "DUNS")):
        assert pickle.loads(pickle.dumps(word)) == word


def test_no_two_kinds_of_the_ring_are_equal():
    """Found by walking the modules, so that a new kind is seen; only keys are tuples."""
    kinds = kinds_in(message)
    assert len(kinds) > 15
    assert equal_pairs(kinds) == []
    assert tuples_among(kinds) == {"Pair", "MessageKey"}


def test_a_tuple_among_the_words_is_found():
    """The walk sees classes that were put into a module, and what makes two kinds equal."""
    module = ModuleType(__name__)
    module.first, module.second, module.word = LeftTuple, RightTuple, Left
    assert equal_pairs(kinds_of(module)) == [("LeftTuple", "RightTuple")]
    assert tuples_among(kinds_of(module)) == {"LeftTuple", "RightTuple"}
