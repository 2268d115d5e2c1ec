"""Events, effects and states are told apart by their kind."""

from types import ModuleType
from typing import NamedTuple, get_args

from kinds import equal_pairs, kinds_in, kinds_of, tuples_among
from onceonly import protocol
from onceonly.message.word import Word
from onceonly.protocol.effects import Diverge, Effect, GiveUp
from onceonly.protocol.events import SendingEvent
from onceonly.protocol.pairing import PairEvent


def test_no_two_kinds_of_the_ring_are_equal():
    """Found by walking the modules, so that a new kind is seen, and none of them is a tuple."""
    kinds = kinds_in(protocol)
    assert {*get_args(Effect), *get_args(SendingEvent), *get_args(PairEvent)} <= {*kinds}
    assert equal_pairs(kinds) == []
    assert [kind for kind in kinds if not issubclass(kind, Word)] == []


def test_a_pair_that_gives_up_has_not_diverged():
    """The two effects have the same field; one suspends the pair, the other quarantines it."""
    assert GiveUp("r") != Diverge("r")


def test_a_new_word_that_is_a_tuple_is_found():
    """One is enough: there need not be another that it is equal to."""
    module = ModuleType(__name__)
    module.planted = NamedTuple("Planted", [("reason", str)])
    module.planted.__module__ = __name__
    assert tuples_among(kinds_of(module)) == {"Planted"}
