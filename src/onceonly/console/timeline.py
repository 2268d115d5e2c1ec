"""A message's way, row by row of the journal, in lanes; and what is still to come."""

from datetime import datetime
from typing import Final

from onceonly.api.history import JournalRow
from onceonly.api.messages import MessageDetail
from onceonly.console import spans, words
from onceonly.message.measures import span
from onceonly.message.word import Word

ROWS_MAX: Final = 120
"""Most rows that a page shows; of a longer way, its beginning and its end."""
IDLE_S: Final = 1.0
"""A pause that is worth a word."""


class WayStep(Word, kw_only=True):
    """One row: where it happened, and what it means."""

    at: str
    event: str
    lane: int
    tone: str
    text: str
    idle: str | None
    """How long nothing had happened before it."""
    facts: tuple[tuple[str, str], ...]
    """What else the row says, as names and values."""
    said: str | None
    """A text of the row, perhaps a partner's."""


class Ahead(Word, kw_only=True):
    """Something that is planned, or will end something."""

    at: str | None
    lane: int
    text: str


def steps_of(rows: tuple[JournalRow, ...]) -> tuple[tuple[WayStep, ...], int]:
    """The rows as steps, and how many were left out in their middle."""
    left_out = max(0, len(rows) - ROWS_MAX)
    shown = rows[: ROWS_MAX // 2] + rows[-ROWS_MAX // 2 :] if left_out else rows
    before: datetime | None = None
    steps: list[WayStep] = []
    for row in shown:
        at = spans.moment(row.at)
        idle_s = 0.0 if before is None else (at - before).total_seconds()
        steps.append(_step(row, span(idle_s) if idle_s >= IDLE_S else None))
        before = at
    return tuple(steps), left_out


def _step(row: JournalRow, idle: str | None) -> WayStep:
    told = words.EVENTS[row.event]
    tone = told.tone if row.outcome is None else words.OUTCOMES.get(row.outcome, told).tone
    facts = (
        ("attempt", row.attempt),
        ("outcome", row.outcome),
        ("status", row.status_code),
        ("error", row.error_code),
        ("number", row.sequence_number),
        ("hop", row.hop),
        ("by", row.actor),
        ("to", row.endpoint),
    )
    return WayStep(
        at=row.at,
        event=row.event.value,
        lane=told.lane,
        tone=tone,
        text=told.text,
        idle=idle,
        facts=tuple((name, str(value)) for name, value in facts if value is not None),
        said=row.reason,
    )


def ahead_of(message: MessageDetail) -> tuple[Ahead, ...]:
    """What is to come, as far as the message says it."""
    plans: list[Ahead] = []
    if message.state == "queued":
        text = "waits for its turn: messages to one partner go one after the other"
        plans.append(Ahead(at=None, lane=words.LANES.index("Store"), text=text))
    if message.state == "sending":
        plans += _tries_ahead(message)
    if message.expires_at is not None and not message.is_final:
        text = "its time to live ends"
        plans.append(Ahead(at=message.expires_at, lane=words.LANES.index("Store"), text=text))
    response = message.response
    if response is not None and response.state == "awaited":
        text = "the business response is due"
        plans.append(Ahead(at=response.due_at, lane=words.LANES.index("Answers"), text=text))
    return tuple(plans)


def _tries_ahead(message: MessageDetail) -> tuple[Ahead, ...]:
    """The next try, and when there will be none any more, if no acknowledgement comes."""
    ahead: list[Ahead] = []
    of_all = f" of {message.attempts_max}" if message.attempts_max is not None else ""
    if message.next_attempt_at is not None:
        text = f"without an acknowledgement, attempt {message.attempt + 1}{of_all}"
        where = words.LANES.index("Attempts")
        ahead.append(Ahead(at=message.next_attempt_at, lane=where, text=text))
    else:
        text = f"an acknowledgement is awaited; this is attempt {message.attempt}{of_all}"
        ahead.append(Ahead(at=None, lane=words.LANES.index("Answers"), text=text))
    if message.gives_up_at is not None:
        text = "without an acknowledgement, the message is given up, and is in doubt"
        ahead.append(Ahead(at=message.gives_up_at, lane=words.LANES.index("Store"), text=text))
    return tuple(ahead)
