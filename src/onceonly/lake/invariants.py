"""Once and only once, as a sheet: report 4. Each line must be 0.

Knows which facts of a judged lifecycle break which invariant of `invariants.md`. It must not ask
for a message's class: that names one thing, and a message may have several wrong with it; nor may
it know how the sheet is shown. Order inside one journal is compared by row number, instants across
journals only with the agreed clock accuracy between them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import (
    always,
    any_of,
    as_bits,
    is_overdue,
    is_true,
    least_of,
    never,
)
from onceonly.lake.schemas import KEY
from onceonly.lake.stretches import with_greatest_before
from onceonly.lake.verdicts import (
    Policy,
    Verdict,
    is_altered,
    is_judged,
    is_promised,
    is_so,
)

EXAMPLES_MAX: Final = 5
"""Counter-examples per invariant: enough to start looking, few enough to read."""

_NEVER: Final = 9_223_372_036_854_775_807
"""Row number of what has not happened: later than every row."""

EARLIER: Final = "earlier"
"""Latest end of a message before this one in its pair."""


class Judgement(NamedTuple):
    """When and by which policy the sheet is filled in."""

    as_of: int
    policy: Policy


class TurnOrder(NamedTuple):
    """Which messages of a pair come before one, and what they must have reached: row numbers."""

    place: str
    """Column of the place in the order."""
    turn: str
    """Column of when a message had its turn: no earlier message may reach its end after that."""
    end: Callable[[], Column]
    """When a message reached its end."""


class Invariant(NamedTuple):
    """One line of the sheet. `broken` is asked of each message that `applies`; null is no."""

    name: str
    claim: str
    applies: Callable[[Judgement], Column]
    broken: Callable[[Judgement], Column]
    order: TurnOrder | None = None
    """It asks what came before (`EARLIER`), and only of messages that go one after another."""


def _is_there(name: str) -> Column:
    return F.col(name).isNotNull()


def _is_missing(name: str) -> Column:
    return F.col(name).isNull()


def _is_counted(name: str, least: int = 1) -> Column:
    return F.col(name) >= F.lit(least)


def _is_numbered() -> Column:
    # Lives that were folded before numbers were are all of numbered pairs.
    return is_true(F.coalesce("numbered", F.lit(1)) == F.lit(1))


def _is_bounded() -> Column:
    return is_true(F.coalesce("unbounded", F.lit(0)) == F.lit(0))


def _is_overdue(name: str, wait_us: int, judgement: Judgement) -> Column:
    return is_overdue(F.col(name), wait_us, judgement.as_of)


def _is(wanted: Verdict, judgement: Judgement) -> Column:
    return is_so(wanted, as_of=judgement.as_of, policy=judgement.policy)


def _gave_turn_back() -> Column:
    return F.coalesce("released_seq", F.lit(_NEVER))


def _was_handed_over() -> Column:
    return F.col("handed_over_seq")


def _is_before_its_turn(_: Judgement) -> Column:
    return F.col("turn") < F.col(EARLIER)


def _is_silent(judgement: Judgement) -> Column:
    ends = ("acked_at", "late_acked_at", "notified_at", "failed_at", "expired_at", "cancelled_at")
    nothing = ~any_of(*[_is_there(name) for name in ends])
    return nothing & _is_overdue("submitted_at", judgement.policy.verdict_within_us, judgement)


def _has_budget(judgement: Judgement) -> Column:
    return never() if judgement.policy.retries is None else always()


def _is_over_budget(judgement: Judgement) -> Column:
    return F.col("attempt_max") > F.lit((judgement.policy.retries or 0) + 1)


def _is_zombie(judgement: Judgement) -> Column:
    ends = F.least("failed_at", "expired_at", "cancelled_at")
    return F.col("stored_at") > ends + F.lit(judgement.policy.clock_accuracy_us)


def _is_overtaken(judgement: Judgement) -> Column:
    """An intermediary that acknowledged could not deliver, or the receiver confirmed a cancel.

    Facts, whatever was known before.
    """
    is_refuted = _is_there("failed_at") & _is_counted("errors_received")
    is_owed = F.col("is_two_sided") & _is_overdue(
        "cancelled_at", judgement.policy.grace_us, judgement
    )
    is_confirmed = _is_there("cancelled_at") & (_is_there("cancel_confirmed_at") | ~is_owed)
    return (F.col("acked_seq") < F.col("final_seq")) & any_of(is_refuted, is_confirmed)


INVARIANTS: Final = (
    Invariant(
        "I1",
        "No message reached the receiving application twice, unless somebody had asked for it.",
        lambda _: _is_there("handed_over_at") & is_judged(),
        lambda _: F.col("hand_overs") > F.lit(1) + F.col("hand_overs_asked"),
    ),
    Invariant(
        "I2",
        "What was delivered is what was submitted: nothing invented, nothing altered.",
        lambda _: _is_there("stored_at") | _is_there("handed_over_at"),
        lambda j: is_altered() | _is(Verdict.RECEIVED_NOT_SENT, j),
    ),
    Invariant(
        "I3",
        "No acknowledgement left before its message was stored.",
        lambda _: _is_there("ack_sent_at"),
        lambda _: _is_missing("stored_seq") | (F.col("ack_sent_seq") < F.col("stored_seq")),
    ),
    Invariant(
        "I4",
        "Every stored message was acknowledged by its receiver.",
        lambda _: _is_there("stored_at") & _is_missing("cancel_confirmed_at") & is_promised(),
        lambda j: _is_missing("ack_sent_at") & _is_overdue("stored_at", j.policy.grace_us, j),
    ),
    Invariant(
        "R-02",
        "Nothing was called a duplicate before it had been stored.",
        lambda _: _is_counted("repeats"),
        lambda _: _is_missing("stored_seq") | (F.col("first_repeat_seq") < F.col("stored_seq")),
    ),
    Invariant(
        "I8",
        "No MessageId came with two contents.",
        lambda _: _is_there("stored_at") | _is_counted("collisions"),
        lambda _: _is_counted("collisions"),
    ),
    Invariant(
        "I13",
        "Every acknowledged message is in its receiver's store.",
        lambda _: (_is_there("acked_at") | _is_there("late_acked_at")) & is_promised(),
        lambda j: _is(Verdict.ACKED_NOT_STORED, j),
    ),
    Invariant(
        "I14",
        "No byte was sent before its message was in the sender's store.",
        lambda _: _is_counted("transmissions"),
        lambda _: _is_missing("submitted_seq") | (F.col("first_sent_seq") < F.col("submitted_seq")),
    ),
    Invariant(
        "I15",
        "No numbered message of a pair was sent while another one was under way.",
        lambda _: _is_counted("transmissions") & _is_numbered() & is_promised(),
        _is_before_its_turn,
        TurnOrder("first_sent_seq", "first_sent_seq", _gave_turn_back),
    ),
    Invariant(
        "I16",
        "Numbered messages of a pair were handed over in the order of their submission.",
        lambda j: _is(Verdict.MATCHED, j) & _is_numbered(),
        _is_before_its_turn,
        TurnOrder("submitted_seq", "handed_over_seq", _was_handed_over),
    ),
    Invariant(
        "I18",
        "No message was sent more often than agreed.",
        lambda j: _is_counted("attempt_max") & is_promised() & _has_budget(j),
        _is_over_budget,
    ),
    Invariant(
        "I20",
        "No message was both acknowledged and failed, expired or taken back, but by the partner's "
        "own word after the acknowledgement.",
        lambda _: _is_there("submitted_at"),
        lambda j: _is_there("acked_at") & _is_there("final_seq") & ~_is_overtaken(j),
    ),
    Invariant(
        "I21",
        "No submitted message is without a verdict beyond its time.",
        lambda _: _is_there("submitted_at") & _is_bounded() & is_promised(),
        _is_silent,
    ),
    Invariant(
        "I22",
        "No message failed or expired without a notice to its application.",
        lambda _: (_is_there("failed_at") | _is_there("expired_at")) & is_promised(),
        lambda _: _is_missing("notified_at"),
    ),
    Invariant(
        "I23",
        "Every acknowledgement after a failure notice was told to the application.",
        lambda _: _is_there("late_acked_at"),
        lambda _: F.col("notices_late") == F.lit(0),
    ),
    Invariant(
        "I24",
        "Nothing was called surely undelivered and is in the receiver's store.",
        lambda _: _is_counted("notices_error"),
        # A notice says nothing about later transmissions: an operator may have resumed the pair.
        lambda _: (
            _is_there("stored_at")
            & (F.col("notices_warning") == F.lit(0))
            & (F.coalesce("last_sent_seq", F.lit(0)) < F.col("last_error_seq"))
        ),
    ),
    Invariant(
        "I26",
        "Nothing was stored after its sender had called it failed for good.",
        lambda _: any_of(
            *[_is_there(name) for name in ("failed_at", "expired_at", "cancelled_at")]
        ),
        _is_zombie,
    ),
    Invariant(
        "R-08",
        "Nothing that was taken back was handed over or worked on afterwards.",
        lambda _: _is_there("cancel_confirmed_at"),
        lambda _: F.col("last_work_seq") > F.col("cancel_confirmed_seq"),
    ),
    Invariant(
        "L2",
        "Every acknowledged message reached the receiving application.",
        lambda _: _is_there("stored_at"),
        lambda j: _is(Verdict.NOT_DELIVERED_TO_APP, j) & ~_is(Verdict.TAKEN_BACK, j),
    ),
)
"""The lines of the sheet, in the order of `invariants.md`."""


def breaches(judged: DataFrame, *, as_of: int, policy: Policy) -> DataFrame:
    """Per message of `verdicts.verdict`: its key, and the lines it is tried for and breaks.

    `tried` and `broken` are numbers with a bit for each line of the sheet (`names`): messages
    with equal bits are counted together, however many there are. A message that goes after another
    has a row more for each line that needs the order.
    """
    alone = breaches_alone(judged, as_of=as_of, policy=policy)
    return alone.unionByName(breaches_in_order(judged, as_of=as_of, policy=policy))


def breaches_alone(judged: DataFrame, *also: str, as_of: int, policy: Policy) -> DataFrame:
    """The part of `breaches` that asks each message alone: of any part of the lives.

    `also` are more columns of theirs that it keeps.
    """
    asked = [line for line in INVARIANTS if line.order is None]
    return judged.select(*KEY, *_bits(Judgement(as_of, policy), asked), *also)


def turns(policy: Policy) -> list[Column]:
    """The instants after which `breaches_alone` holds another thing of a life, or never.

    Beside those after which another verdict may hold (`verdicts.turns`).
    """
    waits = {
        "submitted_at": policy.verdict_within_us,
        "cancelled_at": policy.grace_us,
        "stored_at": policy.grace_us,
    }
    return [F.col(name) + F.lit(wait_us) for name, wait_us in waits.items()]


def _bits(judgement: Judgement, asked: Iterable[Invariant]) -> list[Column]:
    tried = {line: is_true(line.applies(judgement)) for line in asked}
    broken = {line: holds & is_true(line.broken(judgement)) for line, holds in tried.items()}
    return [_by_line(tried).alias("tried"), _by_line(broken).alias("broken")]


def breaches_in_order(judged: DataFrame, *, as_of: int, policy: Policy) -> DataFrame:
    """The part of `breaches` that asks what came before: of all lives at once.

    Only messages that a line is tried for: others have no turn, and hold up nobody.
    """
    judgement = Judgement(as_of, policy)
    turns, is_broken = [], never()
    for line, bit in _BITS:
        if line.order is None:
            continue
        columns = {
            "line": F.lit(bit).cast("bigint"),
            "place": F.col(line.order.place),
            "turn": F.col(line.order.turn),
            "end": line.order.end(),
        }
        turn = F.struct(*[column.alias(name) for name, column in columns.items()])
        turns.append(F.when(is_true(line.applies(judgement)), turn))
        is_broken |= (F.col("line") == F.lit(bit)) & is_true(line.broken(judgement))
    numbered = judged.where(_is_numbered() & is_promised())
    rows = numbered.select(*KEY, F.inline(F.array_compact(F.array(*turns))))
    broken = F.when(is_broken, F.col("line")).otherwise(F.lit(0).cast("bigint"))
    placed = with_greatest_before(
        rows,
        EARLIER,
        F.col("end"),
        line=("line", "from_party", "to_party"),
        order=("place", "message_id"),
    )
    return placed.select(*KEY, F.col("line").alias("tried"), broken.alias("broken"))


def _by_line(holds: Mapping[Invariant, Column]) -> Column:
    return as_bits([holds.get(line, never()) for line in INVARIANTS])


def names(bits: int) -> list[str]:
    """The lines of the sheet whose bits are set."""
    return [line.name for line, bit in _BITS if bits & bit]


_BITS: Final = [(line, 1 << place) for place, line in enumerate(INVARIANTS)]


def tallies(tried_and_broken: DataFrame, *also: str) -> DataFrame:
    """Messages with equal bits, counted: `tried`, `broken`, `messages`, and the `least` MessageIds.

    Tallies of parts of the messages, in a union, are tallies too: `merged` adds them up. `also` are
    columns by which the messages are cut into parts.
    """
    of_a_breach = F.when(F.col("broken") != F.lit(0), F.col("message_id"))
    return tried_and_broken.groupBy("tried", "broken", *also).agg(
        F.count("*").alias("messages"),
        least_of(of_a_breach, EXAMPLES_MAX).alias("least"),
    )


def merged(tallies: DataFrame) -> DataFrame:
    """The tallies of parts of the messages, as those of the whole."""
    return tallies.groupBy("tried", "broken").agg(
        F.sum("messages").alias("messages"), _least(F.col("least")).alias("least")
    )


def _least(examples: Column) -> Column:
    return F.slice(F.array_sort(F.flatten(F.collect_list(examples))), 1, EXAMPLES_MAX)


SHEET: Final = "name string, messages bigint, breaches bigint, examples array<string>"
"""The columns of `sheet`."""


def sheet(tallies: DataFrame) -> DataFrame:
    """One row per invariant that some message is tried for: name, messages, breaches, examples.

    `tallies` may be a union of those of parts. `examples` holds at most `EXAMPLES_MAX` MessageIds,
    the least first.
    """
    lines = [
        F.struct(F.lit(line.name).alias("name"), F.lit(bit).alias("bit")) for line, bit in _BITS
    ]
    is_broken = F.col("broken").bitwiseAND(F.col("bit")) != F.lit(0)
    return (
        tallies.select("*", F.inline(F.array(*lines)))
        .where(F.col("tried").bitwiseAND(F.col("bit")) != F.lit(0))
        .groupBy("name")
        .agg(
            F.sum("messages").alias("messages"),
            F.sum(F.when(is_broken, F.col("messages")).otherwise(F.lit(0))).alias("breaches"),
            _least(F.when(is_broken, F.col("least"))).alias("examples"),
        )
    )
