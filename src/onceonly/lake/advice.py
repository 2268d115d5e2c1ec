"""What the journals advise about an agreement's times: report 8's figures, turned into terms.

Knows how a sender waits (ruling R-06) and what a receiver must remember (R-19). Pure functions from
frames to frames; the numbers are made in Spark, however many messages there are.

The model
---------
A message is sent at most `1 + retries` times. Waits begin at the end of a transmission, which takes
`transmission_us` on average: `timeout` after the first one, `retry_interval` after each later one.
With b(k) the beginning and e(k) the end of transmission k:

    e(k) = b(k) + transmission,  b(2) = e(1) + timeout,  b(k+1) = e(k) + retry_interval,
    V = b(retries + 2): nobody waits any longer, and the application is told of a failure.

Each transmission is answered in the end, or never. The first one is answered with the probability
`answered`; a later one, which is sent only because none before it was answered yet, with
`answered_later`. If partners are down for minutes, and not only single packages are lost, that is
the smaller number; it is the only place where outages are in the model. An answer comes within x of
the end of its transmission with the probability G(x), which is the measured distribution itself, as
counts in bins a hundredth of an octave wide. So with s(1) = answered, s(j) = answered_later

    open(k, x)  = product over j <= k of (1 - s(j) G(x - e(j)))     no answer until x, after k sends
    never(k)    = product over j <= k of (1 - s(j))                 no answer however long one waits

    resends          = sum over k = 1 … retries of open(k, b(k+1))
    needless resends = sum over k = 1 … retries of open(k, b(k+1)) - never(k)
    failure verdicts = open(retries + 1, V), where each s is n / (n + 1) of itself
    false ones       = failure verdicts - the same product of what never even arrived

Even if all of n messages were answered, the next one may not be: so one more failure is counted, of
a message that did not even arrive. A resend is "needless" if its message would have been answered
without it; a resend that replaces a lost acknowledgement is not needless, although it arrives as a
duplicate. A failure verdict is "false" if the message is in the receiver's store. The longest time
to a verdict is timeout + retries x retry_interval, as everywhere (R-06), plus the time of
transmissions that hang.

What is measured, and how
-------------------------
Times are measured by the monotonic clock; an answer or a recovery that came after a restart of its
gateway is not timed. Round trips come from messages of which every transmission was answered, since
then the first answer belongs to the first transmission; if only messages were used that were sent
once, every slow answer would be left out. `answered` is the number of answers divided by that of
transmissions, which does not depend on which one is answered first. Messages without a verdict yet
are left out. With the receiver's journal, `arrived` tells lost messages from lost acknowledgements;
without it, everything that is not answered counts as not arrived, so the number of false verdicts
is then a lower bound.

What the model does not know: that an interval shorter than an outage meets the same outage again.
Proposals therefore never wait for less than nearly every recovery took (`recovery_us`).
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import marks
from onceonly.lake.expressions import US_PER_S, is_event, is_inbound, is_outbound, is_passing
from onceonly.lake.marks import ever
from onceonly.lake.quantiles import Quantiles, summed
from onceonly.message.event import Event

AGREEMENT: Final = ("agreement_id", "from_party", "to_party")
"""One row of advice: an agreement, in one direction."""

BINS_PER_OCTAVE: Final = 100
"""So round trips are known to 0.7 per cent."""
RECOVERED: Final = 990
"""How many of a thousand recoveries (answered after a resend) proposals leave time for."""
QUEUED: Final = 999
"""Of how many of a thousand messages the wait for the first transmission must fit into TimeToLive.
"""
RETRIES_MAX: Final = 12
"""Most retries that are ever proposed: beyond them an operator should know."""
MESSAGES_LEAST: Final = 30
"""With fewer measured round trips nothing is proposed."""
_MINUTE_S, _DAY_S = 60, 86_400


class Goal(NamedTuple):
    """Limits that proposed terms have to keep, by the figures of the model."""

    needless_resends: float = 0.001
    """Most needless resends per message."""
    failures: float = 0.00001
    """Most failure verdicts per message, false and true ones."""
    clock_accuracy_s: int = 30
    """mshTimeAccuracy, by which TimeToLive and PersistDuration must be longer."""


# Per message: one fold over both journals.


_CLOCKS: Final = ("at", "ticks")
"""The wall clock, and the one that never jumps and begins again with every start; microseconds."""
_EPOCHS: Final = ("our_epochs", "their_epochs")
"""How often either gateway was started between the rows of a message."""


def _count(condition: Column) -> Column:
    return F.count_if(condition)


def _moments(name: str, fold: Callable[[Column], Column], condition: Column) -> list[Column]:
    return [fold(F.when(condition, F.col(clock))).alias(f"{name}_{clock}") for clock in _CLOCKS]


def _starts_between(condition: Column) -> Column:
    epoch = F.when(condition, F.col("store_epoch"))
    return F.max(epoch) - F.min(epoch)


def _took(epochs: str, beginning: str, end: str) -> Column:
    """By the clock that never jumps; null where the gateway was started again in between."""
    took = F.col(f"{end}_ticks") - F.col(f"{beginning}_ticks")
    return F.when(F.col(epochs) == F.lit(0), took)


def _lasted(epochs: str, beginning: str, end: str) -> Column:
    """The same, and by the wall clock where the gateway was started again in between."""
    lasted = F.col(f"{end}_at") - F.col(f"{beginning}_at")
    return F.coalesce(_took(epochs, beginning, end), F.when(lasted >= F.lit(0), lasted))


def exchanges(journal: DataFrame) -> DataFrame:
    """Per message of an agreement: what was needed until it was acknowledged.

    One row per `AGREEMENT` and `message_id` whose sender's journal is there and has its verdict.
    Messages that somebody sent again (an operator's resume, a resend by rule) are left out: they
    have waited by other rules.
    """
    ours = is_outbound() & ~is_passing()
    theirs = is_inbound() & ~is_passing()
    begun, ended = is_event(Event.TRANSMITTING), is_event(Event.TRANSMITTED)
    answer = is_event(Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED)
    rows = journal.where(
        F.col("message_id").isNotNull()
        & F.col("agreement_id").isNotNull()
        & is_event(*marks.OF_ENDS)
        & ~is_passing()
    )
    folded = (
        rows.withColumns({marks.KIND: marks.kind(), "ticks": F.expr("monotonic_ns div 1000")})
        .groupBy(*AGREEMENT, "message_id")
        .agg(
            F.expr(f"bit_or({marks.MARKS_OF_ROW})").alias("marks"),
            *_moments("submitted", F.min, is_event(Event.SUBMITTED)),
            *_moments("first_sent", F.min, begun),
            *_moments("first_ended", F.min, ended),
            *_moments("answered", F.min, ours & answer),
            *_moments("stored", F.min, theirs & is_event(Event.STORED)),
            *_moments("last_copy", F.max, is_event(Event.DUPLICATE_ELIMINATED)),
            F.try_sum(F.when(ended, F.col("ticks")).when(begun, -F.col("ticks"))).alias(
                "transmitting_us"
            ),
            _starts_between(ours).alias("our_epochs"),
            _starts_between(theirs).alias("their_epochs"),
            _count(begun).alias("transmissions"),
            _count(begun & (F.col("attempt") == F.lit(1))).alias("starts"),
            _count(ended).alias("endings"),
            _count(ours & (answer | is_event(Event.REPEATED_ACK_RECEIVED))).alias("answers"),
            _count(theirs & is_event(Event.STORED, Event.DUPLICATE_ELIMINATED)).alias("copies"),
        )
    )
    has_verdict = ever(Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED) | marks.was_told()
    sent_by_rule = (F.col("transmissions") > F.lit(0)) & (F.col("starts") == F.lit(1))
    lives = folded.where(has_verdict & sent_by_rule & ~marks.is_without_promise())
    ours_by, theirs_by = _EPOCHS
    return lives.select(
        *(*AGREEMENT, "message_id", "marks", "transmissions", "endings", "answers", "copies"),
        F.col("answered_at").isNotNull().alias("is_answered"),
        _lasted(ours_by, "submitted", "first_sent").alias("queued_us"),
        _took(ours_by, "first_ended", "answered").alias("answer_us"),
        _took(ours_by, "first_sent", "answered").alias("recovery_us"),
        _lasted(theirs_by, "stored", "last_copy").alias("repeat_us"),
        F.when(F.col(ours_by) == F.lit(0), F.col("transmitting_us")).alias("transmitting_us"),
    )


def measured(messages: DataFrame) -> DataFrame:
    """Per agreement: losses, durations and the distribution of round trips, from `exchanges`.

    `round_trips` is an array of (bin, share of all round trips up to its end), by bin; `timed` says
    how many they are. `answered`, `answered_later`, `arrived` are probabilities, durations are
    microseconds, `failed_share` and `false_share` are what was seen and not what is expected;
    `false_share` is null without the receiver's journal.
    """
    facts = messages.select(*AGREEMENT, "message_id", *_facts())
    sums = [
        F.count("*").alias("messages"),
        F.sum("transmissions").alias("transmissions"),
        (F.sum("answers") / F.sum("transmissions")).alias("answered_all"),
        F.try_divide(F.sum("recovered"), F.sum(F.col("transmissions") - F.lit(1))).alias(
            "answered_resends"
        ),
        F.when(F.sum("copies") > F.lit(0), F.sum("copies") / F.sum("transmissions")).alias(
            "arrived"
        ),
        F.coalesce(F.try_sum("transmitting_us") / F.sum("endings"), F.lit(0.0)).alias(
            "transmission_us"
        ),
        F.sum(F.col("transmissions") - F.lit(1)).alias("resends"),
        (F.sum("failed") / F.count("failed")).alias("failed_share"),
        F.when(F.sum("copies") > F.lit(0), F.sum("false_verdict") / F.count("false_verdict")).alias(
            "false_share"
        ),
        F.max("repeat_us").alias("repeat_us"),
        F.max("round_trip_us").alias("round_trip_max_us"),
    ]
    totals = summed(
        facts,
        AGREEMENT,
        sums,
        Quantiles("recovery_us", {"recovery_us": RECOVERED}),
        Quantiles("queued_us", {"queued_us": QUEUED}),
    )
    known = totals.join(_distribution(facts), list(AGREEMENT), "left")
    answered = F.col("answered_all")
    later = F.when(F.col("resends") >= F.lit(MESSAGES_LEAST), F.col("answered_resends"))
    return known.select(
        *AGREEMENT,
        "messages",
        F.coalesce("timed", F.lit(0).cast("bigint")).alias("timed"),
        "round_trips",
        answered.alias("answered"),
        F.least(answered, F.coalesce(later, answered)).alias("answered_later"),
        F.greatest(answered, F.coalesce("arrived", answered)).alias("arrived"),
        "transmission_us",
        (F.col("resends") / F.col("messages")).alias("resends_share"),
        "failed_share",
        "false_share",
        "recovery_us",
        "queued_us",
        "repeat_us",
        "round_trip_max_us",
    )


def _facts() -> list[Column | str]:
    sent = F.col("transmissions")
    answers = F.least("answers", "transmissions")
    acked = F.col("is_answered")
    is_later = acked & (sent > F.lit(1))
    failed = marks.was_told()
    # An answer may come before its transmission has ended; where no end is told nobody knows.
    took = F.when(
        F.col("answer_us").isNotNull(), F.greatest(F.col("answer_us"), F.lit(0).cast("bigint"))
    )
    is_timed = (F.col("endings") == sent) & F.col("transmitting_us").isNotNull()
    is_false = failed & (F.col("copies") > F.lit(0))
    return [
        sent.alias("transmissions"),
        answers.alias("answers"),
        F.least("copies", "transmissions").alias("copies"),
        is_later.cast("bigint").alias("recovered"),
        F.when(is_timed, F.col("transmitting_us")).alias("transmitting_us"),
        F.when(is_timed, F.col("endings")).alias("endings"),
        failed.cast("double").alias("failed"),
        is_false.cast("double").alias("false_verdict"),
        F.when(acked & (F.col("answers") >= sent), took).alias("round_trip_us"),
        F.when(is_later, F.col("recovery_us")).alias("recovery_us"),
        "queued_us",
        "repeat_us",
    ]


def bin_of(duration_us: Column) -> Column:
    """The bin of a duration: hundredths of octaves above one microsecond, rounded up."""
    return F.ceil(F.log2(duration_us + F.lit(1)) * F.lit(BINS_PER_OCTAVE)).cast("int")


def _distribution(facts: DataFrame) -> DataFrame:
    binned = facts.where("round_trip_us IS NOT NULL").select(
        *AGREEMENT, bin_of(F.col("round_trip_us")).alias("bin")
    )
    counts = binned.groupBy(*AGREEMENT, "bin").agg(F.count("*").alias("count"))
    up_to = Window.partitionBy(*AGREEMENT).orderBy("bin")
    shares = counts.select(
        *AGREEMENT,
        "bin",
        "count",
        (F.sum("count").over(up_to) / F.sum("count").over(Window.partitionBy(*AGREEMENT))).alias(
            "share"
        ),
    )
    return shares.groupBy(*AGREEMENT).agg(
        F.sum("count").alias("timed"),
        F.array_sort(F.collect_list(F.struct("bin", "share"))).alias("round_trips"),
    )


# The model, in Spark's own language: products over transmissions are folds over arrays.

_LATER = "aggregate(sequence(1, {k}), 1D, (p, j) -> p * (1 - IF(j = 1, {first}, {later}){within}))"
_BEGUN = (
    "IF({k} = 1, 0D, ({k} - 1) * transmission_us"
    f" + (timeout_s + ({{k}} - 2) * retry_interval_s) * {US_PER_S}D)"
)
_WITHIN = (
    " * coalesce(aggregate(filter(round_trips, g -> g.bin <="
    f" {BINS_PER_OCTAVE} * log2(greatest({{x}} - ({_BEGUN.format(k='j')} + transmission_us), 0D)"
    " + 1)), 0D, (a, g) -> greatest(a, g.share)), 0D)"
)


def _product(k: str, first: str, later: str, until: str | None = None) -> str:
    within = "" if until is None else _WITHIN.format(x=until)
    return _LATER.format(k=k, first=first, later=later, within=within)


def _of_one_more(share: str) -> str:
    return f"{share} * messages / (messages + 1D)"


def _sum(term: str) -> str:
    resends = "IF(retries = 0, array(), sequence(1, retries))"
    return f"aggregate({resends}, 0D, (s, k) -> s + {term})"


def expected(terms: DataFrame) -> DataFrame:
    """Rows of `measured` with `timeout_s`, `retries`, `retry_interval_s`, and what these lead to.

    Adds, per message: `resends`, `needless_resends`, `failures`, `false_failures`; and
    `longest_s`, the longest time to a verdict (R-06).
    """
    answered = ("answered", "answered_later")
    still_open = _product("k", *answered, until=_BEGUN.format(k="(k + 1)"))
    never = _product("k", *answered)
    end = _BEGUN.format(k="(retries + 2)")
    of_one_more = (_of_one_more("answered"), _of_one_more("answered_later"))
    all_open = _product("retries + 1", *of_one_more, until=end)
    # What is lost on the way back is lost as often later as at first.
    # Where nothing was ever answered, nobody knows; then a later copy arrives as the first does.
    later = "least(1D, coalesce(try_divide(answered_later * arrived, answered), arrived))"
    lost = _product("retries + 1", _of_one_more("arrived"), _of_one_more(later))
    return terms.withColumns(
        {
            "resends": F.expr(_sum(still_open)),
            "needless_resends": F.greatest(F.lit(0.0), F.expr(_sum(f"{still_open} - {never}"))),
            "failures": F.expr(all_open),
            "false_failures": F.greatest(F.lit(0.0), F.expr(f"{all_open} - {lost}")),
            "longest_s": F.col("timeout_s") + F.col("retries") * F.col("retry_interval_s"),
        }
    )


def proposed(known: DataFrame, goal: Goal = Goal()) -> DataFrame:  # noqa: B008 - because a Goal is frozen
    """Per agreement of `measured` that has enough round trips: better terms.

    Those with the shortest time to a verdict that keep the goal, with what they lead to
    (`expected`), `time_to_live_s` and `persist_duration_s`. Where none keeps it, those that come
    nearest, and `keeps_goal` is false.
    """
    candidates = expected(_candidates(known.where(F.col("timed") >= F.lit(MESSAGES_LEAST))))
    needless = F.col("needless_resends") > F.lit(goal.needless_resends)
    failing = F.col("failures") > F.lit(goal.failures)
    hasty = F.col("longest_s") * F.lit(US_PER_S) < F.coalesce("recovery_us", F.lit(0))
    misses = [condition.cast("int") for condition in (needless, failing, hasty)]
    kept = candidates.withColumn("misses", misses[0] + misses[1] + misses[2])
    order = Window.partitionBy(*AGREEMENT).orderBy(
        "misses", "longest_s", "retries", "timeout_s", "failures"
    )
    best = kept.withColumn("place", F.row_number().over(order)).where("place = 1")
    return best.withColumn("keeps_goal", F.col("misses") == F.lit(0)).transform(
        lambda rows: _with_lifetimes(rows, goal)
    )


def _candidates(known: DataFrame) -> DataFrame:
    """Terms to choose among, in whole seconds, as in the seeds.

    Timeouts at quantiles of the round trip; intervals as long, twice as long, or as long as the
    recoveries ask for.
    """
    quantiles = "array(0.9D, 0.95D, 0.99D, 0.995D, 0.999D, 0.9995D, 0.9999D, 1D)"
    end = f"pow(2D, element_at(filter(round_trips, g -> g.share >= q), 1).bin / {BINS_PER_OCTAVE}D)"
    # A stranger's clock may say that it waited for centuries, and no INT holds those.
    seconds = f"CAST(greatest(1, ceil({end} / {US_PER_S}D)) AS BIGINT)"
    timeouts = f"array_distinct(transform({quantiles}, q -> {seconds}))"
    recovery_s = f"ceil(coalesce(recovery_us, 0) / {US_PER_S}D)"
    stretched = f"CAST(ceil(({recovery_s} - timeout_s) / retries) AS BIGINT)"
    intervals = f"array_distinct(array(timeout_s, 2 * timeout_s, greatest(timeout_s, {stretched})))"
    return (
        known.withColumn("timeout_s", F.explode(F.expr(timeouts)))
        .withColumn("retries", F.explode(F.sequence(F.lit(1), F.lit(RETRIES_MAX))))
        .withColumn("retry_interval_s", F.explode(F.expr(intervals)))
    )


def _with_lifetimes(rows: DataFrame, goal: Goal) -> DataFrame:
    """The rows with TimeToLive and PersistDuration.

    TimeToLive must outlast the queue, every wait and transmission, the way of the last copy and
    the clocks (R-06, R-08), or copies are refused for their age; PersistDuration must outlast
    TimeToLive on either clock and every repeat that was seen (R-19).
    """
    hanging = F.col("transmission_us") * (F.col("retries") + F.lit(1))
    on_the_way = F.coalesce("queued_us", F.lit(0)) + hanging + F.col("round_trip_max_us")
    live_s = (
        F.col("longest_s") + F.ceil(on_the_way / F.lit(US_PER_S)) + F.lit(goal.clock_accuracy_s)
    )
    repeat_s = F.ceil(F.coalesce("repeat_us", F.lit(0)) / F.lit(US_PER_S))
    rows = rows.withColumn("time_to_live_s", _whole(live_s, _MINUTE_S))
    kept_s = F.greatest(F.col("time_to_live_s") + F.lit(2 * goal.clock_accuracy_s), repeat_s)
    return rows.withColumn("persist_duration_s", _whole(kept_s, _DAY_S))


def _whole(seconds: Column, unit_s: int) -> Column:
    return (F.ceil(seconds / F.lit(unit_s)) * F.lit(unit_s)).cast("bigint")


TERMS_SCHEMA: Final = "agreement_id string, timeout_s int, retries int, retry_interval_s int"


def today(known: DataFrame, terms: DataFrame) -> DataFrame:
    """What today's terms (`TERMS_SCHEMA`) lead to, by the same model; agreements without are out.

    Compare `failures` with `failed_share`, `false_failures` with `false_share` and `resends` with
    `resends_share`: expected beside seen.
    """
    return expected(known.join(F.broadcast(terms), "agreement_id"))
