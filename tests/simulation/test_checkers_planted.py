"""The judges of a world's end: one function of the product is broken, and the end shows it."""

import pytest
from recorded import NUMBERED, WINDOWED, found, plan, ran, submits

from onceonly.gateway.incoming.handovers import HandOvers
from onceonly.gateway.outgoing.failure_notices import FailureNotices
from onceonly.journal.record import linked
from onceonly.message.event import Event
from onceonly.message.message import AckRequested, DeliverySemantics
from onceonly.message.terms import Intermediary, OnExhausted, RecoveryTerms
from onceonly.message.word import changed
from onceonly.protocol import pairing, recovering, relaying, transmitting
from onceonly.protocol.pairing import MessageSettled, PairStatus
from onceonly.protocol.recovering import GivenUp, RecoveryPhase
from onceonly.protocol.relaying import Arrived, TransitStatus
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Action, Habits, Machine, Plan
from onceonly.steps.turn import Turn
from onceonly.store.memory import writing as memory_writing
from onceonly.store.memory.writing import MemoryTransaction
from onceonly.store.sqlite import writing as sqlite_writing

ALL_LOST = {f"A>B#{number}": Fate.LOST for number in range(1, 4)}


def test_a_queue_that_nobody_moves_has_no_verdicts(monkeypatch: pytest.MonkeyPatch):
    """L1 and L6: the pair forgets to look for the next message."""
    real = pairing.TABLE[PairStatus.OPEN, MessageSettled]

    def forgetful(state, event):
        after, effects = real(state, event)
        return after, effects[:-1]

    monkeypatch.setitem(pairing.TABLE, (PairStatus.OPEN, MessageSettled), forgetful)
    at_once = tuple(changed(action, at_ms=1000) for action in submits("m0", "m1"))
    with ran(plan(actions=at_once, end_ms=2_400_000)) as world:
        assert {"L1", "L6"} <= found(world)


def test_a_receiver_that_says_nothing_is_found(monkeypatch: pytest.MonkeyPatch):
    """I4, L2 and L4: stored, and neither acknowledged nor handed over, in calm weather too."""
    monkeypatch.setattr(HandOvers, "acknowledge", lambda self, debt, send: None)
    late = Action(180_000, "submit", "A", {"to": "B", "id": "late"})
    terms = changed(NUMBERED, on_exhausted=OnExhausted.FAIL)
    with ran(plan(terms, actions=(*submits("m0"), late), rest_ms=600_000)) as world:
        assert {"I4", "L2", "L4"} <= found(world)


def test_a_doubt_that_nobody_asks_about_is_found(monkeypatch: pytest.MonkeyPatch):
    """I25: the agreement has inquiries, and none is made."""
    place = RecoveryPhase.AT_REST, GivenUp
    monkeypatch.setitem(recovering.TABLE, place, lambda state, event, now, terms: (state, ()))
    terms = changed(NUMBERED, on_exhausted=OnExhausted.FAIL, recovery=RecoveryTerms(inquires=True))
    with ran(plan(terms, actions=submits("m0"), fates=ALL_LOST)) as world:
        assert "I25" in found(world)


def test_a_doubt_that_was_asked_about_is_over():
    """I25: the same world without the bug."""
    terms = changed(NUMBERED, on_exhausted=OnExhausted.FAIL, recovery=RecoveryTerms(inquires=True))
    with ran(plan(terms, actions=submits("m0"), fates=ALL_LOST)) as world:
        assert found(world) == set()


ENDLESS = changed(
    WINDOWED, semantics=DeliverySemantics.EXACTLY_ONCE, retries=None, persist_duration_s=20
)
ASKED_FIRST = changed(ENDLESS, recovery=RecoveryTerms(ping_above_bytes=-1))
DRAINING = Action(500, "operate", "B", {"what": "set_draining", "is_draining": True})
IN_VAIN = (
    plan(ENDLESS, actions=submits("m0"), fates={f"A>B#{n}": Fate.REFUSED for n in range(1, 20)}),
    plan(ASKED_FIRST, actions=(DRAINING, *submits("m0"))),
)


@pytest.mark.parametrize("in_vain", IN_VAIN, ids=["sent", "asked-first"])
def test_a_wait_without_end_that_no_operator_hears_of_is_found(
    in_vain: Plan, monkeypatch: pytest.MonkeyPatch
):
    """R-17: copies, or Pings before them, are in vain for longer than PersistDuration."""
    with ran(in_vain) as world:
        assert found(world) == set()
    monkeypatch.setattr(transmitting, "_alarm", lambda *_: ())
    with ran(in_vain) as world:
        assert found(world) == {"R-17"}


def test_a_drain_that_is_forgotten_ends_when_the_world_heals():
    """An operator ends it as he resumes a pair; what waited for it is delivered."""
    with ran(plan(ASKED_FIRST, actions=(DRAINING, *submits("m0")))) as world:
        assert [one.key.message_id for one in world.history.delivered] == ["m0@A.example"]
        assert not world.is_livelocked


def test_a_chain_that_does_not_hold_is_found(monkeypatch: pytest.MonkeyPatch):
    """E3: the hash of a row is not that of the row."""
    real = linked

    def unlinked(record, *, previous_hash, **more):
        *columns, _ = real(record, previous_hash=previous_hash, **more)
        return (*columns, previous_hash)

    monkeypatch.setattr(memory_writing, "linked", unlinked)
    monkeypatch.setattr(sqlite_writing, "linked", unlinked)
    with ran(plan(seed=0)) as world:
        assert "E3" in found(world)


def _refused_world():
    machines = (Machine("A"), Machine("B", habits=Habits(refuses=1.0)))
    terms = changed(WINDOWED, notifies_failures=True)
    return plan(terms, machines=machines, actions=submits("m0"), rest_ms=600_000)


def test_a_notice_that_is_owed_and_never_tried_is_found(monkeypatch: pytest.MonkeyPatch):
    """L3: an application refuses a message, and nobody posts the notice that is owed."""
    monkeypatch.setattr(FailureNotices, "release", lambda self, notice: None)
    with ran(_refused_world()) as world:
        assert "L3" in found(world)


def test_a_notice_that_nobody_wrote_down_is_found(monkeypatch: pytest.MonkeyPatch):
    """L3: what was owed is not in the store, and not posted either."""
    monkeypatch.setattr(MemoryTransaction, "put_owed_notice", lambda self, notice: None)
    monkeypatch.setattr(FailureNotices, "release", lambda self, notice: None)
    with ran(_refused_world()) as world:
        assert "L3" in found(world)


def test_a_notice_that_was_taken_is_owed_no_more():
    """L3: the same world without the bug."""
    with ran(_refused_world()) as world:
        assert found(world) == set()


def _given_up_in_custody():
    """An intermediary accepts, and then the way on is cut."""
    terms = changed(WINDOWED, notifies_failures=True, ack_requested=AckRequested.UNSIGNED)
    cut = tuple(Action(900, "cut", one, {"to": other, "ms": 58_000}) for one, other in ("RB", "BR"))
    world = plan(terms, actions=(*cut, *submits("m0")), relay=Intermediary.ACCEPT)
    return changed(world, rest_ms=600_000)


def test_a_debt_of_custody_that_nobody_wrote_down_is_found(monkeypatch: pytest.MonkeyPatch):
    """L3: an intermediary gives up what it had accepted, and owes nobody a word."""
    monkeypatch.setattr(Turn, "_owe", lambda self, entry, agreement, effect: None)
    with ran(_given_up_in_custody()) as world:
        assert "L3" in found(world)


def test_a_debt_of_custody_that_was_paid_is_none():
    """L3: the same world without the bug."""
    with ran(_given_up_in_custody()) as world:
        assert any(row.record.event is Event.FAILURE_NOTICE_SENT for row in world.history.rows)
        assert found(world) == set()


def test_a_relay_that_keeps_a_repeat_is_found(monkeypatch: pytest.MonkeyPatch):
    """L4: the second copy of a message that was acknowledged goes no further."""
    place = TransitStatus.ACKNOWLEDGED, Arrived
    monkeypatch.setitem(relaying.TABLE, place, lambda state, event, terms: (state, ()))
    fates = {"R>A#1": Fate.LOST}
    world = plan(WINDOWED, actions=submits("m0"), relay=Intermediary.RELAY, fates=fates)
    with ran(changed(world, rest_ms=600_000)) as ended:
        assert "L4" in found(ended)
