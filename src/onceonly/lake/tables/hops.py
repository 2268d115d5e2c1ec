"""How each message passed each intermediary."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event, is_passing, is_true, one_if
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    count,
    flag,
    instant,
    ordinal,
    text,
)
from onceonly.message.event import Event
from onceonly.protocol.events import Outcome

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


_EVENTS: Final = (
    Event.ARRIVED_IN_TRANSIT,
    Event.STORED,
    Event.DUPLICATE_ELIMINATED,
    Event.TRANSMITTING,
    Event.TRANSMITTED,
    Event.FORWARDED,
    Event.ACK_RECEIVED,
    Event.ACK_SENT,
    Event.ACK_RELAYED,
    Event.ERROR_RECEIVED,
    Event.EXHAUSTED,
    Event.EXPIRED,
    Event.FAILED,
)


def table(journal: DataFrame, *also: str) -> DataFrame:
    """The passages in the journals of intermediaries."""
    went = ~is_true(F.col("outcome") == F.lit(Outcome.REFUSED.value))
    accepted = F.col("outcome") == F.lit(Outcome.ACCEPTED.value)
    came = is_event(Event.ARRIVED_IN_TRANSIT, Event.STORED, Event.DUPLICATE_ELIMINATED)
    ended = is_event(Event.FORWARDED, Event.TRANSMITTED)
    answered = is_event(Event.ACK_SENT, Event.ACK_RELAYED)
    ends = is_event(Event.EXHAUSTED, Event.EXPIRED, Event.FAILED)
    accepts = F.max(is_event(Event.STORED))
    return (
        journal.where(is_passing() & is_event(*_EVENTS) & F.col("message_id").isNotNull())
        .groupBy("party", *KEY, *also)
        .agg(
            F.max("hop").alias("hop"),
            F.when(accepts, F.lit("accept")).otherwise(F.lit("relay")).alias("mode"),
            _first("arrived_at", came),
            _first("forwarded_at", ended & went),
            _first("acked_at", is_event(Event.ACK_RECEIVED)),
            _first("answered_at", answered & went),
            F.sum(one_if(came)).alias("copies_in"),
            F.sum(one_if(is_event(Event.FORWARDED, Event.TRANSMITTING))).alias("copies_out"),
            F.sum(one_if(ended & accepted)).alias("copies_accepted"),
            F.sum(one_if(is_event(Event.ERROR_RECEIVED))).alias("errors"),
            F.max(ends).alias("is_given_up"),
        )
        .select(*DEFINITION.names, *also)
    )


def _first(name: str, condition: Column) -> Column:
    return F.timestamp_micros(F.min(F.when(condition, F.col("at")))).alias(name)
