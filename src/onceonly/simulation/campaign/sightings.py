"""How the states of a world are seen in its history: who died when, what came before what.

Knows the rows, happenings and packages of one history; each is looked at once and filed by its
kind. Must not know why a campaign wants to see them (`sometimes`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator

from onceonly.message.event import Direction
from onceonly.message.instant import US_PER_S
from onceonly.message.message import SEQUENCE_NUMBER_MAX, DeliverySemantics
from onceonly.simulation.cast import line_id, name_of
from onceonly.simulation.history import Happening, History, Row
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Plan

_ENDS = ("killed", "power-cut", "stopped-itself")
_HOUR_NS = 3_600 * 10**9
_HIGH = SEQUENCE_NUMBER_MAX - 1_000
_BOUNDARY_US = 2 * US_PER_S
_INLINE_BYTES_MAX = 1 << 16


class Sightings:
    """One world's history, sorted by what was seen."""

    def __init__(self, plan: Plan, history: History) -> None:
        self.plan = plan
        self.history = history
        self.rows: dict[str, list[Row]] = defaultdict(list)
        """By event."""
        self.about: dict[tuple[str, str], list[Row]] = defaultdict(list)
        """By node and MessageId."""
        for row in history.rows:
            self.rows[row.record.event.value].append(row)
            if row.record.message_id is not None:
                self.about[row.node, row.record.message_id].append(row)
        self.happenings: dict[str, list[Happening]] = defaultdict(list)
        for one in history.happenings:
            self.happenings[one.what].append(one)

    def of(self, *events: str) -> Iterator[Row]:
        """Rows with these events, event by event."""
        for event in events:
            yield from self.rows.get(event, ())

    def of_message(self, row: Row, event: str) -> Iterator[Row]:
        """Rows of that event about the same message, in the same journal."""
        for other in self.about.get((row.node, row.record.message_id or ""), ()):
            if other.record.event.value == event:
                yield other

    def ends(self) -> Iterator[Happening]:
        """Every death of a process."""
        for what in _ENDS:
            yield from self.happenings.get(what, ())

    def ended_between(self, node: str, after: int, before: int) -> bool:
        """Whether a process of the node died there, in the order of the world."""
        return any(one.node == node and after < one.order < before for one in self.ends())


Seen = Callable[[Sightings], bool]


def any_row(event: str) -> Seen:
    """Some journal has such a row."""
    return lambda seen: event in seen.rows


def with_reason(event: str, *words: str) -> Seen:
    """Some journal has such a row, whose reason has one of these words."""
    return lambda seen: any(
        word in (row.record.reason or "") for row in seen.of(event) for word in words
    )


def with_code(event: str, code: str) -> Seen:
    """Some journal has such a row with this error code."""
    return lambda seen: any(row.record.error_code == code for row in seen.of(event))


def header_told_apart(seen: Sightings) -> bool:
    """Two journals have different digests of the header of one message."""
    written = {row.record.message_id: row.record.header_digest for row in seen.of("Submitted")}
    return any(
        written.get(row.record.message_id, row.record.header_digest) != row.record.header_digest
        for row in seen.of("Stored")
    )


def in_order(first: str, then: str) -> Seen:
    """Two rows about one message in one journal came in this order."""
    return lambda seen: any(
        row.order < other.order for row in seen.of(first) for other in seen.of_message(row, then)
    )


def pair_in_order(first: str, then: str) -> Seen:
    """Two rows in one journal came in this order."""
    return lambda seen: any(
        row.node == other.node and row.order < other.order
        for row in seen.of(first)
        for other in seen.of(then)
    )


def happened(what: str, detail: str = "") -> Seen:
    """Whether it happened to some machine."""
    return lambda seen: any(detail in one.detail for one in seen.happenings.get(what, ()))


def refused(code: str) -> Seen:
    """A gateway said no to its application, with this code."""
    return lambda seen: any(name == code for _, _, name in seen.history.refused)


def quarantined(*, is_sender: bool) -> Seen:
    """A pair was quarantined, by this side of it."""
    direction = Direction.OUT if is_sender else Direction.IN
    return lambda seen: any(row.record.direction is direction for row in seen.of("PairQuarantined"))


def crash_between(first: str, then: str) -> Seen:
    """A process died after the first and before the second of two rows about one message."""

    def is_seen(seen: Sightings) -> bool:
        for row in seen.of(first):
            ends = [other.order for other in seen.of_message(row, then)]
            if seen.ended_between(row.node, row.order, min(ends, default=seen.history.order)):
                return True
        return False

    return is_seen


def in_flight_when(what: str) -> Seen:
    """It happened to a machine while a message of it was under way."""

    def is_seen(seen: Sightings) -> bool:
        return any(_is_under_way(seen, one) for one in seen.happenings.get(what, ()))

    return is_seen


def _is_under_way(seen: Sightings, one: Happening) -> bool:
    for row in seen.of("Transmitting"):
        if row.node == one.node and row.order < one.order:
            verdicts = [
                other.order
                for event in ("AckReceived", "Failed", "Cancelled", "Sent")
                for other in seen.of_message(row, event)
            ]
            if min(verdicts, default=seen.history.order) > one.order:
                return True
    return False


def late_ack_resumes(seen: Sightings) -> bool:
    """A late acknowledgement and the resumption came in one commit."""
    late = {(row.node, row.at_ns) for row in seen.of("LateAckReceived")}
    return any((row.node, row.at_ns) in late for row in seen.of("PairResumed"))


def ack_hours_later(seen: Sightings) -> bool:
    """An acknowledgement an hour after the first transmission, on a line by mail."""
    by_mail = {line_id(line) for line in seen.plan.lines if line.scheme == "smtp"}
    return any(
        row.record.agreement_id in by_mail and row.at_ns - first.at_ns > _HOUR_NS
        for row in seen.of("AckReceived", "LateAckReceived")
        for first in seen.of_message(row, "Transmitting")
    )


def acks_out_of_order(seen: Sightings) -> bool:
    """Two messages of a pair, acknowledged in the other order than they were submitted."""
    last: dict[tuple[str, str | None], int] = {}
    for row in seen.of("AckReceived"):
        submitted = next(seen.of_message(row, "Submitted"), None)
        if submitted is None:
            continue
        pair = (row.node, row.record.to_party)
        if submitted.order < last.get(pair, 0):
            return True
        last[pair] = submitted.order
    return False


def duplicate_after_verdict(seen: Sightings) -> bool:
    """The repeat is later than the acknowledgement at its sender."""
    acked = {row.record.message_id: row.order for row in seen.of("AckReceived")}
    return any(
        acked.get(row.record.message_id, seen.history.order) < row.order
        for row in seen.of("DuplicateEliminated")
    )


def _wraps(seen: Sightings) -> Iterator[Row]:
    """Where number 1 was stored after the greatest number."""
    begun = {line.begin_number for line in seen.plan.lines} - {None}
    if begun:
        yield from (
            row
            for row in seen.of("Stored")
            if row.record.sequence_number == 1 and row.record.event.value == "Stored"
        )


def wrapped(seen: Sightings) -> bool:
    """A message was stored under the greatest number, and another of its pair under 1."""
    return any(
        row.record.sequence_number == SEQUENCE_NUMBER_MAX
        and (row.node, row.record.from_party) == (wrap.node, wrap.record.from_party)
        for wrap in _wraps(seen)
        for row in seen.of("Stored")
    )


def duplicate_over_a_wrap(seen: Sightings) -> bool:
    """A repeat of a message with a high number came after the numbers of its pair began again."""
    return any(
        (row.record.sequence_number or 0) > _HIGH
        and wrap.order < row.order
        and (row.node, row.record.from_party) == (wrap.node, wrap.record.from_party)
        for wrap in _wraps(seen)
        for row in seen.of("DuplicateEliminated")
    )


def delivered_twice(seen: Sightings) -> bool:
    """Two items of one inbox have the same key, and nobody asked for the second."""
    asked = {(row.node, row.record.message_id) for row in seen.of("HandedOverAgain")}
    keys = [
        (one.node, one.key)
        for one in seen.history.delivered
        if (one.node, one.key.message_id) not in asked
    ]
    return len(set(keys)) < len(keys)


def handed_over_twice_again(seen: Sightings) -> bool:
    """The third hand-over of a message, and both after the first were asked for."""
    return any(row.record.attempt == 3 for row in seen.of("HandedOverAgain"))


def crash_by_a_hand_over_again(seen: Sightings) -> bool:
    """The row is durable, and its caller may never have heard of it."""
    return any(
        end.node == row.node and 0 <= end.at_ns - row.at_ns < 10**9
        for row in seen.of("HandedOverAgain")
        for end in seen.ends()
    )


def _kept_us(seen: Sightings, row: Row) -> int | None:
    """How long the id of a stored message is kept at least."""
    for line in seen.plan.lines:
        if line_id(line) == row.record.agreement_id:
            terms = line.terms
            return (terms.persist_duration_s + 2 * terms.msh_time_accuracy_s) * US_PER_S
    return None


def purge_at_the_boundary(seen: Sightings) -> bool:
    """A purge just after the first instant at which a stored message may be forgotten."""
    for row in seen.of("Stored"):
        kept_us = _kept_us(seen, row)
        for purge in seen.of("Purged") if kept_us is not None else ():
            past_us = purge.record.at - row.record.at - (kept_us or 0)
            is_inbound = "received" in (purge.record.reason or "")
            if purge.node == row.node and is_inbound and 0 < past_us <= _BOUNDARY_US:
                return True
    return False


def refused_after_purge(seen: Sightings) -> bool:
    """Stored, forgotten, and refused for its age when it came again."""
    for row in seen.of("Rejected"):
        stored = next(seen.of_message(row, "Stored"), None)
        if stored is not None and "PersistDuration" in (row.record.reason or ""):
            return any(
                purge.node == row.node and stored.order < purge.order < row.order
                for purge in seen.of("Purged")
            )
    return False


def repeat_past_its_time(seen: Sightings) -> bool:
    """A repeat that came later than its sender allowed, by the receiver's clock."""
    lives_s = {line_id(line): line.terms.time_to_live_s for line in seen.plan.lines}
    for row in seen.of("DuplicateEliminated"):
        life_s = lives_s.get(row.record.agreement_id or "")
        stored = next(seen.of_message(row, "Stored"), None)
        if life_s is None or stored is None:
            continue
        if row.record.at > stored.record.at + life_s * US_PER_S:
            return True
    return False


def at_most_once_repeated(seen: Sightings) -> bool:
    """A message that is sent only once was brought twice by the network."""
    once = {
        line_id(line)
        for line in seen.plan.lines
        if line.terms.semantics is DeliverySemantics.AT_MOST_ONCE
    }
    return any(row.record.agreement_id in once for row in seen.of("DuplicateEliminated"))


def refused_number_stored(seen: Sightings) -> bool:
    """A refused number was stored later: after a resume, or when the numbers fitted again."""
    return any(
        row.order < stored.order
        for row in seen.of("Rejected")
        if row.record.error_code == "InvalidSequenceNumber"
        for stored in seen.of_message(row, "Stored")
    )


def id_given(seen: Sightings) -> bool:
    """The gateway has chosen the MessageId, since the application gave none."""
    return any(one.name not in ("", one.key.message_id) for one in seen.history.accepted)


def full_before_the_hand_over(seen: Sightings) -> bool:
    """The disk was full between storing a message and handing it over, and it was handed over."""
    return any(
        full.node == row.node and stored.order < full.order < row.order
        for full in seen.happenings.get("full", ())
        for row in seen.of("HandedOver")
        for stored in seen.of_message(row, "Stored")
    )


def number_reset(seen: Sightings) -> bool:
    """The sender reset its numbers, and later the receiver stored number 1."""
    return any(
        row.record.sequence_number == 1
        and row.record.from_party == reset.record.from_party
        and reset.order < row.order
        for reset in seen.of("SequenceReset")
        for row in seen.of("Stored")
    )


def failed_yet_delivered(seen: Sightings) -> bool:
    """A message has finally failed at its sender, and an application has it."""
    delivered = {(one.key.from_party, one.key.message_id) for one in seen.history.delivered}
    return any(
        (row.record.from_party, row.record.message_id) in delivered
        and row.node == name_of(row.record.from_party or "")
        for row in seen.of("Failed")
    )


def withheld_for_good(seen: Sightings) -> bool:
    """Withheld, and not handed over by the end."""
    return any(not any(seen.of_message(row, "HandedOver")) for row in seen.of("Withheld"))


def cancelled_unsent(seen: Sightings) -> bool:
    """Cancelled without a transmission."""
    return any(not any(seen.of_message(row, "Transmitting")) for row in seen.of("Cancelled"))


def cancel_confirmed(seen: Sightings) -> bool:
    """The receiver wrote down a cancel, and then the sender did."""
    confirmed = {row.record.message_id: row.order for row in seen.of("CancelConfirmed")}
    return any(
        confirmed.get(row.record.message_id, seen.history.order) < row.order
        for row in seen.of("Cancelled")
    )


def tombstone_first(seen: Sightings) -> bool:
    """The tombstone stood before the message came."""
    return any(
        not any(seen.of_message(row, "Stored")) and any(seen.of_message(row, "Rejected"))
        for row in seen.of("CancelConfirmed")
    )


def cancelled_in_the_inbox(seen: Sightings) -> bool:
    """Read by its application, cancelled, never worked on."""
    worked = {(one.node, one.key.message_id) for one in seen.history.worked}
    read = {(one.node, one.key.message_id) for one in seen.history.delivered} - worked
    return any((row.node, row.record.message_id) in read for row in seen.of("CancelConfirmed"))


def new_version(seen: Sightings) -> bool:
    """After a cancel a message was submitted under an id that no application had chosen."""
    return any((row.record.reason or "").startswith("new v") for row in seen.of("Submitted"))


def sync_reply(seen: Sightings) -> bool:
    """A package went back in an answer."""
    return bool(seen.history.replied)


def sync_reply_lost(seen: Sightings) -> bool:
    """What went back in an answer was lost with it."""
    if not seen.history.replied:
        return False
    lost = {one.packet.name for one in seen.history.sent if one.fate is Fate.ANSWER_LOST}
    return any(one.packet.name in lost for one in seen.history.replied)


def custodian_crash(seen: Sightings) -> bool:
    """An intermediary stored a message, and died before the next hop had acknowledged it."""
    relays = {relay for line in seen.plan.lines for relay, _ in line.through}
    for row in seen.of("Stored"):
        if row.node in relays:
            acked = [other.order for other in seen.of_message(row, "AckReceived")]
            if seen.ended_between(row.node, row.order, min(acked, default=seen.history.order)):
                return True
    return False


def transient_pause(seen: Sightings) -> bool:
    """TransientError at a sender, and a transmission after it."""
    return any(
        other.order > row.order
        for row in seen.of("ErrorReceived")
        if row.record.error_code == "TransientError"
        for other in seen.of_message(row, "Transmitting")
    )


def two_relays(seen: Sightings) -> bool:
    """Delivered along a line with two intermediaries."""
    long = {line_id(line) for line in seen.plan.lines if len(line.through) > 1}
    return any(row.record.agreement_id in long for row in seen.of("HandedOver"))


def crash_while_starting(seen: Sightings) -> bool:
    """A process died between its start and the moment at which it was ready."""
    state: dict[str, str] = {}
    for one in seen.history.happenings:
        if one.what in _ENDS and state.get(one.node) == "started":
            return True
        if one.what in ("started", "ready") or one.what in _ENDS:
            state[one.node] = one.what
    return False


def late_hand_over(seen: Sightings) -> bool:
    """A message was handed over although its process had died after storing it."""
    return any(
        seen.ended_between(row.node, stored.order, row.order)
        for row in seen.of("HandedOver")
        for stored in seen.of_message(row, "Stored")
    )


def attempt_repeated(seen: Sightings) -> bool:
    """One attempt number in two rows, with a crash between them."""
    return any(
        row.record.attempt == other.record.attempt
        and row.order < other.order
        and seen.ended_between(row.node, row.order, other.order)
        for row in seen.of("Transmitting")
        for other in seen.of_message(row, "Transmitting")
    )


def large(seen: Sightings) -> bool:
    """A delivered payload is longer than a row holds."""
    return any(
        len(part) > _INLINE_BYTES_MAX for one in seen.history.delivered for part in one.content
    )


def empty(seen: Sightings) -> bool:
    """A delivered payload has no byte."""
    return any(not part for one in seen.history.delivered for part in one.content)
