"""Every hand-over to an application, and how far the application got with it."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    duration,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "app_deliveries",
    None,
    "one row per hand-over of a message to the receiving application",
    "when it was handed over and worked on; a second row of one message is a broken promise "
    "unless nothing was promised",
    (
        text("party", "whose application"),
        *KEY_COLUMNS,
        ordinal("number", "1 for the first hand-over of the message, 2 for the second"),
        instant("stored_at", "in the receiver's persistent storage"),
        instant("handed_over_at", "in the application's inbox"),
        duration("waited_us", "from the store to the inbox"),
        instant("in_progress_at", "the application said that it had begun"),
        instant("complete_at", "the application said that it was done"),
        instant("refused_at", "the application said that it will not process it"),
        text("digest", "SHA-256 of what was handed over, where the journal has it"),
        ordinal("seq", "number of its row in that journal"),
    ),
)
