"""The call that tells what happens."""

from typing import Final

from onceonly.api import events
from onceonly.api.operation import EVENTS, JSON, Nothing, Operation

LIST_EVENTS: Final = Operation(
    name="listEvents",
    method="get",
    path="/v1/events",
    summary="What happened above a seq of the journal, in order; waits up to `wait` seconds for "
    "something. As an event stream (Accept: text/event-stream) it goes on, and after a break "
    "from Last-Event-ID",
    path_type=Nothing,
    query_type=events.EventsQuery,
    head_type=events.LastEventHead,
    body_type=Nothing,
    answer_type=events.EventPage,
    media=(JSON, EVENTS),
    refusals=("JournalBehind",),
)
