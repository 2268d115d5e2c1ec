"""Every question about how a message or a partner stands, and every answer."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    instant,
    ordinal,
    text,
)

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
