"""What applications were told of their submissions, beside what is stored of them.

I31 where the MessageId was left to the gateway, and the Idempotency-Key tells submissions apart;
I2 for the one word of a header that applications set in a world.
"""

import re
from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.simulation.cast import name_of
from onceonly.simulation.checkers.case import Case
from onceonly.simulation.checkers.violation import Violation

_NEW_VERSION = "new version of "

_GIVEN = re.compile("[0-9a-f]{32}@")
"""A MessageId that a gateway made."""


def judge(case: Case) -> Iterator[Violation]:
    """Every submission, and every stored message."""
    yield from _one_id(case)
    yield from _heard_of(case)
    yield from _as_submitted(case)


def _one_id(case: Case) -> Iterator[Violation]:
    """The same submission once more is the first one, unless that was forgotten (R-19)."""
    given: dict[tuple[str, str, tuple[bytes, ...]], str] = {}
    for accepted in case.history.accepted:
        if not accepted.name or case.is_set_back(accepted.node):
            continue
        submission = accepted.node, accepted.name, accepted.content
        message_id = accepted.key.message_id
        if given.setdefault(submission, message_id) == message_id:
            continue
        if not case.has_forgotten(accepted.node, accepted.order):
            text = f"{accepted.name} was given another MessageId, {message_id}"
            yield Violation("I31", text, accepted.order)


def _heard_of(case: Case) -> Iterator[Violation]:
    """Under an id that no application chose: some application was told that it is its own.

    Applications call until they have an answer; what they never heard of they submit again.
    """
    told = {(one.node, one.key.message_id) for one in case.history.accepted}
    for course in case.courses.values():
        row = course.first_out(Event.SUBMITTED)
        if row is None or name_of(course.key[0]) != course.node or case.is_set_back(course.node):
            continue
        message_id, is_ours = course.key[2], (row.record.reason or "").startswith(_NEW_VERSION)
        if is_ours or not _GIVEN.match(message_id) or (course.node, message_id) in told:
            continue
        if case.world.applications[course.node].is_at_rest:
            yield Violation("I31", f"{course}: stored, and nobody knows that id", row.order)


def _as_submitted(case: Case) -> Iterator[Violation]:
    """I2: what leaves refers to what its application said."""
    for accepted in case.history.accepted:
        course = case.at(accepted.node, accepted.key)
        for copy in course.sent[:1] if course is not None else ():
            ref = accepted.ref_to_message_id or ""
            if copy.letter.ref != ref:
                text = f"{course}: refers to {copy.letter.ref or 'nothing'}, not to {ref or 'any'}"
                yield Violation("I2", text, copy.order)
