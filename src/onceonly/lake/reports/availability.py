"""Report 16: how much of the time a partner could be reached."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    duration,
    flag,
    share,
    text,
)

DEFINITION: Final = Definition(
    "availability",
    16,
    "one row per party and peer that it transmitted to",
    "up and down time as the transmissions show it: down from a transmission that was not "
    "accepted until the next one that was. Nothing is known between transmissions, so a state"
    " lasts until the next one",
    (
        text("party", "who transmitted"),
        text("peer", "the partner, or of an intermediary's transmissions the address"),
        count("transmissions", "transmissions", "that ended"),
        count("accepted", "transmissions", "accepted"),
        count("refused", "transmissions", "refused"),
        count(
            "unknown",
            "transmissions",
            "whose outcome is not known: no answer in time, or a broken one",
        ),
        count("outages", "outages", "times down"),
        duration("up_us", "time up"),
        duration("down_us", "time down"),
        share("availability_share", "up of up and down"),
        duration("mtbf_us", "mean time up between outages; null without one"),
        duration("mttr_us", "mean length of the outages that ended"),
        duration("longest_outage_us", "longest"),
        flag("is_down", "the last transmission was not accepted"),
    ),
)
