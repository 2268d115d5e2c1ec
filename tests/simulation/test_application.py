"""Applications of a world: they call until they are answered, keep their place, and work once."""

import pytest

from onceonly.message.event import Event
from onceonly.message.message import AckRequested, SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.simulation.forgery import KINDS
from onceonly.simulation.generator.profiles import GENERATED
from onceonly.simulation.history import History
from onceonly.simulation.network import Fate
from onceonly.simulation.packing import FORGER
from onceonly.simulation.plan import Action, Habits, Line, Machine, Plan
from onceonly.simulation.world import World

TERMS = DeliveryTerms(timeout_s=3, retries=3, retry_interval_s=3, persist_duration_s=60)
M0, M1 = "m0@A.example", "m1@A.example"


def submit(at_ms: int, name: str = "m0", **more: object) -> Action:
    """A hands a message for B over."""
    return Action(at_ms, "submit", "A", {"to": "B", "id": name, "agreement": "A-B", **more})


def operate(at_ms: int, what: str, **more: object) -> Action:
    """A's operator does something."""
    return Action(at_ms, "operate", "A", {"what": what, **more})


def ran(
    *actions: Action,
    terms: DeliveryTerms = TERMS,
    profile: Profile = Profile.RM_2000,
    habits: Habits | None = None,
    fates: dict[str, Fate] | None = None,
    begin_number: int | None = None,
    rest_ms: int = 0,
    store: str = "memory",
) -> History:
    """The history of a world of two with B's habits, calm but for these fates."""
    terms = changed(terms, is_numbered=profile.is_numbered)
    if profile.acknowledges_on_request:
        terms = changed(terms, acknowledges_on_request=True, ack_requested=AckRequested.UNSIGNED)
    plan = Plan(
        seed=1,
        machines=(Machine("A"), Machine("B", habits=habits or Habits())),
        lines=(Line("A", "B", profile, terms, begin_number=begin_number),),
        actions=actions,
        fates=fates or {},
        is_drawn=False,
        heal_ms=20_000,
        rest_ms=rest_ms,
        end_ms=600_000,
        store=store,
    )
    world = World(plan)
    history = world.run()
    world.close()
    assert not history.bugs
    return history


def events(history: History, node: str, event: Event) -> list[str | None]:
    """MessageIds of the node's rows of that event."""
    return [
        row.record.message_id
        for row in history.rows
        if (row.node, row.record.event) == (node, event)
    ]


class TestSubmitting:
    @pytest.mark.parametrize("count", [1, 2])
    def test_a_call_that_died_with_its_process_is_made_again(self, count: int) -> None:
        """And what it submitted then is accepted once, whether or not it had been stored."""
        arm = Action(20, "arm", "A", {"point": "before-commit", "count": count})
        history = ran(arm, submit(50))
        assert [one.key.message_id for one in history.accepted] == [M0]
        assert [one.key.message_id for one in history.delivered] == [M0]

    @pytest.mark.parametrize("point", ["before-commit", "after-commit"])
    def test_a_key_tells_a_submission_whose_answer_was_lost(self, point: str) -> None:
        """The gateway chose the id; the application submits again and hears of the same one."""
        arm = Action(20, "arm", "A", {"point": point, "count": 1})
        history = ran(arm, submit(50, is_keyed=True), submit(5_000, is_keyed=True))
        assert [one.name for one in history.accepted] == [M0]
        given = history.accepted[0].key.message_id
        assert given != M0
        assert [one.key.message_id for one in history.delivered] == [given]

    def test_the_same_again_is_accepted_once(self) -> None:
        """A repeated submission is a question about the first one."""
        history = ran(submit(50), submit(60), submit(5_000))
        assert len(history.accepted) == len(history.delivered) == 1

    def test_other_content_under_a_taken_id_is_refused(self) -> None:
        """The first content is delivered, and nothing else."""
        history = ran(submit(50), submit(60, like="other"))
        assert [code for _, _, code in history.refused] == ["MessageIdTaken"]
        assert [one.content for one in history.delivered] == [history.accepted[0].content]

    def test_a_full_disk_is_tried_again_until_there_is_space(self) -> None:
        """Refused by name, and accepted in the end."""
        history = ran(Action(20, "fill", "A", {"ms": 5_000}), submit(50))
        assert {code for _, _, code in history.refused} == {"StoreFull"}
        assert len(history.delivered) == 1

    @pytest.mark.parametrize("store", ["memory", "sqlite"])
    def test_a_process_that_cannot_start_on_a_full_disk_is_started_again(self, store: str) -> None:
        """As a supervisor does, until there is space; then everything goes on."""
        full, kill = Action(100, "fill", "A", {"ms": 5_000}), Action(200, "kill", "A")
        history = ran(full, kill, submit(300), store=store)
        stops = [one for one in history.happenings if one.what == "stopped-itself"]
        assert len(stops) > 1
        assert len(history.delivered) == 1

    @pytest.mark.parametrize(("size", "parts"), [(0, 1), (0, 0), (70_000, 1), (100, 3)])
    def test_content_of_every_shape_arrives_as_it_was(self, size: int, parts: int) -> None:
        """Empty, without parts, in the spool, several."""
        history = ran(submit(50, size=size, parts=parts))
        (accepted,), (delivered,) = history.accepted, history.delivered
        assert delivered.content == accepted.content
        assert [len(part) for part in delivered.content] == [size] * parts


class TestReading:
    def test_who_is_away_reads_later_and_the_acknowledgement_does_not_wait(self) -> None:
        """Storing is what is acknowledged (fault A2)."""
        away = Action(10, "stay_away", "B", {"ms": 15_000})
        history = ran(away, submit(50))
        (delivered,) = history.delivered
        acked = next(row for row in history.rows if row.record.event is Event.ACK_RECEIVED)
        assert acked.at_ns < 1_000_000_000
        assert delivered.at_ns >= 15_000_000_000

    def test_who_was_restored_says_what_it_had_said_and_is_not_believed(self) -> None:
        """I44: complete stays complete."""
        history = ran(submit(50), habits=Habits(reports=1.0, falls_back=1.0))
        assert [code for _, _, code in history.refused] == ["ProcessingWentBack"]
        rows = [row.record for row in history.rows]
        told = [row.reason for row in rows if row.event is Event.PROCESSING_CHANGED]
        assert told == ["in-progress", "complete"]

    def test_who_refuses_does_not_work(self) -> None:
        """And its gateway has it in the journal."""
        history = ran(submit(50), habits=Habits(refuses=1.0))
        assert events(history, "B", Event.APPLICATION_REFUSED) == [M0]
        assert not history.worked

    def test_what_is_taken_back_before_work_began_is_never_worked_on(self) -> None:
        """Where processing is reported, the application asks before it starts."""
        terms = changed(TERMS, reports_processing=True)
        cancel = operate(300, "cancel", message_id=M0)
        history = ran(submit(50), cancel, terms=terms, habits=Habits(read_ms=5_000))
        assert events(history, "B", Event.CANCEL_CONFIRMED) == [M0]
        assert not history.worked

    def test_what_is_taken_back_after_it_was_read_is_not_worked_on_either(self) -> None:
        """The question before the work begins is what counts, not the reading."""
        terms = changed(TERMS, reports_processing=True)
        cancel = operate(2_000, "cancel", message_id=M0)
        history = ran(submit(50), cancel, terms=terms, habits=Habits(thinks_ms=8_000))
        assert [one.key.message_id for one in history.delivered] == [M0]
        assert events(history, "B", Event.CANCEL_CONFIRMED) == [M0]
        assert not history.worked

    def test_an_answer_refers_to_what_it_answers(self) -> None:
        """And is not answered itself."""
        history = ran(submit(50), habits=Habits(answers=1.0))
        assert [one.ref_to_message_id for one in history.accepted] == [None, M0]
        assert len(history.worked) == 2

    def test_an_answer_in_time_goes_back_in_the_answer(self) -> None:
        """Where syncReplyMode has it (seed 001 §1.2.2)."""
        terms = changed(
            TERMS,
            window=4,
            ack_requested=AckRequested.UNSIGNED,
            sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE,
        )
        habits = Habits(read_ms=100, answers=1.0)
        history = ran(submit(50), terms=terms, profile=Profile.RM_2001, habits=habits)
        assert history.replied
        assert events(history, "A", Event.ACK_RECEIVED) == [M0]
        assert len(history.delivered) == 2


class TestOperators:
    def test_other_terms_hold_after_the_restart(self) -> None:
        """Fault C9: the message under way goes on under them."""
        args = {"agreement": "A-B", "retries": 0, "timeout_s": 1, "down_ms": 100}
        fates = {f"A>B#{number}": Fate.REFUSED for number in range(1, 9)}
        history = ran(submit(50), Action(500, "reconfigure", "A", args), fates=fates)
        exhausted = next(row for row in history.rows if row.record.event is Event.EXHAUSTED)
        assert exhausted.at_ns < 4_000_000_000

    def test_an_old_copy_of_a_store_forgets_and_the_application_reads_on(self) -> None:
        """Fault C7: what came behind the copy is gone, and its offsets are used again."""
        history = ran(
            submit(50),
            Action(2_000, "back_up", "B"),
            submit(3_000, "m1"),
            Action(6_000, "restore", "B"),
            submit(14_000, "m2"),
            profile=Profile.RM_2001,
        )
        assert [one.key.message_id for one in history.delivered] == [M0, M1, "m2@A.example"]
        assert history.delivered[1].offset == history.delivered[2].offset

    def test_a_receiver_without_its_numbers_refuses_until_somebody_looks(self) -> None:
        """Fault C6: never guessed away, and nothing twice."""
        lost = Action(3_000, "forget_numbers", "B", {"down_ms": 100})
        history = ran(submit(50), lost, submit(6_000, "m1"))
        assert Event.REJECTED in {row.record.event for row in history.rows if row.node == "B"}
        assert [one.key.message_id for one in history.delivered] == [M0, M1]

    def test_a_sender_without_its_number_begins_at_one(self) -> None:
        """Which its receiver takes, since the MessageId decides first."""
        lost = Action(3_000, "forget_numbers", "A", {"down_ms": 100})
        history = ran(submit(50), lost, submit(6_000, "m1"), begin_number=500)
        numbers = [
            row.record.sequence_number for row in history.rows if row.record.event is Event.STORED
        ]
        assert numbers == [501, 1]

    def test_a_process_can_be_killed_while_it_starts(self) -> None:
        """And the next one takes up what was owed (fault C2)."""
        again = Action(60, "kill_starting", "A", {"down_ms": 500, "after_us": 300})
        history = ran(submit(50), again)
        assert ("killed", "starting") in {(one.what, one.detail) for one in history.happenings}
        assert len(history.delivered) == 1


@pytest.mark.parametrize("profile", GENERATED, ids=lambda one: one.name)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "replay"])
def test_what_is_forged_stores_delivers_and_settles_nothing(kind: str, profile: Profile) -> None:
    """It is refused with a row, or dropped as nobody's; the pair goes on."""
    target = "A" if kind.startswith(("ack", "error", "report")) else "B"
    fates = {"B>A#1": Fate.LOST} if target == "A" else {}
    # Reports are forged as answers to a question that was asked.
    asks = (operate(900, "inquire", message_id=M0),) if kind.startswith("report") else ()
    args = {"kind": kind, "agreement": "A-B", "of": M0, "copies": 2}
    history = ran(
        submit(50),
        *asks,
        Action(1_000, "forge", target, args),
        submit(12_000, "m1"),
        profile=profile,
        fates=fates,
    )
    forged = [one for one in history.happenings if one.what == "forged"]
    arrived = [one for one in history.arrived if one.packet.name.startswith(FORGER)]
    is_possible = {"wrong-number": profile.is_numbered, "cancel-from-stranger": profile.has_cancels}
    is_possible = is_possible.get(kind, True)
    assert (len(forged), len(arrived)) == ((1, 2) if is_possible else (0, 0))
    assert [one.key.message_id for one in history.delivered] == [M0, M1]
    stored = [row for row in history.rows if row.record.event is Event.STORED]
    assert len(stored) == 2
    if is_possible:
        after = [row for row in history.rows if row.node == target and row.order > forged[0].order]
        refusals = {Event.REJECTED, Event.ORPHAN_ACK_RECEIVED, Event.ERROR_RECEIVED}
        refusals |= {Event.COLLISION_DETECTED, Event.SECURITY_EVENT, Event.INQUIRY_RECEIVED}
        if kind.startswith("report"):
            refusals.add(Event.REPORT_RECEIVED)
            assert after[0].record.from_party is None, "it is about no message of ours"
        assert after[0].record.event in refusals


def test_what_is_replayed_is_a_repeat() -> None:
    """Byte for byte what was sent before: acknowledged again, delivered once."""
    args = {"kind": "replay", "agreement": "A-B", "of": M0}
    history = ran(submit(50), Action(5_000, "forge", "B", args))
    assert events(history, "B", Event.DUPLICATE_ELIMINATED) == [M0]
    assert len(history.delivered) == 1
