"""What happens, as it happens: rows of the journal as events, streamed or in a long poll."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

from msgspec import Meta

from onceonly.api.fields import Instant, Limit, Number, Seconds
from onceonly.message.event import Event
from onceonly.message.word import Word, field

EventKind = Literal["verdicts", "responses", "inbox", "notices", "incidents", "traffic"]
"""What an event is about."""

USUAL_KINDS: Final[tuple[EventKind, ...]] = (
    "verdicts",
    "responses",
    "inbox",
    "notices",
    "incidents",
)
"""All but `traffic`, which a follower has to name: it is several rows for each message."""

_OF_KINDS: Final[dict[EventKind, tuple[Event, ...]]] = {
    "verdicts": (
        *(Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED, Event.EXHAUSTED, Event.EXPIRED),
        *(Event.FAILED, Event.CANCELLED, Event.SENT, Event.REQUEUED, Event.RESENT),
        Event.SETTLED,
    ),
    "responses": (Event.RESPONSE_RECEIVED, Event.RESPONSE_OVERDUE, Event.RECEIPT_RECEIVED),
    "inbox": (Event.HANDED_OVER, Event.HANDED_OVER_AGAIN, Event.CANCEL_CONFIRMED),
    "notices": (Event.NOTIFIED,),
    "incidents": (
        *(Event.PAIR_SUSPENDED, Event.PAIR_RESUMED, Event.PAIR_QUARANTINED, Event.PARKED),
        *(Event.TAKEN_UP, Event.INTERNAL_ERROR, Event.SECURITY_EVENT, Event.COLLISION_DETECTED),
        Event.SIGNATURE_REFUSED,
        *(Event.CONVERSATION_BLOCKED, Event.CONVERSATION_RESET, Event.HELD, Event.RELEASED),
        Event.DROPPED,
    ),
}


def _kind_of(event: Event) -> EventKind:
    return next((kind for kind, events in _OF_KINDS.items() if event in events), "traffic")


KIND_OF: Final[Mapping[Event, EventKind]] = MappingProxyType(
    {event: _kind_of(event) for event in Event}
)
"""The kind of every event of the journal."""

_KIND: Final = "(?:" + "|".join(EventKind.__args__) + ")"  # type: ignore[attr-defined]  # because a Literal has them


class EventsQuery(Word, kw_only=True, omit_defaults=True):
    """Which events: those above a seq of the journal, or without `after` those from now on.

    `wait` is of a long poll alone; a stream goes on until one side ends it.
    """

    after: Number | None = None
    kinds: (
        Annotated[
            str,
            Meta(
                description="kinds with commas between them: " + ", ".join(EventKind.__args__),
                pattern=f"^{_KIND}(?:,{_KIND})*$",
            ),
        ]
        | None
    ) = None
    """If absent, all but `traffic`."""
    partner: str | None = None
    """Only rows about messages from or to this partner, or about its pairs."""
    limit: Limit = 100
    wait: Seconds = 0.0


class LastEventHead(Word, kw_only=True, omit_defaults=True):
    """Where a browser's stream goes on after a break; it wins over `after`."""

    last_event_id: Number | None = field(default=None, name="Last-Event-ID")


class HappenedEvent(Word, kw_only=True):
    """One thing that happened; `seq` is the number of its row in the journal.

    The row itself, with its hash and all its columns, is in `/v1/journal`.
    """

    seq: int
    kind: EventKind
    event: Event
    at: Instant
    from_party: str | None
    to_party: str | None
    message_id: str | None
    ref_to_message_id: str | None
    conversation_id: str | None
    agreement_id: str | None
    service: str | None
    action: str | None
    attempt: int | None
    outcome: str | None
    status_code: int | None
    error_code: str | None
    severity: str | None
    reason: str | None


class EventPage(Word, kw_only=True):
    """Events in order. The next poll asks `after` `next_after`, also where there are none.

    `store_id` names the store that numbers them; null before its first row.
    """

    events: tuple[HappenedEvent, ...]
    next_after: int
    store_id: str | None
