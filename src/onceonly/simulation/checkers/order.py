"""The order of conversations, seen from the journals (R-34).

O1: numbers of an epoch are handed over as 0, 1, 2 …, without a gap or a repeat. O2: nothing is
handed over while a lower number of its epoch is missing, unless an operator released it. O3: an
acknowledged message that was held is handed over, or dropped by an operator who is on record, or it
still waits. O4: one message of a conversation is unacknowledged from our side.

Rows of messages without an order have no number, so that worlds without the profile cost a look at
each row and no more. Must not know how a gateway decides.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from onceonly.message.event import Direction, Event
from onceonly.protocol.ordering import NUMBERS
from onceonly.simulation.cast import name_of
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row

_ENDS = frozenset(
    {
        Event.ACK_RECEIVED,
        Event.LATE_ACK_RECEIVED,
        Event.CANCELLED,
        Event.RESENT,
        Event.SETTLED,
    }
)
"""After one of these another message of the conversation may leave: the partner has the message, or
an operator gave it up. After a Reset, whatever was under way."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every pair of every machine whose numbers count."""
    for (node, parties, direction), rows in case.pair_rows.items():
        if case.is_set_back(node):
            continue
        if direction is Direction.OUT:
            yield from sent(rows)
            continue
        yield from handed_over(rows)
        yield from held(rows, _waiting(case, node, parties))
        if not may_have_gaps(case, parties):
            sender = (name_of(parties[0]), parties, Direction.OUT)
            yield from without_gaps(rows, left_behind(case.pair_rows.get(sender, ())))


def _waiting(case: WorldCase, node: str, parties: tuple[str, str]) -> Collection[str]:
    """Messages of the pair that still have a place in the store."""
    snapshot = case.world.nodes[node].snapshot()
    stored = (entry.key for entry in snapshot.list_stored() if tuple(entry.key.pair) == parties)
    return {key.message_id for key in stored if snapshot.find_conversation(key) is not None}


def handed_over(rows: Iterable[Row]) -> Iterator[Violation]:
    """O1 and O2, of the messages that a receiver got on one pair."""
    conversations: dict[str, str] = {}
    expected: dict[str, int] = {}
    released: set[str] = set()
    for row in rows:
        record = row.record
        message_id, number = record.message_id or "", record.order_number
        if number is None:
            continue
        if record.event is Event.STORED:
            conversations[message_id] = record.conversation_id or ""
        elif record.event is Event.RELEASED and record.actor is not None:
            released.add(message_id)
        elif record.event is Event.HANDED_OVER:
            conversation = conversations.get(message_id, "")
            awaited = expected.get(conversation, 0)
            # 0 is the first of an epoch: where one ends is the sender's to say, by a Reset.
            if number not in (0, awaited) and message_id not in released:
                yield _out_of_order(row, number, awaited)
            expected[conversation] = (number + 1) % NUMBERS


def _out_of_order(row: Row, number: int, awaited: int) -> Violation:
    if number > awaited:
        return _at("O2", row, f"number {number} handed over, and {awaited} was missing")
    return _at("O1", row, f"number {number} handed over, and {awaited} was next")


def held(rows: Iterable[Row], waiting: Collection[str]) -> Iterator[Violation]:
    """O3, of the messages that a receiver got on one pair; `waiting` still wait at the end."""
    owed: dict[str, Row] = {}
    for row in rows:
        record = row.record
        message_id = record.message_id or ""
        if record.event is Event.HELD:
            owed[message_id] = row
        elif record.event in (Event.HANDED_OVER, Event.CANCEL_CONFIRMED):
            owed.pop(message_id, None)
        elif record.event is Event.DROPPED:
            if record.actor is None:
                yield _at("O3", row, "dropped, and nobody is on record for it")
            owed.pop(message_id, None)
    for message_id, row in owed.items():
        if message_id not in waiting:
            yield _at("O3", row, "held, and neither handed over nor dropped, nor does it wait")


def sent(rows: Iterable[Row]) -> Iterator[Violation]:
    """O4, of the messages that a sender has on one pair."""
    conversations: dict[str, str] = {}
    under_way: dict[str, str] = {}
    for row in rows:
        record = row.record
        message_id = record.message_id or ""
        if record.event is Event.SUBMITTED:
            conversations[message_id] = record.conversation_id or ""
        if record.event is Event.CONVERSATION_RESET:
            under_way.pop(record.conversation_id or "", None)
        conversation = conversations.get(message_id)
        if conversation is None:
            continue
        other = under_way.get(conversation, message_id)
        if record.event is Event.TRANSMITTING and record.order_number is not None:
            if other != message_id:
                yield _at("O4", row, f"sent, and {other} of its conversation is under way")
            under_way[conversation] = message_id
        elif record.event in _ENDS and other == message_id:
            under_way.pop(conversation, None)


def may_have_gaps(case: WorldCase, parties: tuple[str, str]) -> bool:
    """Whether something else than our own sender may have left out a number.

    Somebody hostile, a store that was set back, an order that one party had and the other not, or
    a wrong clock, by which a conversation was forgotten before its time.
    """
    ends = tuple(map(name_of, parties))
    if not case.machines.keys() >= {*ends}:
        return True
    is_switched = any(
        "is_ordered" in one.detail for end in ends for one in case.happened(end, "reconfigured")
    )
    is_forgotten = any(
        case.happened(end, "jumped") and case.has_forgotten(end, case.end_order) for end in ends
    )
    is_set_back = case.is_set_back(*ends)
    return is_switched or is_forgotten or is_set_back or bool(case.outside.hostile & {*ends})


def left_behind(rows: Iterable[Row]) -> Collection[str]:
    """Messages of a sender that had left, and had no acknowledgement when new numbers began."""
    conversations: dict[str, str] = {}
    unanswered: defaultdict[str, set[str]] = defaultdict(set)
    found: set[str] = set()
    for row in rows:
        record = row.record
        message_id = record.message_id or ""
        if record.event is Event.SUBMITTED:
            conversations[message_id] = record.conversation_id or ""
        elif record.event is Event.TRANSMITTING and record.order_number is not None:
            unanswered[conversations.get(message_id, "")].add(message_id)
        elif record.event in (Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED):
            unanswered[conversations.get(message_id, "")].discard(message_id)
        elif record.event is Event.CONVERSATION_RESET:
            found |= unanswered.pop(record.conversation_id or "", set())
    return found


def without_gaps(rows: Iterable[Row], left_behind: Collection[str]) -> Iterator[Violation]:
    """R-34: one message is under way at a time, so no receiver waits for a number of ours.

    Unless an operator began new numbers, and a copy of what was `left_behind` came after them: with
    it the old numbers begin once more.
    """
    conversations: dict[str, str] = {}
    begun_again: set[str] = set()
    for row in rows:
        record = row.record
        message_id = record.message_id or ""
        if record.event is Event.STORED:
            conversation = record.conversation_id or ""
            if message_id in left_behind and conversation in conversations.values():
                begun_again.add(conversation)
            conversations[message_id] = conversation
        elif record.event is Event.HELD and conversations.get(message_id) not in begun_again:
            yield _at("R-34", row, f"held, as if its sender had left a gap: {record.reason}")


def _at(invariant: str, row: Row, text: str) -> Violation:
    return Violation(invariant, f"{row.record.message_id} at {row.node}: {text}", row.order)
