"""A hostile partner and strangers: how they speak, and which worlds they are in."""

from collections import Counter
from typing import NamedTuple

import pytest
from hostile_worlds import M0, beside_b, history_of, pose, world_of
from recorded import NUMBERED, WINDOWED, found

from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import SyncReplyMode
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.message.word import changed
from onceonly.simulation.checkers.letter import LetterKind, read
from onceonly.simulation.generator import hostile
from onceonly.simulation.generator.hostile import SHAPES, drawn
from onceonly.simulation.generator.profiles import GENERATED
from onceonly.simulation.imposture import (
    ASKED,
    ONLY_AS_ANOTHER,
    ONLY_AS_HIMSELF,
    OWN,
    SAID,
    THEIRS,
    UNDER,
    UNKNOWN,
    impostor,
)
from onceonly.simulation.knocking import KINDS, STRANGER
from onceonly.simulation.network import FALSE_ANSWER, certificate
from onceonly.simulation.oddity import malformed, oddly
from onceonly.simulation.packing import Forged
from onceonly.simulation.plan import Action, Plan
from onceonly.simulation.world import World

SEEDS = 1_000
PARTIES = ("urn:party:A", "urn:party:B")


class Standing(NamedTuple):
    """What became of the honest pair, save what was refused."""

    rows: Counter[tuple[str, Event, str | None, str | None]]
    delivered: tuple[str, ...]
    pairs: tuple[object, ...]
    """Both directions at both ends."""
    incidents: tuple[str, ...]
    is_taken_back: bool
    """A tombstone stands for the first message."""


_REFUSALS = frozenset({Event.REJECTED, Event.ERROR_SENT, Event.SECURITY_EVENT})


def standing_of(plan: Plan) -> Standing:
    """How the honest pair stands at the end of the world of the plan."""
    world = World(plan)
    history = world.run()
    rows = Counter(
        (row.node, row.record.event, row.record.message_id, row.record.outcome)
        for row in history.rows
        if (row.record.from_party, row.record.to_party) in (PARTIES, PARTIES[::-1])
        and row.record.event not in _REFUSALS
    )
    snapshots = [world.nodes[name].snapshot() for name in "AB"]
    both = (Pair(*PARTIES), Pair(*PARTIES[::-1]))
    standing = Standing(
        rows,
        tuple(one.key.message_id for one in history.delivered if one.key.from_party in PARTIES),
        tuple(
            state
            for snapshot in snapshots
            for pair in both
            for state in (snapshot.get_sending_pair(pair), snapshot.get_receiving_pair(pair))
        ),
        tuple(
            str(incident.pair)
            for snapshot in snapshots
            for incident in snapshot.list_incidents(is_open=False)
        ),
        snapshots[1].is_cancelled(MessageKey(*PARTIES, M0)),
    )
    world.close()
    return standing


@pytest.mark.parametrize("terms", [NUMBERED, WINDOWED], ids=["rm-2000", "rm-2001"])
@pytest.mark.parametrize("kind", sorted({*SAID, "ping", "status", "cancel", "response-request"}))
def test_what_he_says_under_his_own_name_changes_nothing(kind: str, terms: DeliveryTerms):
    """The honest pair stands as in a world without him, whatever he names."""
    calm = standing_of(world_of(terms=terms))
    told = (pose(1_500, "A", kind), pose(2_500, "A", kind, under=THEIRS))
    plan = world_of(*told, terms=terms)
    came = [one for one in history_of(plan).arrived if one.packet.source == impostor("E")]
    assert len(came) == (0 if kind == "receipt" and terms is NUMBERED else 2)
    assert standing_of(plan) == calm


def changed_by(under: str, terms: DeliveryTerms, **args: object) -> list[str]:
    """Which of his words, in the partner's name and where certificates are demanded, do harm."""
    calm = standing_of(beside_b(world_of(terms=terms, is_certified=True)))
    found = []
    for kind in sorted({*SAID, *ASKED} - ONLY_AS_HIMSELF):
        node = "A" if kind in SAID else "B"
        told = (
            pose(at_ms, node, kind, under=under, is_partner=True, **args)
            for at_ms in (1_500, 1_600, 2_500)
        )
        plan = beside_b(world_of(*told, terms=terms, is_certified=True))
        if standing_of(plan) != calm:
            found.append(kind)
    return found


@pytest.mark.parametrize("terms", [NUMBERED, WINDOWED], ids=["rm-2000", "rm-2001"])
@pytest.mark.parametrize(
    ("under", "has_certificate"),
    [
        (OWN, True),
        (OWN, False),
        (THEIRS, True),
        (THEIRS, False),
        (UNKNOWN, True),
        (UNKNOWN, False),
    ],
)
def test_what_he_says_in_anothers_name_changes_nothing(
    under: str, terms: DeliveryTerms, *, has_certificate: bool
):
    """R-44: no verdict, receipt, number, tombstone, hand-over or incident, by any of his words."""
    assert changed_by(under, terms, has_certificate=has_certificate) == []


@pytest.mark.parametrize("under", UNDER)
def test_what_he_says_in_an_answer_changes_nothing(under: str):
    """R-44: what comes back may speak about what was sent to him, and about nothing else."""
    terms = changed(WINDOWED, sync_reply_mode=SyncReplyMode.SIGNALS_ONLY)
    to_him = Action(1_200, "submit", "A", {"to": "E", "id": "e0", "agreement": "A-E"})
    calm = standing_of(world_of(to_him, terms=terms, is_certified=True))
    moved = []
    for kind in SAID:
        told = pose(1_100, "A", kind, under=under, is_partner=True, is_answer=True)
        if standing_of(world_of(to_him, told, terms=terms, is_certified=True)) != calm:
            moved.append(kind)
    assert moved == []


@pytest.mark.parametrize("kind", sorted({*SAID, *ASKED} - {"replay", *ONLY_AS_HIMSELF}))
def test_he_writes_what_he_means(kind: str):
    """An observer reads what a neighbour could have written, under the name that he takes."""
    is_partner = kind in ONLY_AS_ANOTHER
    plan = world_of(
        pose(1_500, "B" if is_partner else "A", kind, is_partner=is_partner, under=THEIRS),
        terms=NUMBERED if kind == "wrong-number" else WINDOWED,
    )
    history = history_of(beside_b(plan))
    [came] = [one for one in history.arrived if one.packet.source == impostor("E")]
    letter = read(came.body)
    name = "A" if is_partner else "E"
    party, uri = f"urn:party:{name}", f"http://{name}.example/msh"
    is_message = letter.kind is LetterKind.MESSAGE
    assert is_message == (kind in (*ONLY_AS_ANOTHER, "response"))
    # A notice may name the party that found the problem.
    names = {party, uri} if kind.endswith("DeliveryFailure") else {party if is_message else uri}
    assert letter.from_party in names
    assert letter.agreement_id == "A-B"


def test_a_replay_is_the_neighbours_package_in_other_hands():
    """Byte for byte, and without his certificate."""
    plan = world_of(pose(1_900, "B", "replay", is_partner=True), is_certified=True)
    history = history_of(beside_b(plan))
    [came] = [one for one in history.arrived if one.packet.source == impostor("E")]
    assert came.body == history.sent[0].packet.body
    assert came.packet.certificate == certificate("E")


@pytest.mark.parametrize("has_certificate", [True, False])
def test_who_calls_shows_his_own_certificate_or_none(has_certificate: bool):
    """Never another's; and by http there is none."""
    told = pose(1_500, "A", "ack", is_partner=True, has_certificate=has_certificate)
    shown = {}
    for is_certified in (True, False):
        history = history_of(world_of(told, is_certified=is_certified))
        for one in history.arrived:
            shown[is_certified, one.packet.source] = one.packet.certificate
    assert shown[True, impostor("E")] == (certificate("E") if has_certificate else None)
    assert shown[True, "B"] == certificate("B")
    assert shown[False, impostor("E")] is shown[False, "B"] is None


def test_a_package_without_the_certificate_is_refused():
    """The channel that the agreement names, whatever else is right about it."""
    told = pose(1_500, "A", "ack", is_partner=True, under=THEIRS)
    plan = world_of(told, is_certified=True)
    assert Event.SECURITY_EVENT in {row.record.event for row in history_of(plan).rows}
    world = World(plan)
    world.run()
    assert found(world) == set()
    world.close()


def test_a_false_answer_comes_instead_of_the_true_one():
    """In the exchange that the machine opened itself, with the server's certificate."""
    terms = changed(WINDOWED, sync_reply_mode=SyncReplyMode.SIGNALS_ONLY)
    to_him = Action(1_200, "submit", "A", {"to": "E", "id": "e0", "agreement": "A-E"})
    told = pose(1_100, "A", "ack", is_answer=True)
    history = history_of(world_of(to_him, told, terms=terms, is_certified=True))
    [came] = [one for one in history.arrived if one.packet.source == impostor("E")]
    assert came.packet.name == f"{FALSE_ANSWER}A>E#1"
    assert came.packet.certificate == certificate("E")
    [row] = [row for row in history.rows if row.record.event is Event.SECURITY_EVENT]
    said = "speaks of something else than the message that it answers"
    assert row.record.reason is not None
    assert row.record.reason.endswith(said)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_named", [True, False])
def test_a_stranger_changes_nothing(kind: str, is_named: bool):
    """Whatever he brings, and as often as he likes."""
    terms = WINDOWED
    calm = standing_of(world_of(terms=terms, is_certified=True))
    args = {"kind": kind, "agreement": "A-B", "of": M0, "is_named": is_named, "copies": 30}
    knocks = (Action(1_500, "knock", "A", args), Action(2_500, "knock", "B", args))
    plan = world_of(*knocks, terms=terms, is_certified=True)
    came = [one for one in history_of(plan).arrived if one.packet.source == STRANGER]
    assert len(came) == 60
    assert len({one.body for one in came}) > 1
    assert standing_of(plan) == calm


PACKAGE = Forged(
    "multipart/related; boundary=b",
    b'--b\r\nContent-Type: text/xml\r\n\r\n<a b="c"><d>e</d></a>\r\n--b--\r\n',
)


def test_oddities_are_functions_of_their_names():
    """The same name, the same package; some names, many packages."""
    for change in (oddly, malformed):
        made = [change(PACKAGE, f"{number}") for number in range(200)]
        assert made == [change(PACKAGE, f"{number}") for number in range(200)]
        assert len(set(made)) > 30
    odd = [oddly(PACKAGE, f"{number}").body for number in range(200)]
    assert all(body.startswith(b"--b\r\nContent-Type: text/xml\r\n\r\n<a b=") for body in odd)


def test_a_bug_in_a_conversation_is_planted_for_a_time():
    """What the machine has to tell the other then does not leave; nothing else is struck."""
    slip = Action(2_500, "slip", "A", {"to": "E", "ms": 1_000})
    pings = (pose(1_500, "A", "ping"), pose(3_000, "A", "ping"))
    history = history_of(world_of(slip, *pings))
    assert [one.what for one in history.happenings if one.what == "slip"] == ["slip"]
    assert len([one for one in history.sent if one.packet.target == "E"]) == 1
    assert len([row for row in history.rows if row.record.event is Event.ACK_RECEIVED]) == 2


# The generator.


def test_the_same_seed_is_the_same_hostile_world():
    """And it survives its file."""
    for seed in range(60):
        plan = drawn(seed)
        assert plan == drawn(seed) == Plan.from_json(plan.to_json())


def test_every_way_to_lie_occurs():
    """Every shape, kind, name, certificate and way in; relays and both profiles."""
    plans = list(map(drawn, range(SEEDS)))
    tags = Counter(tag for plan in plans for tag in plan.tags)
    wanted = {*SHAPES, "certificates", "flood", "slip", *(one.name for one in GENERATED)}
    assert not wanted - tags.keys()
    poses = [one.args for plan in plans for one in plan.actions if one.kind == "pose"]
    assert {one["kind"] for one in poses} == {*SAID, *ASKED}
    assert {one.get("under", "own") for one in poses} == {"own", "theirs", "unknown"}
    for word in ("is_partner", "has_certificate", "is_answer"):
        assert {one.get(word) for one in poses} >= {None, word != "has_certificate"}
    knocks = [one.args for plan in plans for one in plan.actions if one.kind == "knock"]
    assert {one["kind"] for one in knocks} == set(KINDS)
    assert {mode for plan in plans for line in plan.lines for _, mode in line.through} == set(
        Intermediary
    )


def test_nobody_takes_a_name_that_proves_nothing():
    """Where a line demands no certificate, identity is what the names say."""
    for plan in map(drawn, range(SEEDS)):
        proven = {f"{one.one}-{one.other}" for one in plan.lines if one.is_certified}
        for one in plan.actions:
            if one.kind == "pose" and one.args.get("is_partner"):
                assert one.args["agreement"] in proven


def test_campaigns_come_by_as_many_as_are_wanted(monkeypatch: pytest.MonkeyPatch):
    """By their share, and by none where it is nothing."""
    monkeypatch.setattr(hostile, "PART", 0.5)
    half = [seed for seed in range(200) if hostile.plan_of(seed) is not None]
    assert 60 < len(half) < 140
    monkeypatch.setattr(hostile, "PART", 0.0)
    assert not any(hostile.plan_of(seed) for seed in half)
