"""The judges of verdicts, custody, restarts and questions: each broken in a recorded history."""

from collections.abc import Callable

import pytest
from recorded import WINDOWED, found, insert, place, plan, ran, silence, submits, unheard

from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.message import AckRequested
from onceonly.message.profile import Profile
from onceonly.message.terms import (
    DeliveryReceiptProvided,
    DeliveryTerms,
    Intermediary,
    OnExhausted,
    RecoveryTerms,
    Remedy,
)
from onceonly.message.word import changed
from onceonly.simulation.history import History
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Action, Habits, Line, Machine, Plan
from onceonly.simulation.world import World
from onceonly.store.contract.store import Transaction

FAR = 1 << 60
LONG_MS = 1_000_000
BUSY = {f"A>B#{number}": Fate.BUSY for number in range(1, 4)}
"""Every transmission of a message of WINDOWED: it is given up in doubt."""

UNANSWERED = {f"B>A#{number}": Fate.BUSY for number in range(1, 30)}


def _custody(**fields: object) -> Plan:
    return plan(
        WINDOWED,
        actions=fields.pop("actions", submits("m0")),
        relay=Intermediary.ACCEPT,
        rest_ms=LONG_MS,
        **fields,
    )


def _asks(remedy: Remedy = Remedy.RESEND, **fields: object) -> Plan:
    recovery = RecoveryTerms(inquires=True, when_not_received=remedy, inquiries=2)
    terms = changed(WINDOWED, on_exhausted=OnExhausted.FAIL, recovery=recovery)
    return plan(terms, actions=submits("m0"), **{"fates": BUSY, **fields})


def _drop(history: History, node: str, event: Event) -> None:
    """No such row of the machine was ever there."""
    left = [row for row in history.rows if row.node != node or row.record.event is not event]
    assert len(left) < len(history.rows), f"{node} has rows {event}"
    history.rows[:] = left


def _forget(world: World, node: str, agreement: str) -> None:
    """Everything that the machine had sent is gone from its store."""

    def purge(txn: Transaction) -> None:
        txn.purge_outbound(agreement, FAR, 100)

    world.nodes[node].kill("over")
    world.nodes[node].store.prepare(purge)
    world.nodes[node].store.open()


def test_what_is_forgotten_without_a_verdict_is_found() -> None:
    """I21: accepted, and in the end neither a verdict nor the message is there."""
    with ran(plan(actions=submits("m0"), rest_ms=LONG_MS)) as world:
        _forget(world, "A", "A-B")
        _drop(world.history, "A", Event.ACK_RECEIVED)
        assert "I21" in found(world)


def test_a_refusal_that_a_relay_keeps_is_found() -> None:
    """I21: the final party refuses, and the From Party never hears of it."""
    terms = changed(WINDOWED, delivery_receipt_requested=AckRequested.UNSIGNED)
    world = plan(terms, actions=submits("m0"), relay=Intermediary.RELAY, rest_ms=LONG_MS)
    with ran(world) as ended:
        assert found(ended) == set()
        sent = ended.history.sent
        sent[:] = [one for one in sent if not one.packet.name.startswith("R>A")]
        unheard(ended.history, "R>A")
        assert "I21" in found(ended)


def test_custody_that_is_lost_is_found() -> None:
    """I37: an intermediary accepted a message, and has neither it nor a verdict."""
    with ran(_custody()) as world:
        _forget(world, "R", "A-B-there")
        _drop(world.history, "R", Event.ACK_RECEIVED)
        assert "I37" in found(world)


def test_custody_that_stands_still_is_found() -> None:
    """L1: an intermediary has a message long after the world has healed, and no verdict."""
    with ran(_custody()) as world:
        assert found(world) == set()
        _drop(world.history, "R", Event.ACK_RECEIVED)
        assert "L1" in found(world)


def test_a_repeat_that_a_custodian_refuses_is_found() -> None:
    """I37: what was accepted comes again, and is taken for something else."""
    with ran(_custody(fates={"A>R#1": Fate.TWICE})) as world:
        assert found(world) == set()
        at = place(world.history, Event.DUPLICATE_ELIMINATED)
        row = world.history.rows[at]
        record = changed(
            row.record, event=Event.REJECTED, error_code=ErrorCode.SECURITY_FAILURE.value
        )
        world.history.rows[at] = changed(row, record=record)
        assert "I37" in found(world)


def test_a_custodian_that_tells_nobody_is_found() -> None:
    """I37: given up on the way, and the From Party is not told."""
    fates = {f"R>B#{number}": Fate.REFUSED for number in range(1, 9)}
    with ran(_custody(fates=fates)) as world:
        assert found(world) == set()
        sent = world.history.sent
        sent[:] = [one for one in sent if not one.packet.name.startswith("R>A")]
        assert "I37" in found(world)


def _two_custodians(terms: DeliveryTerms, fates: dict[str, Fate]) -> Plan:
    through = (("R", Intermediary.ACCEPT), ("S", Intermediary.ACCEPT))
    return plan(
        actions=submits("m0"),
        machines=tuple(map(Machine, "ABRS")),
        lines=(Line("A", "B", Profile.RM_2001, terms, through),),
        fates=fates,
        rest_ms=LONG_MS,
    )


def _reported_again() -> Plan:
    """S cannot know that R heard its notice, and in between comes its second acknowledgement."""
    terms = changed(WINDOWED, retries=1, on_exhausted=OnExhausted.FAIL, notifies_failures=True)
    fates = {
        "B>S#1": Fate.LOST,
        "B>S#2": Fate.LOST,
        "S>R#1": Fate.LATE,
        "S>R#2": Fate.LATE,
        "S>R#3": Fate.LATE,
        "S>R#4": Fate.LOST,
        "S>R#5": Fate.LOST,
    }
    return _two_custodians(terms, fates)


def _reported_behind_the_receipt() -> Plan:
    """S heard no acknowledgement, and R heard the receipt before the notice of that."""
    terms = changed(
        WINDOWED,
        retries=0,
        on_exhausted=OnExhausted.FAIL,
        notifies_failures=True,
        delivery_receipt_requested=AckRequested.UNSIGNED,
        delivery_receipt_provided=DeliveryReceiptProvided.UNSIGNED,
    )
    fates = {"S>R#1": Fate.LOST, "B>S#1": Fate.LOST, "S>R#2": Fate.LOST}
    return _two_custodians(terms, fates)


def _failed(history: History) -> None:
    """R lets the doubt count, and ends behind the fence."""
    at = _last(history, Event.ERROR_RECEIVED)
    insert(history, at, after=at, event=Event.FAILED)


def _told_upstream(history: History) -> None:
    """A lets the doubt count that R passed on, and tells its application."""
    told = place(history, Event.NOTIFIED)
    report = place(history, Event.ERROR_RECEIVED)
    insert(history, report, after=len(history.rows) - 1)
    insert(history, told, after=len(history.rows) - 1)


def _last(history: History, event: Event) -> int:
    """Where the last such row of R is."""
    return max(
        at for at, row in enumerate(history.rows) if row.node == "R" and row.record.event is event
    )


def _unacknowledged(history: History) -> None:
    del history.rows[_last(history, Event.LATE_ACK_RECEIVED)]


def _reported_otherwise(history: History) -> None:
    at = _last(history, Event.ERROR_RECEIVED)
    row = history.rows[at]
    history.rows[at] = changed(row, record=changed(row.record, reason="the disk is gone"))


def _posted_before_its_report(history: History) -> None:
    report = history.rows[_last(history, Event.ERROR_RECEIVED)]
    at = _last(history, Event.FAILURE_NOTICE_SENT)
    history.rows[at] = changed(history.rows[at], order=report.order - 1)


@pytest.mark.parametrize("edit", [_unacknowledged, _reported_otherwise, _posted_before_its_report])
def test_a_notice_of_custody_that_is_posted_again_is_found(edit: Callable[[History], None]) -> None:
    """L3: only a doubt that an acknowledgement took back is told of in the same words again."""
    with ran(_reported_again()) as world:
        assert found(world) == set()
        edit(world.history)
        assert "L3" in found(world)


@pytest.mark.parametrize(("edit", "invariant"), [(_failed, "I20"), (_told_upstream, "I23")])
def test_a_doubt_that_overtakes_the_to_party_s_receipt_is_found(
    edit: Callable[[History], None], invariant: str
) -> None:
    """I20, I23: the receipt was taken, and a Warning of an intermediary counts for more."""
    with ran(_reported_behind_the_receipt()) as world:
        assert found(world) == set()
        edit(world.history)
        assert invariant in found(world)


def test_custody_that_a_start_does_not_go_on_with_is_found() -> None:
    """I37: an intermediary dies while it sends, and its next process does nothing about it."""
    fates = {"R>B#1": Fate.LOST}
    kill = Action(3_000, "kill", "R", {"down_ms": 1_000})
    with ran(_custody(actions=(*submits("m0"), kill), fates=fates)) as world:
        assert found(world) == set()
        begun = [one.order for one in world.history.happenings if one.what == "started"][-1]
        world.history.rows[:] = [
            row
            for row in world.history.rows
            if row.node != "R" or row.order < begun or row.record.message_id is None
        ]
        assert "I37" in found(world)


def _was_found_by_a_start(history: History) -> bool:
    """Whether the commit that stored the message broke its process, and was durable."""
    stored = history.rows[place(history, Event.STORED)]
    return stored.at_ns in {one.at_ns for one in history.happenings if one.what == "started"}


def test_a_repeat_of_what_a_start_found_stored_wants_its_answer() -> None:
    """I4: the commit of custody broke its process, and the next one leaves the repeat alone."""
    broken = Action(1_000, "break", "R")
    with ran(_custody(actions=(*submits("m0"), broken), store="sqlite")) as world:
        assert _was_found_by_a_start(world.history)
        assert found(world) == set()
        silence(world.history, "R>A#1")
        assert "I4" in found(world)


def test_a_final_party_acknowledges_what_a_start_found_stored() -> None:
    """I4: the acknowledgement goes with the hand-over, whether or not a repeat comes."""
    broken = Action(1_000, "break", "B")
    world = plan(WINDOWED, actions=(*submits("m0"), broken), store="sqlite", rest_ms=LONG_MS)
    with ran(world) as ended:
        assert _was_found_by_a_start(ended.history)
        assert found(ended) == set()
        silence(ended.history, "B>A#1")
        assert "I4" in found(ended)


def test_a_message_that_a_start_sends_for_the_first_time_again_is_found() -> None:
    """I18: a restart is no reset of the retries."""
    kill = Action(5_500, "kill", "A", {"down_ms": 100})
    world = plan(WINDOWED, actions=(*submits("m0"), kill), fates=BUSY, rest_ms=LONG_MS)
    with ran(world) as ended:
        assert found(ended) == set()
        last = place(ended.history, Event.TRANSMITTING, "m0", nth=2)
        again = changed(ended.history.rows[last].record, attempt=1)
        ended.history.rows[last] = changed(ended.history.rows[last], record=again)
        assert "I18" in found(ended)


def _unheard_report(history: History) -> None:
    """The answer that was taken never came."""
    reports = [one for one in history.arrived if b"StatusResponse" in one.body]
    history.arrived[:] = [one for one in history.arrived if one not in reports]


def _no_resend(history: History) -> None:
    _drop(history, "A", Event.REQUEUED)


def _no_word(history: History) -> None:
    for event in (Event.REPORT_RECEIVED, Event.REQUEUED, Event.ACK_RECEIVED):
        _drop(history, "A", event)


def _asked_on(history: History) -> None:
    model = history.rows[place(history, Event.INQUIRY_SENT)]
    for more in range(1, 4):
        history.rows.append(changed(model, order=history.order + more))


def _asked_for_what_may_be_forgotten(history: History) -> None:
    at = place(history, Event.REPORT_RECEIVED)
    row = history.rows[at]
    record = changed(row.record, at=row.record.at + 10**15)
    history.rows[at] = changed(row, record=record)


@pytest.mark.parametrize(
    ("invariant", "edit"),
    [
        ("I29", _unheard_report),
        ("R-21", _no_resend),
        ("R-21", _no_word),
        ("R-21", _asked_on),
        ("R-21", _asked_for_what_may_be_forgotten),
    ],
)
def test_questions_and_remedies(invariant: str, edit: Callable[[History], None]) -> None:
    """R-21, I29: given up, asked, not received, sent again; then one thing of it is another."""
    with ran(_asks()) as world:
        assert found(world) == set()
        edit(world.history)
        assert invariant in found(world)


def test_a_late_response_that_nobody_notes_is_found() -> None:
    """R-21: a business response is expected, and neither comes nor is late."""
    terms = changed(WINDOWED, recovery=RecoveryTerms(response_within_s=5))
    with ran(plan(terms, actions=submits("m0"))) as world:
        assert found(world) == set()
        _drop(world.history, "A", Event.RESPONSE_OVERDUE)
        assert "R-21" in found(world)


def test_a_cancel_of_begun_work_is_found() -> None:
    """I44: the application asks before it works, has begun, and the cancel is confirmed."""
    terms = changed(WINDOWED, reports_processing=True)
    machines = (Machine("A"), Machine("B", habits=Habits(read_ms=10_000)))
    cancel = {"what": "cancel", "message_id": "m0@A.example"}
    world = plan(
        terms,
        actions=(*submits("m0"), Action(2_500, "operate", "A", cancel)),
        machines=machines,
        fates=UNANSWERED,
    )
    with ran(world) as ended:
        assert found(ended) == set()
        at = place(ended.history, Event.HANDED_OVER, "m0")
        row = ended.history.rows[at]
        begun = changed(row.record, event=Event.PROCESSING_CHANGED, reason="in-progress")
        ended.history.rows.insert(at + 1, changed(row, order=row.order + 1, record=begun))
        assert "I44" in found(ended)


def test_what_was_sent_is_not_forgotten_early() -> None:
    """I10, R-19: a purge forgets what was sent before its time."""
    with ran(plan(actions=submits("m0"))) as world:
        rows = world.history.rows
        model = rows[place(world.history, Event.STARTED)]
        last = rows[place(world.history, Event.ACK_RECEIVED)]
        record = changed(model.record, event=Event.PURGED, reason="1 sent under A-B")
        node = last.node
        rows.append(changed(model, order=last.order + 1, node=node, record=record))
        assert "I10" in found(world)
