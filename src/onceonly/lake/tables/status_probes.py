"""Every question about how a message or a partner stands, and every answer."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    instant,
    ordinal,
    text,
)
from onceonly.message.event import Event
from onceonly.message.signals import InquiryKind

DEFINITION: Final = Definition(
    "status_probes",
    None,
    "one row per Ping, inquiry, Pong and report, in either direction",
    "who asked what, and what was said; the journal does not say which answer belongs to "
    "which question",
    (
        text("party", "whose journal tells it"),
        *KEY_COLUMNS,
        text("what", "we asked, partner answered, partner asked or we answered"),
        text("kind", "Ping, StatusRequest, CancelRequest or ResponseRequest; null in most answers"),
        text("said", "what the partner answered, in its words"),
        instant("at", "when; of what was sent, when its transmission ended"),
        text("outcome", "how the transmission ended, where it was sent"),
        ordinal("seq", "number of its row in that journal"),
    ),
)


WE_ASKED: Final = "we asked"
PARTNER_ANSWERED: Final = "partner answered"
PARTNER_ASKED: Final = "partner asked"
WE_ANSWERED: Final = "we answered"
WHAT: Final = {
    Event.PING_SENT: WE_ASKED,
    Event.INQUIRY_SENT: WE_ASKED,
    Event.PONG_RECEIVED: PARTNER_ANSWERED,
    Event.REPORT_RECEIVED: PARTNER_ANSWERED,
    Event.INQUIRY_RECEIVED: PARTNER_ASKED,
    Event.REPORT_SENT: WE_ANSWERED,
}
"""Who said each row's words to whom."""


def table(journal: DataFrame, *also: str) -> DataFrame:
    """The questions and answers in the journal."""
    words = [F.when(is_event(event), F.lit(word)) for event, word in WHAT.items()]
    is_ping = is_event(Event.PING_SENT, Event.PONG_RECEIVED)
    has_kind = is_event(Event.INQUIRY_SENT, Event.INQUIRY_RECEIVED, Event.REPORT_SENT)
    is_said = is_event(Event.PONG_RECEIVED, Event.REPORT_RECEIVED)
    return (
        journal.where(is_event(*WHAT))
        .withColumns(
            {
                "what": F.coalesce(*words),
                "kind": F.when(is_ping, F.lit(InquiryKind.PING.value)).when(
                    has_kind, F.col("reason")
                ),
                "said": F.when(is_said, F.col("reason")),
                "at": F.timestamp_micros("at"),
            }
        )
        .select(*DEFINITION.names, *also)
    )
