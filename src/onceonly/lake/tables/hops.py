"""How each message passed each intermediary."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    count,
    flag,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "hops",
    None,
    "one row per intermediary and message that reached it",
    "when it came and went on, how often, and when its acknowledgement came and went back; "
    "every instant by the intermediary's own clock",
    (
        text("party", "the intermediary"),
        *KEY_COLUMNS,
        ordinal("hop", "number of the RoutingHeader that it adds; 0 where it was not at hand"),
        text("mode", "relay where it passes acknowledgements on, accept where it gives its own"),
        instant("arrived_at", "the first copy was stored here"),
        instant("forwarded_at", "the first copy had gone on"),
        instant("acked_at", "the first acknowledgement came from the next hop"),
        instant("answered_at", "the first acknowledgement had gone to the previous hop"),
        count("copies_in", "copies", "that came"),
        count("copies_out", "copies", "that went on, however that ended"),
        count("copies_accepted", "copies", "that the next hop's transport accepted"),
        count("errors", "errors", "that came from the next hop"),
        flag("is_given_up", "the intermediary failed to deliver what it had taken into its care"),
    ),
)
