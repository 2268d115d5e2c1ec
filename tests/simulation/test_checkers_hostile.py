"""The judges of hostile partners and strangers: what only a gateway that believes them would leave.

Worlds in which E poses and is refused are recorded, and then the row, the word or the post of a
gateway with a bug is put into their histories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hostile_worlds import M0, beside_b, pose, world_of
from recorded import NUMBERED, WINDOWED, drop, found, insert, place, ran, rewrite

from onceonly.message.errors import ErrorCode
from onceonly.message.event import Direction, Event
from onceonly.message.message import AckRequested, DeliverySemantics, SyncReplyMode
from onceonly.message.terms import Intermediary
from onceonly.message.word import changed
from onceonly.simulation.checkers import Violation, check, processes
from onceonly.simulation.history import Happening, PackageSent, Replied
from onceonly.simulation.imposture import THEIRS, impostor
from onceonly.simulation.network import Fate, Packet
from onceonly.simulation.plan import Action, Line, Machine

if TYPE_CHECKING:
    from onceonly.message.terms import DeliveryTerms
    from onceonly.simulation.history import History
    from onceonly.simulation.plan import Plan
    from onceonly.simulation.world import World

REFUSED = pose(1_500, "A", "ack", is_partner=True, under=THEIRS)
"""It shows E's certificate, and the agreement names B's."""


def of(world: World, invariant: str) -> list[Violation]:
    """The violations of this one."""
    return [one for one in check(world) if one.invariant == invariant]


def certified(*more: Action) -> Plan:
    """A world whose agreements demand certificates."""
    return world_of(REFUSED, *more, terms=WINDOWED, is_certified=True)


def test_who_is_refused_violates_nothing():
    """The worlds of these tests, before anything is changed in them."""
    knock = {"kind": "message", "agreement": "A-B", "of": M0, "is_named": True, "copies": 100}
    for more in ((), (Action(1_500, "knock", "B", knock),)):
        with ran(certified(*more)) as world:
            assert found(world) == set()


WORDS = (
    (Event.ACK_RECEIVED, "m0", "A", Direction.OUT),
    (Event.RECEIPT_RECEIVED, "m0", "A", Direction.OUT),
    (Event.ERROR_RECEIVED, "m0", "A", Direction.OUT),
    (Event.REPORT_RECEIVED, "m1", "A", Direction.OUT),
    (Event.RESPONSE_RECEIVED, "m1", "A", Direction.OUT),
    (Event.STORED, "m0", "B", Direction.IN),
    (Event.COLLISION_DETECTED, "m1", "B", Direction.IN),
    (Event.INQUIRY_RECEIVED, "m0", "B", Direction.IN),
    (Event.CANCEL_CONFIRMED, "m0", "B", Direction.IN),
)


@pytest.mark.parametrize(("event", "name", "node", "direction"), WORDS, ids=str)
def test_a_row_that_no_neighbour_caused_is_found(
    event: Event, name: str, node: str, direction: Direction
):
    """R-44: whatever it says, when nobody but E can have said or brought it."""
    with ran(certified()) as world:
        history = world.history
        like = place(history, Event.SUBMITTED if node == "A" else Event.HANDED_OVER, name)
        insert(history, like, after=like, event=event, direction=direction)
        assert any(f"{name}@A.example at {node}: {event}" in one.text for one in of(world, "R-44"))


def test_a_refused_number_that_nobody_sent_is_found():
    """R-44, R-11: two in a row close a pair, and a forger has no part in that."""
    told = pose(1_500, "A", "wrong-number", is_partner=True, under=THEIRS)
    with ran(world_of(told, terms=NUMBERED, is_certified=True)) as world:
        history = world.history
        like = place(history, Event.HANDED_OVER, "m0")
        code = ErrorCode.INVALID_SEQUENCE_NUMBER
        fields = {"message_id": "posed@A.example", "error_code": code, "sequence_number": 9}
        insert(history, like, after=like, event=Event.REJECTED, **fields)
        assert of(world, "R-44")


def test_rows_are_judged_where_certificates_are_demanded():
    """R-44: elsewhere identity is what the names say."""
    told = pose(1_500, "A", "ack", is_partner=True)
    with ran(world_of(told, terms=WINDOWED)) as world:
        assert not of(world, "R-44")


@pytest.mark.parametrize("word", [b"UnAuthorized", b"Received", b"Processed", b"Forwarded"])
@pytest.mark.parametrize("is_certified", [True, False])
def test_what_is_told_of_anothers_message_is_found(word: bytes, is_certified: bool):
    """R-44: E asks under its own name, and hears more than of a message that nobody knows."""
    plan = world_of(pose(3_500, "A", "status"), terms=WINDOWED, is_certified=is_certified)
    with ran(plan) as world:
        assert found(world) == set()
        rewrite(world.history, "A>E#1", b"NotRecognized", word)
        assert of(world, "R-44")


def test_a_post_about_what_somebody_else_brought_is_found():
    """R-45: the partner that a refused package names has not shown itself."""
    with ran(certified()) as world:
        _post_error(world.history, about=_posed_id(world.history), at=1)
        assert of(world, "R-45")


def test_an_hour_of_the_ration_ends_with_the_process():
    """R-45: what a machine counted before it was killed is gone, and that is no stranger's gain."""
    said = {"kind": "message", "agreement": "A-B", "of": M0, "is_named": True}
    before = Action(1_500, "knock", "B", {**said, "copies": 1_100})
    after = Action(9_000, "knock", "B", {**said, "copies": 100})
    with ran(certified(before, Action(6_000, "kill", "B", {}), after)) as world:
        rows = [row for row in world.history.rows if row.record.event is Event.SECURITY_EVENT]
        assert len(rows) > 1_050
        assert found(world) == set()


def test_more_posts_than_an_hour_has_are_found():
    """R-45: to E about what E's own hand brought, 60 may go and no more."""
    plan = world_of(pose(1_500, "A", "ack"), terms=WINDOWED)
    for count, is_found in ((60, False), (61, True)):
        with ran(plan) as world:
            posed_id = _posed_id(world.history)
            for number in range(count):
                _post_error(world.history, about=posed_id, at=number, to="E")
            assert bool(of(world, "R-45")) == is_found


def test_what_goes_back_in_the_answer_is_no_post():
    """R-45: whoever is on the other end of the connection may hear what was wrong."""
    with ran(certified()) as world:
        history = world.history
        [came] = [one for one in history.arrived if one.packet.source == impostor("E")]
        body = _error(history, _posed_id(history))
        history.replied.append(Replied(history.order, came.at_ns, came.packet, body))
        assert not of(world, "R-45")


def test_more_rows_than_strangers_have_are_found():
    """R-45: a row for each package is a disk that anybody fills."""
    knock = {"kind": "message", "agreement": "A-B", "of": M0, "is_named": False, "copies": 2}
    with ran(certified(Action(1_500, "knock", "A", knock))) as world:
        assert not of(world, "R-45")
        like = place(world.history, Event.STARTED, node="A")
        for number in range(1_100):
            insert(world.history, like, after=like, event=Event.SECURITY_EVENT, attempt=number)
        assert of(world, "R-45")


@pytest.mark.parametrize(
    ("what", "detail", "is_found"),
    [
        ("stopped-itself", "ValueError", True),
        ("stopped-itself", "StoreFailed", True),
        ("killed", "", False),
    ],
)
def test_an_end_that_nobody_brought_about_is_found(what: str, detail: str, *, is_found: bool):
    """R-43: a process ends for its store, or by the world's hand."""
    with ran(certified()) as world:
        history = world.history
        history.happenings.append(
            Happening(history.order, world.timeline.now_ns, "A", what, detail)
        )
        assert bool(of(world, "R-43")) == is_found


def test_an_end_for_a_broken_disk_is_none():
    """R-22: that is what it is for."""
    with ran(certified(Action(1_800, "break", "A"))) as world:
        assert "stopped-itself" in {one.what for one in world.history.happenings}
        assert not of(world, "R-43")


def test_a_conversation_that_ended_in_a_bug_is_found(monkeypatch: pytest.MonkeyPatch):
    """R-43: its row is a finding, but where the world had planted the bug."""
    monkeypatch.setattr(processes, "BROKEN_CONVERSATIONS", frozenset({Event.DRILL}))
    slip = Action(1_000, "slip", "A", {"to": "E", "ms": 10})
    for more, is_found in (((), True), ((slip,), False)):
        with ran(certified(*more)) as world:
            like = place(world.history, Event.STARTED, node="A")
            insert(world.history, like, after=like, event=Event.DRILL, reason="KeyError")
            assert bool(of(world, "R-43")) == is_found


def with_terms(plan: Plan, one: str, terms: DeliveryTerms) -> Plan:
    """Other terms on the lines of that machine's own."""
    lines = (changed(line, terms=terms) if line.one == one else line for line in plan.lines)
    return changed(plan, lines=tuple(lines))


@pytest.mark.parametrize("whose", ["A", "E"])
def test_a_refused_copy_brings_no_terms_of_another_line(whose: str):
    """I44: B hears of m0 under E's agreement first, and m0 is judged by that of A and B."""
    asks_first = changed(WINDOWED, reports_processing=True)
    told = pose(900, "B", "forestall", is_partner=True)
    plan = beside_b(world_of(told, terms=WINDOWED, is_certified=True))
    with ran(with_terms(plan, whose, asks_first)) as world:
        history = world.history
        rejected = history.rows[place(history, Event.REJECTED, "m0")]
        stored = history.rows[place(history, Event.STORED, "m0")]
        assert rejected.order < stored.order
        assert rejected.record.agreement_id == "E-B"
        assert found(world) == set()
        if whose == "A":
            drop(history, Event.PROCESSING_CHANGED, "m0")
            assert of(world, "I44")


def own_message(terms: DeliveryTerms = WINDOWED) -> Plan:
    """E, under its own name, hands B a message that its gateway did not write."""
    plan = beside_b(world_of(pose(1_500, "B", "message"), terms=WINDOWED))
    return with_terms(plan, "E", terms)


def test_an_acknowledgement_in_the_answer_to_the_hostile_is_one():
    """I4: E's own message is stored and acknowledged as anybody's, on the same connection."""
    signals_only = changed(WINDOWED, sync_reply_mode=SyncReplyMode.SIGNALS_ONLY)
    with ran(own_message(signals_only)) as world:
        history = world.history
        assert [one.packet.source for one in history.replied] == [impostor("E")]
        assert found(world) == set()
        history.replied.clear()
        assert [one.text[:5] for one in of(world, "I4")] == ["posed"]


@pytest.mark.parametrize(
    ("package", "of_whom", "is_found"),
    [("B>E#1", b"E", False), ("B>E#1", b"B", True), ("B>A#3", b"A", True)],
    ids=["its SenderURI", "our own", "of an honest one"],
)
def test_where_an_acknowledgement_is_for_is_found(package: str, of_whom: bytes, *, is_found: bool):
    """I6: To is the SenderURI of the copy; in E's own that is whatever E wrote."""
    with ran(own_message()) as world:
        assert found(world) == set()
        there = b"http://%s.example/msh" % of_whom
        rewrite(world.history, package, there, b"file:///etc/passwd")
        assert bool(of(world, "I6")) == is_found


def test_the_semantics_are_those_that_the_header_names():
    """R-16: E's repeat is eliminated, since its header asks for that and not for BestEffort."""
    own = changed(NUMBERED, semantics=DeliverySemantics.BEST_EFFORT)
    told = pose(900, "B", "message", copies=2)
    with ran(with_terms(beside_b(world_of(told, terms=NUMBERED)), "E", own)) as world:
        history = world.history
        place(history, Event.DUPLICATE_ELIMINATED, "posed")
        assert found(world) == set()
        for at, one in enumerate(history.arrived):
            body = one.body.replace(b">OnceAndOnlyOnce<", b">BestEffort<")
            history.arrived[at] = changed(one, body=body, packet=changed(one.packet, body=body))
        assert of(world, "R-16")


def test_an_intermediary_is_not_what_makes_a_package_honest():
    """L4: what E hands to R is refused behind R as it was not agreed, and m0 never is."""
    through = (("R", Intermediary.RELAY),)
    own = changed(
        WINDOWED, semantics=DeliverySemantics.BEST_EFFORT, ack_requested=AckRequested.NONE
    )
    plan = world_of(pose(1_500, "R", "message"), terms=WINDOWED)
    honest = changed(plan.lines[0], through=through)
    lines = (honest, Line("E", "B", honest.profile, own, through))
    machines = tuple(map(Machine, "ABER"))
    with ran(changed(plan, machines=machines, lines=lines, fates={})) as world:
        history = world.history
        at = place(history, Event.REJECTED, "posed")
        assert history.rows[at].node == "B"
        assert found(world) == set()
        like = place(history, Event.STORED, "m0")
        insert(history, like, after=like, event=Event.REJECTED, error_code=ErrorCode.INCONSISTENT)
        assert of(world, "L4")


def _posed_id(history: History) -> bytes:
    [came] = [one for one in history.arrived if one.packet.source == impostor("E")]
    return came.body.partition(b"<MessageId>")[2].partition(b"<")[0]


def _error(history: History, about: bytes) -> bytes:
    """An acknowledgement that went over the network, made into an error about this package."""
    model = next(one.packet.body for one in history.sent if b"<RefToMessageId>" in one.packet.body)
    before, _, rest = model.partition(b"<RefToMessageId>")
    body = before + b"<RefToMessageId>" + about + b"<" + rest.partition(b"<")[2]
    for name in (b"Acknowledgment", b"Acknowledgement"):
        body = body.replace(b"<Action>%s<" % name, b"<Action>MessageError<")
    return body


def _post_error(history: History, *, about: bytes, at: int, to: str = "B") -> None:
    packet = Packet(
        f"A>{to}#{900 + at}",
        "A",
        to,
        f"https://{to}.example/msh",
        "https",
        "multipart/related",
        _error(history, about),
        2_000_000_000 + at,
    )
    history.sent.append(PackageSent(history.order, packet, Fate.LOST))
