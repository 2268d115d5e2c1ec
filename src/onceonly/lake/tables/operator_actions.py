"""What people and programs outside the gateways asked for."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event, is_true
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    instant,
    ordinal,
    text,
)
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "operator_actions",
    None,
    "one row per journal row that tells of somebody's word",
    "suspensions, resumes, resends, cancels, words about doubts and whatever else names who asked"
    " for it. A row Asked"
    " is what somebody asked for, and the rows after it are what came of it; these, and all of"
    " older gateways, name no person: actor is then null, and the words tell that an operator"
    " it was",
    (
        text("party", "whose gateway"),
        instant("at", "when it was carried out"),
        text("actor", "who, where the journal names somebody"),
        text(
            "action",
            "suspend, resume, resend, cancel, settle, redeliver; what was asked for; or the event",
        ),
        *KEY_COLUMNS,
        text("reason", "why, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)


JOB_ACTOR: Final = "job:"
"""How the `actor` of a bulk job's rows begins; a job is no operator."""

_VERBS: Final = {
    Event.PAIR_SUSPENDED: "suspend",
    Event.PAIR_RESUMED: "resume",
    Event.REQUEUED: "resend",
    Event.RESENT: "resend",
    Event.CANCELLED: "cancel",
    Event.SETTLED: "settle",
    Event.HANDED_OVER_AGAIN: "redeliver",
}
_GIVING_UP: Final = (Event.EXHAUSTED, Event.NOTIFIED)


def table(journal: DataFrame) -> DataFrame:
    """The rows that tell of somebody's word.

    A suspension in the same step as a message that was given up is the gateway's own. A cancel that
    the receiver confirmed has a reason, and may be a rule's.
    """
    is_named = F.col("actor").isNotNull() & ~F.col("actor").startswith(JOB_ACTOR)
    step = Window.partitionBy("party", "from_party", "to_party", "at")
    rows = journal.where(is_event(*_VERBS, *_GIVING_UP) | is_named).withColumn(
        "gives_up", F.max(is_event(*_GIVING_UP)).over(step)
    )
    by_operator = F.col("reason").contains("operator")
    asked = (
        is_true(is_named)
        | is_event(Event.SETTLED)
        | is_true(is_event(Event.PAIR_SUSPENDED) & ~F.col("gives_up"))
        | is_true(is_event(Event.PAIR_RESUMED, Event.REQUEUED, Event.RESENT) & by_operator)
        | (is_event(Event.CANCELLED) & F.col("reason").isNull())
    )
    return (
        rows.where(asked)
        .withColumns({"action": _action(), "at": F.timestamp_micros("at")})
        .select(*DEFINITION.names)
    )


def _action() -> Column:
    verbs = [F.when(is_event(event), F.lit(verb)) for event, verb in _VERBS.items()]
    call = F.when(is_event(Event.ASKED), F.regexp_extract("reason", r"^\w+", 0))
    return F.coalesce(*verbs, call, F.col("event"))
