"""Report 14: messages and bytes by pair, service, action and time."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    instant,
    size,
    text,
)

DEFINITION: Final = Definition(
    "volume",
    14,
    "one row per bin, pair, service and action",
    "what was exchanged, as submitted; as stored where the sender's journal is not in the lake",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        text("service", "Service"),
        text("action", "Action"),
        count("messages", "messages", "submitted, or stored where only the receiver tells"),
        count("received_only", "messages", "of them known from the receiver's journal only"),
        size("payload_bytes", "size of the payloads"),
        size("p50_bytes", "median size"),
        size("p95_bytes", "19 of 20"),
        size("largest_bytes", "largest"),
    ),
)
