"""What applications were told of their submissions, beside what is stored of them.

I14, and I8 as far as an application takes a MessageId twice; I31, also where the MessageId was left
to the gateway, and the Idempotency-Key tells submissions apart; R-41, that nothing is sent again
as a new message which may have arrived; I2 for the one word of a header that applications set in a
world.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.message.instant import NS_PER_S
from onceonly.simulation.cast import name_of
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Course
from onceonly.simulation.checkers.inquiries import is_called_lost
from onceonly.simulation.checkers.sender import VERDICTS
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Accepted
from onceonly.simulation.machine.application import COME_AGAIN
from onceonly.simulation.timeline import NS_PER_MS

_NEW_VERSION = "new version of "
_RESEND = "resend of "

_GIVEN = re.compile("[0-9a-f]{32}@")
"""A MessageId that a gateway made."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every submission, and every stored message."""
    yield from _stored(case)
    yield from _given_once(case)
    yield from _new_versions(case)
    yield from _resends(case)
    yield from _one_id(case)
    yield from _heard_of(case)
    yield from _as_submitted(case)
    yield from _full(case)
    yield from _unanswered(case)


def _stored(case: WorldCase) -> Iterator[Violation]:
    """I14: what was accepted is stored. I8: no MessageId is taken for other content."""
    latest: dict[MessageKey, Accepted] = {}
    for accepted in case.history.accepted:
        course = case.at(accepted.node, accepted.key)
        row = None if course is None else course.first_out(Event.SUBMITTED)
        if row is None or row.order > accepted.order:
            text = f"{accepted.key.message_id} accepted before it was stored"
            yield Violation("I14", text, accepted.order)
        before, latest[accepted.key] = latest.get(accepted.key, accepted), accepted
        # A store that was set back in between (C7) holds no content to compare with.
        if before.content != accepted.content and not (
            case.has_forgotten(accepted.node, accepted.order)
            or case.was_set_back(accepted.node, before.order, accepted.order)
        ):
            text = f"{accepted.key.message_id} accepted once more with other content"
            yield Violation("I8", text, accepted.order)


def _given_once(case: WorldCase) -> Iterator[Violation]:
    """I31: no MessageId is stored twice, but by a store that has lost the first time (C7)."""
    for course in case.courses.values():
        submitted = [row.order for row in course.out if row.record.event is Event.SUBMITTED]
        for once, again in pairwise(submitted):
            if not case.was_set_back(course.node, once, again):
                yield Violation("I31", f"{course}: its MessageId was given twice", again)


def _new_versions(case: WorldCase) -> Iterator[Violation]:
    """I31: the same content gets a new id only after a confirmed cancel (R-08, R-21)."""
    for course in case.courses.values():
        row = course.first_out(Event.SUBMITTED)
        if row is None or not (row.record.reason or "").startswith(_NEW_VERSION):
            continue
        old = (*course.key[:2], (row.record.reason or "")[len(_NEW_VERSION) :])
        there = [one for one in case.of_key.get(old, ()) if one.is_destination]
        confirmed = [one.first_into(Event.CANCEL_CONFIRMED) for one in there]
        if not any(one is not None and one.order < row.order for one in confirmed):
            text = f"{course} is sent, and no cancel of {old[2]} was confirmed"
            yield Violation("I31", text, row.order)


def _has_kept(course: Course, order: int) -> bool:
    """Whether it was stored there, and its application had not refused it before that row."""
    refused = course.first_into(Event.APPLICATION_REFUSED)
    is_refused = refused is not None and refused.order < order
    return course.first_into(Event.STORED) is not None and not is_refused


def _resends(case: WorldCase) -> Iterator[Violation]:
    """R-41: the content goes out again only where nobody has it and never will; and once.

    Or where a person said so, who may be wrong (R-49).
    """
    resent: set[MessageKey] = set()
    for course in case.courses.values():
        row = course.first_out(Event.SUBMITTED)
        reason = "" if row is None else row.record.reason or ""
        if row is None or not reason.startswith(_RESEND) or case.is_set_back(*case.path(course)):
            continue
        old = MessageKey(*course.key[:2], reason[len(_RESEND) :])
        there = [one for one in case.of_key.get(old, ()) if one.is_destination]
        sender = case.at(course.node, old)
        is_said = sender is not None and any(
            is_called_lost(one) and one.order < row.order for one in sender.out
        )
        if not is_said and any(_has_kept(one, row.order) for one in there):
            yield Violation("R-41", f"{course}: its content is stored as {old[2]}, too", row.order)
        if old in resent:
            yield Violation("R-41", f"{course}: {old[2]} was sent again before", row.order)
        resent.add(old)


def _one_id(case: WorldCase) -> Iterator[Violation]:
    """The same submission once more is the first one, unless that was forgotten (R-19)."""
    given: dict[tuple[str, str, tuple[bytes, ...]], str] = {}
    for accepted in case.history.accepted:
        if not accepted.name or case.is_set_back(accepted.node):
            continue
        submission = accepted.node, accepted.name, accepted.content
        message_id = accepted.key.message_id
        before = given.setdefault(submission, message_id)
        given[submission] = message_id
        if before == message_id or before in _sent_again_as(case, accepted):
            continue
        if not case.has_forgotten(accepted.node, accepted.order):
            text = f"{accepted.name} was given another MessageId, {message_id}"
            yield Violation("I31", text, accepted.order)


def _sent_again_as(case: WorldCase, accepted: Accepted) -> Iterator[str]:
    """The MessageIds whose content the accepted message sends again (R-41)."""
    message_id = accepted.key.message_id
    while True:
        course = case.at(accepted.node, MessageKey(*accepted.key.pair, message_id))
        row = None if course is None else course.first_out(Event.SUBMITTED)
        reason = "" if row is None else row.record.reason or ""
        if not reason.startswith((_RESEND, _NEW_VERSION)):
            return
        message_id = reason.rpartition(" ")[2]
        yield message_id


def _heard_of(case: WorldCase) -> Iterator[Violation]:
    """Under an id that no application chose: some application was told that it is its own.

    Applications call until they have an answer; without an answer they submit again.
    """
    told = {(one.node, one.key.message_id) for one in case.history.accepted}
    for course in case.courses.values():
        row = course.first_out(Event.SUBMITTED)
        if row is None or name_of(course.key[0]) != course.node or case.is_set_back(course.node):
            continue
        message_id = course.key[2]
        is_ours = (row.record.reason or "").startswith((_NEW_VERSION, _RESEND))
        if is_ours or not _GIVEN.match(message_id) or (course.node, message_id) in told:
            continue
        if case.world.applications[course.node].is_at_rest:
            yield Violation("I31", f"{course}: stored, and nobody knows that id", row.order)


def _as_submitted(case: WorldCase) -> Iterator[Violation]:
    """I2: what leaves refers to what its application said."""
    for accepted in case.history.accepted:
        course = case.at(accepted.node, accepted.key)
        for copy in course.sent[:1] if course is not None else ():
            ref = accepted.ref_to_message_id or ""
            if copy.letter.ref != ref:
                text = f"{course}: refers to {copy.letter.ref or 'nothing'}, not to {ref or 'any'}"
                yield Violation("I2", text, copy.order)


def _full(case: WorldCase) -> Iterator[Violation]:
    """R-27: nothing is accepted while as many messages as may wait have waited for long."""
    for node, machine in case.machines.items():
        if case.is_set_back(node) or case.happened(node, "frozen", "full", "broken"):
            continue
        call_ns = _CALL_NS + _COMMITS * int(machine.thread_ms * NS_PER_MS)
        own = [
            (course.out[0], _settled_order(course))
            for course in case.courses.values()
            if course.node == node
            and course.is_origin
            and course.out
            and course.out[0].record.event is Event.SUBMITTED
        ]
        for accepted in case.history.accepted:
            if accepted.node != node:
                continue
            waiting = sum(
                row.at_ns + call_ns < accepted.at_ns and accepted.order < settled
                for row, settled in own
            )
            if waiting >= machine.queued_max:
                text = f"{node}: {accepted.key.message_id} accepted beside {waiting} that wait"
                yield Violation("R-27", text, accepted.order)


_CALL_NS, _COMMITS = NS_PER_S, 10
"""Longest time of a call after it has looked at the queue."""


def _settled_order(course: Course) -> int:
    """When its first verdict was durable; an application that was told needs no other."""
    rows = (row.order for row in course.out if row.record.event in VERDICTS)
    return next(rows, NEVER)


def _unanswered(case: WorldCase) -> Iterator[Violation]:
    """L4: whoever calls a gateway that lives hears of it, were it only to come again (R-27)."""
    if case.end_ns < case.healed_ns + _HEARD_NS:
        return
    for node in case.machines:
        application = case.world.applications[node]
        last = next(
            (name for _, where, name in reversed(case.history.refused) if where == node), ""
        )
        if not application.is_answered and last not in COME_AGAIN:
            text = f"{node}: an application called, and was never answered"
            yield Violation("L4", text, case.end_order)


_HEARD_NS = 300 * NS_PER_S
"""Time after healing for whatever the network or a disk still holds up."""
